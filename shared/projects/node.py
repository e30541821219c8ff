"""Reads `package.json`, and tells the package manager by its lock file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shared.projects.base import Project, RepoFiles, VerifyCommand
from shared.projects.reading import (
    Table,
    bounded,
    is_tracked,
    one_line,
    pairs_at,
    parse_json,
    table,
    text_at,
    unreadable,
)

MANIFEST: Final = "package.json"

# Each lock file with the package manager that writes it, and how that runs the script `test`.
_MANAGERS: Final = {
    "package-lock.json": ("npm", "npm test"),
    "npm-shrinkwrap.json": ("npm", "npm test"),
    "pnpm-lock.yaml": ("pnpm", "pnpm test"),
    "yarn.lock": ("yarn", "yarn test"),
    "bun.lock": ("bun", "bun run test"),
    "bun.lockb": ("bun", "bun run test"),
}
_COMMANDS: Final = dict(_MANAGERS.values())
_TABLES: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_PHASES: Final = ("pretest", "test", "posttest")  # what `npm test` runs, in this order
_LOCAL_PROGRAMS: Final = 'PATH="$PWD/node_modules/.bin:$PATH"'
_PLACEHOLDER = re.compile(r"echo .*no test specified.* exit 1")
# A script with one of these ends what it started.
_ENDS_ITSELF = re.compile(r"start-server-and-test|concurrently|wait-on|server-test")
_NEVER_ENDS = re.compile(
    r"--watch(?:-?all)?(?=$|[ \"']|=true)|\bnodemon\b|\bwebpack-dev-server\b|\bonchange\b"
    r"|\b(?:webpack|ng|vue-cli-service|parcel) serve\b|\b(?:next|nuxt|vitest) (?:dev|watch)\b"
    r"|\b(?:mocha|ava|tsc)\b[^&|;]* -w\b|^vite$",
    re.IGNORECASE,
)
# These watch on a developer's machine, and run once where CI is set.
_ENDS_ON_CI = re.compile(r"\breact-scripts test\b|\bcraco test\b|\bvitest\b(?! run\b)")


class Node:
    """Read what `package.json` says, with npm, pnpm, yarn or bun as the package manager."""

    name = "npm"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the project; `tool` is the package manager."""
        if not is_tracked(files, MANIFEST):
            return None
        document = parse_json(files.text(MANIFEST))
        if document is None:
            return Project(self.name, MANIFEST, notes=(unreadable(MANIFEST),))
        manager, doubts = _manager_of(files, document)
        test = test_script(document)
        command = _command_of(document, manager) if test.runs else None
        return Project(
            tool=manager,
            manifest=MANIFEST,
            name=text_at(document, "name"),
            scripts=dict(pairs_at(document, "scripts")),
            dependencies=bounded(_dependencies_of(document)),
            verify=(command,) if command else (),
            notes=(*doubts, *([test.problem] if test.problem else [])),
        )


@dataclass(frozen=True, slots=True)
class TestScript:
    """Say whether the script `test` is one to run; `problem` says why it is not."""

    runs: bool
    problem: str = ""
    on_ci: bool = False


def test_script(document: Table) -> TestScript:
    """Return what there is to say of the script `test` of a parsed `package.json`."""
    if not isinstance(document.get("scripts", {}), dict):
        return TestScript(False, f"{MANIFEST}: scripts is not a table, so nothing is run for it")
    text = text_at(table(document, "scripts"), "test")
    if not text:
        return TestScript(False, _without_script(document))
    if _PLACEHOLDER.search(text):
        problem = f"{MANIFEST}: scripts.test is npm's placeholder, which tests nothing"
        return TestScript(False, problem)
    if _ENDS_ITSELF.search(text):
        return TestScript(True)
    if _NEVER_ENDS.search(text):
        return TestScript(
            False,
            f"{MANIFEST}: scripts.test is not run, because `{text[:80]}` watches or serves and "
            "never ends: `--verify CMD` names a command that ends",
        )
    return TestScript(True, on_ci=_ENDS_ON_CI.search(text) is not None)


def _without_script(document: Table) -> str:
    if "workspaces" in document:
        return (
            f"{MANIFEST} has workspaces and no script `test` of its own: "
            "`--verify 'npm test --workspaces --if-present'` runs theirs"
        )
    return f"{MANIFEST} has no script `test`"


def _manager_of(files: RepoFiles, document: Table) -> tuple[str, tuple[str, ...]]:
    """Return the package manager, and a note where the files disagree on it."""
    locks = [lock for lock in _MANAGERS if is_tracked(files, lock)]
    locked = tuple(dict.fromkeys(_MANAGERS[lock][0] for lock in locks))
    declared = text_at(document, "packageManager").partition("@")[0]
    named = declared if declared in _COMMANDS else ""
    manager = named or (locked[0] if locked else "npm")
    if len(locked) > 1 or (named and locked and named not in locked):
        said = [*locks, *([f"packageManager {named}"] if named else [])]
        return manager, (f"{' and '.join(said)} disagree: {manager} is used",)
    return manager, ()


def _command_of(document: Table, manager: str) -> VerifyCommand:
    scripts = table(document, "scripts")
    command = _COMMANDS[manager]
    if test_script(document).on_ci:
        command = f"env CI=true {command}"
    return VerifyCommand(command, f"{MANIFEST}: scripts.test", _as_defined(scripts))


def _as_defined(scripts: Table) -> str:
    """Return a command that runs what the script runs now; "" where it is no short line."""
    phases = [each for each in map(scripts.get, _PHASES) if isinstance(each, str) and each]
    if any(each != one_line(each) for each in phases):
        return ""
    script = " && ".join(phases)
    return f"bash -c {shlex.quote(f'{_LOCAL_PROGRAMS}; {script}')}"


def _dependencies_of(document: Table) -> Iterator[str]:
    for each in _TABLES:
        yield from (f"{name} {version}" for name, version in pairs_at(document, each))
