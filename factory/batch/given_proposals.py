"""Reads what anybody proposes for an order: from a commit, from a patch, or from a folder."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from factory.agents.agent_task import ABSENT, limit_of, read_back, write_of
from factory.landing.stand_in import as_text, is_laid_out, text_at
from factory.orders.documents import (
    MAX_REPLY_CHARACTERS,
    AgentRecord,
    FileWrite,
)
from factory.orders.task import Given
from factory.preflight import name_paths
from factory.proposal.scope import FileKind, FileState
from factory.workbench.tree import NotReadable, Tree
from shared.errors import InvalidInput
from shared.files.text_sources import read_regular_file
from shared.git import commits, refs, trees
from shared.git.client import Git, GitFailed, TreeEntry
from shared.languages.appended_tests import CannotAppend, whole_tests
from shared.work_order.parse_order import sha256_bytes
from shared.work_order.work_order import WorkOrder

MAX_PATCH_BYTES: Final = 8 * 1024 * 1024
_REGULAR: Final = ("100644", "100755")
_PLAIN: Final = _REGULAR[0]
_BINARY: Final = b"GIT binary patch"
# Spelled out: `str.isprintable` depends on the Python version, and a commit may not.
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_LONGEST_NAME: Final = 200  # characters of a name that somebody chose
_MOST_FILES: Final = 100_000  # of a folder, looked at in search of what differs


@dataclass(frozen=True, slots=True)
class Proposals:
    """Read what is proposed for an order on the tip of its branch.

    With `allow_more`, what a commit or a patch changes beyond the order is left out, and named.
    """

    git: Git
    order: WorkOrder
    tip: str
    allow_more: bool = False

    def of_commit(self, given: str) -> Given:
        """Return what a commit changes since it left the branch.

        Raises `InvalidInput` if there is no such commit.
        """
        commit = refs.commit_of(self.git, given)
        if not commit:
            raise InvalidInput(
                f"--commit {given!r} does not name a commit of this repo",
                "give a full hash, a unique abbreviation, or a branch",
            )
        found = commits.read_commits(self.git, (commit,)).get(commit)
        person = found.author.partition(">")[0] + ">" if found else ""
        by = AgentRecord(name=_named(f"commit {commit[:12]} of {person}"), version=commit)
        base = commits.merge_base(self.git, self.tip, commit)
        if not base:
            problem = "has no commit in common with the branch here: fetch more of its history"
            return Given(by, problem=f"{by.name} {problem}")
        return self._of_tree(by, base, commit)

    def of_patch(self, given: str) -> Given:
        """Return what the patch in a file makes of the tip; "-" is standard input.

        Raises `InvalidInput` if the file cannot be read.
        """
        if given == "-":
            data = sys.stdin.buffer.read(MAX_PATCH_BYTES + 1)
        else:
            data = read_regular_file(Path(given), "patch", MAX_PATCH_BYTES + 1).data
        where = "from standard input" if given == "-" else Path(given).name
        by = AgentRecord(name=_named(f"patch {where}"), version=sha256_bytes(data))
        if len(data) > MAX_PATCH_BYTES:
            return Given(by, problem=f"{by.name} has over {MAX_PATCH_BYTES:,} bytes")
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.startswith(_BINARY):
                return Given(by, problem=f"{by.name} changes a binary file (line {number})")
        try:
            tree = trees.with_patch(self.git, self.tip, data)
        except GitFailed as failed:
            said = failed.done.stderr.decode(errors="replace").strip().replace("error: ", "")
            why = "; ".join(filter(None, said.splitlines()))
            problem = f"{by.name} does not apply to {self.tip[:12]}: {why}"
            return Given(by, problem=_one_line(problem))
        return self._of_tree(by, self.tip, tree)

    def of_folder(self, given: str) -> Given:
        """Return what the order's files in a folder are; all else that differs is named.

        Raises `InvalidInput` if there is no such folder.
        """
        folder = Path(given)
        if not folder.is_dir():
            raise InvalidInput(f"--dir {given}: no such folder", "name a folder that has the files")
        tree = Tree(folder.resolve())
        by = AgentRecord(name=_named(f"folder {folder.resolve().name}"))
        allowed = self.order.allowed_files
        before = self._before(self.tip, allowed)
        found = {each: read_back(tree, each, before[each]) for each in allowed}
        own = {*allowed, *self.order.removed_files}
        other = _differing(self.git, self.tip, tree, own)
        planned = self._planned(self.tip)
        kept = {path for path in other if _holds(tree, path, planned.get(path))}
        return self._of(by, found, sorted(other - kept), beyond=())

    def _of_tree(self, by: AgentRecord, base: str, changed: str) -> Given:
        """Return the change from the commit `base` to a tree as a proposal."""
        order, git = self.order, self.git
        touched = trees.files_between(git, base, changed)
        own = sorted(touched.intersection(order.allowed_files))
        planned = self._planned(base) if touched else {}
        paths = sorted({*own, *touched.intersection(planned)})
        old, new = self._entries(base, paths), self._entries(changed, paths)
        sizes = trees.sizes_of(git, changed, own) if own else {}
        found: dict[str, FileWrite | str] = {}
        for path, before in self._before(base, own).items():
            problem = _odd(old.get(path), new.get(path), sizes.get(path, 0), limit_of(before))
            content = trees.content_of(git, changed, path) if not problem else None
            found[path] = problem or write_of(path, content or b"", before)
        as_planned = {
            path
            for path, content in planned.items()
            if path in new and is_laid_out(git, path, new[path], content)
        }
        beyond = touched.difference(own, order.removed_files, as_planned)
        return self._of(by, found, sorted(beyond) if self.allow_more else (), sorted(beyond))

    def _of(
        self,
        by: AgentRecord,
        found: Mapping[str, FileWrite | str],
        dropped: Sequence[str],
        beyond: Sequence[str],
    ) -> Given:
        """Return the proposal, or the first reason why there is none."""
        writes = [each for _, each in sorted(found.items()) if isinstance(each, FileWrite)]
        refused = [
            f"{path!r} {each}" for path, each in found.items() if each and each not in writes
        ]
        documents = [each.model_dump(mode="json") for each in writes]
        document = {"summary": f"Proposed by {by.name}.", "writes": documents}
        reply = json.dumps(document, ensure_ascii=False)
        by = by.model_copy(
            update={
                "sha256": sha256_bytes(reply.encode("utf-8", "surrogatepass")),
                "dropped": tuple(map(as_text, dropped)),
            }
        )
        problem = ""
        if beyond and not dropped:
            tests = {each.path for each in self.order.acceptance_files}.intersection(beyond)
            which = "tests of the plan" if tests else f"what {self.order.id} does not allow"
            problem = f"changes {which}: {name_paths(sorted(tests) or beyond)}"
        elif refused:
            problem = f"cannot be taken: {'; '.join(refused)}"
        elif not writes and self.order.allowed_files:
            problem = "changes no file that the order may write"
        elif len(reply) > MAX_REPLY_CHARACTERS:
            problem = f"has over {MAX_REPLY_CHARACTERS:,} characters"
        return Given(by, problem=f"{by.name} {problem}") if problem else Given(by, reply)

    def _before(self, base: str, paths: Collection[str]) -> dict[str, FileState]:
        """Return what files are at a commit, as a checkout has them."""
        found = {path: trees.content_of(self.git, base, path) for path in paths}
        return {
            path: ABSENT if data is None else FileState(FileKind.FILE, sha256_bytes(data))
            for path, data in found.items()
        }

    def _entries(self, tree: str, paths: Sequence[str]) -> Mapping[str, TreeEntry]:
        return trees.entries_of(self.git, tree, paths) if paths else {}

    def _planned(self, base: str) -> Mapping[str, bytes]:
        """Return the plan's tests for the order, as they will be on a commit."""
        with contextlib.suppress(CannotAppend):
            tests = whole_tests(self.order.acceptance_files, partial(text_at, self.git, base))
            return {each.path: each.content.encode() for each in tests}
        return {}


