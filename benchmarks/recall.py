"""How many of the definitions that a commit changed are in the hints that its message gets.

`python -m benchmarks.recall REPO...` takes commits of clones, newest first: those that change one
to five source files and say why in their message. The message is the specification, and the
parent commit is the repository. docs/repositories.md has figures.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planner.repo.planned_repo import read_repo_hints
from shared.git.client import Git
from shared.git.trees import CommitSources
from shared.languages.registry import language_of
from shared.projects.build_tools import find_projects

_LEAST_MESSAGE: Final = 90  # characters; a shorter one does not say what it is about
_MOST_FILES: Final = 5
_HUNK: Final = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+", re.MULTILINE)
_TRAILER: Final = re.compile(r"^[A-Z][\w-]+-by: .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """Hold a commit with what it changed of its parent: definitions by the path of their file."""

    commit: str
    message: str
    definitions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Count the definitions of one commit: all, named, with signature, with code in the hints."""

    every: int
    named: int
    signed: int
    tokens: int
    seconds: float


def changes_of(git: Git, most: int) -> Iterator[Change]:
    """Yield the newest commits that can be measured."""
    for commit in git.run("log", "--no-merges", "--format=%H", "--max-count=4000").split():
        message = _TRAILER.sub("", git.run("log", "-1", "--format=%B", commit)).strip()
        if len(message) < _LEAST_MESSAGE or most <= 0:
            continue
        files = git.run("diff-tree", "-r", "--name-status", "--no-renames", commit).splitlines()
        changed = [line[2:] for line in files[1:] if line[:1] == "M" and _is_source(line[2:])]
        if 0 < len(changed) <= _MOST_FILES:
            found = tuple(each for path in changed for each in _changed(git, commit, path))
            if found:
                most -= 1
                yield Change(commit, message, found)


def _is_source(path: str) -> bool:
    language = language_of(path)
    if language is None or language.edits is None or language.plans is None:
        return False
    return not language.plans.is_test_file(path) and not path.endswith(".d.ts")


def _changed(git: Git, commit: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path with the name of each innermost definition that has a changed line."""
    language = language_of(path)
    assert language is not None and language.edits is not None
    outline = language.edits.outline(git.run("show", f"{commit}^:{path}"))
    patch = git.run("diff", "--unified=0", "--no-ext-diff", f"{commit}^", commit, "--", path)
    names: dict[str, None] = {}
    for hunk in _HUNK.finditer(patch):
        first, count = int(hunk[1]), int(hunk[2] or 1)
        # Between two lines, both of them have to be of the definition that gets more.
        lines = range(first, first + count) if count else (first,)
        ends = 0 if count else 1
        for line in lines:
            around = [e for e in outline if e.first <= line and line + ends <= e.last]
            if around:
                names[min(around, key=lambda e: e.last - e.first).name] = None
    yield from ((path, name) for name in names)


def look_for(git: Git, change: Change, budget: int) -> Found:
    """Return what the hints of the parent commit have of what the commit changed."""
    files = CommitSources(git, f"{change.commit}^")
    projects = find_projects(files)
    started = time.process_time()
    hints = read_repo_hints(files, change.message, budget, projects)
    seconds = time.process_time() - started
    blocks = _blocks(hints.text, files.paths)
    named = signed = 0
    for path, name in change.definitions:
        lines = blocks.get(path, ())
        words = [part.rpartition(" ")[2] for part in name.split(".")]
        named += all(_has(lines, word) for word in words)
        signed += _has([each for each in lines if each.lstrip()[:2] not in ("//", "# ")], words[-1])
    return Found(len(change.definitions), named, signed, len(hints.text) // 4, seconds)


def _has(lines: Sequence[str], word: str) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", line) for line in lines)


def _blocks(text: str, paths: Sequence[str]) -> dict[str, list[str]]:
    heads = {f"{mark} {path}": path for path in paths for mark in ("#", "//")}
    blocks: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.split("\n"):
        if line in heads:
            current = blocks.setdefault(heads[line], [])
        elif line.startswith("```"):
            current = None
        elif current is not None:
            current.append(line)
    return blocks


def main() -> None:
    """Print a line for each repository, and one for all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("repos", nargs="+", type=Path, metavar="REPO")
    parser.add_argument("--commits", type=int, default=5, help="of each repository")
    parser.add_argument("--budget", type=int, default=32_000, help="characters of the hints")
    options = parser.parse_args()
    every: list[Found] = []
    for repo in options.repos:
        git = Git(repo)
        found = [look_for(git, each, options.budget) for each in changes_of(git, options.commits)]
        every += found
        name = repo.parent.name if repo.name == "repo" else repo.name
        sys.stdout.write(_line(name, found) + "\n")
    sys.stdout.write(_line("all", every) + "\n")


def _line(name: str, found: Sequence[Found]) -> str:
    of = max(1, sum(each.every for each in found))
    named, signed = (sum(each) for each in zip(*((e.named, e.signed) for e in found), strict=True))
    slowest = max(each.seconds for each in found)
    tokens = sum(each.tokens for each in found) // len(found)
    return (
        f"{name:32} {len(found):3} commits {of:4} definitions: {100 * named // of:3}% named, "
        f"{100 * signed // of:3}% with signature; {tokens:5} tokens, {slowest:.2f} s at most"
    )


if __name__ == "__main__":
    main()
