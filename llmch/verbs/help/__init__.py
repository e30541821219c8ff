"""Implements `llmch help`: explains a topic, or lists the options of a verb."""

from llmch.verbs.help.verb import add_arguments, execute

__all__ = ["add_arguments", "execute"]
