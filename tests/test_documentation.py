"""What the documents say of rules, verbs and exit codes is what the program says."""

from __future__ import annotations

import re

from llmch.entry.verb_table import VERBS
from shared.errors import ExitCode
from tests.rules_page import PAGE, README, render_page, render_readme


def test_the_page_of_rules_is_made_from_the_catalogue() -> None:
    assert PAGE.read_text("utf-8") == render_page(), "run `python -m tests.rules_page`"


def test_the_readme_lists_the_catalogues_codes() -> None:
    text = README.read_text("utf-8")
    assert text == render_readme(text), "run `python -m tests.rules_page`"


def test_the_readme_lists_the_exit_codes() -> None:
    rows = re.findall(r"^\| (\d+) \| ([A-Z]+) \|", README.read_text("utf-8"), re.MULTILINE)
    assert rows == [(str(code.value), code.name) for code in ExitCode]


def test_the_readme_lists_the_verbs() -> None:
    rows = re.findall(r"^\| `llmch ([\w-]+)` \| (.+) \|$", README.read_text("utf-8"), re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(VERBS)
