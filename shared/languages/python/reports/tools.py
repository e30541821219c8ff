"""Describes how linters of Python report a fault."""

from __future__ import annotations

import re
from typing import Final

from shared.languages.tool_reports import BLANK_LINE, HEAD_ALONE, Tool

TOOLS: Final = (
    Tool(
        "ruff, in full",
        head=re.compile(r"(?P<message>(?:[A-Z]{1,4}\d{3,4}|invalid-syntax)\b:? .*)$"),
        end=BLANK_LINE,
        place=re.compile(r"\s*--> (?P<path>[^\s:]+):(?P<line>\d+):\d+$"),
        proof=re.compile(r"\s*--> "),
    ),
    Tool(
        "ruff and flake8, one line each",
        head=re.compile(r"(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?P<message>[A-Z]{1,4}\d{3,4} .*)$"),
        end=HEAD_ALONE,
    ),
)
