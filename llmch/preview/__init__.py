"""Knows what a plan will do: each order with its files, needs, commands, requirements and cost."""
