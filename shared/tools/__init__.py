"""Keeps programs that are fetched on request, each of one version whose hash is known."""
