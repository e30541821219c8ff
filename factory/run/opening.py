"""Opens what it takes to make and land orders, and closes it at the end of the run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from factory.judging.known_commits import KnownCommits
from factory.judging.warm_checker import warm_tools
from factory.landing.land import Landing
from factory.landing.notary import Notary
from factory.orders.commit_message import CommitTerms
from factory.recovery.signals import deferring_signals
from factory.repo.preflight import TargetBranch
from factory.run.baseline import Baseline
from factory.run.execution import Execution
from factory.run.parts import RunParts
from factory.run.session import Session
from factory.workbench.pool import WorkbenchPool


@contextlib.contextmanager
def open_session(
    parts: RunParts, target: TargetBranch, terms: CommitTerms, import_ahead: Callable[[], None]
) -> Iterator[Session]:
    """Open the workbenches and all that works on them, for as long as the block runs.

    `import_ahead` runs in a thread meanwhile: what it imports takes most of a run's start.

    The first workbench is opened at once, so that a missing sandbox is reported before anything
    else. Raises `SandboxUnavailable` then.
    """
    threading.Thread(target=import_ahead, name="import ahead").start()
    options, repo, folder, emit = parts.options, parts.repo, parts.folder, parts.emit
    pool = WorkbenchPool(options, repo, parts.journal, folder.run_id, emit)
    tools, known = warm_tools(options.settings.sandbox, repo.tree), KnownCommits()
    try:
        pool.prepare(target.tip)
        yield Session(
            parts=parts,
            baseline=Baseline(options, repo, pool, folder.path / "base", known, emit),
            landing=Landing(repo.git, repo.common_dir, target.branch, folder.run_id),
            notary=Notary(repo.git, folder.run_id, emit),
            execution=Execution(parts, pool, tools, known),
            terms=terms,
            tip=target.tip,
            branch_exists=target.exists,
        )
    finally:
        with deferring_signals():
            tools.close()
            pool.close()
