"""Checks what the orders of a plan will demand of the repo, before the plan is paid for."""

from __future__ import annotations

import tempfile
from pathlib import Path

from factory.judging.known_commits import KnownCommits
from factory.orders.options import RunOptions
from factory.recovery.signals import deferring_signals
from factory.repo.preflight import Repo, choose_target, start_commit
from factory.run.baseline import Baseline
from factory.run.one_order import hold_repo, prepare_export
from factory.workbench.pool import WorkbenchPool
from factory.workbench.side_workspaces import registered
from shared.events.event import Emit


def check_before_plan(options: RunOptions, emit: Emit, *, verify: bool) -> None:
    """Raise the refusals that the orders of a plan would meet, whatever the plan is.

    With `verify`, the base is verified as `Baseline` does, unless `options` allow it to be red. The
    run of the orders then finds the verdict and does not verify the base again. Nothing of this
    goes into the records of a run. Raises as `factory.run.one_order.run_order` does.
    """
    with hold_repo(options, emit) as held:
        prepare_export(held.repo, options.out, "--out")
        base = _base_of(held.repo, options)
        if verify and not options.allow_red:
            _verify(base, held.repo, options, emit)


def _base_of(repo: Repo, options: RunOptions) -> str:
    """Return the commit that the plan's orders start from; a plan's own branch does not exist."""
    if options.branch is None:
        return start_commit(repo, options.start)
    protected = options.settings.protected_branches
    return choose_target(repo, options.branch, options.policy, protected, options.start).tip


def _verify(base: str, repo: Repo, options: RunOptions, emit: Emit) -> None:
    with (
        registered(repo.common_dir) as register,
        tempfile.TemporaryDirectory(prefix="llmch-base-") as logs,
    ):
        pool = WorkbenchPool(options, repo, register, register.owner, emit)
        try:
            pool.prepare(base)
            baseline = Baseline(options, repo, pool, Path(logs), KnownCommits(), emit)
            # Where nothing verifies the repo, the first orders of the plan may bring what does,
            # and are then only compiled.
            baseline.verify(base, exempt=not baseline.look(base).is_known)
        finally:
            with deferring_signals():
                pool.close()
