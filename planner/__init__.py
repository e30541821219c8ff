"""Compiles a specification into a validated chain of work orders."""
