"""Presents a plan as steps for the rules: each order with the files before and after it."""
