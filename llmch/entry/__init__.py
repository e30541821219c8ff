"""Finds the verb of a command line, reads its options, and turns errors into exit codes."""
