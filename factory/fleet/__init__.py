"""Spreads the orders of plans over the machines of a fleet, which share a database and a remote."""
