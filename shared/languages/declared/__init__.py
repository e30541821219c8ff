"""Holds what can be said of declarations in any language that is read as a syntax tree."""
