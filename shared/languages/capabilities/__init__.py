"""Defines what planner and factory may ask of a language, one capability for each file."""
