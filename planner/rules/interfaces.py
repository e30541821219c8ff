"""Checks the interfaces of an order, by themselves and in the chain: E201 to E204 and W223."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from planner.rules.model import Rule, each_order
from planner.steps.declared import DeclaredInterface, changed_names
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.files.paths import PathProblem, check_path, glob_characters
from shared.languages.python.files import has_names_to_declare
from shared.languages.python.stubs.contracts import is_meant
from shared.languages.python.stubs.merge import merge
from shared.languages.python.stubs.signatures import conflicts
from shared.languages.python.stubs.stubs import Stub, StubProblem
from shared.languages.python.stubs.undefined import undefined_names
from shared.rule_text import quoted
from shared.work_order.field_path import at
from shared.work_order.schemas import WorkOrder

_PYTHON_SUFFIXES: Final = (".py", ".pyi")


def _of_python(step: Step) -> Iterator[DeclaredInterface]:
    """Yield the interfaces of Python files; for an interface of any other file, E202 is enough."""
    return (each for each in step.interfaces if each.path.endswith(_PYTHON_SUFFIXES))


def unparsable_stubs(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for each in _of_python(step):
        if isinstance(each.stub, StubProblem):
            line = (
                f" in line {each.stub.line}, {quoted(each.stub.excerpt)}" if each.stub.line else ""
            )
            message = f"the stub of {quoted(each.path)} does not parse: {each.stub.message}{line}"
            yield step.finding("E201", at("interfaces", each.index, "stub"), message)


E201 = Rule(
    "E201",
    "interface does not parse",
    why="A contract that cannot be read binds nobody: no command is judged by it.",
    bad=r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str -> int: ..."}],
 "acceptance_commands": ["python -c \"from score import score; assert score('a') == 1\""]}""",
    good=r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_commands": ["python -c \"from score import score; assert score('a') == 1\""]}""",
    remedy=(
        "Correct the stub: Python as in a .pyi file, lines separated by \\n in the JSON string, "
        "each function ending in `: ...`."
    ),
    check=each_order(unparsable_stubs),
)


def misplaced_interfaces(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for each in step.interfaces:
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
    if not path.endswith(_PYTHON_SUFFIXES):
        return "is no Python file: a stub can only declare one"
    if path not in order.allowed_files:
        return "is not in allowed_files: only what the order may write can change"
    return None


E202 = Rule(
    "E202",
    "interface of a file that the order does not write",
    why="An interface says what its order creates or changes in a Python file of its own.",
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
        "interface to the order that does. Other languages have no interfaces."
    ),
    check=each_order(misplaced_interfaces),
)


def undefined_in_stubs(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for each in _of_python(step):
        if not isinstance(each.stub, Stub):
            continue
        before = step.history.module(each.path, step.draft.position - 1)
        module = step.history.module(each.path, step.draft.position)
        if module is None or (before is not None and before.is_open):
            continue
        for found in undefined_names(each.stub.tree.body, frozenset(module.declared)):
            message = (
                f"the stub of {quoted(each.path)} uses {quoted(found.name)} in line {found.line}, "
                "which it neither imports nor defines"
            )
            yield step.finding("E203", at("interfaces", each.index, "stub"), message)


E203 = Rule(
    "E203",
    "interface uses an undefined name",
    why="A type that nobody defines means nothing: the meaning of the declaration is lost.",
    bad=r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> Sequence[int]: ..."}],
 "acceptance_commands": ["python -c \"from score import score; assert score('a') == [1]\""]}""",
    good=r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py",
   "stub": "from collections.abc import Sequence\ndef score(guess: str) -> Sequence[int]: ..."}],
 "acceptance_commands": ["python -c \"from score import score; assert score('a') == [1]\""]}""",
    remedy="Import the name in the stub, as the file itself would, define it there, or correct it.",
    check=each_order(undefined_in_stubs),
)


def contradicting_stubs(step: Step, order: WorkOrder) -> Iterator[Finding]:
    changed = changed_names(step.draft)
    within: dict[str, list[ast.stmt]] = {}
    for each in _of_python(step):
        if not isinstance(each.stub, Stub):
            continue
        before = step.history.module(each.path, step.draft.position - 1)
        earlier = (before.contract or ()) if before else ()
        known = merge(earlier, within[each.path]) if each.path in within else earlier
        for found in conflicts(known, each.stub.tree.body):
            if is_meant(found.name, each.path, changed):
                continue
            by = before and step.history.declared_by(each.path, found.name, step.draft.position - 1)
            source = step.source(by) if by else "this order"
            message = (
                f"{quoted(found.name)} in line {found.line} of the stub of {quoted(each.path)}: "
                f"{source} declares `{found.before}`, here it is `{found.after}`"
            )
            yield step.finding("E204", at("interfaces", each.index, "stub"), message)
        within[each.path] = merge(within.get(each.path, ()), each.stub.tree.body)


E204 = Rule(
    "E204",
    "interface contradicts an earlier one",
    why=(
        "Earlier orders and their commands were made for the first declaration; a silent second "
        "one breaks them."
    ),
    bad=r"""{"work_orders": [
  {"id": "WO-01", "allowed_files": ["score.py"],
   "postconditions": [{"kind": "file_exists", "path": "score.py"}],
   "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
   "acceptance_commands": ["python -c \"from score import score; assert score('a') == 1\""]},
  {"id": "WO-02", "allowed_files": ["score.py"],
   "interfaces": [{"path": "score.py", "stub": "def score(guess: str, answer: str) -> int: ..."}]}
]}""",
    good=r"""{"work_orders": [
  {"id": "WO-01", "allowed_files": ["score.py"],
   "postconditions": [{"kind": "file_exists", "path": "score.py"}],
   "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
   "acceptance_commands": ["python -c \"from score import score; assert score('a') == 1\""]},
  {"id": "WO-02", "allowed_files": ["score.py"], "changes": ["score"],
   "interfaces": [{"path": "score.py", "stub": "def score(guess: str, answer: str) -> int: ..."}]}
]}""",
    remedy=(
        "Declare the name as before, or leave it out where it stays as it is. To change it on "
        "purpose, name it in the order's `changes` (`play`, or `Game.play` for a member)."
    ),
    check=each_order(contradicting_stubs),
)


def undeclared_modules(step: Step, order: WorkOrder) -> Iterator[Finding]:
    declared = {each.path for each in step.interfaces}
    reported: set[str] = set()
    for index, path in enumerate(order.allowed_files):
        if path in declared | reported or not has_names_to_declare(path):
            continue
        before = step.history.module(path, step.draft.position - 1)
        if before is not None and before.body is not None:
            continue  # the file's names are known, and the order may leave them as they are
        reported.add(path)
        message = f"{quoted(path)} has no interface: commands that use it cannot be judged"
        yield step.finding("W223", at("allowed_files", index), message)


W223 = Rule(
    "W223",
    "Python file without interface",
    why="A name that is declared nowhere can be called wrongly, and later orders have to guess.",
    bad=r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "acceptance_commands": ["python -c \"from score import score; assert score('a') == 1\""]}""",
    good=r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_commands": ["python -c \"from score import score; assert score('a') == 1\""]}""",
    remedy=(
        "Add {path, stub} to the order's `interfaces`: the signatures of all public names, as in "
        "a .pyi file; an empty stub for a file without any."
    ),
    check=each_order(undeclared_modules),
)
