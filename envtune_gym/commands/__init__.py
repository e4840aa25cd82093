"""The command line, one module a command group; needs the extra `eval`."""
