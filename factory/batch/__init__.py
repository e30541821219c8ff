"""Executes all orders of a plan on one branch."""
