"""What it costs to find out how a repo verifies itself."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.measure import cpu_seconds_of, interleave
from benchmarks.rows import Aim, Section, timed
from benchmarks.setting import FILES_PER_FOLDER, Bench
from shared.files.text_sources import RepoSources
from shared.projects.build_tools import Ground, find_verification

_FILES = 20_000
_LIMIT_MS = 20
_MANIFESTS = {
    "package.json": json.dumps({"scripts": {"test": "node --test"}}),
    "go.mod": "module example.org/calc\n",
    "Cargo.toml": '[package]\nname = "calc"\n',
    "pyproject.toml": '[project]\nname = "calc"\n',
    "Makefile": "test:\n\ttrue\n",
}


def measure_verification(bench: Bench) -> Section:
    """Return the row of a repo in several languages, beside the sorting of its paths."""
    repo = bench.folder("repo")
    for name, text in _MANIFESTS.items():
        (repo / name).write_text(text)
    paths = (*_MANIFESTS, *map(_path, range(_FILES)))
    cases = {
        "found": lambda: cpu_seconds_of(lambda: _find(repo, paths)),
        "sorted": lambda: cpu_seconds_of(lambda: sorted(frozenset(paths))),
    }
    taken = interleave(cases, bench.rounds(15))
    row = timed(
        f"{_FILES:,} files, five languages",
        taken["found"],
        taken["sorted"],
        "paths sorted",
        Aim(extra=_LIMIT_MS),
    )
    return Section("How a repo verifies itself: found out", (row,))


def _path(number: int) -> str:
    return f"src/part_{number // FILES_PER_FOLDER}/module_{number}.py"


def _find(repo: Path, paths: tuple[str, ...]) -> None:
    assert find_verification(RepoSources(repo, paths)).ground is Ground.MANIFESTS
