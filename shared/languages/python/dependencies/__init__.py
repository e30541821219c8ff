"""Prepares the packages of a Python project: from its manifests or its lock into an environment."""
