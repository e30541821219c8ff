"""Defines the documents between planner and factory, and reads and writes them."""
