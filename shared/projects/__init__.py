"""Reads what a repository's own files say of how it is built, tested and installed."""
