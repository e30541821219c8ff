"""Messages point only to things that an installed package has: its users have no README there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import llmch
from llmch.entry.answers import STAGE_NAMES, rule_codes
from llmch.entry.verb_table import VERBS

ROOT = Path(llmch.__file__).parents[1]
FLOORS = ("llmch", "planner", "factory", "shared")
DOCUMENT = re.compile(
    r"\b(?:see|in|read|from)\s+(?:the\s+)?(?:README|CHANGELOG|docs/|examples/)\S*"
)
COMMAND = re.compile(r"`llmch ([\w-]+)(?: ([^`]*))?`")
# A placeholder for the reader to fill in, and a flag of the command line itself.
PLACES = {"VERB", "--help"}


@cache
def messages() -> tuple[tuple[str, str], ...]:
    """Return each text of the program that is not a docstring, and where it stands."""
    return tuple(_messages())


def _messages() -> Iterator[tuple[str, str]]:
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                match node:
                    case ast.Constant(value=str(text)) if id(node) not in docstrings:
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", text
                    case _:
                        pass


def mentions(pattern: re.Pattern[str]) -> list[tuple[str, re.Match[str]]]:
    return [(where, found) for where, text in messages() for found in pattern.finditer(text)]


@pytest.mark.rest
def test_no_message_sends_its_reader_to_a_document_that_is_not_installed() -> None:
    assert [(where, found[0]) for where, found in mentions(DOCUMENT)] == []


def test_each_verb_that_a_message_names_is_there() -> None:
    named = [(where, found[1]) for where, found in mentions(COMMAND)]
    assert len(named) > 10
    assert [each for each in named if each[1] not in {*VERBS, *PLACES}] == []


def test_each_code_and_stage_that_a_message_explains_is_there() -> None:
    topics = [(where, found[2]) for where, found in mentions(COMMAND) if found[1] == "explain"]
    codes = [(where, topic) for where, topic in topics if topic]
    assert codes
    assert [each for each in codes if each[1] not in {*rule_codes(), *STAGE_NAMES}] == []


@pytest.mark.parametrize("text", ["see README", "see examples/ for the form", "in docs/rules.md"])
def test_the_walk_would_find_one(text: str) -> None:
    assert DOCUMENT.search(text)
