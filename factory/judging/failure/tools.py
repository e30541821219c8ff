"""Describes how tools report a fault that belong to no language of the registry, or to many."""

from __future__ import annotations

import re
from typing import Final

from shared.languages.tool_reports import HEAD_ALONE, LESS_INDENTED, Tool

TOOLS: Final = (
    Tool(
        "javac",
        head=re.compile(r"(?P<path>[^\s:]+\.java):(?P<line>\d+): (?P<message>error: .*)$"),
        end=re.compile(r"\S"),
        told=re.compile(r"  (?P<told>(?:symbol|location|required|found|reason): .*)$"),
    ),
    Tool(
        "java",
        head=re.compile(r'Exception in thread "[^"]*" (?P<message>.*)$'),
        end=re.compile(r"\S"),
        place=re.compile(r"\s+at .*\((?P<path>[^\s():]+\.java):(?P<line>\d+)\)$"),
    ),
    Tool(
        "compilers that write as gcc does",
        head=re.compile(
            r"(?P<path>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?(?P<message>error: .*)$"
        ),
        end=LESS_INDENTED,
    ),
    Tool(
        "the linker",
        head=re.compile(r"(?:.*: )?(?P<message>undefined reference to .*)$"),
        end=HEAD_ALONE,
    ),
    Tool(
        "a shell",
        head=re.compile(r"(?P<path>[^\s:]+): line (?P<line>\d+): (?P<message>.*)$"),
        end=HEAD_ALONE,
    ),
    Tool(
        "make, without a rule",
        head=re.compile(
            r"make(?:\[\d+\])?: \*\*\* (?P<message>No rule to make target .*?)\.? +Stop"
        ),
        end=HEAD_ALONE,
    ),
    Tool(
        "make",
        head=re.compile(r"make(?:\[\d+\])?: \*\*\* \[(?P<message>.*)$"),
        end=HEAD_ALONE,
        before=3,
        silent=True,
    ),
)
