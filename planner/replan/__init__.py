"""Follows a plan that came before: what may change, and the two put together."""
