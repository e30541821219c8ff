"""Repairs faults that have one certain remedy, without a model."""
