"""Finds out whether this machine has what an example needs, before anything is made."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from llmch.verbs.demo.examples import Example, list_examples
from shared.errors import PreflightRefused
from shared.process import ToolFailed, ToolMissing, run_tool

_SECONDS = 20.0  # for a program that only says what it is able to do


def is_there(example: Example) -> bool:
    """Return whether the machine has what the example needs."""
    if example.need is None:
        return True
    # An empty folder has no configuration that the program might read.
    with tempfile.TemporaryDirectory(prefix="llmch-demo-") as folder:
        try:
            ended = run_tool(
                example.need.probe, cwd=Path(folder), env=os.environ, timeout_seconds=_SECONDS
            )
        except (ToolMissing, ToolFailed):
            return False
    return ended.exit_code == 0


def demand(example: Example) -> None:
    """Raise `PreflightRefused`, which names what is missing, where the example cannot be built."""
    if example.need is None or is_there(example):
        return
    others = ", ".join(each.name for each in list_examples() if each.need is None)
    raise PreflightRefused(
        f"the example {example.name} needs {example.need.what}, and it is not on the PATH",
        f"install it, or build an example that needs nothing: {others}",
    )
