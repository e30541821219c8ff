"""Counts the tests that the output of a test runner reports, for every runner that is known."""
