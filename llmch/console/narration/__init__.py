"""Turns the events of calls, plans and orders into lines."""
