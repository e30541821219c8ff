"""Judges the Python of a plan before it exists."""
