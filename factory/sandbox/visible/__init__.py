"""Decides what a command can see: files, variables, interpreters, git."""
