"""Judges whether a command can fail: by its script, and by the tests that it chooses."""

from __future__ import annotations

from typing import Final

from shared.languages.capabilities.commands import Weakness
from shared.languages.ecmascript.commands.runs import (
    CommandRuns,
    FileRun,
    Run,
    ScriptRun,
    TestRun,
)
from shared.languages.ecmascript.contracts.history import History
from shared.languages.ecmascript.needs import runs_of_script
from shared.languages.ecmascript.packages import MANIFEST, read_manifest
from shared.languages.ecmascript.proof.assertions import weakness_of_code
from shared.languages.ecmascript.proof.cases import cases_of
from shared.languages.ecmascript.proof.selection import weakness_of_run
from shared.languages.ecmascript.proof.text import weakness_of_text
from shared.languages.ecmascript.syntax import find_fault, tree_of
from shared.rule_text import quoted

_MAX_SCRIPTS: Final = 3  # scripts that run scripts


def weakness_of_runs(history: History, position: int, runs: CommandRuns) -> Weakness | None:
    """Return why a command can hardly fail by the files that are there, if they show a reason."""
    found = [_weakness(history, position, each, _MAX_SCRIPTS) for each in runs.runs]
    return found[0] if found and all(found) else None


def _weakness(history: History, position: int, run: Run, depth: int) -> Weakness | None:
    match run:
        case FileRun(only_parses=False, path=path):
            return _of_file(history, position, path)
        case TestRun():
            return weakness_of_run(run, history.at(position))
        case ScriptRun():
            return _of_script(history, position, run, depth)
        case _:
            # Within a script, the text counts as if it were the command's.
            return weakness_of_text(CommandRuns((run,))) if depth < _MAX_SCRIPTS else None


def _of_file(history: History, position: int, path: str) -> Weakness | None:
    """Return why a file that is run by itself proves little, where its text is known."""
    text = history.at(position).text(path)
    root = tree_of(path, text) if text is not None else None
    if root is None or find_fault(root) is not None or cases_of(root):
        return None
    found = weakness_of_code(root)
    return found if found is not None and found.code in {"W232", "W233"} else None


def _of_script(history: History, position: int, run: ScriptRun, depth: int) -> Weakness | None:
    moment = history.at(position)
    manifest = read_manifest(MANIFEST, moment.text(MANIFEST))
    if manifest is None or moment.is_blind:
        return None
    if run.name not in manifest.scripts:
        message = f"does nothing: {MANIFEST} has no script {quoted(run.name)}"
        return Weakness("W232", message) if run.if_present else None
    inner = runs_of_script(manifest, run) if depth else None
    if inner is None or len(inner.runs) != 1:
        return None
    return _weakness(history, position, inner.runs[0], depth - 1)
