"""An order that names one definition of its file is about this definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import Focus, ShownFile, focus_of
from shared.work_order.parse_order import parse_document, sha256_bytes
from shared.work_order.work_order import WorkOrder
from tests.harness import writing

TEXT = '''"""Scores."""

LIMIT = 3


def best(scores):
    return max(scores)


class Game:
    """Play."""

    def __init__(self):
        self.scores = []

    def add_score(self, value):
        self.scores.append(value)

    def play(self):
        return best(self.scores)


class Match:
    def play(self):
        return None

    def end(self):
        return LIMIT
'''


def shown(path: str, text: str) -> ShownFile:
    return ShownFile(path, FileState(FileKind.FILE, sha256_bytes(text.encode())), text)


def focused(intent: str, text: str = TEXT, path: str = "game.py", **changes: Any) -> str:
    """Return the name of the definition that the order is about, empty where there is none."""
    fields = {"intent": intent, "context_files": [path]} | changes
    order = parse_document(WorkOrder, writing(path, **fields))
    focus = focus_of(order, [shown(path, text)])
    return focus.name if focus else ""


@pytest.mark.parametrize(
    ("intent", "name"),
    [
        ("`best` has to return 0 where there are no scores.", "best"),
        ("Make best() return 0 where there are no scores.", "best"),
        ("Have add_score refuse what is below 0.", "Game.add_score"),
        ("`Game.play` returns None where there are no scores.", "Game.play"),
        ("`Game` fails where there are no scores: `play` has to return None.", "Game.play"),
        ("`Match` ends too late: `end` has to return `LIMIT - 1`.", "Match.end"),
        ("Let `best(scores)` take an empty list: `best([])` is 0.", "best"),
    ],
)
def test_the_definition_that_the_intent_names_is_the_focus(intent: str, name: str) -> None:
    assert focused(intent) == name


@pytest.mark.parametrize(
    "intent",
    [
        "Return the best of no scores as 0, and end the game.",
        "`play` has to return 0 where there are no scores.",
        "`best` and `add_score` have to refuse what is below 0.",
        "Add a function `worst(scores)` beside `best`.",
        "`Game` and `Match` belong together.",
        "Raise `LIMIT` to 4.",
        "Say in docs/best.md what a game is.",
    ],
    ids=["prose", "in two classes", "two of them", "new", "two classes", "no definition", "path"],
)
def test_where_no_single_definition_is_named_there_is_no_focus(intent: str) -> None:
    assert focused(intent) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"allowed_files": ["game.py", "other.py"]},
        {"context_files": ["game.py", "other.py"]},
        {"removed_files": ["old.py"]},
        {"interfaces": [{"path": "game.py", "stub": "def worst(scores: list[int]) -> int: ..."}]},
    ],
    ids=["two files", "one to read", "one removed", "a new name"],
)
def test_an_order_that_needs_more_of_the_repo_has_no_focus(changes: dict[str, Any]) -> None:
    assert focused("`best` is 0 where there are no scores.") == "best"
    assert focused("`best` is 0 where there are no scores.", **changes) == ""


def test_a_definition_that_is_most_of_its_file_is_no_focus() -> None:
    assert focused("`best` is 0 for none.", "def best(scores):\n    return max(scores)\n") == ""


def test_a_file_that_does_not_parse_or_has_no_language_has_no_focus() -> None:
    assert focused("`best` is 0 for none.", TEXT + "def (:\n") == ""
    assert focused("`best` is 0 for none.", TEXT, "game.txt") == ""


def focus_in(text: str, intent: str) -> Focus:
    focus = focus_of(
        parse_document(WorkOrder, writing("game.py", intent=intent)), [shown("game.py", text)]
    )
    assert focus is not None
    return focus


def test_the_code_of_a_method_begins_at_the_margin() -> None:
    focus = focus_in(TEXT, "`add_score` refuses 0.")
    assert (focus.path, focus.name, focus.last_name) == ("game.py", "Game.add_score", "add_score")
    assert focus.code == "def add_score(self, value):\n    self.scores.append(value)"
    assert (focus.language, focus.holds_others) == ("Python", False)


def test_a_class_holds_others() -> None:
    assert focus_in(TEXT, "`Game` has no scores at first.").holds_others


def test_code_whose_strings_would_change_stays_where_it_is() -> None:
    method = '    def rules(self):\n        return """\n        Play.\n        """'
    text = TEXT.replace("    def add_score", f"{method}\n\n    def add_score")
    assert focus_in(text, "`Game.rules` has to say more.").code == method


NAMES = st.sampled_from(["best", "play", "add_score", "Game", "Match.end", "worst", "x.y", "()"])
PIECES = st.lists(NAMES | st.sampled_from(["`", "(", ")", " ", "a", "."]) | st.text(max_size=5))


@given(PIECES.map("".join))
def test_a_focus_is_a_definition_of_the_file_whatever_the_intent_says(intent: str) -> None:
    assert focused(intent or "x") in {
        "", "best", "Game", "Game.__init__", "Game.add_score", "Game.play", "Match", "Match.play",
        "Match.end",
    }  # fmt: skip
