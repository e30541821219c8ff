"""Defines the events of a run as values: the console renders them, `events.jsonl` keeps them.

An event says what happened, never how to show it. It is a moment, not a state: the run's journal
says where an order stands, and emitting an event decides, records and stops nothing.
Durations are seconds.
"""
