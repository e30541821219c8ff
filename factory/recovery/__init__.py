"""Picks up what a run left that did not end by itself."""
