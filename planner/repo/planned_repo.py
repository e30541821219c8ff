"""Reads the repository that a plan is for, and describes it to the planner's model.

The text keeps to a budget, and the files nearest to the spec's words come first. The repo may be
a stranger's and of any size: nothing is imported, no link is followed, and only files that may be
shown are read.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.prompts.prompt_templates import fenced
from planner.repo import repo_outlines
from planner.repo.spec_words import path_score, read_spec_words
from shared.errors import InvalidInput
from shared.events.events import Emit, Noted
from shared.files.paths import can_be_named
from shared.files.text_sources import RepoSources, TreeSources
from shared.git import refs, repos, trees
from shared.git.client import Git, without_repo_filters
from shared.git.trees import CommitSources
from shared.languages.acceptance_commands import order_files
from shared.projects.build_tools import LANDMARKS, Ground, find_projects, find_verification
from shared.projects.conventions import MAX_CHARACTERS, Conventions, find_conventions
from shared.work_order.work_order import MAX_LISTED, BaseFile, WorkOrder

if TYPE_CHECKING:
    from shared.projects.manifests import Project, RepoFiles, VerifyCommand


@dataclass(frozen=True, slots=True)
class RepoTree:
    """Hold the files of a repo where a plan begins, and the root of its working tree.

    `projects` are what its manifests say.
    `verification` are the commands that verify the repo where it has no `scripts/verify.sh`. It is
    empty if that script verifies the repo, and where nothing says how it is verified: an order
    may then write the script.
    """

    root: Path | None
    files: TreeSources
    projects: tuple[Project, ...] = ()
    verification: tuple[VerifyCommand, ...] = ()


NO_TREE: Final = RepoTree(None, RepoSources(Path()))


def open_repo(folder: Path) -> Git:
    """Return git at the root of the working tree that `folder` is in.

    Raises `InvalidInput` if `folder` is not a directory in a working tree.
    """
    if not folder.is_dir():
        raise InvalidInput(f"--repo {folder}: no such folder", "name the root of a git repo")
    layout = repos.layout(Git(folder.resolve()))
    if layout is None:
        raise InvalidInput(
            f"--repo {folder}: {folder.resolve()} is not a git working tree",
            "name the root of a git repo, or pass --no-repo to go without one",
        )
    return Git(layout[0])


def open_tree(
    folder: Path, branch: str | None, verify: Sequence[str], emit: Emit, start: str | None = None
) -> RepoTree:
    """Return the files that a plan for the repo at `folder` begins with.

    They are those of the last commit of `branch`. Where no branch is named, or where it does not
    exist yet, they are those of the commit `start`, and without one the files that are tracked in
    the checkout. A branch that does not exist is reported to `emit`. `verify` is the setting of
    that name. Raises `InvalidInput` as `open_repo` does, and where `start` names no commit.
    """
    git = open_repo(folder)
    files = _files_of(git, branch, start, emit)
    projects = find_projects(files)
    return RepoTree(git.folder, files, projects, _known_verification(files, verify, projects))


def _files_of(git: Git, branch: str | None, start: str | None, emit: Emit) -> TreeSources:
    if branch is not None:
        tip = refs.tip_of_branch(git, branch)
        if tip:
            return CommitSources(git, tip)
        place = "the checkout" if start is None else start
        emit(Noted(f"branch {branch!r} does not exist yet: the files of {place} are read"))
    if start is None:
        return RepoSources(git.folder, trees.tracked_files(git))
    commit = refs.commit_of(git, start)
    if not commit:
        raise InvalidInput(
            f"{start!r} does not name a commit of {git.folder}",
            "give a full hash, or a unique abbreviation",
        )
    return CommitSources(git, commit)


def _known_verification(
    files: RepoFiles, verify: Sequence[str], projects: tuple[Project, ...]
) -> tuple[VerifyCommand, ...]:
    verification = find_verification(files, verify, projects)
    by_commands = verification.ground in (Ground.SETTING, Ground.MANIFESTS)
    return verification.commands if by_commands else ()


def committed_files(tree: RepoTree) -> CommitSources | None:
    """Return the files of the commit that a plan begins with; `None` where there is none."""
    if isinstance(tree.files, CommitSources):
        return tree.files
    git = Git(tree.root) if tree.root is not None else None
    head = refs.commit_of(git, "HEAD") if git is not None else ""
    return CommitSources(git, head) if git is not None and head else None


_REGULAR = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class BaseTree:
    """Hold the ids of a tree's files in git, by path.

    `changed` are files of a checkout that differ from the commit; what counts is on the disk.
    """

    git: Git
    ids: Mapping[str, str]
    changed: frozenset[str] = field(default=frozenset())

    def base_files(self, orders: Sequence[WorkOrder]) -> tuple[BaseFile, ...]:
        """Return the hashes of the files that `orders` touch or read, where they are in the tree.

        There are at most as many as a manifest can list; the first orders' come first then.
        """
        named = (path for order in orders for path in order_files(order))
        paths = [path for path in dict.fromkeys(named) if path in self.ids][:MAX_LISTED]
        found = dict(self._hashes(paths))
        return tuple(BaseFile(path=path, sha256=found[path]) for path in sorted(found))

    def _hashes(self, paths: Collection[str]) -> Iterator[tuple[str, str]]:
        stored = {path: self.ids[path] for path in paths if path not in self.changed}
        hashes = trees.hashes_of_blobs(self.git, dict.fromkeys(stored.values()))
        for path in paths:
            digest = hashes.get(stored[path]) if path in stored else _hash(self.git.folder / path)
            if digest is not None:
                yield path, digest


def base_tree(tree: RepoTree) -> BaseTree | None:
    """Return the files that a plan for the repo begins with, as they are now; `None` without one.

    In a checkout, the tracked files count, with their changes.
    """
    if isinstance(tree.files, CommitSources):
        return BaseTree(tree.files.git, tree.files.blobs)
    if tree.root is None:
        return None
    git = Git(tree.root)
    # A filter that only the repo's own config defines is a program of the repo: it does not run.
    git = git.with_config(without_repo_filters(repos.read_config(git)))
    entries = trees.all_entries(git)
    ids = {path: each.object_id for path, each in entries.items() if each.mode in _REGULAR}
    return BaseTree(git, ids, frozenset(repos.changes(git).changed))


def _hash(file: Path) -> str | None:
    """Return the SHA-256 of a regular file, `None` for another kind or where it cannot be read."""
    if file.parent.resolve() != file.parent:
        return None  # behind a link
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        try:
            return hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError:
            return None


_MAX_PROJECTS: Final = 20
_MAX_SCRIPTS: Final = 20
_MAX_LINE: Final = 200
_MAX_LIST: Final = 1_000  # characters of the dependencies of one manifest


def render_manifests(projects: Sequence[Project], room: int) -> str:
    """Return a paragraph on the projects: name, scripts and dependencies of each manifest.

    The result has at most `room` characters. It is empty if there are no projects, or if none fits.
    """
    shown = [each for each in projects[:_MAX_PROJECTS] if any(_facts(each))]
    while shown:
        blocks = "\n".join("\n".join((_head(each), *_facts(each))) for each in shown)
        text = f"What the manifests say:\n\n{fenced(blocks)}"
        if len(text) <= room:
            return text
        shown.pop()
    return ""


def render_commands(commands: Sequence[VerifyCommand]) -> str:
    """Return the commands that verify a repo, with their origins, one a line in a fence."""
    named = [_line(f"{each.text} ({each.origin})") for each in commands[:_MAX_SCRIPTS]]
    return fenced("\n".join(named)) if named else ""


def name_commands(commands: Sequence[VerifyCommand]) -> str:
    """Return the commands that verify a repo in one line, empty where there are none."""
    return ", ".join(f"`{_line(each.text)}`" for each in commands[:_MAX_SCRIPTS])


_NAMED = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*")


def named_files(
    files: TreeSources, first: Sequence[str], words: str, room: int
) -> Mapping[str, str]:
    """Return the files whose paths, or unique names, are in `words`, each whole under its path.

    They are by path, as a prompt shows them; those of `first` come first. A file that does not fit
    into the rest of `room`, or that is not text, is left out.
    """
    by_name: dict[str, list[str]] = {}
    for path in files.paths:
        by_name.setdefault(path, []).append(path)
        if "/" in path:
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
    said = (each.rstrip(".") for each in _NAMED.findall(words) if "." in each)
    named = (by_name[each][0] for each in said if len(by_name.get(each, ())) == 1)
    wanted = [each for each in dict.fromkeys((*first, *named)) if each in by_name]
    files.load(wanted)
    blocks: dict[str, str] = {}
    for path in wanted:
        block = f"{path}:\n{fenced(files.text(path) or '')}"
        if files.text(path) and len(block) <= room:
            blocks[path] = block
            room -= len(block)
    return blocks


def _head(project: Project) -> str:
    name = f", name {project.name}" if project.name else ""
    return _line(f"{project.manifest} ({project.tool}){name}")


def _facts(project: Project) -> Iterator[str]:
    """Yield the lines below the head of a project; none if its manifest says nothing."""
    for name, command in sorted(project.scripts.items())[:_MAX_SCRIPTS]:
        yield _line(f"  script {name}: {command}")
    left = len(project.scripts) - _MAX_SCRIPTS
    if left > 0:
        yield f"  ... and {left:,} scripts more"
    if project.dependencies:
        yield f"  depends on {_listed(project.dependencies)}"


def _listed(names: Sequence[str]) -> str:
    """Return the names as a list, as far as they fit, and how many are left out."""
    kept: list[str] = []
    room = _MAX_LIST
    for name in names:
        short = _line(name)
        room -= len(short) + 2
        if room < 0:
            return f"{', '.join(kept)} and {len(names) - len(kept):,} more"
        kept.append(short)
    return ", ".join(kept)


def _line(text: str) -> str:
    """Return the text on one printable line, cut to `_MAX_LINE` characters."""
    start = text[: _MAX_LINE + 1]
    line = "".join(c if c.isprintable() else " " for c in start)
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 4]} ..."


def render_conventions(files: TreeSources, limit: int, shown: Collection[str] = ()) -> str:
    """Return what the repo says to those who change it, of up to `limit` characters, as data.

    The result is empty where it says nothing, or the prompt shows that file elsewhere.
    """

    def read(path: str) -> bytes | None:
        text = files.text(path)
        return text.encode() if text else None

    said = find_conventions(read)
    if said is None or said.path in shown or limit < _LEAST_CONVENTIONS:
        return ""
    return quote_conventions(said, limit)


def quote_conventions(said: Conventions, limit: int = MAX_CHARACTERS) -> str:
    """Return conventions as data, of up to `limit` characters."""
    return f"{said.introduction}\n\n{fenced(said.quoted(min(limit, MAX_CHARACTERS)))}"


_LEAST_CONVENTIONS: Final = 200  # characters; less of them says nothing
_LEAST_FOR_CODE: Final = 900  # characters; with less, paths and names alone are shown
_THERE_TOO: Final = "Also there:"
_HEADINGS: Final = 500  # characters set aside for the sentences around listing and outlines
_MANIFEST_SHARE: Final = 4  # the manifests take at most a quarter of the room
_LISTING_SHARE: Final = 5  # and a fifth is reserved for the listing
_IDIOM_SHARE: Final = 24  # of the room, which the beginning of one test may take
_MAX_FOLDERS: Final = 5


@dataclass(frozen=True, slots=True)
class RepoHints:
    """Hold the text for the prompt, and how many files and modules it shows or leaves out."""

    text: str
    listed: int
    left_out: int
    outlined: int = 0


def read_repo_hints(
    files: TreeSources,
    spec_text: str,
    budget_chars: int,
    projects: Sequence[Project] = (),
    whole: Collection[str] = (),
) -> RepoHints:
    """Return the hints for a tree of `files`, of at most `budget_chars` characters.

    `projects` are what its manifests say. A path that no order could name, such as one with control
    characters, is left out and counted. A file that cannot be read as its language is counted among
    those without an outline, as are those in `whole`, which the prompt shows elsewhere. The same
    files and spec give the same text. Never raises.
    """
    spec = read_spec_words(spec_text)
    scores = {path: path_score(path, spec) for path in files.paths if can_be_named(path)}
    sources = repo_outlines.rank_files(files, scores, spec)
    scores |= {each.path: each.score for each in sources}
    nearest = sorted(scores, key=lambda path: (-scores[path], path))
    tables = repo_outlines.render_tables(sources)
    sources = [each for each in sources if each.path not in whole]
    if budget_chars < _LEAST_FOR_CODE:
        others = [path for path in nearest if scores[path] > 0 and path not in whole]
        return _compose_in_brief(others, sources, tables, len(files.paths), budget_chars)
    nearest = _landmarks_first(nearest)
    room = max(0, budget_chars - _HEADINGS)
    manifests = render_manifests(projects, room // _MANIFEST_SHARE)
    return _compose(nearest, sources, (manifests, tables), len(files.paths), budget_chars)


def _compose(
    nearest: Sequence[str],
    sources: Sequence[repo_outlines.SourceFile],
    more: tuple[str, str],
    tracked: int,
    budget: int,
) -> RepoHints:
    """Share the budget between the listing and the code.

    A part of it is reserved for the listing, as far as the listing needs it. The code may take the
    rest, and the listing then gets what it leaves.
    """
    manifests, tables = more
    room = max(0, budget - _HEADINGS - len(manifests) - len(tables))
    idiom = repo_outlines.render_idiom(sources, room // _IDIOM_SHARE)
    room -= len(idiom)
    whole_listing = sum(len(path) + 1 for path in nearest)
    code = repo_outlines.outline_files(sources, room - min(whole_listing, room // _LISTING_SHARE))
    others = [path for path in nearest if path not in code.paths]
    paths = repo_outlines.fitting(others, room - len(code.text))
    left_out = tracked - len(paths) - len(code.paths)
    text = _listing(paths, others, left_out, len(code.paths))
    for part in (manifests, code.text, idiom, tables):
        text += f"\n\n{part}" if part else ""
    if len(text) <= budget:
        return RepoHints(text, tracked - left_out, left_out, len(code.paths))
    return RepoHints("", 0, tracked)


def _compose_in_brief(
    nearest: Sequence[str],
    sources: Sequence[repo_outlines.SourceFile],
    tables: str,
    tracked: int,
    budget: int,
) -> RepoHints:
    """Spend a small budget on paths: the nearest tests and sources, with names in them, first.

    What can be said of tables is beside the budget.
    """
    sources = sorted(sources, key=lambda each: not each.is_test)
    names = {
        each.path: [part.last_name for part in sorted(each.parts, key=_score) if part.name]
        for each in sources
    }
    room, lines = budget - len(_THERE_TOO), list[str]()
    for path in dict.fromkeys((*names, *nearest)):
        words = repo_outlines.fitting(names.get(path, ()), room // 2 - len(path), stop=True)
        line = f"{path}: {' '.join(words)}" if words else path
        if len(line) >= room:
            break
        lines.append(line)
        room -= len(line) + 1
    text = "\n".join(filter(None, (_THERE_TOO if lines else "", *lines, tables)))
    return RepoHints(text, len(lines), tracked - len(lines))


def _score(part: repo_outlines.Part) -> float:
    return -part.score


def _listing(paths: Sequence[str], others: Sequence[str], left_out: int, below: int) -> str:
    """Return the paths of the files that are not shown with code below."""
    tracked = len(paths) + left_out + below
    if not tracked:
        return "The repository has no files yet."
    text = f"The repository has {repo_outlines.counted(tracked, 'tracked file')}"
    text += f"; {below:,} with code below" if below else ""
    if left_out:
        these = f"{len(paths):,} more" if below else f"the {len(paths):,}"
        text += f". Listed are {these} that seem nearest to the specification; "
        text += f"{left_out:,} are left out{_folders_left_out(others, paths)}"
    elif below and paths:
        text += ", and"
    return text + (":\n\n" + "\n".join(paths) if paths else ".")


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
