"""A process that opens sandboxes and runs commands in them, for the tests and as their user.

One JSON request a line on stdin, one reply a line on stdout. It stands for llmch: its environment
holds a key, and tests kill it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any

from factory.sandbox.detect import open_sandbox
from factory.sandbox.policy import Backend, Limits, Policy
from factory.sandbox.runner import Sandbox
from shared.errors import LlmchError

PATHS = ("workspace", "git_dir", "private", "python")


def main() -> None:
    opened: list[Sandbox] = []
    for line in sys.stdin:
        request = json.loads(line)
        if "argv" in request:
            reply = run(opened[request["sandbox"]], request)
        else:
            reply = open_one(request, opened)
        sys.stdout.write(json.dumps(reply, default=str) + "\n")
        sys.stdout.flush()


def open_one(request: dict[str, Any], opened: list[Sandbox]) -> dict[str, Any]:
    fields = request["policy"]
    for name in PATHS:
        fields[name] = fields.get(name) and Path(fields[name])
    for name in ("read", "write"):
        fields[name] = tuple(map(Path, fields.get(name, ())))
    fields["limits"] = Limits(**fields.get("limits", {}))
    try:
        sandbox = open_sandbox(Backend(request["backend"]), Policy(**fields))
    except LlmchError as error:
        return {"refused": error.message, "exit_code": error.exit_code}
    opened.append(sandbox)
    return {
        "sandbox": len(opened) - 1,
        "pid": os.getpid(),
        "backend": sandbox.backend,
        "version": sandbox.version,
        "guarantees": dict(sandbox.guarantees),
        "describe": sandbox.describe(),
    }


def run(sandbox: Sandbox, request: dict[str, Any]) -> dict[str, Any]:
    log = Path(request["log"])
    ended = sandbox.run(request["argv"], timeout_seconds=request["timeout"], log=log)
    return dataclasses.asdict(ended)


if __name__ == "__main__":
    main()
