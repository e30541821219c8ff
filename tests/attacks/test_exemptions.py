"""No plan talks an order out of verification: the tree that the order makes decides."""

from __future__ import annotations

import pytest

from factory.audit.audit_evidence import Claim, ClaimState
from factory.fleet.wire import parse, render
from factory.judging.run_checks import BaseVerification
from factory.orders.documents import RunSummary
from factory.orders.order_commit import NOTES_REF, CommitTerms
from factory.orders.read_orders import Exemption, read_workdir
from factory.orders.task import OrderTask
from factory.statement.statement import Predicate, parse_bundle, read_envelopes
from shared.events.events import OrderEnded, Warned
from shared.git.client import Git
from shared.git.repos import Identity
from shared.projects.build_tools import find_verification
from shared.work_order.work_order import Condition
from tests.factory.audit.honest import of_claim
from tests.factory.audit.test_rerun import SANDBOXED, rerun
from tests.factory.batch.taking_over import Person
from tests.fakes import proposal
from tests.harness import (
    Factory,
    Json,
    commit_all,
    git,
    hashed,
    manifest,
    stages,
    write_plan,
    writing,
)
from tests.shared.projects.given_files import GivenFiles

SCRIPT = "scripts/verify.sh"
CHECKED = {SCRIPT: "test ! -e bad.txt\n"}
BAD = proposal({"bad.txt": "bad\n"})
COMPILED = [("python", "-m", "compileall", "-q", ".")]
VERIFIED = [("bash", SCRIPT)]


def waiting_for(*paths: str, orders: list[Json]) -> Json:
    """Return a plan whose verification needs these files, with a hash that recomputes."""
    requires = [{"kind": "file_exists", "path": each} for each in paths]
    document = manifest(orders) | {"verify_contract": {"command": f"bash {SCRIPT}"}}
    document["verify_contract"]["requires"] = requires
    return hashed(document)


def ran(summary: RunSummary) -> list[tuple[str, ...]]:
    """Return what verified the order in its last attempt."""
    return [each.command for each in summary.attempt_records[-1].verify]


def bare(factory: Factory) -> None:
    """Leave a repo that nothing says how to verify."""
    git(factory.repo, "rm", "--quiet", SCRIPT)
    commit_all(factory.repo)


EXEMPT = writing("bad.txt", 1, verify_exempt=True)
ATTACKS = {
    "a bootstrap order with a true hash": manifest([EXEMPT | {}]),
    "a contract that is never met": waiting_for("never.txt", orders=[EXEMPT | {}]),
    "a contract that a later order meets": waiting_for(
        "later.txt", orders=[EXEMPT | {}, writing("later.txt", 2)]
    ),
    "an order without a manifest": EXEMPT,
}


@pytest.mark.rest
@pytest.mark.parametrize("name", ATTACKS)
def test_an_exempt_order_is_verified_where_the_repo_says_how(factory: Factory, name: str) -> None:
    commit_all(factory.repo, CHECKED)
    attack = ATTACKS[name]
    path = attack if "id" in attack else write_plan(factory.scratch / "plan", attack) / "WO-01.json"
    summary = factory.run(path, [BAD], max_attempts=1)
    assert (stages(summary), ran(summary)) == (["verify_failed"], VERIFIED)
    assert factory.tip() == ""
    assert "is verified" in " ".join(each.message for each in factory.seen(Warned))
    # The control: believed, the plan lands what the verification refuses.
    believed = factory.run(path, [BAD], allow_verify_exempt=True)
    assert (believed.verdict, ran(believed)) == ("PASS", COMPILED)


TEST_FILE = "tests/test_it.py"
REPLIES = {
    "WO-01": [proposal({"it.py": "IT = 1\n"})],
    "WO-02": [proposal({SCRIPT: f"test -f {TEST_FILE} && test ! -e bad.txt\n"})],
    "WO-03": [proposal({TEST_FILE: "def test_it():\n    assert True\n"})],
}


