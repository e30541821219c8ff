"""Compares written code with its declarations, and writes code that keeps them and does nothing."""
