"""Reads a specification and finds its requirements."""