def building_up() -> Json:
    """Return a plan whose first orders build up what verifies the third."""
    orders = [
        writing("it.py", 1, verify_exempt=True),
        writing(SCRIPT, 2, verify_exempt=True),
        writing(TEST_FILE, 3),
    ]
    return waiting_for(SCRIPT, TEST_FILE, orders=orders)


@pytest.mark.parametrize("jobs", [1, 3])
def test_orders_that_build_up_the_verification_are_exempt_as_ever(
    factory: Factory, jobs: int
) -> None:
    bare(factory)
    summary = factory.run_all(building_up(), REPLIES, jobs=jobs)
    assert summary.verdict == "PASS"
    assert [ran(each) for each in summary.orders] == [COMPILED, COMPILED, VERIFIED]


@pytest.mark.rest
def test_a_plan_that_was_cut_off_goes_on_with_its_exemptions(factory: Factory) -> None:
    """The script is there already, and still waits for what the last order brings."""
    bare(factory)
    first = {"WO-01": REPLIES["WO-01"], "WO-02": [proposal({"other.py": ""})]}
    assert factory.run_all(building_up(), first, max_attempts=1).verdict == "FAIL"
    later = {**REPLIES, "WO-03": [proposal({"other.py": ""})]}
    assert factory.run_all(building_up(), later, max_attempts=1).verdict == "FAIL"
    summary = factory.run_all(building_up(), REPLIES)
    assert (summary.verdict, ran(summary.orders[-1])) == ("PASS", VERIFIED)


def test_the_same_plan_is_verified_where_the_repo_has_a_script(factory: Factory) -> None:
    script = [proposal({SCRIPT: "test ! -e bad.txt\n"})]
    summary = factory.run_all(building_up(), {**REPLIES, "WO-02": script})
    assert summary.verdict == "PASS"
    assert [ran(each) for each in summary.orders] == [VERIFIED, VERIFIED, VERIFIED]


def test_a_script_that_the_order_itself_brings_has_to_pass(factory: Factory) -> None:
    bare(factory)
    plan = waiting_for(SCRIPT, orders=[writing(SCRIPT, 1, verify_exempt=True)])
    summary = factory.run_all(plan, {"WO-01": [proposal({SCRIPT: "exit 1\n"})]}, max_attempts=1)
    assert stages(summary.orders[0]) == ["verify_failed"]


def commands(
    base: dict[str, str | None], written: dict[str, str | None], *requires: str
) -> list[str]:
    """Return what verifies the tree that an order makes which expects an exemption."""
    files = GivenFiles(base)
    wanted = tuple(Condition(kind="file_exists", path=each) for each in requires)
    exemption = Exemption(expected=True, requires=wanted)
    verification = BaseVerification(files, find_verification(files), (), exemption)
    return [each.text for each in verification.checks_with(written).commands]


TESTED: dict[str, str | None] = {"test_it.py": "def test_it():\n    assert True\n"}
COMPILE, PYTEST = "python -m compileall -q .", "python -m pytest -q"


def test_an_order_that_takes_away_what_verifies_is_not_exempt_by_that() -> None:
    assert PYTEST in commands(TESTED, {"test_it.py": None}, "test_it.py")
    assert PYTEST in commands(TESTED, {"test_it.py": ""}, "test_it.py")
    # The control: what was missing before as well exempts.
    assert commands({}, {"a.py": ""}, "test_it.py") == [COMPILE]
    assert commands(TESTED, {"test_it.py": None}, "never.py") == [COMPILE]


def test_a_tree_that_can_be_verified_is_verified_on_any_base() -> None:
    assert PYTEST in commands({}, {"test_it.py": ""})
    assert commands({}, {"a.py": ""}) == [COMPILE]


