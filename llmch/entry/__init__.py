"""Holds what verbs share: arguments, wiring, the boundary of errors, and running orders."""
