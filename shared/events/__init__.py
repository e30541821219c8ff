"""Defines what happens during a run, and keeps it on record."""
