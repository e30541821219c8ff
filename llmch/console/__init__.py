"""The only part of the program that prints.

`open_console` returns the `Console` of a command: it renders events while they happen, on a
terminal with a live region, elsewhere as plain lines, and at the end the document that the verb
returned, in the format that was asked for.
"""

from llmch.console.console import Color, Console, open_console
from llmch.console.line import Verbosity
from llmch.console.renderers import Format

__all__ = ["Color", "Console", "Format", "Verbosity", "open_console"]
