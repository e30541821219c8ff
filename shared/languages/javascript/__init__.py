"""Holds what is known of JavaScript."""
