"""Reads, merges and compares interface stubs."""
