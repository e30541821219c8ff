"""Composes the statement about a commit from what the run knows of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from factory.orders.documents import AttemptRecord, CmdResult, SandboxRecord
from factory.orders.task import OrderTask
from factory.orders.verdict import Passed
from factory.statement.document import (
    ChangePart,
    CommandPart,
    CommitTermsPart,
    FileHash,
    OrderPart,
    PlanPart,
    Predicate,
    Snapshot,
    Statement,
    Subject,
    ToolPart,
)
from shared.version import VERSION

# A commit's message has a blank in their place, as it has for all that is no text.
_SURROGATES = re.compile("[\ud800-\udfff]")

Signed = Literal["openpgp", "x509", "ssh"] | None


@dataclass(frozen=True, slots=True)
class LandingCommit:
    """Hold what is said of a commit beside how it was made.

    `written` has the SHA-256 of what git stores of each file that the commit writes.
    """

    task: OrderTask
    passed: Passed
    base: Snapshot
    written: Mapping[str, str]
    run_id: str


def compose_statement(
    commit: LandingCommit, records: Sequence[AttemptRecord], signed: Signed
) -> Statement:
    """Return the statement about a commit; the last of `records` is the attempt that passed."""
    task, passed, order = commit.task, commit.passed, commit.task.order
    plan, last = task.loaded.plan, records[-1]
    commands, sandboxes = _commands(last)
    return Statement(
        subject=(
            Subject(name="commit", digest={"gitCommit": passed.commit}),
            Subject(name="tree", digest={"gitTree": passed.tree}),
        ),
        predicate=Predicate(
            tool=ToolPart(version=VERSION, run=commit.run_id),
            order=OrderPart(id=order.id, key=task.identity.key, document=order),
            plan=PlanPart(manifest_sha256=plan.manifest_sha256, lineage=plan.lineage)
            if plan
            else None,
            requirements=tuple(dict.fromkeys(order.covers)),
            base=commit.base,
            result=Snapshot(commit=passed.commit, tree=passed.tree),
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
            commands=commands,
            sandboxes=sandboxes,
            signed=signed,
        ),
    )


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
    record: AttemptRecord,
) -> tuple[tuple[CommandPart, ...], tuple[SandboxRecord, ...]]:
    """Return the commands that judged the tree, and the different sandboxes that they ran in."""
    found = tuple(_by_stage(record))
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
    record: AttemptRecord,
) -> Iterator[tuple[Literal["verification", "acceptance"], CmdResult]]:
    for each in record.verify:
        yield "verification", each
    for each in record.acceptance:
        yield "acceptance", each
