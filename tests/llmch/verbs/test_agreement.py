"""What `plan` writes, `check` passes and `run-all` takes, whatever a model made of it."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factory.orders.read_orders import read_workdir
from planner.plan.plan_edits import read_plan_folder
from planner.rules.judge_plan import judge
from shared.errors import InvalidInput
from tests.planner.planning import Planner
from tests.planner.plans import absent, creating, exists, order, plan, requiring

BASE = plan(
    creating(1, "scripts/verify.sh", "app.py", preconditions=absent("app.py"), notes="n"),
    creating(2, "more.py", preconditions=exists("app.py"), context_files=["app.py"]),
    order(3, depends_on=["WO-01"], allowed_files=["app.py"], forbidden=["x"]),
    system_overview=["one"],
    assumptions=[
        {"kind": "question", "text": "Which?", "reading": "All.", "work_orders": ["WO-01"]}
    ],
    verify_contract=requiring("scripts/verify.sh"),
    schema_version="1.0",
)

values: st.SearchStrategy[object] = st.one_of(
    st.sampled_from(
        [
            *(None, True, 0, 7, -1, 1.5, 10**30, "", " ", [], {}, [[]], [{}], [None]),
            *("a", "./app.py", "../x", "/x", "*.py", "a//b", "a\\b", "a\0b", "é", "\x7f"),
            *("WO-01", "WO-02", "WO-1", "WO-99", "wo-01", "WO-01\n", "file_exists", "file_absent"),
            *("python -c 'import x'", "true && true", "echo 'a", "bash scripts/verify.sh"),
            *("python -c", "python -c '('", "x" * 5000, "scripts/verify.sh", "app.py/below"),
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to everything inside a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, each in inside:
        found.append((*at, key))
        if isinstance(each, dict | list):
            found += places(each, (*at, key))
    return found


@st.composite
def mutated_plans(draw: st.DrawFn) -> dict[str, Any]:
    """Return the plan with some of its parts replaced, removed, doubled or added."""
    document = copy.deepcopy(BASE)
    for _ in range(draw(st.integers(0, 3))):
        *way, last = draw(st.sampled_from(places(document)))
        holder: Any = document
        for key in way:
            holder = holder[key]
        match draw(st.sampled_from(["replace", "replace", "remove", "double", "add"])):
            case "replace":
                holder[last] = copy.deepcopy(draw(values))
            case "remove":
                del holder[last]
            case "double" if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
            case _ if isinstance(holder, dict):
                holder[draw(st.text(max_size=5))] = copy.deepcopy(draw(values))
            case _:
                pass  # a list gets no key
        if not places(document):
            break
    return document


@pytest.mark.rest
@settings(max_examples=100, deadline=None)
@given(mutated_plans())
def test_plan_check_and_run_all_agree(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = Planner(Path(folder)).plan(json.dumps(document), max_attempts=1)
        assert result.error is None, "a document is never taken for no document"
        assert result.ok == (not result.report.errors)
        if result.output_dir is None:
            return
        checked = judge(read_plan_folder(result.output_dir))
        assert checked.ok, "a plan with an error reached the disk"
        assert len(read_workdir(result.output_dir)) == result.work_orders


@pytest.mark.rest
@settings(max_examples=200, deadline=None)
@given(mutated_plans())
def test_what_check_passes_run_all_can_read(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "WORK_ORDERS_MANIFEST.json").write_text(json.dumps(document))
        if not judge(read_plan_folder(folder)).ok:
            return
        assert len(read_workdir(folder)) == len(document["work_orders"])


@settings(max_examples=100, deadline=None)
@given(mutated_plans())
def test_whatever_run_all_is_given_it_takes_or_refuses_in_words(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "WORK_ORDERS_MANIFEST.json").write_text(json.dumps(document))
        try:
            orders = read_workdir(folder)
        except InvalidInput as refused:
            assert refused.message
        else:
            assert orders
