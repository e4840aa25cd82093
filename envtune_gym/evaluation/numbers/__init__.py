"""The numbers that people report of a run: accuracy, progress, several attempts, failures, and two runs compared."""
