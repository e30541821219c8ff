"""Defines what a run is to those who show it, as values.

Every text in them comes from a model, a command, a repository or a person, as it was recorded.
Whoever shows it makes it safe for the place where it is shown.
"""
