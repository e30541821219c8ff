"""Starts processes, and splits command lines."""
