"""Judges the Python in commands by a type checker, before the code exists."""
