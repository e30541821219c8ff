"""Decides whether a tree is good: its contract, the commands, and what their success proves."""
