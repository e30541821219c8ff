"""Tokens and money: estimated, counted, capped."""
