"""Implements `llmch init`: writes settings and a specification to begin with."""

from llmch.verbs.init.verb import add_arguments, execute

__all__ = ["add_arguments", "execute"]
