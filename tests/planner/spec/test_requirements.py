"""Requirements traced: ids derived from text, shown to the planner, covered by orders."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.rules.judge_plan import RULE_BY_CODE
from planner.run_plan import PlanResult
from planner.spec.answers import answers_path
from planner.spec.read_spec import read_spec
from planner.spec.requirements import (
    MAX_DERIVED,
    derive_requirements,
    render_requirements,
    with_ids,
)
from shared.errors import InvalidInput
from tests.planner.planning import Planner
from tests.planner.plans import creating, findings, order, plan

TEXT = """\
# Game

A game of words. It has
six guesses. These hold:

- Words have *five* letters,
  in capitals.
- A guess is marked:
  1. `H` for a hit

```
- not a requirement
```
"""
STRUCTURED = {
    "name": "Greeter",
    "summary": "Greets.",
    "requirements": [{"id": "R1", "text": "Greet by name."}, {"id": "R2", "text": "Greet all."}],
}


def said(text: str) -> list[tuple[int | None, str]]:
    return [(each.line, each.text) for each in derive_requirements(text)]


def ids(text: str) -> list[str]:
    return [each.id for each in derive_requirements(text)]


def codes(result: PlanResult) -> list[str]:
    return [each.code for each in result.report.findings if each.code[1:3] == "30"]


def structured(planner: Planner) -> Path:
    path = planner.scratch / "spec.json"
    path.write_text(json.dumps(STRUCTURED))
    return path


def test_each_bullet_and_each_sentence_is_a_requirement_with_its_line() -> None:
    assert said(TEXT) == [
        (3, "It has six guesses."),
        (6, "Words have *five* letters, in capitals."),
        (9, "`H` for a hit"),
    ]


def test_an_id_is_that_of_the_words_wherever_they_stand() -> None:
    moved = "Something new.\n\n* words have FIVE   letters, in `capitals`\n"
    assert ids(moved)[1] == ids(TEXT)[1]
    assert ids("- Words have six letters, in capitals.") != [ids(TEXT)[1]]


def test_what_is_said_twice_counts_once() -> None:
    assert said("- Greet.\n- Greet\n") == [(1, "Greet.")]


def test_each_when_that_says_what_follows_is_a_requirement() -> None:
    text = (
        "# Pump\n\n- WHEN the tank is empty, the pump SHALL stop.\n- AND it SHALL blink.\n"
        "- WHEN the tank is full, the pump SHALL start.\n- **When** it rains, it waits.\n"
        "- **WHEN** it snows **THEN** it waits.\n- GIVEN a WHEN, it ends.\n"
        "- WHEN it ends, it is off.\n\n- GIVEN a\n- GIVEN b\n- WHEN c\n- THEN d\n"
    )
    assert [(each.line, each.text) for each in derive_requirements(text)] == [
        (3, "WHEN the tank is empty, the pump SHALL stop. AND it SHALL blink."),
        (5, "WHEN the tank is full, the pump SHALL start."),
        (6, "**When** it rains, it waits."),
        (7, "**WHEN** it snows **THEN** it waits."),
        (8, "GIVEN a WHEN, it ends."),
        (9, "WHEN it ends, it is off."),
        (11, "GIVEN a GIVEN b WHEN c THEN d"),
    ]


def test_the_steps_of_a_scenario_are_one_requirement() -> None:
    text = (
        "### Idle\n\n- **WHEN** a session is idle\n- **AND** old\n- **THEN** it ends\n"
        "- **AND** 401 is sent\n- GIVEN a name\n- THEN it is printed\n\n"
        "1. **Given** a, **When** b, **Then** c\n2. **Given** d, **When** e, **Then** f\n\n"
        "- When the tank is empty, the pump stops.\n- And it blinks.\n"
    )
    assert said(text) == [
        (3, "**WHEN** a session is idle **AND** old **THEN** it ends **AND** 401 is sent"),
        (7, "GIVEN a name THEN it is printed"),
        (10, "**Given** a, **When** b, **Then** c"),
        (11, "**Given** d, **When** e, **Then** f"),
        (13, "When the tank is empty, the pump stops."),
        (14, "And it blinks."),
    ]


def test_a_line_that_leads_up_to_a_list_counts_where_it_demands_something() -> None:
    text = (
        "These hold:\n\n- The search finds notes while one types:\n  - in titles\n\nIt must sing:\n"
    )
    assert [each for _, each in said(text)] == [
        "The search finds notes while one types:",
        "in titles",
        "It must sing:",
    ]


def test_a_sentence_does_not_end_within_back_quotes() -> None:
    text = (
        "# Tool\n\n`go run . COMMAND FILE` must print the sum. It must end with `wait. Now!` and "
        "``a ` b. C``. It must stop.\n"
    )
    assert [words for _, words in said(text)] == [
        "`go run . COMMAND FILE` must print the sum.",
        "It must end with `wait. Now!` and ``a ` b. C``.",
        "It must stop.",
    ]


def test_a_sentence_keeps_the_quote_and_the_bracket_that_close_after_its_full_stop() -> None:
    text = (
        '# Tool\n\nIt must print "Done." It must stop (at once.) **It must wait.** It must end.\n'
    )
    assert [words for _, words in said(text)] == [
        'It must print "Done."',
        "It must stop (at once.)",
        "**It must wait.**",
        "It must end.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "This document describes the game.",
        "The purpose of this document is to describe what the game must do.",
        "In this section, the rules are listed.",
        "The following table shows the colours.",
        'The key words "MUST" and "MAY" are to be interpreted as described in RFC 2119.',
        "For example, Ada greets Bob.",
        "See also [the guide](guide.md).",
        "[Rules](#rules)",
        "How are names sorted?",
        "**Rationale**: people forget.",
        "Out of scope: payments",
    ],
)
def test_a_sentence_that_is_about_something_else_is_no_requirement(text: str) -> None:
    assert said(f"# Game\n\n{text}\n\n- Greet.\n- Sing.\n") == [(5, "Greet."), (6, "Sing.")]


@pytest.mark.parametrize(
    "text",
    [
        "This file contains one word on each line.",
        "The following names are refused.",
        "See all orders of a day.",
        "For example, a name must never be empty.",
        "Ask: Continue?",
        "Reason: the words that the user entered",
        "Links: open in a window of their own",
        "A word is a string of five letters.",
        "The tool ends with exit code 2.",
        "Background: white",
    ],
)
def test_a_sentence_that_may_demand_something_is_a_requirement(text: str) -> None:
    found = said(f"# Game\n\n{text}\n\n- Greet.\n- Sing.\n")
    assert [each for _, each in found] == [text, "Greet.", "Sing."]


@pytest.mark.parametrize("title", ["Out of scope", "Non-goals", "3. Future work", "Background"])
def test_lists_below_headings_that_exclude_or_explain_are_no_requirements(title: str) -> None:
    text = f"# Game\n\n## Rules\n\n- Greet.\n- Sing.\n\n## {title}\n\n- Chess\n\n### More\n\n- Go\n"
    assert [each for _, each in said(text)] == ["Greet.", "Sing."]


def test_comments_front_matter_and_code_are_no_requirements() -> None:
    text = (
        "---\ntitle: Game\n---\n\n# Game\n\n- Greet. <!-- politely -->\n<!--\n- Shout.\n-->\n"
        "- Replace `<!--` and `-->`.\n\n~~~\n- code\n```\n~~~\n- Sing.\n"
    )
    assert said(text) == [(7, "Greet."), (11, "Replace `<!--` and `-->`."), (17, "Sing.")]


def test_a_line_below_another_makes_a_heading_of_it() -> None:
    assert said("Game\n====\n\nRules\n-----\n\nGreet all.\n---\nSing.\n") == [
        (7, "Greet all."),
        (9, "Sing."),
    ]


def test_a_pure_introduction_counts_where_nothing_else_demands() -> None:
    assert said("# Game\n\nA game for two.\n") == [(3, "A game for two.")]
    assert said("This document describes a game.\n") == [(1, "This document describes a game.")]
    constrained = "# Game\n\nA game for two.\n\n## Constraints\n\n- Go.\n- No packages.\n"
    assert said(constrained)[0] == (3, "A game for two.")


@pytest.mark.parametrize(
    "introduction",
    [
        "Welcome to the specification of our shop.",
        "We are building a small program for our shop.",
        "Our team has grown fast this year.",
    ],
)
def test_an_introduction_of_those_who_want_the_product_demands_nothing(introduction: str) -> None:
    listed = "- List orders.\n- Print a bill.\n"
    assert said(f"# Shop\n\n{introduction}\n\n{listed}") == said(f"# Shop\n\n\n\n{listed}")
    for demand in ("We must see all orders.", "Our program prints a bill."):
        assert said(f"# Shop\n\n{demand}\n\n{listed}")[0] == (3, demand)


def test_a_book_is_not_traced_and_its_author_told(planner: Planner) -> None:
    book = [f"- Rule {n}" for n in range(MAX_DERIVED + 1)]
    planner.spec.write_text("\n".join(book))
    assert read_spec(planner.spec).requirements == ()
    (said,) = read_spec(planner.spec).remarks
    assert "more than 300 requirements without an id" in said and "ids of your own" in said
    planner.spec.write_text("\n".join(book[1:]))
    assert len(read_spec(planner.spec).requirements) == 300
    assert read_spec(planner.spec).remarks == ()


@given(st.text(alphabet="ab -*#`~1.:\n\t", max_size=200))
@settings(max_examples=200)
def test_any_text_gives_distinct_ids_and_lines_that_exist(text: str) -> None:
    found = derive_requirements(text)
    assert len({each.id for each in found}) == len(found)
    assert all(each.line and each.line <= len(text.splitlines()) for each in found)
    assert derive_requirements(text) == found


def test_without_requirements_the_prompt_says_nothing_of_them() -> None:
    assert render_requirements(()) == ""


def test_the_planner_is_shown_the_ids_in_the_text_of_the_specification(planner: Planner) -> None:
    planner.spec.write_text("# Greeter\n\n- Greet by name. Greet all.\n- FR-1: Greet twice.\n")
    first, second = derive_requirements(planner.spec.read_text())
    planner.plan(plan(order()))
    prompt = planner.prompts[0]
    assert f"\n- Greet by name. Greet all. [{first.id}]\n- FR-1: Greet twice.\n" in prompt
    assert f"its own ids {second.id} and the ids in brackets" in prompt


def test_a_template_without_a_place_for_requirements_shows_no_ids(planner: Planner) -> None:
    template = planner.scratch / "template.md"
    template.write_text("{{PRODUCT_SPEC}}")
    planner.plan(plan(order()), template=template)
    assert planner.prompts[0].strip() == planner.spec.read_text().strip()


@given(st.lists(st.sampled_from(["- Greet.", "", "Print it.", "```", "# Part", "| a | b |"])))
def test_ids_change_nothing_else_in_a_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = derive_requirements(text)
    shown = with_ids(text, found)
    assert re.sub(r" \[R-[0-9a-f.]+\]", "", shown) == text
    assert all(shown.count(f"[{each.id}]") == 1 for each in found)


def test_text_that_no_order_names_the_ids_of_is_not_traced(planner: Planner) -> None:
    assert codes(planner.plan(plan(order()))) == []
    assert "requirements" not in planner.record("output/WORK_ORDERS_MANIFEST.json")
    assert "covers" not in planner.record("output/WO-01.json")


def test_a_plan_that_uses_ids_is_held_to_them(planner: Planner) -> None:
    planner.spec.write_text("- Greet by name.\n- Greet all.\n")
    first, second = derive_requirements(planner.spec.read_text())
    result = planner.plan(plan(order(covers=[first.id])))
    assert codes(result) == ["W302"]
    (finding,) = [each for each in result.report.findings if each.code == "W302"]
    assert f"{second.id} (line 2 of" in finding.message
    manifest = planner.record("output/WORK_ORDERS_MANIFEST.json")
    assert [each["id"] for each in manifest["requirements"]] == [first.id, second.id]
    assert planner.record("output/WO-01.json")["covers"] == [first.id]


def test_given_ids_always_count(planner: Planner) -> None:
    result = planner.plan(plan(order()), spec=structured(planner))
    assert (result.ok, codes(result)) == (True, ["W302", "W302"])


def test_where_coverage_is_required_a_gap_is_revised(planner: Planner) -> None:
    whole = plan(order(covers=["R1"]), order(2, covers=["R2", "R1"]))
    partly = plan(order(covers=["R1"]))
    result = planner.plan(partly, whole, spec=structured(planner), require_coverage=True)
    assert (result.ok, result.attempts, codes(result)) == (True, 2, [])
    assert "[E302] plan requirements[1]: no order covers R2" in planner.prompts[1]
    assert RULE_BY_CODE["E302"].remedy in planner.prompts[1]


def test_an_id_that_nobody_gave_is_revised(planner: Planner) -> None:
    wrong, right = plan(order(covers=["R1", "R9"])), plan(order(covers=["R1", "R2"]))
    result = planner.plan(wrong, right, spec=structured(planner))
    assert (result.ok, result.attempts) == (True, 2)
    assert "[E301] WO-01 covers[1]" in planner.prompts[1]


def test_a_model_cannot_write_the_requirements_itself(planner: Planner) -> None:
    forged = plan(order(covers=["R9"]), requirements=[{"id": "R9", "text": "Nothing."}])
    result = planner.plan(forged, spec=structured(planner), max_attempts=1)
    assert (result.ok, set(codes(result))) == (False, {"E301", "W302"})


@pytest.mark.parametrize("name", ["R1\nSigned-off-by: me", "R 1", "R1,R2", "", "-R", "R" * 65])
def test_an_id_that_could_forge_a_trailer_does_not_fit_the_schema(name: str) -> None:
    assert "E005 WO-01 covers[0]" in findings(plan(creating(1, "a.txt", covers=[name])))


@pytest.mark.parametrize(
    "listed", [7, [7], [{"id": "R1"}], {"R1": "text"}, [{"id": "R 1", "text": ""}]]
)
def test_a_manifest_whose_requirements_cannot_be_read_is_malformed(listed: object) -> None:
    assert "E000 plan requirements" in findings(plan(order(), requirements=listed))


@pytest.mark.parametrize("end", ["\f", "\v", "\x85", "\u2028", "\u2029", "\x1c"])
def test_lines_end_as_an_editor_counts_them(planner: Planner, end: str) -> None:
    text = f"# T\n{end}\n- The tool must a{end}one.\n\n- The tool must b two.\n\nIt must hold."
    planner.spec.write_text(text)
    found = read_spec(planner.spec).requirements
    assert [each.line for each in found] == [3, 5, 7]
    lines = with_ids(text, found).split("\n")
    assert all(each.id in lines[each.line - 1] for each in found if each.line)


def test_code_in_a_line_opens_no_fence_and_an_indented_fence_is_one() -> None:
    text = "- ```llmch run``` must print a line.\n- It must end.\n\n1. Read this:\n\n"
    fenced = "    ```yaml\n    - name: crane\n    ```\n\n- It must stay.\n"
    assert [line for line, _ in said(text + fenced)] == [1, 2, 10]


def test_a_table_whose_rows_end_in_a_colon_is_read_at_once() -> None:
    rows = "".join(f"x{n} | it must have {n}:\n" for n in range(2_000))
    started = time.monotonic()
    derive_requirements(f"# T\n\n| a | b |\n|---|---|\n{rows}")
    assert time.monotonic() - started < 10, "it took half a minute"


@pytest.mark.parametrize(
    "head", ["---\ntitle: Foo\n---\n", "<!-- markdownlint-disable MD013 -->\n", "```\ncode\n```\n"]
)
def test_the_name_of_a_plan_is_none_of_a_comment(planner: Planner, head: str) -> None:
    planner.spec.write_text(f"{head}# Real Name\n\n- It must hold.\n")
    assert read_spec(planner.spec).title == "Real Name"


def test_requirements_and_answers_may_be_too_many_together(planner: Planner) -> None:
    spec = planner.spec.with_suffix(".json")
    listed = [{"id": f"R{n}", "text": "It holds."} for n in range(1_000)]
    spec.write_text(json.dumps({"name": "n", "summary": "s", "requirements": listed}))
    assert len(read_spec(spec).requirements) == 1_000
    answers_path(spec).write_text("answers:\n  - question: Who?\n    answer: All.\n")
    with pytest.raises(InvalidInput, match="over 1,000 requirements together"):
        read_spec(spec)
