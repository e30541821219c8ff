"""Parses a plan, projects it onto the repository's files, and seals it as a manifest."""
