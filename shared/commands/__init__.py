"""Reads acceptance commands as text; runs none."""
