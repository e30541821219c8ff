"""Shares the expenses of a group."""
