"""Asks models: one protocol, one transport and one transcript of the calls."""
