"""What it costs to find out which packages a repo declares, before any is installed."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import cpu_seconds_of, interleave
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.setting import FILES_PER_FOLDER, Bench
from factory.workbench.dependencies import Manifests
from shared.languages.ecmascript.node_modules import KNOWN_HOSTS, check_npm_lock, read_json
from shared.languages.python.python_packages import read_wishes

_FILES: Final = 20_000
_PACKAGES: Final = 1_000
_HASH: Final = "a" * 64
_MARKERS: Final = {"python_version": "3.11", "sys_platform": "linux"}


def measure_dependencies(bench: Bench) -> Section:
    """Return the rows of finding manifests and of reading locks, each beside its parser."""
    repo = bench.folder("repo")
    (repo / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["p0"]\n')
    (repo / "uv.lock").write_text(_uv_lock())
    npm = json.dumps(_npm_lock())
    paths = tuple(map(_path, range(_FILES)))
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "manifests": (partial(Manifests.of, repo, paths), lambda: sorted(frozenset(paths))),
        "uv": (partial(_wishes, repo), lambda: tomllib.loads((repo / "uv.lock").read_text())),
        "npm": (partial(_check_npm, npm), partial(json.loads, npm)),
    }
    cases: dict[str, Callable[[], float]] = {}
    for name, (value, floor) in pairs.items():
        cases[name] = partial(cpu_seconds_of, value)
        cases[f"floor {name}"] = partial(cpu_seconds_of, floor)
    taken = interleave(cases, bench.rounds(11), warm=True)

    def row(name: str, title: str, floor_name: str, aim: Aim) -> Row:
        floor = taken[f"floor {name}"]
        return timed(title, taken[name], floor, floor_name, aim, notes="processor time")

    return Section(
        "Dependencies: what a repo declares, found out",
        (
            row("manifests", f"manifests among {_FILES:,} files", "paths sorted", Aim(extra=20)),
            row("uv", f"uv.lock of {_PACKAGES:,} packages", "tomllib.loads of it", Aim(2)),
            row("npm", f"npm lock of {_PACKAGES:,} packages", "json.loads of it", Aim(8)),
        ),
    )


def _path(number: int) -> str:
    return f"src/part_{number // FILES_PER_FOLDER}/module_{number}.py"


def _wishes(repo: Path) -> None:
    files = Manifests(repo, ("pyproject.toml", "uv.lock"))
    assert len(read_wishes(files, _MARKERS).lines) == _PACKAGES


def _check_npm(text: str) -> None:
    check_npm_lock("package-lock.json", read_json("package-lock.json", text), KNOWN_HOSTS)


def _uv_lock() -> str:
    """Return a lock in which each package needs the next one."""
    return "\n".join(
        f'[[package]]\nname = "p{number}"\nversion = "1.0.0"\n'
        'source = { registry = "https://pypi.org/simple" }\n'
        + (f'dependencies = [{{ name = "p{number + 1}" }}]\n' if number < _PACKAGES - 1 else "")
        + "wheels = [\n"
        + f'  {{ url = "https://files.pythonhosted.org/p{number}-1.0.0-py3-none-any.whl", '
        f'hash = "sha256:{_HASH}", size = 1000 }},\n]\n'
        for number in range(_PACKAGES)
    )


def _npm_lock() -> dict[str, Any]:
    packages: dict[str, Any] = {"": {"name": "x"}}
    for number in range(_PACKAGES):
        packages[f"node_modules/p{number}"] = {
            "version": "1.0.0",
            "resolved": f"https://registry.npmjs.org/p{number}/-/p{number}-1.0.0.tgz",
            "integrity": f"sha512-{_HASH}",
            "dependencies": {f"p{number + 1}": "^1.0.0"},
        }
    return {"lockfileVersion": 3, "packages": packages}
