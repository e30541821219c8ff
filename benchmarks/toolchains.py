"""What it costs commands to see the user's toolchains, and Go a cache that begins with its seed."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measure import interleave, seconds_of
from benchmarks.rows import Aim, Row, Section
from benchmarks.setting import Bench
from factory.sandbox.detect import Sandbox, open_sandbox
from factory.sandbox.lent_folders import go_seed, standard_imports
from factory.sandbox.policy import Backend, Policy
from factory.sandbox.private_folder import SYSTEM_PATH
from factory.sandbox.toolchain_search import find_toolchains
from factory.sandbox.toolchains import NO_TOOLCHAINS, Toolchains
from shared.errors import SandboxUnavailable

_SOURCE = 'package two\n\nimport (\n\t"fmt"\n\t"strings"\n{0})\n\n'
_HTTP = '\t_ "net/http"\n'
_TEST = 'package two\n\nimport "testing"\n\nfunc TestTwo(t *testing.T) { Two() }\n'


def measure_toolchains(bench: Bench) -> Section:
    """Return a row for each backend, and two for the second attempt of an order in Go."""
    environ = {**os.environ, "HOME": pwd.getpwuid(os.geteuid()).pw_dir}
    toolchains = find_toolchains(bench.scratch / "nowhere", lambda path: None, environ)
    visible = [_visible(bench, backend, toolchains) for backend in Backend if backend not in _OTHER]
    builds = (_second_attempt(bench, toolchains, more) for more in ("", _HTTP))
    return Section("Commands: the user's toolchains", (*visible, *builds))


_OTHER = (Backend.AUTO, Backend.OFF)


def _visible(bench: Bench, backend: Backend, toolchains: Toolchains) -> Row:
    name = f"`true` in {backend} that shows {len(toolchains.found)} toolchains"
    with_them = _open(bench, backend, toolchains)
    without = _open(bench, backend, NO_TOOLCHAINS)
    if isinstance(with_them, str) or isinstance(without, str):
        return Row(name, None, "ms", notes=str(with_them))
    cases = {
        "with": partial(seconds_of, partial(_run, bench, with_them, "true")),
        "without": partial(seconds_of, partial(_run, bench, without, "true")),
    }
    for case in cases.values():
        case()
    taken = interleave(cases, bench.rounds(31))
    return Row(
        name=name,
        value=taken["with"].median * 1000,
        unit="ms",
        floor=taken["without"].median * 1000,
        floor_name="it without them",
        aim=Aim(factor=1, extra=5),
        noise=taken["with"].noise,
    )


def _second_attempt(bench: Bench, toolchains: Toolchains, more: str) -> Row:
    of = "an order with net/http" if more else "an order"
    name = f"`go test` in the second attempt of {of}"
    if more and bench.quick:
        return Row(name, None, "s", notes="its packages are not compiled with --quick")
    path = toolchains.search_path(SYSTEM_PATH)
    go = shutil.which("go", path=path)
    if go is None:
        return Row(name, None, "s", notes="go is not installed")
    packages = standard_imports((_SOURCE.format(more), _TEST), Path(go))
    seed = go_seed(Path(go), path, packages, bench.scratch / "seeds")
    sandbox = _open(bench, Backend.AUTO, toolchains, seed)
    if isinstance(sandbox, str):
        return Row(name, None, "s", notes=sandbox)
    count = itertools.count()
    contained = bench.scratch / "in-sandbox"
    bare = bench.folder("bare")
    environ = {"PATH": path, "HOME": str(bare), "GOFLAGS": "-buildvcs=false"}
    argv = [go, "test", "./..."]

    def attempt() -> None:
        sandbox.clear()
        _run(bench, sandbox, *argv)

    def warm() -> None:
        subprocess.run(argv, cwd=bare, env=environ, check=True, capture_output=True)

    def measured(folder: Path, act: Callable[[], None]) -> float:
        _write(folder, next(count), more)
        return seconds_of(act)

    cases = {
        "attempt": partial(measured, contained, attempt),
        "warm": partial(measured, bare, warm),
    }
    for case in cases.values():
        case()
    taken = interleave(cases, bench.rounds(7))
    return Row(
        name=name,
        value=taken["attempt"].median,
        unit="s",
        floor=taken["warm"].median,
        floor_name="it on a warm cache",
        aim=Aim(factor=1.5),
        noise=taken["attempt"].noise,
    )


def _write(folder: Path, number: int, more: str) -> None:
    """Write a module that differs each time, as the code of each attempt does."""
    (folder / "go.mod").write_text("module two\n\ngo 1.18\n")
    source = _SOURCE.format(more)
    text = f"{source}func Two() string {{ return strings.ToUpper(fmt.Sprint({number})) }}\n"
    (folder / "two.go").write_text(text)
    (folder / "two_test.go").write_text(_TEST)


def _open(
    bench: Bench, backend: Backend, toolchains: Toolchains, seed: Path | None = None
) -> Sandbox | str:
    """Return a sandbox, or why there is none; the one with a seed works in `in-sandbox`."""
    workspace = bench.scratch / "in-sandbox" if seed else bench.folder("workspace")
    workspace.mkdir(exist_ok=True)
    python, private = Path(sys.executable), bench.folder("private")
    policy = Policy(
        workspace,
        None,
        private,
        python,
        toolchains=toolchains,
        seeds={"GOCACHE": seed} if seed else {},
    )
    try:
        return open_sandbox(backend, policy)
    except SandboxUnavailable as error:
        return error.message


def _run(bench: Bench, sandbox: Sandbox, *argv: str) -> None:
    ended = sandbox.run(argv, timeout_seconds=600, log=bench.scratch / "toolchains")
    assert ended.ok, ended
