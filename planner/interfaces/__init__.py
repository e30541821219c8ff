"""A plan's interfaces, and what they make of its acceptance commands."""
