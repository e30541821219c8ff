"""A worker that does its work and then lies about it: its first argument says how.

The others are those of `llmch`. All that it may do with its rights, it does: its commits are on the
remote, with the words and the author that the order's own would have.
"""

from __future__ import annotations

import base64
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from factory.fleet.machine import Machine
from factory.fleet.wire import Answer, Job, OutcomeDocument, Refusal, StepDocument, parse, render
from factory.fleet.worker_clones import RunRefs
from factory.orders.task import Passed
from llmch.cli import main
from shared.git import commits, trees
from shared.git.client import Git
from tests.harness import git


@dataclass(frozen=True)
class Judged:
    """A candidate that passed, and what the worker has to lie with."""

    git: Git
    document: StepDocument
    outcome: OutcomeDocument
    passed: Passed

    def with_commit(self, tree: str, parent: str) -> OutcomeDocument:
        """Return the outcome with another commit, which the remote has."""
        facts = self.document.task.commit_facts(self.passed.summary)
        commit = commits.write(self.git, tree, parent, facts)
        RunRefs(self.git, self.document.remote, self.document.run).offer(commit)
        assert self.outcome.result is not None
        verdict = replace(self.passed, commit=commit, tree=tree)
        return replace(self.outcome, result=replace(self.outcome.result, verdict=verdict))

    def with_files(self, *paths: str) -> OutcomeDocument:
        """Return the outcome with more records."""
        content = base64.b64encode(b"planted").decode()
        return replace(self.outcome, files={**self.outcome.files, **dict.fromkeys(paths, content)})


def other_tree(judged: Judged) -> OutcomeDocument:
    """Add a file that the order does not allow."""
    folder = judged.git.folder
    blob = git(folder, "hash-object", "-w", "--stdin", stdin=b"planted\n")
    listed = git(folder, "ls-tree", trees.tree_of(judged.git, judged.passed.commit))
    tree = git(folder, "mktree", stdin=f"{listed}\n100644 blob {blob}\tplanted.txt\n".encode())
    return judged.with_commit(tree, judged.document.parent)


def other_parent(judged: Judged) -> OutcomeDocument:
    """Put the right tree onto a commit of its own."""
    task = judged.document.task
    parent = commits.write(
        judged.git,
        trees.tree_of(judged.git, judged.document.parent),
        judged.document.parent,
        task.commit_facts("planted"),
    )
    return judged.with_commit(trees.tree_of(judged.git, judged.passed.commit), parent)


def records_elsewhere(judged: Judged) -> OutcomeDocument:
    """Name records outside of the order's folder."""
    return judged.with_files("../planted", "/tmp/planted-by-a-worker", "a/../../planted")


def records_that_clash(judged: Judged) -> OutcomeDocument:
    """Name a record that is a file and a folder."""
    return judged.with_files("planted", "planted/more")


LIES: Mapping[str, Callable[[Judged], OutcomeDocument]] = {
    each.__name__: each
    for each in (other_tree, other_parent, records_elsewhere, records_that_clash)
}


def lying(
    take: Callable[[Machine, Job, threading.Event], Answer], lie: str
) -> Callable[[Machine, Job, threading.Event], Answer]:
    """Return `take`, with a lie in the place of each candidate that passed."""

    def taken(machine: Machine, job: Job, dropped: threading.Event) -> Answer:
        answer = take(machine, job, dropped)
        if isinstance(answer, Refusal):
            return answer
        document = parse(StepDocument, job.document.get("step"))
        outcome = parse(OutcomeDocument, answer["outcome"])
        passed = outcome.result and outcome.result.verdict
        if not isinstance(passed, Passed):
            return answer
        if lie == "gibberish":
            return {**answer, "outcome": "{}"}
        judged = Judged(machine.clone_of(document).git, document, outcome, passed)
        return {**answer, "outcome": render(LIES[lie](judged))}

    return taken


if __name__ == "__main__":
    Machine.take = lying(Machine.take, sys.argv[1])  # type: ignore[method-assign,assignment]
    sys.exit(main(sys.argv[2:]))
