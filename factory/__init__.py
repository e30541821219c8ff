"""Executes work orders: each becomes a verified commit, or nothing at all."""
