"""Defines what the factory receives and returns: orders, tasks, options, documents, verdicts."""
