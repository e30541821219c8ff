"""Implements the verbs; each has a file or folder with its options, its work and its answer."""
