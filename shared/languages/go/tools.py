"""Describes how Go's compiler and its tests report a fault."""

from __future__ import annotations

import re
from typing import Final

from shared.languages.tool_reports import LESS_INDENTED, Tool

TOOLS: Final = (
    Tool(
        "go build",
        head=re.compile(r"(?:vet: )?(?P<path>[^\s:]+\.go):(?P<line>\d+):\d+: (?P<message>.*)$"),
        end=LESS_INDENTED,
        told=re.compile(r"(?P<told>\t.*)$"),
    ),
    Tool(
        "go test",
        head=re.compile(r"\s*--- FAIL: (?P<message>[^\s(]+)"),
        end=re.compile(r"\s*--- |FAIL\b|ok\b|PASS\b|goroutine "),
        place=re.compile(r"\s+(?P<path>[^\s:/][^\s:]*\.go):(?P<line>\d+)(?:: | \+0x)"),
        told=re.compile(r"(?:\s+[^\s:]+\.go:\d+: |(?=panic: )|\s{8,})(?P<told>\S.*)$"),
    ),
)
