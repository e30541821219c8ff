"""Checks and locks the user's repository for a run."""
