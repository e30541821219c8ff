"""A reply that could not be read is quoted: bounded, and harmless to whoever looks at it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factory.judging.failure_brief import quote_reply
from factory.orders.documents import MAX_QUOTED_CHARACTERS
from tests.fakes import proposal
from tests.harness import Factory, order, stages


def test_a_short_reply_is_quoted_whole() -> None:
    assert quote_reply("I would\n\nrather not.\n") == (
        "The reply has 21 characters in 4 lines:\n> I would\n> rather not."
    )


def test_a_long_reply_is_quoted_at_both_ends() -> None:
    quote = quote_reply("first\nsecond\n" + "middle\n" * 500 + "last")
    assert quote.splitlines()[1:] == ["> first", "> second", "> last"]
    assert quote.startswith("The reply has 3,517 characters in 503 lines, and begins and ends:")


def test_a_long_line_is_cut_in_its_middle() -> None:
    (line,) = quote_reply("a" * 5000 + "z").splitlines()[1:]
    assert line.startswith("> aaa") and line.endswith("az")
    assert " [...] " in line and len(line) <= MAX_QUOTED_CHARACTERS + 2


def test_an_empty_reply_has_no_quote() -> None:
    assert quote_reply(" \n\t\n") == ""


@given(st.text(st.characters(exclude_categories=()), max_size=2000))
def test_any_reply_is_quoted_in_a_few_printable_lines(reply: str) -> None:
    lines = quote_reply(reply).split("\n")
    assert len(lines) <= 4
    assert all(line.isprintable() for line in lines)
    assert sum(map(len, lines[1:])) <= MAX_QUOTED_CHARACTERS + 2 * len(lines)


def test_the_brief_and_the_journal_quote_a_reply_that_is_no_proposal(factory: Factory) -> None:
    refusal = "I cannot \x1b[2J help with that.\nAsk someone else."
    summary = factory.run(order(), [refusal] * 3 + [proposal({"hello.txt": "hello\n"})])
    assert stages(summary) == ["llm_output_invalid", ""]
    quote = "> I cannot \\x1b[2J help with that.\n> Ask someone else."
    brief = factory.record("attempt_1/failure_brief.json")
    assert brief["primary_error_excerpt"].endswith(quote)
    assert not brief["primary_error_excerpt"].startswith("The reply has")
    journal = (factory.repo / ".git" / "llmch" / "journal.jsonl").read_text()
    assert "Ask someone else." in journal
