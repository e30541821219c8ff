"""A branch that llmch made, of orders of all kinds, and the audit of what became of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from factory.audit.audit import Audit, audit, commits_named
from factory.audit.audit_evidence import AuditEvidence, Claim, ClaimState, Ruling, read_plan
from factory.audit.judgement_claims import Judge
from shared.git.client import Git
from tests.fakes import Reply, proposal
from tests.harness import Factory, Json, manifest, writing

ONE = proposal({"one.txt": "one\n"})
WRONG, TWO = proposal({"two.txt": "wrong\n"}), proposal({"two.txt": "two\n"})
THREE_FILES = {"src/app.py": "GREETING = 'good day'\n", "three.txt": "three\n"}
APP = proposal(THREE_FILES)

PROVEN = {
    Claim.STATEMENT: ClaimState.PROVEN,
    Claim.SIGNATURE: ClaimState.NOT_PROVABLE,
    Claim.ORDER: ClaimState.PROVEN,
    Claim.COMMIT: ClaimState.PROVEN,
    Claim.PARENT: ClaimState.PROVEN,
    Claim.FILES: ClaimState.PROVEN,
    Claim.REPLY: ClaimState.PROVEN,
    Claim.PLAN: ClaimState.PROVEN,
    Claim.CHECKS: ClaimState.NOT_PROVABLE,
    Claim.CHAIN: ClaimState.PROVEN,
}
"""What becomes of the claims of an honest branch that nobody signed, where nothing is run."""


def orders() -> list[Json]:
    """Four orders: a plain one; one with a test of the plan; one that changes; one that removes."""
    wanted = {"path": "tests/wanted.txt", "content": "two\n"}
    return [
        writing("one.txt", 1, acceptance_commands=["test -s one.txt"], covers=["R1"]),
        writing(
            "two.txt",
            2,
            acceptance_files=[wanted],
            acceptance_commands=["cmp tests/wanted.txt two.txt"],
        ),
        writing(
            "src/app.py",
            3,
            allowed_files=["src/app.py", "three.txt", "may.txt"],
            context_files=["one.txt"],
            depends_on=["WO-01"],
            acceptance_commands=["grep -q day src/app.py"],
        ),
        writing(
            "README.md",
            4,
            allowed_files=[],
            removed_files=["README.md"],
            acceptance_commands=["test ! -e README.md"],
        ),
    ]


def replies() -> Mapping[str, Sequence[Reply]]:
    """What the model says: it is wrong once about the second order."""
    return {"WO-01": [ONE], "WO-02": [WRONG, TWO], "WO-03": [APP]}


def make_branch(factory: Factory, **options: object) -> tuple[str, ...]:
    """Run the orders and return their commits, oldest first."""
    summary = factory.run_all(manifest(orders()), replies(), **options)
    assert summary.verdict == "PASS", summary
    return tuple(each.commit or "" for each in summary.orders)


@dataclass(frozen=True)
class Auditor:
    """Looks into commits of a repo, with the records and the plan that are beside it."""

    repo: Path
    artifacts: Path
    plan: Path | None = None
    transcripts: tuple[Path, ...] = ()

    def look(self, words: str = "main..work", judge: Judge | None = None) -> Audit:
        git = Git(self.repo)
        plan = read_plan(self.plan, named=True) if self.plan else None
        evidence = AuditEvidence(git, (self.artifacts / "factory",), self.transcripts, plan)
        return audit(evidence, commits_named(git, words), judge)


def of_claim(found: Audit, claim: Claim, number: int = -1) -> Ruling:
    """Return what became of a claim of one commit; of the last one by default."""
    (ruling,) = [each for each in found.commits[number].rulings if each.claim is claim]
    return ruling


def standings(found: Audit) -> dict[Claim, ClaimState]:
    """Return the worst that became of each claim."""
    order = tuple(ClaimState)
    worst: dict[Claim, ClaimState] = {}
    for each in found.rulings:
        worst[each.claim] = max(
            worst.get(each.claim, each.standing), each.standing, key=order.index
        )
    return worst


def contradictions(found: Audit) -> list[Claim]:
    """Return the claims that are contradicted."""
    return [each.claim for each in found.rulings if each.standing is ClaimState.CONTRADICTED]


def describe(found: Audit) -> str:
    """Return what a failed test should show."""
    return os.linesep.join(f"{each.standing} {each.claim}: {each.text}" for each in found.rulings)
