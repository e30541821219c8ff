"""Holds what is known of Go."""
