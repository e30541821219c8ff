"""A report's lines have every error before the first warning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.rules.judge_plan import Report
from planner.rules.rule_model import Finding
from shared.files.strict_documents import at

CODES = st.sampled_from(["E101", "W221", "E211", "W232"])


@given(st.lists(CODES, max_size=12))
def test_errors_come_first_and_keep_their_sequence(codes: list[str]) -> None:
    findings = tuple(
        Finding(code, n, f"WO-{n:02d}", at("title"), "x") for n, code in enumerate(codes, 1)
    )
    lines = Report(findings).render()
    rendered = [each.render() for each in findings]
    assert list(lines) == sorted(rendered, key=lambda each: (each[1] != "E", rendered.index(each)))
