"""Fills in the templates of the prompts."""
