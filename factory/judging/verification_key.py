"""Names a verification by a hash, so that an equal one need not run again."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from factory.judging.verification import Check
from factory.orders.options import RunOptions
from factory.sandbox.toolchains.found import Toolchains
from factory.sandbox.visible.interpreter import Interpreter, interpreter_of
from factory.workbench.workbench import Workbench
from shared.work_order.hashing import sha256_bytes


def verification_key(
    tree: str, checks: Sequence[Check], bench: Workbench, options: RunOptions
) -> str:
    """Return the hash of all that a verification's outcome depends on, as far as llmch knows it.

    That is the tree, the commands, the sandbox with its settings, the interpreter with the packages
    beside it, the linked folders, the toolchains, and the time limit.
    """
    settings, sandbox = options.settings, bench.sandbox
    document = {
        "tree": tree,
        "commands": [each.text for each in checks],
        "backend": [sandbox.backend, sandbox.version],
        "guarantees": {str(name): held for name, held in sandbox.guarantees.items()},
        "limits": asdict(sandbox.limits),
        "net": settings.sandbox.net,
        "paths": [list(map(str, each)) for each in (settings.sandbox.read, settings.sandbox.write)],
        "variables": {name: os.environ.get(name) for name in settings.sandbox.env},
        "python": _describe(interpreter_of(bench.python)),
        "linked": [(each.path, str(each.source), _changed(each.source)) for each in bench.linked],
        "prepared": sorted(bench.supplies.prepared.environment.items()),
        "toolchains": _shown(bench.toolchains),
        "timeout_seconds": settings.timeout_seconds,
    }
    return sha256_bytes(json.dumps(document, sort_keys=True).encode())


def _describe(python: Interpreter) -> list[object]:
    """Return which interpreter it is; an installation or a removal changes a folder's time."""
    packages = [
        folder
        for prefix in python.prefixes
        for folder in sorted(prefix.glob("lib/python3*/*-packages"))
    ]
    places = [python.executable, *packages]
    return [python.tag, *([str(each), _changed(each)] for each in places)]


def _shown(toolchains: Toolchains) -> list[object]:
    """Return which toolchains commands see; an update in place changes a folder's time."""
    return [
        toolchains.search_path(""),
        sorted(toolchains.variables.items()),
        [[each.name, each.version] for each in toolchains.found],
        [[str(each), _changed(each)] for each in toolchains.read],
    ]


def _changed(path: Path) -> int:
    """Return when a path last changed, in nanoseconds; 0 where nothing is there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
