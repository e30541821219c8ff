"""Attacks on what docs/guarantees.md promises, each with a control that shows it would work."""
