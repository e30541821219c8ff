"""Runs verification and acceptance again on the very tree of a commit that is looked into."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory.audit.case import Case
from factory.audit.check_claims import Judge
from factory.judging.proof import verified_by
from factory.orders.commit_message import NOBODY, CommitTerms
from factory.orders.documents import FailureBrief
from factory.orders.identity import identify
from factory.orders.options import RunOptions
from factory.orders.read import LoadedOrder, decide_exempt
from factory.orders.task import OrderTask
from factory.orders.verified_by import VerifiedBy
from factory.repo.preflight import RepoPlace
from factory.run.judge_commit import CommitJudge, open_judge
from factory.workbench.side_workspaces import sweep_side_workspaces
from shared.errors import PreflightRefused
from shared.events.event import Emit
from shared.git import patches

_NOBODYS_TERMS = CommitTerms(NOBODY, "@0 +0000")  # no commit is made


@contextlib.contextmanager
def rerunning(first: str, place: RepoPlace, options: RunOptions, emit: Emit) -> Iterator[Judge]:
    """Open what it takes to judge commits again; `first` is the first of them.

    No lock is taken, so no run is disturbed. Logs are removed with the rest when the block ends.
    Raises `SandboxUnavailable`.
    """
    sweep_side_workspaces(place.git, place.common_dir)
    with (
        tempfile.TemporaryDirectory(prefix="llmch-verify-") as folder,
        open_judge(first, place, options, emit) as judge,
    ):
        yield _Rerun(judge, options, Path(folder)).judge


@dataclass(frozen=True, slots=True)
class _Rerun:
    judge_of: CommitJudge
    options: RunOptions
    folder: Path

    def judge(self, case: Case) -> VerifiedBy | FailureBrief:
        """Return how the commands end on the commit's tree.

        Raises `PreflightRefused` where they cannot be run as they were.
        """
        if not case.has_parent:
            raise PreflightRefused("its parent is not in this repo", "`git fetch --unshallow`")
        loaded = _loaded(case)
        exempt, _ = decide_exempt(loaded, allow=self.options.allow_verify_exempt)
        commit, folder = case.commit.id, self.folder / case.commit.id / loaded.order.id
        task = OrderTask(loaded, exempt, case.parent, _NOBODYS_TERMS, folder)
        changed = patches.files_between(case.git, case.parent, commit)
        judged = self.judge_of.judge(commit, task, changed, folder / "base")
        return judged.brief or verified_by(judged.verify, judged.acceptance)


def _loaded(case: Case) -> LoadedOrder:
    """Return the order as its plan has it, with what earlier orders declare; else by itself.

    An exemption from verification is not part of an order's key, so only the plan vouches for it.
    """
    assert case.order is not None and case.identity is not None, "there is an order to judge by"
    for each in case.plan.orders if case.plan else ():
        if identify(each.order, case.identity.plan) == case.identity:
            return each
    return LoadedOrder(case.order, None)
