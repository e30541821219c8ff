"""Describes an existing repo to the planner's model: its files and their public names.

The text keeps to a budget, and the files nearest to the spec's words come first. The repo may be
a stranger's and of any size: nothing is imported, no link is followed, and only files that may be
shown are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.prompts.template import fenced
from planner.repo.relevance import definition_score, path_score, spec_stems
from planner.repo.signatures import outline
from shared.files.paths import PathProblem, check_path
from shared.files.repo_sources import RepoSources

# These bound the work, whatever the repo holds. Reading 400 sources takes some 30 ms. The parser
# takes a second for about a megabyte, and the outlines of a usual budget need a fifth of that.
MAX_READ_FILES = 400
MAX_READ_BYTES = 4_000_000
MAX_PARSED_CHARACTERS = 1_000_000
MIN_BLOCK = 200  # characters; a shorter block says nothing about a module
MODULE_SHARE = 6  # one large module gets at most a sixth of the room, so that others fit too

# A plan nearly always depends on these files, so they come first where the repo has them.
LANDMARKS = (
    "scripts/verify.sh",
    "pyproject.toml",
    "README.md",
    "requirements.txt",
    "package.json",
    "Makefile",
)

_HEADINGS = 500  # characters set aside for the sentences around listing and outlines
_MAX_FOLDERS = 5


@dataclass(frozen=True, slots=True)
class RepoHints:
    """Hold the text for the prompt, and how many files and modules it shows or leaves out."""

    text: str
    listed: int
    left_out: int
    outlined: int = 0
    not_outlined: int = 0


@dataclass(frozen=True, slots=True)
class _Module:
    path: str
    source: str


def read_repo_hints(
    root: Path, tracked: Sequence[str], spec_text: str, budget_chars: int
) -> RepoHints:
    """Return the hints for the working tree at `root`, of at most `budget_chars` characters.

    `tracked` are the paths that git lists, relative to `root`, in any order. A path that no order
    could name, such as one with control characters, is left out and counted. A module that cannot
    be read as Python is counted among those without an outline. The same files and spec give the
    same text. Never raises.
    """
    wanted = spec_stems(spec_text)
    scores = {path: path_score(path, wanted) for path in tracked if _can_be_named(path)}
    modules = _read_modules(root, sorted(scores, key=lambda path: (-scores[path], path)))
    for module in modules:
        scores[module.path] += definition_score(module.source, wanted)
    nearest = _landmarks_first(sorted(scores, key=lambda path: (-scores[path], path)))
    by_path = {module.path: module for module in modules}
    ordered = [by_path[path] for path in nearest if path in by_path]
    return _compose(nearest, ordered, len(set(tracked)), budget_chars)


def _compose(
    nearest: Sequence[str], modules: Sequence[_Module], tracked: int, budget: int
) -> RepoHints:
    """Share the budget between the listing and the outlines.

    Half of it is reserved for the listing, as far as the listing needs it. The outlines may take
    the rest, and the listing then gets what they leave. So neither starves the other, and a small
    repo is shown whole.
    """
    python_files = sum(path.endswith(".py") for path in nearest)
    room = max(0, budget - _HEADINGS)
    whole_listing = sum(len(path) + 1 for path in nearest)
    blocks, empty = _outlines(modules, room - min(whole_listing, room // 2))
    outlines = "\n\n".join(blocks)
    paths = _fitting(nearest, room - len(outlines))
    hints = RepoHints(
        text="",
        listed=len(paths),
        left_out=tracked - len(paths),
        outlined=len(blocks),
        not_outlined=python_files - len(blocks) - empty,
    )
    return _with_text(hints, _render(hints, paths, nearest, outlines), budget)


def _with_text(hints: RepoHints, text: str, budget: int) -> RepoHints:
    if len(text) <= budget:
        return RepoHints(text, hints.listed, hints.left_out, hints.outlined, hints.not_outlined)
    return RepoHints("", 0, hints.listed + hints.left_out, 0, hints.outlined + hints.not_outlined)


def _render(hints: RepoHints, paths: Sequence[str], nearest: Sequence[str], outlines: str) -> str:
    tracked = hints.listed + hints.left_out
    if not tracked:
        return "The repository has no files yet."
    text = f"The repository has {_counted(tracked, 'tracked file')}"
    if hints.left_out:
        text += f". Listed are the {hints.listed:,} that seem nearest to the specification; "
        text += f"{hints.left_out:,} are left out{_folders_left_out(nearest, paths)}"
    text += ":\n\n" + "\n".join(paths)
    if outlines:
        text += f"\n\nPublic names of {_counted(hints.outlined, 'Python module')}"
        text += f" ({hints.not_outlined:,} left out)" if hints.not_outlined else ""
        text += ":\n\n" + fenced(outlines, "python")
    return text


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _folders_left_out(nearest: Sequence[str], paths: Sequence[str]) -> str:
    """Return the folders with the most unlisted files: ` (docs/ 700, src/ 20)`."""
    shown = set(paths)
    folders = Counter(
        path.split("/", 1)[0][:30] + "/" for path in nearest if path not in shown and "/" in path
    )
    most = sorted(folders.items(), key=lambda item: (-item[1], item[0]))[:_MAX_FOLDERS]
    return f" ({', '.join(f'{name} {count:,}' for name, count in most)})" if most else ""


def _outlines(modules: Sequence[_Module], room: int) -> tuple[list[str], int]:
    """Return the outlines that fit, and how many modules have no public name to show."""
    blocks: list[str] = []
    limit = max(room // MODULE_SHARE, 1_000)
    empty = parsed = 0
    for module in modules:
        parsed += len(module.source)
        if room < MIN_BLOCK or parsed > MAX_PARSED_CHARACTERS:
            break
        lines = outline(module.source, reexports=module.path.endswith("__init__.py"))
        if lines is None:
            continue
        if not lines:
            empty += 1
            continue
        if block := _block(module.path, lines, min(limit, room)):
            room -= len(block) + 2
            blocks.append(block)
    return blocks, empty


def _block(path: str, lines: Sequence[str], limit: int) -> str:
    """Return the module's lines under its path, cut at a line where they are too long."""
    text = "\n".join((f"# {path}", *lines))
    if len(text) <= limit:
        return text
    kept = _fitting(lines, limit - len(path) - 40, stop=True)
    if not kept:
        return ""
    return "\n".join((f"# {path}", *kept, f"# ... and {len(lines) - len(kept)} lines more"))


def _fitting(lines: Sequence[str], room: int, *, stop: bool = False) -> list[str]:
    """Return the lines that fit in `room` characters; with `stop`, end at one that does not fit."""
    kept = []
    for line in lines:
        if len(line) < room:
            kept.append(line)
            room -= len(line) + 1
        elif stop or room <= 1:
            break
    return kept


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


def _read_modules(root: Path, paths: Sequence[str]) -> list[_Module]:
    """Read the first Python files of `paths`, as far as the bounds go."""
    modules = []
    room = MAX_READ_BYTES
    for path, source in _sources(root, paths):
        room -= len(source)
        if room < 0:
            break
        modules.append(_Module(path, source))
    return modules


def _sources(root: Path, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    sources = RepoSources(root)
    tried = 0
    for path in paths:
        if not path.endswith(".py"):
            continue
        tried += 1
        if tried > MAX_READ_FILES:
            return
        source = sources.read(path)
        if source is not None:
            yield path, source
