"""Moves the branch to verified commits."""
