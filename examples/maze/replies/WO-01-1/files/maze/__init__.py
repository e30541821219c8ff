"""Draws random mazes and the shortest way through them."""
