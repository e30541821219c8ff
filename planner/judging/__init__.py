"""Judges a plan by all rules, in one report."""
