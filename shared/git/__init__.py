"""Runs git and reads its answers."""
