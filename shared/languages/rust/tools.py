"""Describes how Rust's compiler and its programs report a fault."""

from __future__ import annotations

import re
from typing import Final

from shared.languages.tool_reports import BLANK_LINE, Tool

TOOLS: Final = (
    Tool(
        "rustc",
        head=re.compile(
            r"(?P<message>error(?:\[E\d+\])?: "
            r"(?!aborting due|could not compile|test failed|\d+ targets? failed).*)$"
        ),
        end=BLANK_LINE,
        place=re.compile(r"\s*--> (?P<path>[^\s:]+):(?P<line>\d+):\d+$"),
        proof=re.compile(r"\s*--> "),
        told=re.compile(r"\s*\d* ?\|.*?[\^-]+ (?P<told>\w.*)$"),
    ),
    Tool(
        "a panic of rust",
        head=re.compile(
            r"thread '(?P<message>.*)' panicked at (?P<path>[^\s:]+):(?P<line>\d+):.*$"
        ),
        end=re.compile(r"stack backtrace:|note: |\s*$"),
        told=re.compile(r"(?P<told>.*)$"),
    ),
)
