"""Writes text of any origin into Markdown so that it stays text. This module is pure.

The Markdown is read by GitHub and GitLab, among others: a title may not become a heading, a link,
HTML, or a mention that notifies somebody.
"""

from __future__ import annotations

import re

from llmch.console.clean import one_line

_SPECIAL = re.compile(r"[\\`*_\[\]|~#!$^{}]")
# These begin a list, a quote, a heading or a rule, and a number with a dot begins a list.
_STARTS = re.compile(r"^([-+=:>]|\d{1,9}(?=[.)]))")
# An empty comment keeps `@name` and `#12` from being links; it is not shown.
_MENTION = re.compile(r"([@#])(?=\w)")
_RUN = re.compile("`+")


def escaped(text: str) -> str:
    """Return `text` as one line of Markdown that shows it, and nothing else."""
    line = one_line(text).replace("\n", " ")
    plain = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quoted = _SPECIAL.sub(r"\\\g<0>", plain)
    unlinked = _MENTION.sub(r"\1<!-- -->", quoted)
    start = _STARTS.match(unlinked)
    if start is None:
        return unlinked
    first, rest = start[0], unlinked[start.end() :]
    return f"{first}\\{rest}" if first[0].isdigit() else f"\\{first}{rest}"


def code_span(text: str) -> str:
    """Return `text` as one line of code with its indentation.

    The fence is longer than any in the text.
    """
    line = one_line(text).replace("\n", " ")
    if not line:
        return ""
    line = " " * (len(text) - len(text.lstrip(" "))) + line
    fence = "`" * (_longest_run(line) + 1)
    padded = f" {line} " if line[0] == "`" or line[-1] == "`" else line
    return f"{fence}{padded}{fence}"


def code_block(text: str, language: str) -> str:
    """Return `text` as a block of code whose fence is longer than any in the text."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUN.findall(text)), default=0)
