"""Holds the answers that several verbs give, and the codes that these answers name."""
