"""Implements `llmch mcp`: serves some of the verbs as tools, by the Model Context Protocol.

Each call of a tool runs its verb in a process of its own, so a call is cancelled, and ends, exactly
as the verb does on Ctrl-C. The client is not trusted: `tools` says what it may ask for.
"""

from llmch.verbs.mcp.verb import add_arguments, execute

__all__ = ["add_arguments", "execute"]
