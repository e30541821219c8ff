"""Names the manifests below the root: their tests are not run, unless the root's tool runs them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from shared.projects.base import Project, RepoFiles
from shared.projects.node import test_script
from shared.projects.reading import is_tracked, parse_json

_NAMED: Final = 3  # manifests that a note is made of; further ones are counted
_LOOKED_AT: Final = 30  # manifests that are considered at all
_PLAIN = re.compile(r"[\w][\w.@+/-]{0,200}")
_OTHERS: Final = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third_party|testdata|fixtures|target|build|dist|examples?|docs?"
    r"|tests?|__tests__|e2e|templates?|\.[^/]*)/"
)
# Each manifest with the command that tests its folder.
_COMMANDS: Final = {
    "package.json": "npm --prefix {0} test",
    "go.mod": "env -C {0} go test ./...",
    "Cargo.toml": "cargo test --manifest-path {0}/Cargo.toml",
    "pom.xml": "mvn --file {0} --batch-mode test",
    "build.gradle": "gradle --no-daemon --project-dir {0} test",
    "build.gradle.kts": "gradle --no-daemon --project-dir {0} test",
}
# Projects at the root that run what is below them. Go runs nothing of a module within a module.
_RUN_BY: Final = {
    "Cargo.toml": frozenset({"Cargo"}),
    "pom.xml": frozenset({"Maven", "Gradle"}),
    "build.gradle": frozenset({"Maven", "Gradle"}),
    "build.gradle.kts": frozenset({"Maven", "Gradle"}),
}
_ENDS: Final = tuple(f"/{name}" for name in _COMMANDS)


def nested_notes(files: RepoFiles, projects: Sequence[Project]) -> Iterator[str]:
    """Yield a note on each of the first manifests below the root whose tests are not run."""
    found = list(_not_run(files, projects))
    for path in found[:_NAMED]:
        folder, _, name = path.rpartition("/")
        command = _COMMANDS[name].format(shlex.quote(folder))
        yield (
            f"{path} is not run: `--verify '{command}'` runs it, and one more --verify each of the "
            "other commands"
        )
    if len(found) > _NAMED:
        yield f"{len(found) - _NAMED} more manifests below the root are not run"


def _not_run(files: RepoFiles, projects: Sequence[Project]) -> Iterator[str]:
    tools = {each.tool for each in projects}
    candidates = [path for path in files.paths if path.endswith(_ENDS)]
    for path in candidates[:_LOOKED_AT]:
        name = path.rpartition("/")[2]
        if _OTHERS.search(path) or not _PLAIN.fullmatch(path):
            continue
        if tools & _RUN_BY.get(name, frozenset()) or _is_run_by_workspace(name, files):
            continue
        if name != "package.json" or _has_tests(files.text(path)):
            yield path


def _has_tests(manifest: str | None) -> bool:
    document = parse_json(manifest)
    return document is not None and test_script(document).runs


def _is_run_by_workspace(name: str, files: RepoFiles) -> bool:
    """Return whether a workspace of npm holds the package, as far as the root says."""
    if name != "package.json":
        return False
    root = parse_json(files.text(name)) if is_tracked(files, name) else None
    return "workspaces" in (root or {}) or is_tracked(files, "pnpm-workspace.yaml")
