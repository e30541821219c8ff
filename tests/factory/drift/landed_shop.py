"""A small shop that llmch landed, what people did to it afterwards, and what drift says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from factory.audit.audit_evidence import AuditEvidence, read_plan
from factory.drift.drift import find_drift
from factory.drift.landed_claims import LandedClaims, commit_asked_for, read_claims
from factory.drift.requirement_states import Drift, RequirementAtRev
from factory.orders.documents import CountedTests
from factory.orders.order_commit import (
    NOBODY,
    NOTES_REF,
    CommitTerms,
    describe_commit,
    identify,
    render_note,
)
from factory.preflight import find_repo
from factory.statement.statement import (
    PROOF_REF,
    ChangePart,
    CommandPart,
    CommitTermsPart,
    Envelope,
    OrderPart,
    PlanPart,
    Predicate,
    Snapshot,
    Statement,
    Subject,
    ToolPart,
    payload_of,
)
from llmch.verbs.drift import assertions_in
from shared.languages.appended_tests import whole_tests
from shared.processes.shell_words import split_words
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder
from tests.harness import Factory, Json, commit_all, git, hashed, manifest, order

PRICE_TEST = """\
import pytest

from shop import price

CASES = [
    (0, 0),
    (1, 3),
    (2, 6),
]


@pytest.mark.parametrize("n, cents", CASES)
def test_price(n, cents):
    assert price(n) == cents


def test_a_price_grows():
    assert price(3) > price(2)
"""
TOTAL_TEST = """\
from shop import total


def test_total():
    assert total([1, 2]) == 9
"""
GREETING_TEST = """\
from greeting import greet


def test_greet(name):
    assert greet(name) == f"Hello, {name}!"


def test_greet_nobody():
    assert greet("") == "Hello!"
"""
CONFTEST = """\
import pytest


@pytest.fixture
def name():
    return "Ada"
