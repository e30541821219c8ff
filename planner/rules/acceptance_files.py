"""Checks the tests that a plan brings along: E107 to E110 and E206."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from fnmatch import fnmatchcase

from planner.rules.model import PlanView, Rule, each_order
from planner.rules.running_files import run_files
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.files.paths import fold_path, glob_characters
from shared.languages.registry import language_of
from shared.rule_text import quoted
from shared.work_order.field_path import FieldPath, at
from shared.work_order.schemas import WorkOrder


def _paths(order: WorkOrder) -> Iterator[tuple[FieldPath, str]]:
    """Yield the field and the path of each acceptance file; E004 speaks of one with globs."""
    for index, each in enumerate(order.acceptance_files):
        if not glob_characters(each.path):
            yield at("acceptance_files", index, "path"), each.path


def writable_tests(view: PlanView) -> Iterator[Finding]:
    """Yield each order that may write an acceptance file, its own or an earlier order's."""
    owners: dict[str, str] = {}
    for step in view.steps:
        order = step.draft.order
        if order is None:
            continue
        own = {fold_path(path): field for field, path in _paths(order)}
        reported: set[str] = set()
        for index, path in enumerate(order.allowed_files):
            folded = fold_path(path)
            if folded in reported:
                continue
            reported.add(folded)
            if folded in own:
                message = f"{quoted(path)} is in allowed_files too: the executor could change it"
                yield step.finding("E107", own[folded], message)
            elif folded in owners:
                message = f"{quoted(path)} is an acceptance file of {owners[folded]}"
                yield step.finding("E107", at("allowed_files", index), message)
        for path in order.removed_files:
            owners.pop(fold_path(path), None)  # an order that writes it again is E112
        owners.update(dict.fromkeys(own, step.draft.label))


