"""Submitted plans: queued with all that they need, run by a worker, awaited by a person."""
