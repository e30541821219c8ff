"""Asks git, and reads what it answers."""
