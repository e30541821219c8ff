"""Holds what has an agent propose: known agents, start, task text, reading back."""
