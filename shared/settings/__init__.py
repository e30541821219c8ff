"""Declares every setting once, and reads its value from layers of configuration."""
