"""Holds what is known of TypeScript."""
