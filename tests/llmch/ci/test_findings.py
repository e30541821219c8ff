"""Findings as SARIF, code quality and annotations: valid, at their lines, bounded, and inert."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmch.ci.finding_reports import (
    MOST_RESULTS,
    PlacedFinding,
    PlanAt,
    place_findings,
    render_code_quality,
    render_sarif,
)
from llmch.ci.run_reports import MOST_SHOWN, Annotation, Level, render_annotations
from planner.rules.judge_plan import RULES
from planner.rules.rule_model import Finding
from shared.files.strict_documents import at

HOSTILE = "\x1b[31m ::error::x %0A\r\n\u202e ]]> \x00 \ud800 ##[error]x"
ORDER = json.dumps({"id": "WO-01", "title": "Begin", "preconditions": [{"path": "a"}]}, indent=2)
HERE = PlanAt("plan", in_repo=True)


@cache
def schema() -> jsonschema.Draft7Validator:
    text = (Path(__file__).parent / "schemas" / "sarif-2.1.0.json").read_text()
    return jsonschema.Draft7Validator(json.loads(text))


def finding(number: int = 1, code: str = "E101", message: str = "no", *parts: str | int) -> Finding:
    return Finding(code, number, f"WO-{number:02d}", at(*parts), message)


def placed(*findings: Finding, **texts: str) -> tuple[PlacedFinding, ...]:
    files = {f"{name.replace('WO_', 'WO-')}.json": text for name, text in texts.items()}
    return place_findings(findings, files)


def sarif(found: tuple[PlacedFinding, ...], plan: PlanAt = HERE) -> Any:
    """Return the one run of a document that the schema allows.

    The schema looks at ten of many results: it takes half a millisecond for each.
    """
    document = json.loads(render_sarif(found, RULES, plan))
    (run,) = document["runs"]
    schema().validate(document | {"runs": [run | {"results": run["results"][:10]}]})
    return run


def test_a_finding_is_at_its_field() -> None:
    run = sarif(placed(finding(1, "E101", "b is missing", "preconditions", 0), WO_01=ORDER))
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "plan/WO-01.json", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 5, "startColumn": 5, "endLine": 7, "endColumn": 6}
    assert result["message"]["text"] == "preconditions[0]: b is missing"
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (rule["id"], result["ruleId"], result["level"]) == ("E101", "E101", "error")


def test_each_rule_is_described_once_from_its_own_words() -> None:
    described = sarif(())["tool"]["driver"]["rules"]
    assert [each["id"] for each in described] == [each.code for each in RULES]
    for rule, shown in zip(RULES, described, strict=True):
        assert shown["shortDescription"]["text"] == rule.title
        assert rule.remedy in shown["help"]["text"]
        assert shown["defaultConfiguration"]["level"] == rule.severity


MANIFEST = json.dumps({"work_orders": [json.loads(ORDER)], "system_overview": ""}, indent=2)


@pytest.mark.parametrize(
    ("about", "texts", "file", "line"),
    [
        (finding(1, "E101", "x", "title"), {"WO_01": ORDER}, "WO-01.json", 3),
        (finding(1, "E101", "x"), {"WO_01": ORDER}, "WO-01.json", None),
        (finding(1, "E101", "x", "title"), {"WORK_ORDERS_MANIFEST": MANIFEST},
         "WORK_ORDERS_MANIFEST.json", 5),
        (finding(1, "E101", "x", "title"), {"WO_01": ORDER, "WORK_ORDERS_MANIFEST": MANIFEST},
         "WO-01.json", 3),
        (Finding("E001", 0, "", at("work_orders"), "x"),
         {"WO_01": ORDER, "WORK_ORDERS_MANIFEST": MANIFEST}, "WORK_ORDERS_MANIFEST.json", 2),
        (Finding("E001", 0, "", at(), "x"), {"WO_01": ORDER}, "WO-01.json", None),
        (Finding("E001", 1, "#1", at("id"), "x"), {"WO_01": ORDER}, "WO-01.json", 2),
        (Finding("E000", 0, "", at(), "x"), {"WO_01": ORDER, "WO_02": "{\n!"}, "WO-02.json", 2),
        (finding(7, "E101", "x", "title"), {"WO_01": ORDER}, "WO-01.json", None),
    ],
)  # fmt: skip
def test_a_finding_is_in_the_file_that_says_it(
    about: Finding, texts: Mapping[str, str], file: str, line: int | None
) -> None:
    (found,) = placed(about, **texts)
    assert (found.file, found.place.line if found.place else None) == (file, line)


def test_a_fingerprint_stays_where_only_lines_move() -> None:
    about = finding(1, "E101", "b is missing", "preconditions", 0)
    (before,) = placed(about, WO_01=ORDER)
    (after,) = placed(about, WO_01=ORDER.replace("\n", "\n\n"))
    assert before.fingerprint == after.fingerprint and before.place != after.place
    twice = placed(about, about, WO_01=ORDER)
    assert len({each.fingerprint for each in twice}) == 2


@pytest.mark.rest
def test_ten_thousand_findings_are_all_in_the_document() -> None:
    many = [finding(1, "E101", f"n {number}", "preconditions", 0) for number in range(10_000)]
    assert len(sarif(placed(*many, WO_01=ORDER))["results"]) == 10_000


@pytest.mark.rest
def test_what_github_would_refuse_is_left_out_and_counted() -> None:
    many = [finding(1, "W101", "warning"), *(finding(1, "E101", f"n {n}") for n in range(25_003))]
    run = sarif(placed(*many, WO_01=ORDER))
    assert len(run["results"]) == MOST_RESULTS
    assert {each["level"] for each in run["results"]} == {"error"}  # the most severe come first
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "4 findings left out" in note["message"]["text"]


def test_outside_of_a_repo_a_file_is_named_by_its_whole_path() -> None:
    run = sarif(placed(finding(), WO_01=ORDER), PlanAt("/tmp/a plan é", in_repo=False))
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii() and unquote(uri) == "file:///tmp/a plan é/WO-01.json"
    assert "originalUriBaseIds" not in run


@pytest.mark.rest
@given(st.text())
def test_any_text_makes_valid_documents(text: str) -> None:
    found = placed(finding(1, "E101", text, text), finding(2, "W101", text), WO_01=text)
    sarif(found)
    assert len(json.loads(render_code_quality(found, HERE))) == 2
    for line in render_annotations([Annotation(Level.ERROR, text, text, text, 1, 1)]):
        assert line.startswith("::error ") and len(line.splitlines()) == 1


def test_hostile_text_is_shown_by_name() -> None:
    run = sarif(placed(finding(1, "E101", HOSTILE), WO_01=ORDER))
    text = run["results"][0]["message"]["text"]
    assert "\x1b" not in text and "\u202e" not in text and "⟨U+202E⟩" in text


def test_gitlab_gets_what_it_needs() -> None:
    found = placed(
        finding(1, "E101", "b is missing", "preconditions", 0), finding(1, "W101", "odd"),
        WO_01=ORDER,
    )  # fmt: skip
    error, warning = json.loads(render_code_quality(found, HERE))
    assert error.keys() == {"check_name", "description", "severity", "fingerprint", "location"}
    assert error["location"] == {"path": "plan/WO-01.json", "lines": {"begin": 5}}
    assert (error["severity"], warning["severity"]) == ("major", "minor")
    assert error["fingerprint"] != warning["fingerprint"]
    assert json.loads(render_code_quality((), HERE)) == []


# Annotations


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """Return command, properties and data of a line, as GitHub's runner reads it."""
    info, _, data = line.removeprefix("::").partition("::")
    name, _, rest = info.partition(" ")
    pairs = dict(each.split("=", 1) for each in rest.split(",") if "=" in each)
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        pairs = {key: value.replace(code, char) for key, value in pairs.items()}
        data = data if code in ("%3A", "%2C") else data.replace(code, char)
    return name, pairs, data


