"""What containment adds to a command that does nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measure import interleave, seconds_of
from benchmarks.rows import Aim, Row, Section
from benchmarks.setting import Bench, git, make_repo
from factory.sandbox.detect import open_sandbox
from factory.sandbox.policy import Backend, Policy
from factory.sandbox.runner import Sandbox
from shared.errors import SandboxUnavailable

_OVER_BARE_MS = {Backend.BWRAP: 25, Backend.LANDLOCK: 15}


def measure_sandboxes(bench: Bench) -> Section:
    """Return a row for each backend: `true` in it, beside a bare spawn of `true`."""
    repo = make_repo(bench.folder("repo") / "project", 10)
    opened: dict[Backend, Sandbox | str] = {}
    for backend in (Backend.BWRAP, Backend.LANDLOCK, Backend.OFF):
        opened[backend] = _open(bench, repo, backend)
    cases: dict[str, Callable[[], float]] = {"bare": lambda: seconds_of(lambda: _spawn(repo))}
    for backend, sandbox in opened.items():
        if not isinstance(sandbox, str):
            cases[backend] = partial(seconds_of, partial(_run, sandbox, bench))
    taken = interleave(cases, bench.rounds(31), warm=True)
    bare = taken["bare"].median * 1000
    rows = []
    for backend, sandbox in opened.items():
        samples = taken.get(backend)
        over = _OVER_BARE_MS.get(backend)
        rows.append(
            Row(
                name=f"`true` in {backend}",
                value=samples.median * 1000 if samples else None,
                unit="ms",
                floor=bare,
                floor_name="a bare spawn of it",
                aim=Aim(factor=1, extra=over) if over else None,
                noise=samples.noise if samples else None,
                notes=sandbox if isinstance(sandbox, str) else "",
            )
        )
    return Section("Commands: one that does nothing", tuple(rows))


def _open(bench: Bench, repo: Path, backend: Backend) -> Sandbox | str:
    """Return the sandbox as a run has it, in a linked worktree; or why there is none here."""
    folder = bench.folder("workspace")
    (folder / "private").mkdir()
    git(repo, "worktree", "add", "--quiet", "--detach", str(folder / "project"))
    policy = Policy(
        workspace=folder / "project",
        git_dir=repo / ".git",
        private=folder / "private",
        python=Path(sys.executable),
    )
    try:
        return open_sandbox(backend, policy)
    except SandboxUnavailable as error:
        return error.message


def _spawn(folder: Path) -> None:
    subprocess.run(["true"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True)


def _run(sandbox: Sandbox, bench: Bench) -> None:
    ended = sandbox.run(["true"], timeout_seconds=30, log=bench.scratch / "true")
    assert ended.ok, ended
