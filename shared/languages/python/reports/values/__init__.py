"""Runs a failed `python -c` once more, to see the values that made it fail."""
