"""Each way an attempt can fail, on a real repo: what is told, and whether it is tried again."""

from __future__ import annotations

from tests.fakes import proposal
from tests.harness import Factory, blob, order, stages


def test_a_proposal_that_keeps_every_rule_becomes_a_commit(factory: Factory) -> None:
    summary = factory.run(order(), [proposal({"hello.txt": "hello\n"})])
    assert (summary.verdict, summary.state, stages(summary)) == ("PASS", "landed", [""])
    assert summary.commit == factory.tip()
    assert blob(factory.repo, factory.tip(), "hello.txt") == b"hello\n"
