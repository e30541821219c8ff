"""Notes on a person's commit that it stands for an order: for people, and as a statement."""

from __future__ import annotations

from factory.landing.notary import Notary
from factory.orders.commit_note import add_acceptance, drop_acceptance
from factory.orders.identity import NOTES_REF
from factory.orders.task import OrderTask
from factory.statement.compose import StandingCommit
from factory.statement.document import Acceptance, Statement
from factory.statement.notes import drop_statements
from shared.events.event import Emit
from shared.git import commits
from shared.git.client import Git


def note_acceptance(git: Git, work: StandingCommit, proof: str, root: str, emit: Emit) -> None:
    """Write both notes on a commit that stands for an order, in the place of earlier ones.

    `proof` says in one line what verified it, and `root` is the hash of the oldest plan. Raises
    `GitFailed` where git refuses the note for people; a refused statement is a warning.
    """
    task, commit = work.task, work.result.commit
    facts = {
        "key": task.identity.key,
        "plan": root,
        "covers": ", ".join(dict.fromkeys(task.order.covers)),
        "beyond": ", ".join(work.beyond),
        "run": work.run_id,
        "proof": proof,
    }
    before = commits.notes(git, NOTES_REF, {commit}).get(commit, "")
    note = add_acceptance(before, task.name, facts)
    commits.add_note(git, NOTES_REF, commit, note, task.commit_facts(""))
    drop_statements(git, commit, lambda each: _says_so(each, task), task.commit_facts(""))
    Notary(git, work.run_id, emit).attest_acceptance(work)


def drop_acceptance_notes(git: Git, commit: str, task: OrderTask) -> None:
    """Take what the notes on a commit say of an order away; what they say of others stays."""
    facts = task.commit_facts("")
    before = commits.notes(git, NOTES_REF, {commit}).get(commit, "")
    after = drop_acceptance(before, task.name)
    if after and after != before:
        commits.add_note(git, NOTES_REF, commit, after, facts)
    elif after != before:
        commits.remove_note(git, NOTES_REF, commit, facts)
    drop_statements(git, commit, lambda each: _says_so(each, task), facts)


def _says_so(statement: Statement | Acceptance, task: OrderTask) -> bool:
    """Return whether a statement says that a commit stands for the order, in any of its plans."""
    stated = statement.predicate.order
    of_order = (stated.id, stated.key) == (task.name, task.identity.key)
    return isinstance(statement, Acceptance) and of_order
