"""Implements `llmch completion`: prints a script that completes command lines in a shell."""

from llmch.verbs.completion.verb import add_arguments, execute

__all__ = ["add_arguments", "execute"]
