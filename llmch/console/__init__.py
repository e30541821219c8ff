"""The only part of the program that prints.

`open_console` gives the `Console` of a command: it renders events while they happen, on a
terminal with a live region, elsewhere as plain lines, and prints the one document of `--json`.
"""

from llmch.console.console import Color, Console, FindingLike, open_console
from llmch.console.line import Verbosity

__all__ = ["Color", "Console", "FindingLike", "Verbosity", "open_console"]
