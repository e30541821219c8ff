"""`llmch demo`: build a shipped example from its specification and show what was built."""

from llmch.verbs.demo.verb import add_arguments, execute

__all__ = ["add_arguments", "execute"]
