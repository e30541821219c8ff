"""Compiles a specification into a plan: asks, judges, asks again, has it reviewed."""
