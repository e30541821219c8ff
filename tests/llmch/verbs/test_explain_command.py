"""`llmch explain`: every code, with what it means and how to mend it."""

from __future__ import annotations

import pytest

from llmch.answers.codes import CODES as RULE_TEXTS
from tests.llmch.command_line import Say

CODES = list(RULE_TEXTS)


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(say: Say, code: str) -> None:
    said = say("explain", code)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(code)
    for part in ("Why: ", "Bad:", "Good:", "Remedy: "):
        assert part in said.out


@pytest.mark.parametrize("code", CODES)
def test_json_has_the_whole_rule(say: Say, code: str) -> None:
    document = say("explain", code, "--json").document
    assert document.keys() == {"code", "title", "severity", "why", "bad", "good", "remedy"}
    assert document["code"] == code
    assert document["severity"] == ("warning" if code.startswith("W") else "error")
    assert all(document.values())


def test_without_a_code_all_are_listed(say: Say) -> None:
    said = say("explain")
    assert [line.split()[0] for line in said.out.splitlines()] == CODES
    listed = say("explain", "--json").document["rules"]
    assert [each["code"] for each in listed] == CODES


def test_letters_may_be_small(say: Say) -> None:
    assert say("explain", "e101").out == say("explain", "E101").out


def test_a_code_close_to_one_is_recognised(say: Say) -> None:
    said = say("explain", "E107")
    assert said.code == 2
    assert "there is no rule 'E107'" in said.err
    assert "E106" in said.err


@pytest.mark.parametrize("code", ["hello", "", "E", "\x1b[2J", "é" * 500])
def test_what_is_no_code_is_refused(say: Say, code: str) -> None:
    said = say("explain", code, "--json")
    assert said.code == 2
    assert said.error["hint"]
