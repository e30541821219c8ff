"""Describes how the TypeScript compiler reports a fault."""

from __future__ import annotations

import re
from typing import Final

from shared.languages.tool_reports import LESS_INDENTED, Tool

TOOLS: Final = (
    Tool(
        "tsc",
        head=re.compile(
            r"(?P<path>[^\s(:]+)[(:](?P<line>\d+)[,:]\d+(?:\):| -) (?P<message>error TS.*)$"
        ),
        end=LESS_INDENTED,
        told=re.compile(r"(?P<told>  \S.*)$"),
    ),
)
