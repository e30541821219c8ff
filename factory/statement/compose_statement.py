"""Composes the statements about a commit from the facts that are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from factory.orders.documents import AttemptRecord, CmdResult, SandboxRecord
from factory.orders.order_commit import CommitTerms, OrderIdentity, describe_commit
from factory.orders.task import OrderTask, Passed
from factory.statement.statement import (
    Acceptance,
    AcceptancePredicate,
    ChangePart,
    CommandPart,
    CommitTermsPart,
    FileHash,
    OrderPart,
    PersonPart,
    PlanPart,
    Predicate,
    Snapshot,
    Statement,
    Subject,
    ToolPart,
)
from shared import VERSION
from shared.git.repos import Identity
from shared.work_order.work_order import WorkOrder

# A commit's message has a blank in their place, as for everything that is not text.
_SURROGATES = re.compile("[\ud800-\udfff]")

Signed = Literal["openpgp", "x509", "ssh"] | None


@dataclass(frozen=True, slots=True)
class LandingCommit:
    """Hold the facts on a commit that are stated beside how it was made.

    `written` has the SHA-256 of what git stores of each file that the commit writes.
    """

    task: OrderTask
    passed: Passed
    base: Snapshot
    written: Mapping[str, str]
    run_id: str


@dataclass(frozen=True, slots=True)
class StandingCommit:
    """Hold the facts on a person's commit that was accepted for an order.

    `verify` and `acceptance` are the commands that passed on it, in the run `run_id`. `exempt` says
    why the former only compiled it, if they did.
    """

    task: OrderTask
    base: Snapshot
    result: Snapshot
    change: ChangePart
    beyond: tuple[str, ...]
    verify: tuple[CmdResult, ...]
    acceptance: tuple[CmdResult, ...]
    exempt: str
    run_id: str


class _Common(TypedDict):
    tool: ToolPart
    order: OrderPart
    plan: PlanPart | None
    requirements: tuple[str, ...]
    commands: tuple[CommandPart, ...]
    sandboxes: tuple[SandboxRecord, ...]


def compose_statement(
    commit: LandingCommit, records: Sequence[AttemptRecord], signed: Signed
) -> Statement:
    """Return the statement about a commit; the last of `records` is the attempt that passed."""
    task, passed, last = commit.task, commit.passed, records[-1]
    result = Snapshot(commit=passed.commit, tree=passed.tree)
    return Statement(
        subject=_subjects(result),
        predicate=Predicate(
            **_common(task, commit.run_id, last.verify, last.acceptance),
            base=commit.base,
            result=result,
            terms=_terms(task, passed),
            change=ChangePart(
                written=tuple(
                    FileHash(path=path, sha256=commit.written[path])
                    for path in passed.files
                    if path in commit.written
                ),
                removed=passed.removed,
            ),
            attempts=len(records),
            models=tuple(dict.fromkeys(each.model for each in records if each.model)),
            replies=last.replies,
            exempt=last.exempt,
            signed=signed,
            conventions=last.conventions,
            agent=last.agent,
            strength=last.strength,
        ),
    )


def compose_acceptance(commit: StandingCommit, signed: Signed) -> Acceptance:
    """Return the statement that a person's commit was accepted for an order."""
    task, person = commit.task, commit.task.terms.author
    return Acceptance(
        subject=_subjects(commit.result),
        predicate=AcceptancePredicate(
            **_common(task, commit.run_id, commit.verify, commit.acceptance),
            base=commit.base,
            result=commit.result,
            change=commit.change,
            beyond=commit.beyond,
            exempt=commit.exempt,
            accepted_by=PersonPart(name=person.name, email=person.email),
            signed=signed,
        ),
    )


def _subjects(result: Snapshot) -> tuple[Subject, ...]:
    return (
        Subject(name="commit", digest={"gitCommit": result.commit}),
        Subject(name="tree", digest={"gitTree": result.tree}),
    )


def _common(
    task: OrderTask, run_id: str, verify: Sequence[CmdResult], acceptance: Sequence[CmdResult]
) -> _Common:
    order, plan = task.order, task.loaded.plan
    commands, sandboxes = _commands(verify, acceptance)
    return {
        "tool": ToolPart(version=VERSION, run=run_id),
        "order": OrderPart(id=order.id, key=task.identity.key, document=order),
        "plan": PlanPart(manifest_sha256=plan.manifest_sha256, lineage=plan.lineage)
        if plan
        else None,
        "requirements": tuple(dict.fromkeys(order.covers)),
        "commands": commands,
        "sandboxes": sandboxes,
    }


def _terms(task: OrderTask, passed: Passed) -> CommitTermsPart:
    terms = task.terms
    return CommitTermsPart(
        author=terms.author.name,
        email=terms.author.email,
        date=terms.date,
        subject=terms.subject,
        summary=_SURROGATES.sub(" ", passed.summary),
    )


def _commands(
    verify: Sequence[CmdResult], acceptance: Sequence[CmdResult]
) -> tuple[tuple[CommandPart, ...], tuple[SandboxRecord, ...]]:
    found = tuple(_by_stage(verify, acceptance))
    sandboxes: list[SandboxRecord] = []
    for _, each in found:
        if each.sandbox not in sandboxes:
            sandboxes.append(each.sandbox)
    commands = tuple(
        CommandPart(
            stage=stage,
            command=each.command,
            exit_code=each.exit_code,
            duration_seconds=each.duration_seconds,
            tests=each.tests,
            sandbox=sandboxes.index(each.sandbox),
            note=each.note,
        )
        for stage, each in found
    )
    return commands, tuple(sandboxes)


def _by_stage(
    verify: Sequence[CmdResult], acceptance: Sequence[CmdResult]
) -> Iterator[tuple[Literal["verification", "acceptance"], CmdResult]]:
    for each in verify:
        yield "verification", each
    for each in acceptance:
        yield "acceptance", each


_DATE = re.compile(r"@([0-9]{1,12}) (\+0000)")
# Git leaves these out at both ends of a name, and the last three anywhere in it.
_ENDS = "".join(map(chr, range(33))) + ".,:;<>\"\\'"
_NOWHERE = re.compile(r"[\n<>]")


def remake_commits(
    order: WorkOrder, identity: OrderIdentity, terms: CommitTermsPart, tree: str, parent: str
) -> tuple[bytes, ...]:
    """Return the commit that llmch makes of `tree` on `parent`, and what earlier versions made.

    The result is empty if the date is invalid.
    Git writes the same bytes for it, unless its config asks for commits in another encoding.
    """
    date = _DATE.fullmatch(terms.date)
    if date is None:
        return ()
    common = CommitTerms(Identity(terms.author, terms.email), terms.date, terms.subject)
    person = f"{_cleaned(terms.author)} <{_cleaned(terms.email)}> {date[1]} {date[2]}"
    lines = [f"tree {tree}", f"parent {parent}", f"author {person}", f"committer {person}"]
    messages = (
        describe_commit(order, identity, common, terms.summary, earlier=each).message
        for each in (False, True)
    )
    return tuple(
        ("\n".join(lines) + f"\n\n{each}").encode("utf-8", "surrogateescape") for each in messages
    )


def _cleaned(text: str) -> str:
    return _NOWHERE.sub("", text.strip(_ENDS))
