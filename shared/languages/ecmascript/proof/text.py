"""Judges whether a command can fail, by its text alone."""

from __future__ import annotations

from shared.languages.capabilities.commands import Weakness
from shared.languages.ecmascript.commands.runs import (
    CodeRun,
    CommandRuns,
    FileRun,
    Run,
    TestRun,
    ToolRun,
)
from shared.languages.ecmascript.files import question_path
from shared.languages.ecmascript.proof.assertions import weakness_of_code
from shared.languages.ecmascript.syntax import find_fault, tree_of


def weakness_of_text(runs: CommandRuns) -> Weakness | None:
    """Return why a command can hardly fail, as far as its code or its options show."""
    found = [_weakness(each) for each in runs.runs]
    return found[0] if found and all(found) else None


def _weakness(run: Run) -> Weakness | None:
    match run:
        case CodeRun(text=text):
            root = tree_of(question_path(typed=run.is_typed), text)
            return None if root is None or find_fault(root) else weakness_of_code(root)
        case FileRun(only_parses=True):
            return Weakness("W233", "proves only that a file parses")
        case TestRun(only_lists=True):
            return Weakness("W232", "only collects tests and runs none")
        case ToolRun(shows_only=True):
            return Weakness("W230", "only shows a version")
        case _:
            return None
