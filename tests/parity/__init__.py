"""The official package held against this one; skipped where it is not installed."""
