"""Implements the verbs, one a file or folder: its options, its work and its answer."""
