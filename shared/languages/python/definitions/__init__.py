"""Replaces and adds definitions by their names, and leaves all other bytes as they are."""
