"""Starts a command, watches it, and ends all of it."""
