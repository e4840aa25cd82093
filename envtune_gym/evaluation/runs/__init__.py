"""Runs: a policy plays tasks, and each finished episode is a line of a file."""
