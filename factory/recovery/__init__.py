"""Cleans up after a run that was killed, and makes its replies available to the next run."""