"""
# Most of a short test run is the import of plugins that the tests of this project use.
PYTEST_INI = "[pytest]\npythonpath = .\naddopts = -p no:hypothesispytest -p no:xdist -p no:anyio\n"
PRICE = "def price(n: int) -> int:\n    return 3 * n\n"
SHOP = f"{PRICE}\n\ndef total(ns: list[int]) -> int:\n    return sum(map(price, ns))\n"
GREETING = (
    "from pathlib import Path\n\n"
    "WORD = (Path(__file__).parent / 'word.txt').read_text().strip()\n\n\n"
    "def greet(name: str) -> str:\n"
    "    return f'{WORD}, {name}!' if name else f'{WORD}!'\n"
)
PRICE_STUB = "def price(n: int) -> int: ..."
TOTAL_STUB = "def total(ns: list[int]) -> int: ..."
GREETING_STUB = "def greet(name: str) -> str: ..."
DEMANDS = {
    "R1": "A price is three times the number.",
    "R2": "Somebody is greeted by name.",
    "R3": "A total is the sum of the prices.",
    "R4": "The shop has a page.",
}
RUN_SHOP = "python -m pytest -q tests/test_shop.py"
RUN_GREETING = "python -m pytest -q tests/test_greeting.py"


def orders() -> list[Json]:
    """Four orders: a test of its own, one that uses a fixture, one appended, and none at all."""
    return [
        order(
            1,
            title="Say what it costs",
            allowed_files=["shop.py"],
            acceptance_files=[{"path": "tests/test_shop.py", "content": PRICE_TEST}],
            acceptance_commands=[RUN_SHOP],
            interfaces=[{"path": "shop.py", "stub": PRICE_STUB}],
            covers=["R1"],
        ),
        order(
            2,
            title="Greet",
            allowed_files=["greeting.py", "word.txt"],
            acceptance_files=[{"path": "tests/test_greeting.py", "content": GREETING_TEST}],
            acceptance_commands=[RUN_GREETING],
            interfaces=[{"path": "greeting.py", "stub": GREETING_STUB}],
            covers=["R2"],
        ),
        order(
            3,
            title="Add up",
            allowed_files=["shop.py"],
            context_files=["shop.py"],
            acceptance_files=[{"path": "tests/test_shop.py", "append": TOTAL_TEST}],
            acceptance_commands=[RUN_SHOP],
            interfaces=[{"path": "shop.py", "stub": TOTAL_STUB}],
            covers=["R3"],
            depends_on=["WO-01"],
        ),
        order(
            4,
            title="Make a page",
            allowed_files=["page.txt"],
            acceptance_commands=["test -f page.txt"],
            covers=["R4"],
        ),
    ]


def plan_of(listed: list[Json], demands: Mapping[str, str] = DEMANDS) -> Json:
    """Return the plan of these orders, with the texts of the requirements."""
    document = manifest(listed)
    document["requirements"] = [{"id": each, "text": text} for each, text in demands.items()]
    return hashed(document)


WRITTEN: Mapping[str, Mapping[str, str]] = {
    "WO-01": {"shop.py": PRICE},
    "WO-02": {"greeting.py": GREETING, "word.txt": "Hello\n"},
    "WO-03": {"shop.py": SHOP},
    "WO-04": {"page.txt": "Come in.\n"},
}
COUNTED = {"WO-01": 4, "WO-02": 2, "WO-03": 5}
OWN_FILES = {"tests/conftest.py": CONFTEST, "pytest.ini": PYTEST_INI}


def make_shop(repo: Path) -> tuple[str, ...]:
    """Make the commits and notes that landing the plan would, and check the branch out."""
    commit_all(repo, OWN_FILES)
    git(repo, "switch", "--quiet", "--create", "work")
    return land_as_llmch(repo, plan_of(orders()), WRITTEN, COUNTED)


def land_as_llmch(
    repo: Path,
    plan: Json,
    written: Mapping[str, Mapping[str, str]],
    counted: Mapping[str, int],
    lineage: Sequence[str] = (),
) -> tuple[str, ...]:
    """Commit the orders of a plan with the trailers, statements and notes that llmch makes."""
    digest = plan["provenance"]["manifest_sha256"]
    demands = {each["id"]: each["text"] for each in plan.get("requirements", ())}
    return tuple(
        _land(
            repo,
            parse_document(WorkOrder, each),
            written.get(each["id"], {}),
            PlanPart(manifest_sha256=digest, lineage=tuple(lineage)),
            counted.get(each["id"], 0),
            demands,
        )
        for each in plan["work_orders"]
    )


def _land(
    repo: Path,
    landed: WorkOrder,
    files: Mapping[str, str],
    plan: PlanPart,
    counted: int,
    demands: Mapping[str, str],
) -> str:
    base = git(repo, "rev-parse", "HEAD")
    for path in landed.removed_files:
        (repo / path).unlink()
    tests = whole_tests(landed.acceptance_files, lambda path: (repo / path).read_text())
    placed = {each.path: each.content for each in tests}
    for path, text in {**placed, **files}.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
    identity, terms = identify(landed, plan.manifest_sha256), CommitTerms(NOBODY, "@0 +0000")
    facts = describe_commit(landed, identity, terms, "As scripted.")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--allow-empty", "--file=-", stdin=facts.message.encode())
    commit = git(repo, "rev-parse", "HEAD")
    snapshots = {
        name: Snapshot(commit=each, tree=git(repo, "rev-parse", f"{each}^{{tree}}"))
        for name, each in (("base", base), ("result", commit))
    }
    command = CommandPart(
        stage="acceptance",
        command=split_words(landed.acceptance_commands[0]).texts,
        exit_code=0,
        duration_seconds=0.1,
        tests=CountedTests(passed=counted, failed=0, skipped=0) if counted else None,
        sandbox=0,
    )
    predicate = Predicate(
        tool=ToolPart(version="1", run="01" + "A" * 24),
        order=OrderPart(id=landed.id, key=identity.key, document=landed),
        plan=plan,
        requirements=landed.covers,
        change=ChangePart(written=(), removed=()),
        commands=(command,),
        sandboxes=(),
        signed=None,
        terms=CommitTermsPart(author="", email="", date="", subject="", summary=""),
        attempts=1,
        models=(),
        replies=(),
        base=snapshots["base"],
        result=snapshots["result"],
    )
    result = snapshots["result"]
    subject = (
        Subject(name="commit", digest={"gitCommit": commit}),
        Subject(name="tree", digest={"gitTree": result.tree}),
    )
    envelope = Envelope(payload_of(Statement(subject=subject, predicate=predicate))).render()
    note = render_note("run", "none", 1, "", demands=[
        (each, demands[each]) for each in landed.covers if each in demands
    ])  # fmt: skip
    for ref, text in ((PROOF_REF, envelope), (NOTES_REF, note)):
        git(repo, "notes", f"--ref={ref}", "add", "--force", "--file=-", commit,
            stdin=text.encode())  # fmt: skip
    return commit


def claims_of(repo: Path, rev: str = "HEAD", plan: Path | None = None) -> LandedClaims:
    """Return what the history of a commit claims."""
    place = find_repo(repo)
    named = read_plan(plan, named=True) if plan else None
    evidence = AuditEvidence(place.git, (), (), named)
    return read_claims(evidence, commit_asked_for(place.git, rev))


def drift_of(repo: Path, rev: str = "HEAD", plan: Path | None = None, **options: Any) -> Drift:
    """Return the states at a commit of the repo."""
    claims = claims_of(repo, rev, plan)
    return find_drift(
        claims,
        assertions_in(claims),
        find_repo(repo),
        Factory(repo, repo.parent).options(**options),
        lambda event: None,
    )


def states(found: Drift) -> dict[str, str]:
    return {each.id: str(each.state) for each in sorted(found.requirements, key=lambda e: e.id)}


def row(found: Drift, name: str) -> RequirementAtRev:
    (only,) = [each for each in found.requirements if each.id == name]
    return only
