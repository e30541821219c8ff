"""Checks the interfaces of an order, by themselves and in the chain: E201 to E204 and W223."""

from __future__ import annotations

from collections.abc import Iterator

from planner.rules.model import Rule, each_order
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.files.paths import PathProblem, check_path, glob_characters
from shared.languages.registry import LANGUAGES, language_of
from shared.rule_text import quoted
from shared.work_order.field_path import at
from shared.work_order.schemas import WorkOrder

E201 = Rule(
    "E201",
    "interface does not parse",
    why="A contract that cannot be read binds nobody: no command is judged by it.",
    remedy=(
        "Correct the stub: declarations without bodies, as interfaces of the file's language are "
        "written, with lines separated by \\n in the JSON string."
    ),
)


def misplaced_interfaces(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for each in step.code.interfaces:
        if fault := _path_fault(each.path, order):
            message = f"{quoted(each.path)} {fault}"
            yield step.finding("E202", at("interfaces", each.index, "path"), message)


def _path_fault(path: str, order: WorkOrder) -> str | None:
    if glob_characters(path):
        return None if path in order.allowed_files else "is a pattern: name one file"
    try:
        check_path(path)
    except PathProblem as problem:
        return str(problem)
    language = language_of(path)
    if language is None or language.plans is None or not path.endswith(language.plans.contracted):
        return f"is no {_contracted()} file: a stub can only declare one"
    if path not in order.allowed_files:
        return "is not in allowed_files: only what the order may write can change"
    return None


def _contracted() -> str:
    """Return the names of the languages whose files may have interfaces."""
    *most, last = [each.name for each in LANGUAGES if each.plans and each.plans.contracted]
    return f"{', '.join(most)} or {last}" if most else last


E202 = Rule(
    "E202",
    "interface of a file that the order does not write",
    why="An interface says what its order creates or changes in a file of its own.",
    bad=r"""{"allowed_files": ["game.py"],
 "postconditions": [{"kind": "file_exists", "path": "game.py"}],
 "interfaces": [{"path": "game.py", "stub": "def play() -> None: ..."},
                {"path": "words.py", "stub": "WORDS: list[str]"}],
 "acceptance_commands": ["python -c \"from game import play; assert play() is None\""]}""",
    good=r"""{"allowed_files": ["game.py", "words.py"],
 "postconditions": [{"kind": "file_exists", "path": "game.py"},
                    {"kind": "file_exists", "path": "words.py"}],
 "interfaces": [{"path": "game.py", "stub": "def play() -> None: ..."},
                {"path": "words.py", "stub": "WORDS: list[str]"}],
 "acceptance_commands": ["python -c \"from game import play; assert play() is None\""]}""",
    remedy=(
        "Correct the path, add it to allowed_files where the order writes the file, or move the "
        "interface to the order that does. A file in any other language has none."
    ),
    check=each_order(misplaced_interfaces),
)


E203 = Rule(
    "E203",
    "interface uses an undefined name",
    why="A type that nobody defines means nothing: the meaning of the declaration is lost.",
    remedy="Import the name in the stub, as the file itself would, define it there, or correct it.",
)


E204 = Rule(
    "E204",
    "interface contradicts an earlier one",
    why=(
        "Earlier orders and their commands were made for the first declaration; a silent second "
        "one breaks them."
    ),
    remedy=(
        "Declare the name as before, or leave it out where it stays as it is. To change it on "
        "purpose, name it in the order's `changes` (`play`, or `Game.play` for a member)."
    ),
)


W223 = Rule(
    "W223",
    "file without interface",
    why="A name that is declared nowhere can be called wrongly, and later orders have to guess.",
    remedy=(
        "Add {path, stub} to the order's `interfaces`: the signatures of all public names, as "
        "interfaces of the file's language are written; an empty stub for a file without any."
    ),
)
