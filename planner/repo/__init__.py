"""Reads the repository that a plan is for."""
