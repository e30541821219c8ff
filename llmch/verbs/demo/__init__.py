"""Implements `llmch demo`: builds a shipped example from its specification and shows it."""

from llmch.verbs.demo.verb import add_arguments, execute

__all__ = ["add_arguments", "execute"]
