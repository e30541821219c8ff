"""Runs the type checker in a process of its own, and reads its messages."""
