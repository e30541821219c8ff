"""Brings verified commits onto the branch."""
