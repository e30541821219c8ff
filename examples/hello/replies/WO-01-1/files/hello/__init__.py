"""Greets one person by name, or the whole world."""
