"""Reads acceptance commands as text, and never runs one."""
