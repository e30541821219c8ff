"""Reads and writes the files of a plan on disk, and knows their names."""
