"""Starts a command, watches it, and ends all its processes."""
