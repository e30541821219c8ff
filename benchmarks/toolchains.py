"""What it costs commands to see the user's toolchains, and Go a cache that begins with its seed."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.measure import interleave, seconds_of
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.setting import Bench
from factory.sandbox.detect import open_sandbox
from factory.sandbox.lent_folders import go_seed, standard_imports
from factory.sandbox.policy import Backend, Policy
from factory.sandbox.runner import Sandbox
from factory.sandbox.toolchain_search import find_toolchains
from factory.sandbox.toolchains import NO_TOOLCHAINS, Toolchains
from factory.workbench.workspace import seeds_root
from shared.errors import SandboxUnavailable
from shared.processes.process import SYSTEM_PATH
from tests.factory.workbench.registries import use_registry
from tests.factory.workbench.warm_projects import RUST, THING, cargo_project, go_project

_SOURCE = 'package two\n\nimport (\n\t"fmt"\n\t"strings"\n{0})\n\n'
_HTTP = '\t_ "net/http"\n'
_TEST = 'package two\n\nimport "testing"\n\nfunc TestTwo(t *testing.T) { Two() }\n'


def measure_toolchains(bench: Bench) -> Section:
    """Return a row for each backend, and those for the second attempt of an order."""
    environ = {**os.environ, "HOME": pwd.getpwuid(os.geteuid()).pw_dir}
    toolchains = find_toolchains(bench.scratch / "nowhere", lambda path: None, environ)
    visible = [_visible(bench, backend, toolchains) for backend in Backend if backend not in _OTHER]
    builds = (_second_attempt(bench, toolchains, more) for more in ("", _HTTP))
    locked = (_locked_build(bench, tool) for tool in ("go", "cargo"))
    return Section("Commands: the user's toolchains", (*visible, *builds, *locked))


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
    taken = interleave(cases, bench.rounds(31), warm=True)
    aim = Aim(factor=1, extra=5)
    return timed(name, taken["with"], taken["without"], "it without them", aim)


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
    seed = go_seed(Path(go), path, packages, seeds_root())
    sandbox = _open(bench, Backend.AUTO, toolchains, seed)
    if isinstance(sandbox, str):
        return Row(name, None, "s", notes=sandbox)
    contained = bench.scratch / "in-sandbox"
    bare = bench.folder("bare")
    environ = {"PATH": path, "HOME": str(bare), "GOFLAGS": "-buildvcs=false"}
    environ["GOCACHE"] = str(shutil.copytree(seed, bare / "cache"))
    argv = [go, "test", "./..."]
    write = partial(_write, more=more)
    return _beside_a_warm_cache(bench, name, sandbox, contained, bare, argv, environ, write)


_FUNCTIONS = 1_000  # of the package that a lock names
_GO_LIB = 'package lib\n\nimport "fmt"\n\nfunc Answer() string { return F0(0) }\n'
_GO_FUNCTION = 'func F{0}(x int) string {{ return fmt.Sprintf("%d %d", x, {0}) }}\n'
_RUST_FUNCTION = 'pub fn f{0}(x: i32) -> String {{ format!("{{x}} {0}") }}\n'


def _locked_build(bench: Bench, tool: str) -> Row:
    name = f"`{tool} test` in the second attempt of an order, with a package that the lock names"
    if shutil.which(tool) is None:
        return Row(name, None, "s", notes=f"{tool} is not installed")
    folder = bench.folder("locked")
    tree, home = folder / "tree", folder / "home"
    for each in (tree, home, folder / "bare"):
        each.mkdir()
    machine = {"PATH": os.environ["PATH"], "HOME": str(home)}
    rustup = os.environ.get("RUSTUP_HOME", f"{pwd.getpwuid(os.geteuid()).pw_dir}/.rustup")
    machine |= {"RUSTUP_HOME": rustup} if Path(rustup).is_dir() else {}
    if tool == "go":
        functions = "".join(map(_GO_FUNCTION.format, range(_FUNCTIONS)))
        own = {"GOPROXY": f"file://{folder}/proxy", "GONOSUMDB": "*", "GOSUMDB": "off"}
        files = {"x.go": 'package demo\n\nimport _ "example.com/lib"\n'}
        project = go_project(tree, {**machine, **own}, _GO_LIB + functions, files)
    else:
        use_registry(home / ".cargo", folder / "registry")
        functions = "".join(map(_RUST_FUNCTION.format, range(_FUNCTIONS)))
        project = cargo_project(tree, machine, {}, code=THING + functions)
    try:
        sandbox = project.sandbox("private")
    except SandboxUnavailable as error:
        return Row(name, None, "s", notes=error.message)
    shutil.copytree(tree, folder / "bare", dirs_exist_ok=True)
    environ = {**machine, **project.found.environment}
    if project.toolset.go_seed is not None:
        environ["GOCACHE"] = str(shutil.copytree(project.toolset.go_seed, folder / "warm"))
    argv = [tool, "test"]
    write = partial(_write_use, go=tool == "go")
    return _beside_a_warm_cache(bench, name, sandbox, tree, folder / "bare", argv, environ, write)


def _write_use(folder: Path, number: int, *, go: bool) -> None:
    """Write code that uses the package and differs each time."""
    if go:
        use = f"var X = lib.Answer() + lib.F0({number})"
        (folder / "x.go").write_text(f'package demo\n\nimport "example.com/lib"\n\n{use}\n')
        (folder / "x_test.go").write_text(_TEST.replace("two", "demo").replace("Two()", "_ = X"))
    else:
        (folder / "src/lib.rs").write_text(f"{RUST['src/lib.rs']}pub const N: i32 = {number};\n")


def _beside_a_warm_cache(
    bench: Bench,
    name: str,
    sandbox: Sandbox,
    contained: Path,
    bare: Path,
    argv: Sequence[str],
    environ: Mapping[str, str],
    write: Callable[[Path, int], None],
) -> Row:
    """Return the row of a build that begins with its seeds, after `write` changed the code."""
    count = itertools.count()

    def attempt() -> None:
        sandbox.clear()
        _run(bench, sandbox, *argv)

    def warm() -> None:
        subprocess.run(argv, cwd=bare, env=environ, check=True, capture_output=True)

    def measured(folder: Path, act: Callable[[], None]) -> float:
        write(folder, next(count))
        return seconds_of(act)

    cases = {
        "attempt": partial(measured, contained, attempt),
        "warm": partial(measured, bare, warm),
    }
    taken = interleave(cases, bench.rounds(7), warm=True)
    aim = Aim(factor=1.5)
    return timed(name, taken["attempt"], taken["warm"], "it on a warm cache", aim, unit="s")


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
