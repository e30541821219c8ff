"""Renders the details below a line: lists, excerpts, and commands that show the result.

This module is pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from llmch.console.figures import cost, count
from llmch.console.line import Line, Mark
from shared.events.model_calls import UsageCounted

# The head of an excerpt shows what was being done, and the tail shows what went wrong.
_EXCERPT_HEAD = 3
_EXCERPT_TAIL = 9


def item_lines(items: Sequence[str], limit: int | None) -> Iterator[Line]:
    """Yield a line for each item; the items beyond `limit` are only counted."""
    shown = items[:limit]
    yield from (Line(Mark.ITEM, text) for text in shown)
    if len(shown) < len(items):
        yield Line(Mark.ITEM, f"and {len(items) - len(shown):,} more (--verbose shows all)")


def excerpt_lines(excerpt: str, *, whole: bool) -> Iterator[Line]:
    """Yield the lines of an excerpt; its head and its tail alone where it is long."""
    lines = excerpt.strip("\n").split("\n") if excerpt.strip() else []
    left_out = len(lines) - _EXCERPT_HEAD - _EXCERPT_TAIL
    if not whole and left_out > 1:
        mark = f"... {left_out:,} more lines (--verbose shows all)"
        lines = [*lines[:_EXCERPT_HEAD], mark, *lines[-_EXCERPT_TAIL:]]
    yield from (Line(Mark.QUOTE, text) for text in lines)


def look_lines(branch: str, repo: str, cwd: str) -> Iterator[Line]:
    """Yield the commands that show what landed on `branch`, fit to be copied."""
    git = "git" if repo in ("", cwd) else f"git -C {shlex.quote(repo)}"
    yield Line(Mark.COPY, f"{git} log --oneline {shlex.quote(branch)}")
    yield Line(Mark.COPY, f"{git} switch {shlex.quote(branch)}")


def fetch_lines(branch: str, remote: str) -> Iterator[Line]:
    """Yield the commands that show what landed on a branch of a remote, fit to be copied."""
    yield Line(Mark.COPY, f"git fetch {shlex.quote(remote)} {shlex.quote(branch)}")
    yield Line(Mark.COPY, "git log --oneline FETCH_HEAD")


def report_line(repo: str, cwd: str) -> Line:
    """Return the command that writes a page of the run, fit to be copied."""
    place = "" if repo in ("", cwd) else f" --repo {shlex.quote(repo)}"
    return Line(Mark.COPY, f"llmch report --html report.html{place}")


def usage_text(event: UsageCounted) -> str:
    """Return a text that says what the calls took."""
    parts = []
    if event.calls:
        cached = f" ({event.cached_tokens:,} cached)" if event.cached_tokens else ""
        tokens = f"{event.input_tokens:,} tokens in{cached}, {event.output_tokens:,} out"
        parts += [count(event.calls, "call"), tokens, cost(event.cost_usd)]
    if event.replayed_calls:
        parts.append(f"{count(event.replayed_calls, 'reply', 'replies')} replayed")
    return ", ".join(parts) or "no model calls"
