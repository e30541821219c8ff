"""Brings a verified commit onto the branch."""
