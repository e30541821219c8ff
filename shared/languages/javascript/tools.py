"""Describes how Node and its test runner report a fault."""

from __future__ import annotations

import re
from typing import Final

from shared.languages.tool_reports import Tool

TOOLS: Final = (
    Tool(
        "node",  # TAP writes what a test file prints behind a #
        head=re.compile(r"(?:# )?(?:Uncaught )?(?P<message>[\w$.]*(?:Error|Exception)\b.*)$"),
        end=re.compile(r"(?:# ?)?(?:\s+at |Node\.js v|Require stack:)"),
        before=4,
        place=re.compile(
            r"(?:# ?)?(?:\s+at (?:.*\()?)?(?:file://)?"
            r"(?P<path>(?!node:)[^\s():]+):(?P<line>\d+)(?::\d+\)?)?$"
        ),
        proof=re.compile(r"(?:# ?)?\s+at .*(?:node:|\[eval\]|\.[cm]?[jt]sx?:\d)"),
        values=re.compile(r"\s+(actual|expected): (.*[^{\[]),$"),
        told=re.compile(r"(?P<told>.*)$"),
    ),
    Tool(
        "node --test",
        head=re.compile(r"\s*not ok \d+ - (?P<message>.*)$"),
        end=re.compile(r"\s*(?:code:|stack:|\.\.\.$)"),
        place=re.compile(r"\s+location: '(?P<path>[^']+?):(?P<line>\d+):\d+'$"),
        told=re.compile(
            r"\s+(?=\S)(?!duration_ms:|location:|failureType:|type:|---|error: \|)(?:error: )?"
            r"(?P<told>.*)"
        ),
    ),
)
