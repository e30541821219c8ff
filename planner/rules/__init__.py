"""Judges plans by rules, each with a code, an explanation and examples."""
