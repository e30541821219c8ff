"""What a fleet made is proven like anything else: also on the remote, in another's clone."""

from __future__ import annotations

import pytest

from factory.statement.statement import PROOF_REF
from tests.factory.audit.honest import PROVEN, Auditor, describe, standings
from tests.factory.fleet.small_fleet import DATE, SmallFleet, order
from tests.harness import git
from tests.llmch.command_line import run

pytestmark = pytest.mark.rest


def test_a_submitted_plan_is_proven_in_a_clone(fleet: SmallFleet) -> None:
    person = fleet.person()
    plan = fleet.plan(order(1), order(2))
    fleet.start_worker("one")
    said = run(
        *("submit", "--repo", fleet.remote, "--workdir", plan, "--branch", "work", "--json"),
        *("--reply-format", "json", "--wait"),
        cwd=person,
        **DATE,
    )
    assert said.code == 0, said.err
    git(person, "clone", "--quiet", "--branch=work", str(fleet.remote), "clone")
    git(person / "clone", "fetch", "--quiet", "origin", f"{PROOF_REF}:{PROOF_REF}")
    found = Auditor(person / "clone", person / "artifacts", plan).look("origin/main..HEAD")
    assert standings(found) == PROVEN, describe(found)
