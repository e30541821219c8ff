"""Reads the records of a run as one value, for the pages and texts that show it."""
