"""Prints the outputs of the action, as GitHub reads them, out of the JSON document of a run.

Each output is one line, so no text in the document can begin another one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(path: str) -> None:
    """Print `NAME=VALUE` for each output; without a readable document, the verdict is ERROR."""
    try:
        document = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError):
        document = {}
    usage = document.get("usage") or {}
    request = document.get("pull_request") or {}
    outputs = {
        "verdict": document.get("verdict") or "ERROR",
        "branch": document.get("branch"),
        "base": document.get("base"),
        "tip": document.get("tip"),
        "pushed": {True: "true", False: "false"}.get(document.get("pushed")),
        "cost": usage.get("cost_usd"),
        "pull-request": request.get("url"),
    }
    for name, value in outputs.items():
        text = "" if value is None else str(value)
        print(f"{name}={' '.join(text.split())}")  # noqa: T201


main(*sys.argv[1:])
