"""Ids that an author gives in a text: which forms define one, and what an id covers."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.spec.blocks import split_own_id
from planner.spec.read_spec import REQUIREMENT_ID
from planner.spec.requirements import MAX_DERIVED, derive_requirements
from planner.spec.spec_difference import compare_requirements
from shared.errors import InvalidInput
from shared.work_order.work_order import MAX_LISTED

TITLE = "# Game\n\n"


def found(text: str) -> list[tuple[str, str]]:
    """Return ids and texts of the requirements; a derived id is shown as "" or its section."""
    return [
        (each.id if each.given else each.id.removeprefix("R-").rpartition("-")[0], each.text)
        for each in derive_requirements(text)
    ]


def refused(text: str) -> str:
    with pytest.raises(InvalidInput) as error:
        derive_requirements(text)
    return error.value.message


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("REQ-01: Greet.", "REQ-01", "Greet."),
        ("R1: Greet.", "R1", "Greet."),
        ("R1. Greet.", "R1", "Greet."),
        ("R1) Greet.", "R1", "Greet."),
        ("**FR-001**: Greet.", "FR-001", "Greet."),
        ("**FR-001:** Greet.", "FR-001", "Greet."),
        ("**FR-001** greet.", "FR-001", "greet."),
        ("**FR-001: Login.** Greet.", "FR-001", "Login. Greet."),
        ("*FR-001* - Greet.", "FR-001", "Greet."),
        ("`FR-001`: Greet.", "FR-001", "Greet."),
        ("`FR-001` Greet.", "FR-001", "Greet."),
        ("FR-001 - greet.", "FR-001", "greet."),
        ("FR-001 \u2013 greet.", "FR-001", "greet."),
        ("FR-001 The system greets.", "FR-001", "The system greets."),
        ("[REQ-3] Greet.", "REQ-3", "Greet."),
        ("[REQ-3]: Greet.", "REQ-3", "Greet."),
        ("(REQ-3) Greet.", "REQ-3", "Greet."),
        ("[ ] FR-002: Greet.", "FR-002", "Greet."),
        ("NFR-2.1: Greet.", "NFR-2.1", "Greet."),
        ("AUTH-LOGIN-12a: Greet.", "AUTH-LOGIN-12a", "Greet."),
        ("REQ-LOGIN: Greet.", "REQ-LOGIN", "Greet."),
        ("req-7: Greet.", "req-7", "Greet."),
        ("R-6a8c1a: Greet.", "R-6a8c1a", "Greet."),
        ("2.1-6a8c1a: Greet.", "2.1-6a8c1a", "Greet."),
    ],
)
def test_an_id_in_front_of_a_text_defines_it(text: str, name: str, rest: str) -> None:
    assert split_own_id(text) == (name, rest)


@pytest.mark.parametrize(
    "text",
    [
        "Greet as in REQ-01: politely.",
        "REQ-01 is replaced by REQ-02.",
        "REQ-01 MUST hold as well.",
        "REQ-01 and the greeting are one.",
        "REQ-01, REQ-02: see above.",
        "REQ-01 - REQ-09: see above.",
        "REQ-01/REQ-02: see above.",
        "`REQ-01` is replaced.",
        "[REQ-01](#req-01) Greet.",
        "REQ-01-draft: Greet.",
        "UTF-8: all texts.",
        "SHA-256: the hash.",
        "P1: important.",
        "F5: reloads.",
        "HTTP-404: not found.",
        "Note: Greet.",
        "Python 3.11: or newer.",
        "1.2: Greet.",
        "A-: Greet.",
        "REQ-01",
        "R1:Greet",
        "Step-1: Greet.",
        "",
    ],
)
def test_an_id_that_is_mentioned_and_other_words_define_nothing(text: str) -> None:
    assert split_own_id(text) == ("", text)


@given(st.text(alphabet="RE1Q-_.:[]()*` aA2\u2013", max_size=30))
@settings(max_examples=400)
def test_an_id_always_fits_commits_and_documents(text: str) -> None:
    name, rest = split_own_id(text)
    assert not name or re.match(REQUIREMENT_ID, name)
    assert name in text
    assert len(rest) <= len(text)


def test_given_and_derived_ids_stand_in_one_text() -> None:
    assert found("- R1: Greet.\n- Greet all.\n") == [("R1", "Greet."), ("", "Greet all.")]


def test_lines_with_ids_are_requirements_without_marks_of_a_list() -> None:
    assert found("R1: Greet, as in\nR2: the next one.\nR2: Greet all.\n") == [
        ("R1", "Greet, as in R2: the next one."),
        ("R2", "Greet all."),
    ]
    assert found("R1: Greet.\nR2: Greet all,\nalso at night.\n") == [
        ("R1", "Greet."),
        ("R2", "Greet all, also at night."),
    ]


def test_rows_of_a_table_are_requirements_and_its_head_is_none() -> None:
    text = (
        "| ID | Requirement | When |\n|:---|---|---:|\n"
        "| **R1** | Greet. | now |\n| R2 | Print `a\\|b`. | |\n| | Sing. | later |\n"
    )
    assert found(text) == [
        ("R1", "Greet.; now"),
        ("R2", "Print `a\\|b`."),
        ("", "Sing.; later"),
    ]


def test_statements_below_a_numbered_heading_have_its_number_in_front() -> None:
    text = (
        TITLE + "## 2.1 Login\n\nLog in. Log out.\n\n### Details\n\n- Fast.\n\n## Rest\n\nSing.\n"
    )
    assert found(text) == [
        ("2.1", "Log in."),
        ("2.1", "Log out."),
        ("2.1", "Fast."),
        ("", "Sing."),
    ]
    one, other, *_ = (each.id for each in derive_requirements(text))
    assert re.fullmatch(r"2\.1-[0-9a-f]{6}", one)
    moved = derive_requirements(text.replace("Log in.", "Now. Log in."))
    assert {one, other} <= {each.id for each in moved}


def test_what_stands_below_an_id_belongs_to_it() -> None:
    text = TITLE + (
        "## FR-1: Login\n\nLog in. Log out.\n\n- AC1: Fast.\n\n### Rationale\n\nPeople forget.\n\n"
        "## FR-2\n\n- Sing:\n  - loud\n\n## Rest\n\n"
        "- R7: Draw:\n  - a maze\n  - a word\n\n  In red.\n"
        "- R8: Print.\n"
    )
    assert found(text) == [
        ("FR-1", "Login: Log in. Log out. AC1: Fast."),
        ("FR-2", "loud"),
        ("R7", "Draw: a maze a word In red."),
        ("R8", "Print."),
    ]


def test_a_heading_with_further_ids_below_it_owns_nothing() -> None:
    text = TITLE + "## US-1: Login\n\nLog in.\n\n- R1: Fast.\n- R2: Safe.\n"
    assert found(text) == [("US-1", "Login"), ("", "Log in."), ("R1", "Fast."), ("R2", "Safe.")]


def test_the_id_of_a_title_is_that_of_the_document() -> None:
    assert found("# PRJ-7: Shop\n\n## Rules\n\n- Sell.\n- Buy.\n") == [("", "Sell."), ("", "Buy.")]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("- R1: Greet.\n- R1: Sing.\n", (2, 1)),
        ("# Game\n\n## R1: Greet\n\n- a\n\n## R1: Sing\n\n- b\n", (7, 3)),
        ("# Game\n\n## R1\n\n- a\n\n## R1\n\n- b\n", (7, 3)),
        ("| ID | |\n|---|---|\n| R1 | Greet. |\n| R1 | Sing. |\n", (4, 3)),
    ],
)
def test_an_id_that_is_given_twice_is_refused(text: str, lines: tuple[int, int]) -> None:
    second, first = lines
    assert refused(text) == (
        f"the specification: line {second}: 'R1' is already the id of the requirement on "
        f"line {first}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "- R1: Greet.\n- R1: *greet*\n",
        "- R1: Greet.\n\n| ID | Test |\n|---|---|\n| R1 | test_greet |\n",
        "- R1: Greet.\n\n## Test cases\n\n- R1: see test_greet\n",
        "- R1: Greet.\n\n## Out of scope\n\n- R1: in French\n",
        "# Game\n\n- R1: Greeting\n\n## R1: Greet.\n",
    ],
)
def test_an_id_that_is_repeated_is_a_mention(text: str) -> None:
    assert [each for each in found(text) if each[0]] == [("R1", "Greet.")]


def test_criteria_are_counted_anew_in_each_section() -> None:
    text = TITLE + "## Login\n\n- AC1: Fast.\n\n## Logout\n\n- AC1: Safe.\n"
    assert found(text) == [("", "AC1: Fast."), ("", "AC1: Safe.")]


HOSTILE = {
    "unclosed comments": "<!--" * 250_000,
    "code": "- " + "`a``" * 250_000,
    "emphasis": "- " + "*a" * 500_000,
    "rules": "- " * 500_000 + "x",
    "tables": "| -" * 333_333,
    "sentences": "Aa b. " * 166_666,
    "words": "A " + "a-" * 500_000,
    "headings": "# a" + " #" * 500_000 + "x",
    "ids": "- A" + "-A" * 500_000,
    "rows": "|a|b|\n|-|-|\n" + "|R1|x|\n" * 140_000,
    "definitions": "".join(f"R{n}: a\n" for n in range(90_000)),
}


@pytest.mark.rest
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte_of_anything_is_read_in_seconds(text: str) -> None:
    started = process_time()
    compare_requirements(derive_requirements(text), derive_requirements("- Greet.\n"))
    assert process_time() - started < 5


def test_a_book_keeps_the_ids_of_its_author() -> None:
    book = "\n".join(f"- Rule number {n} holds." for n in range(MAX_DERIVED + 1))
    assert found(f"{book}\n- R1: Greet.\n") == [("R1", "Greet.")]
    assert found("\n".join(f"- R{n}: Greet {n}." for n in range(MAX_LISTED + 1))) == []


LINES = """\
# a;## R1: b;- R2: c;  - d:;R3: e;| R4 | f |;|---|---|;g.;;**Why**: h;## Background;---;***;```;\
<!--;-->;AC1: i;x|y;**R5: j**;  k"""


@given(st.lists(st.sampled_from(LINES.split(";")), max_size=14))
@settings(max_examples=400)
def test_any_document_is_read_or_refused(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        requirements = derive_requirements(text)
    except InvalidInput as error:
        assert "is already the id" in error.message
        return
    assert len({each.id for each in requirements}) == len(requirements)
    assert all(each.line and 0 < each.line <= len(lines) for each in requirements)
    assert all(re.match(REQUIREMENT_ID, each.id) and each.text for each in requirements)
