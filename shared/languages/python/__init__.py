"""Reads and judges Python: its syntax, stubs, types, conformance and skeletons."""
