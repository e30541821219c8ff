"""Reads what commands of Node, its package managers and its test runners would run."""