def _odd(old: TreeEntry | None, new: TreeEntry | None, size: int, limit: int) -> str:
    """Return why a changed file cannot be proposed whatever it holds; "" if it can."""
    if new is None:
        return "was removed, which no proposal can do"
    if new.mode not in _REGULAR:
        return "is a link or a submodule, and only a file can be proposed"
    if new.mode != (old.mode if old else _PLAIN):
        return f"has the mode {new.mode}, and no mode can be proposed"
    return f"has over {limit:,} bytes" if size > limit else ""


def _holds(tree: Tree, path: str, content: bytes | None) -> bool:
    with contextlib.suppress(NotReadable):
        return content is not None and tree.read(path, len(content) + 1) == content
    return False


def _differing(git: Git, tip: str, tree: Tree, own: set[str]) -> set[str]:
    """Return the other files that a folder has otherwise than a commit, ignored ones left out."""
    files = trees.plain_files_of(git, tip)
    other = {
        path
        for path, (object_id, size) in files.items()
        if path not in own and not _is(tree, path, object_id, size)
    }
    tracked = own | set(trees.files_of(git, tip))
    new = [each for each in islice(_files_below(tree.root), _MOST_FILES) if each not in tracked]
    # Git answers nothing about what is below a submodule, which is no part of the proposal, or
    # below a link, in the place of which the folder has a folder.
    entries = trees.all_entries_of(git, tip)
    modules = tuple(f"{path}/" for path, each in entries.items() if each.mode == "160000")
    links = tuple(f"{path}/" for path, each in entries.items() if each.mode == "120000")
    new = [each for each in new if not each.startswith(modules)]
    asked = [each for each in new if not each.startswith(links)]
    return other.union(new).difference(trees.ignored(git, asked) if asked else ())


def _is(tree: Tree, path: str, object_id: str, size: int) -> bool:
    with contextlib.suppress(NotReadable):
        data = tree.read(path, size + 1)
        return len(data) == size and commits.is_id_of(object_id, data)
    return False


def _files_below(root: Path) -> Iterator[str]:
    """Yield what is in a folder and is not a folder itself, git's own files left out."""
    for place, below, names in os.walk(root):
        folder = Path(place)
        below[:] = [each for each in below if each != ".git"]
        links = [each for each in below if (folder / each).is_symlink()]
        for name in (*names, *links):
            if name != ".git":
                yield (folder / name).relative_to(root).as_posix()


def _named(text: str) -> str:
    return _one_line(as_text(text))[:_LONGEST_NAME]


def _one_line(text: str) -> str:
    return _CONTROLS.sub(" ", text)
