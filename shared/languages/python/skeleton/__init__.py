"""Builds code that keeps an interface and does nothing."""
