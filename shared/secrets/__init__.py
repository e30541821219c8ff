"""Recognises secrets by their variables' names, and keeps their values out of records."""
