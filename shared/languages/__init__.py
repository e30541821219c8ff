"""Reads and judges source files, with each language behind one protocol."""
