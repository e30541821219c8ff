"""Prints everything that the program shows; no other part of the program prints.

`open_console` returns the `Console` of a command. The console renders events while they happen:
on a terminal with a live region, elsewhere as plain lines. At the end it renders the document
that the verb returned, in the format that the user asked for.
"""

from llmch.console.console import Color, Console, open_console
from llmch.console.line import Verbosity
from llmch.console.render import Format

__all__ = ["Color", "Console", "Format", "Verbosity", "open_console"]