def test_a_plan_that_says_it_follows_another_exempts_nothing_by_its_orders(
    factory: Factory,
) -> None:
    """The other plan began where nothing verified the repo, and has made what does."""
    bare(factory)
    made = building_up()
    assert factory.run_all(made, REPLIES).verdict == "PASS"
    digest = made["provenance"]["manifest_sha256"]
    attack = waiting_for("never.txt", orders=[writing("bad.txt", 1, verify_exempt=True)])
    attack["supersedes"] = {"manifest_sha256": digest, "earlier": [], "title": "Hello"}
    plan = write_plan(factory.scratch / "attack", hashed(attack))
    summary = factory.run_all(plan, {"WO-01": [BAD]}, max_attempts=1)
    assert (stages(summary.orders[0]), ran(summary.orders[0])) == (["verify_failed"], VERIFIED)


def test_every_record_says_that_an_order_was_exempt_and_why(factory: Factory) -> None:
    bare(factory)
    plan = manifest([writing("it.py", 1, verify_exempt=True)])
    summary = factory.run_all(plan, REPLIES, sandbox=SANDBOXED).orders[0]
    assert summary.commit is not None
    assert summary.verified_by is not None
    why, said = "nothing says how its tree is verified", "proven by compiling alone"
    assert summary.verified_by.exempt == summary.attempt_records[-1].exempt == why
    assert said in summary.verified_by.describe()
    assert f"verification is reduced to compiling: {why}" in summary.warnings
    assert said in factory.seen(OrderEnded)[0].proof
    assert any(why in each.message for each in factory.seen(Warned))
    assert said in git(factory.repo, "notes", f"--ref={NOTES_REF}", "show", summary.commit)
    note = read_envelopes(Git(factory.repo), (summary.commit,))[summary.commit]
    statement = parse_bundle(note)[0].statement
    assert statement is not None
    assert isinstance(statement.predicate, Predicate)
    assert statement.predicate.exempt == why
    again = of_claim(rerun(factory.repo, factory.artifacts), Claim.CHECKS)
    assert again.standing is ClaimState.PROVEN
    assert f"run again: {said} ({why})" in again.text


@pytest.mark.rest
def test_a_rerun_believes_no_exemption_either(factory: Factory) -> None:
    """A person believed the order when it ran. Whoever verifies it later does not have to."""
    commit_all(factory.repo, CHECKED)
    plan = manifest([writing("bad.txt", 1, verify_exempt=True)])
    factory.run_all(plan, {"WO-01": [BAD]}, sandbox=SANDBOXED, allow_verify_exempt=True)
    checks = of_claim(rerun(factory.repo, factory.artifacts), Claim.CHECKS)
    assert checks.standing is ClaimState.CONTRADICTED
    believed = rerun(factory.repo, factory.artifacts, allow_verify_exempt=True)
    assert (
        "proven by compiling alone (--allow-verify-exempt)" in of_claim(believed, Claim.CHECKS).text
    )


def test_a_commit_is_not_accepted_for_an_order_by_the_exemption_of_its_plan(
    factory: Factory,
) -> None:
    commit_all(factory.repo, CHECKED)
    git(factory.repo, "switch", "--quiet", "--create", "work")
    plan = manifest([writing("bad.txt", 1, verify_exempt=True)])
    factory.run_all(plan, {"WO-01": [proposal({"other.txt": ""})]}, max_attempts=1)
    commit_all(factory.repo, {"bad.txt": "bad\n"})
    refused = Person(factory).accept("WO-01")
    assert refused.failure is not None
    assert refused.failure.command == f"bash {SCRIPT}"
    assert Person(factory).accept("WO-01", allow_verify_exempt=True).failure is None


def test_a_worker_of_a_fleet_gets_what_the_coordinator_decided(factory: Factory) -> None:
    wanted = (Condition(kind="file_exists", path="later.txt"),)
    exemption = Exemption(expected=True, requires=wanted)
    (loaded,) = read_workdir(write_plan(factory.scratch / "plan", manifest([dict(EXEMPT)])))
    terms = CommitTerms(Identity("Ada", "ada@example.org"), "@0 +0000")
    task = OrderTask(loaded, exemption, "", terms, factory.scratch)
    assert parse(OrderTask, render(task)).exemption == exemption