E107 = Rule(
    "E107",
    "acceptance file that an order may write",
    why="A test proves something only where the executor that it judges cannot change it.",
    bad=r"""{"allowed_files": ["score.py", "tests/test_score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"},
                    {"kind": "file_exists", "path": "tests/test_score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_files": [{"path": "tests/test_score.py",
   "content": "from score import score\n\ndef test_score():\n    assert score('a') == 1\n"}],
 "acceptance_commands": ["python -m pytest -q tests/test_score.py"]}""",
    good=r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_files": [{"path": "tests/test_score.py",
   "content": "from score import score\n\ndef test_score():\n    assert score('a') == 1\n"}],
 "acceptance_commands": ["python -m pytest -q tests/test_score.py"]}""",
    remedy=(
        "Drop the path from allowed_files and postconditions. A later order that needs another "
        "test lists the file in its own acceptance_files, with its new content."
    ),
    check=writable_tests,
)


def tests_in_the_way(view: PlanView) -> Iterator[Finding]:
    """Yield each acceptance file that would replace something else than an acceptance file."""
    earlier: set[str] = set()
    for step in view.steps:
        order = step.draft.order
        if order is None:
            continue
        writable = {fold_path(each) for each in order.allowed_files}
        own: set[str] = set()
        for field, path in _paths(order):
            folded = fold_path(path)
            if folded in own:
                yield step.finding("E108", field, f"{quoted(path)} stands twice in this order")
            elif folded not in earlier | writable and (message := _in_the_way(step, path)):
                yield step.finding("E108", field, message)
            own.add(folded)
        earlier |= own


def _in_the_way(step: Step, path: str) -> str:
    """Return why a file that is no acceptance file stands there before the order; "" if none."""
    before = step.draft.position - 1
    if not step.chain.may_exist(path, before):
        return ""
    provider = step.chain.first.get(path, step.chain.possible.get(path, 0))
    return f"{quoted(path)} is there already: {step.source(provider)} has it"


E108 = Rule(
    "E108",
    "acceptance file in the place of another file",
    why="The file would be replaced, and what was there before would be lost.",
    bad=r"""{"repo": {"tests/test_score.py": "def test_old():\n    assert 1 + 1 == 2\n"},
 "allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_files": [{"path": "tests/test_score.py",
   "content": "from score import score\n\ndef test_score():\n    assert score('a') == 1\n"}],
 "acceptance_commands": ["python -m pytest -q tests/test_score.py"]}""",
    good=r"""{"repo": {"tests/test_score.py": "def test_old():\n    assert 1 + 1 == 2\n"},
 "allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_files": [{"path": "tests/test_score_of_guess.py",
   "content": "from score import score\n\ndef test_score():\n    assert score('a') == 1\n"}],
 "acceptance_commands": ["python -m pytest -q tests/test_score_of_guess.py"]}""",
    remedy=(
        "Give the test a path of its own. Only an acceptance file of an earlier order may be "
        "replaced, by another acceptance file."
    ),
    check=tests_in_the_way,
)


def tests_that_nothing_runs(step: Step, order: WorkOrder) -> Iterator[Finding]:
    texts = {each.path: each.content for each in order.acceptance_files}
    if not texts:
        return
    run = run_files([command for _, command in step.commands], texts)
    for field, path in _paths(order):
        if path not in run:
            message = f"no acceptance command of the order runs {quoted(path)}"
            yield step.finding("E109", field, message)


E109 = Rule(
    "E109",
    "acceptance file that no command runs",
    why="A test that nothing runs proves nothing.",
    bad=r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_files": [{"path": "tests/test_score.py",
   "content": "from score import score\n\ndef test_score():\n    assert score('a') == 1\n"}],
 "acceptance_commands": ["python -c \"from score import score; assert score('b') == 0\""]}""",
    good=r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_files": [{"path": "tests/test_score.py",
   "content": "from score import score\n\ndef test_score():\n    assert score('a') == 1\n"}],
 "acceptance_commands": ["python -m pytest -q tests/test_score.py"]}""",
    remedy="Add a command that runs it with the project's test runner, or drop the file.",
    check=each_order(tests_that_nothing_runs),
)


def forbidden_tests(step: Step, order: WorkOrder) -> Iterator[Finding]:
    writable = {fold_path(each) for each in order.allowed_files}
    for field, path in _paths(order):
        folded = fold_path(path)
        if folded in writable:
            continue  # E107 wants it out of there first
        if by := next((each for each in order.forbidden if _covers(each, folded)), None):
            message = f"{quoted(path)} is forbidden by {quoted(by)} of the same order"
            yield step.finding("E110", field, message)


def _covers(forbidden: str, folded: str) -> bool:
    """Say whether an entry of `forbidden` covers a folded path, or a folder that the path is in."""
    pattern = posixpath.normpath(fold_path(forbidden))
    parts = folded.split("/")
    places = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return any(place == pattern or fnmatchcase(place, pattern) for place in places)


E110 = Rule(
    "E110",
    "acceptance file that its order forbids",
    why="The order commits the file, so it cannot say that the file stays untouched.",
    bad=r"""{"allowed_files": ["score.py"], "forbidden": ["tests/*"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_files": [{"path": "tests/test_score.py",
   "content": "from score import score\n\ndef test_score():\n    assert score('a') == 1\n"}],
 "acceptance_commands": ["python -m pytest -q tests/test_score.py"]}""",
    good=r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_files": [{"path": "tests/test_score.py",
   "content": "from score import score\n\ndef test_score():\n    assert score('a') == 1\n"}],
 "acceptance_commands": ["python -m pytest -q tests/test_score.py"]}""",
    remedy=(
        "Drop the entry from forbidden: no executor can write an acceptance file anyway, because "
        "it is not in allowed_files."
    ),
    check=each_order(forbidden_tests),
)


def unparsable_tests(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for index, each in enumerate(order.acceptance_files):
        language = language_of(each.path)
        notes = language.notes if language is not None else None
        note = notes.note_syntax(each.path, each.content) if notes is not None else ""
        if note:
            field = at("acceptance_files", index, "content")
            yield step.finding("E206", field, note.removesuffix("."))


E206 = Rule(
    "E206",
    "acceptance file does not compile",
    why="A test that does not compile fails whatever the order's code does.",
    remedy="Correct the line. In the JSON string, lines are separated by \\n.",
    check=each_order(unparsable_tests),
)
