"""A specification of 250 requirements becomes commits, by replies of which none is long."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from planner.run_plan import run_plan
from shared.llm.stack import Mode, ModelSource
from shared.llm.usage import usage_record
from tests.fakes import Reply, proposal
from tests.harness import Factory, commit_all, git
from tests.planner.large_plan import StagedModel, code_of, large_plan, large_spec
from tests.planner.planning import Planner

REQUIREMENTS = 250
ORDERS = 63


def planned(planner: Planner, repo: Path, model: StagedModel) -> Path:
    """Plan the large specification for a repo, and return the plan's folder."""
    planner.spec.write_text(large_spec(REQUIREMENTS))
    source = ModelSource(Mode.LIVE, lambda emit: model)
    options = planner.options(repo=repo, require_coverage=True)
    result = run_plan(options, source, planner.events.append)
    assert (result.ok, result.attempts, result.work_orders) == (True, 2, ORDERS)
    assert usage_record(result.tally).calls == 12  # an outline, and 63 orders at most 6 a call
    assert result.output_dir is not None
    return result.output_dir


@pytest.mark.rest
def test_a_specification_of_250_requirements_is_planned_and_landed(factory: Factory) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": "true\n"})
    plan = large_plan(ORDERS, 4, REQUIREMENTS, tests=False)
    model = StagedModel(plan)
    folder = planned(Planner(factory.scratch), factory.repo, model)
    assert model.longest / 3 < 16_000  # characters a token, a low figure for JSON and code
    replies: dict[str, Sequence[Reply]] = {
        each["id"]: [proposal(code_of(each))] for each in plan["work_orders"]
    }
    summary = factory.run_all(folder, replies)
    assert (summary.verdict, len(summary.orders)) == ("PASS", ORDERS)
    assert git(factory.repo, "rev-list", "--count", "main..work") == str(ORDERS)
    assert "def value_250" in git(factory.repo, "show", "work:values_63.py")