def test_an_annotation_is_read_as_it_was_meant() -> None:
    (line,) = render_annotations(
        [Annotation(Level.WARNING, "a: b, c", "100%\n::error::x", "a,b:c.json", 3, 4)]
    )
    assert parsed(line) == (
        "warning",
        {"file": "a,b:c.json", "line": "3", "col": "4", "title": "a: b, c"},
        "100%\n::error::x",
    )


@given(st.text(alphabet=":,%=\n\rA0a D2C5#[]"), st.text(alphabet=":,%\n\r0AD#[]"))
def test_no_text_begins_another_command(title: str, message: str) -> None:
    (line,) = render_annotations([Annotation(Level.ERROR, title or "x", message)])
    assert "\n" not in line and "\r" not in line
    name, pairs, data = parsed(line)
    assert name == "error" and pairs.keys() <= {"title"}
    assert data.split() == message.replace("\r\n", "\n").replace("\r", "\n").split()


def test_no_more_are_given_than_are_shown() -> None:
    many = [Annotation(Level.ERROR, f"{n}", "x") for n in range(10_000)]
    lines = [*render_annotations([*many, Annotation(Level.WARNING, "w", "x")])]
    assert len(lines) == MOST_SHOWN + 1
    assert "9,991 more errors" in lines[MOST_SHOWN - 1]
    assert len([*render_annotations(many[:MOST_SHOWN])]) == MOST_SHOWN
