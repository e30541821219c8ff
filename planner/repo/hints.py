"""Describes an existing repo to the planner's model: its files, manifests and public names.

The text keeps to a budget, and the files nearest to the spec's words come first. The repo may be
a stranger's and of any size: nothing is imported, no link is followed, and only files that may be
shown are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.repo.manifests import render_manifests
from planner.repo.outlines import (
    SourceFile,
    counted,
    fitting,
    outline_files,
    read_source_files,
    score_definitions,
)
from planner.repo.relevance import path_score, spec_stems
from shared.files.paths import PathProblem, check_path
from shared.files.tree_sources import TreeSources
from shared.projects.base import Project
from shared.projects.programs import LANDMARKS

_HEADINGS: Final = 500  # characters set aside for the sentences around listing and outlines
_MANIFEST_SHARE: Final = 4  # the manifests take at most a quarter of the room
_MAX_FOLDERS: Final = 5


@dataclass(frozen=True, slots=True)
class RepoHints:
    """Hold the text for the prompt, and how many files and modules it shows or leaves out."""

    text: str
    listed: int
    left_out: int
    outlined: int = 0
    not_outlined: int = 0


def read_repo_hints(
    files: TreeSources, spec_text: str, budget_chars: int, projects: Sequence[Project] = ()
) -> RepoHints:
    """Return the hints for a tree of `files`, of at most `budget_chars` characters.

    `projects` are what its manifests say. A path that no order could name, such as one with control
    characters, is left out and counted. A file that cannot be read as its language is counted among
    those without an outline. The same files and spec give the same text. Never raises.
    """
    wanted = spec_stems(spec_text)
    scores = {path: path_score(path, wanted) for path in files.paths if _can_be_named(path)}
    sources = read_source_files(files, sorted(scores, key=lambda path: (-scores[path], path)))
    for source in sources:
        scores[source.path] += score_definitions(source, wanted)
    nearest = _landmarks_first(sorted(scores, key=lambda path: (-scores[path], path)))
    by_path = {source.path: source for source in sources}
    ordered = [by_path[path] for path in nearest if path in by_path]
    room = max(0, budget_chars - _HEADINGS)
    manifests = render_manifests(projects, room // _MANIFEST_SHARE)
    return _compose(nearest, ordered, manifests, len(files.paths), budget_chars)


def _compose(
    nearest: Sequence[str],
    sources: Sequence[SourceFile],
    manifests: str,
    tracked: int,
    budget: int,
) -> RepoHints:
    """Share the budget between the listing and the outlines.

    Half of it is reserved for the listing, as far as the listing needs it. The outlines may take
    the rest, and the listing then gets what they leave. So neither starves the other, and a small
    repo is shown whole.
    """
    room = max(0, budget - _HEADINGS - len(manifests))
    whole_listing = sum(len(path) + 1 for path in nearest)
    outlines = outline_files(nearest, sources, room - min(whole_listing, room // 2))
    paths = fitting(nearest, room - outlines.size)
    left_out = tracked - len(paths)
    text = _listing(paths, nearest, left_out)
    for part in (manifests, outlines.text):
        text += f"\n\n{part}" if part else ""
    if len(text) <= budget:
        return RepoHints(text, len(paths), left_out, outlines.shown, outlines.left_out)
    return RepoHints("", 0, tracked, 0, outlines.shown + outlines.left_out)


def _listing(paths: Sequence[str], nearest: Sequence[str], left_out: int) -> str:
    tracked = len(paths) + left_out
    if not tracked:
        return "The repository has no files yet."
    text = f"The repository has {counted(tracked, 'tracked file')}"
    if left_out:
        text += f". Listed are the {len(paths):,} that seem nearest to the specification; "
        text += f"{left_out:,} are left out{_folders_left_out(nearest, paths)}"
    return text + ":\n\n" + "\n".join(paths)


def _folders_left_out(nearest: Sequence[str], paths: Sequence[str]) -> str:
    """Return the folders with the most unlisted files: ` (docs/ 700, src/ 20)`."""
    shown = set(paths)
    folders = Counter(
        path.split("/", 1)[0][:30] + "/" for path in nearest if path not in shown and "/" in path
    )
    most = sorted(folders.items(), key=lambda item: (-item[1], item[0]))[:_MAX_FOLDERS]
    return f" ({', '.join(f'{name} {count:,}' for name, count in most)})" if most else ""


def _landmarks_first(paths: Sequence[str]) -> list[str]:
    present = set(paths)
    first = [each for each in LANDMARKS if each in present]
    return [*first, *(path for path in paths if path not in LANDMARKS)]


def _can_be_named(path: str) -> bool:
    """Say whether an order could name the path; no other path is worth a line."""
    try:
        return check_path(path) == path
    except PathProblem:
        return False
