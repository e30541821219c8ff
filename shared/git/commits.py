"""Reads and writes commits and notes, and their bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from shared.git import repos, trees
from shared.git.client import SCOPES_OF_THE_REPO, SYNCED, Git, GitFailed, text_of
from shared.git.repos import Identity


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """Hold the message, author and date of a commit.

    The author and the date are also the committer's, so equal input gives an equal commit id.
    """

    message: str
    author: str
    email: str
    date: str


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """Hold a commit as the log lists it: its id, those of its parents, and its message."""

    id: str
    parents: tuple[str, ...]
    message: str


def log(git: Git, tip: str, *, limit: int) -> tuple[LoggedCommit, ...]:
    """Return `tip` and the commits before it, newest first, at most `limit`."""
    return _logged(git, f"--max-count={limit}", tip)


def subjects_before(git: Git, tip: str, *, without: str, limit: int) -> tuple[str, ...]:
    """Return the first lines of `tip` and the commits before it, newest first.

    Merges, commits of bots, and those whose messages have a line that begins with `without` are
    left out. A line is cut at 200 columns: it may be of any length.
    """
    asked = ("--no-merges", "--invert-grep", f"--grep=^{without}", f"--max-count={limit}")
    output = git.run("log", "-z", "--format=%<(80,trunc)%an%n%<(200,trunc)%s", *asked, tip)
    records = (each.partition("\n") for each in output.split("\0") if each)
    return tuple(line.strip() for name, _, line in records if "[bot]" not in name)


def with_line(git: Git, tip: str, begin: str, *, limit: int = -1) -> tuple[LoggedCommit, ...]:
    """Return those commits up to `tip` whose messages have a line that begins so, indented or not.

    Git walks the history itself and prints only these, the newest first. -1 is no limit.
    """
    return _logged(git, f"--grep=^ *{begin}", f"--max-count={limit}", tip)


def count_since(git: Git, commit: str, tip: str) -> int:
    """Return how many commits `tip` has that `commit` does not have, merges left out."""
    return int(git.run("rev-list", "--count", "--no-merges", tip, f"^{commit}"))


def log_of(git: Git, ids: Collection[str]) -> tuple[LoggedCommit, ...]:
    """Return those of the commits `ids` that the repo still has, in their sequence."""
    if not ids:
        return ()
    listed = "".join(f"{each}\n" for each in ids).encode()
    return _logged(git, "--no-walk=unsorted", "--ignore-missing", "--stdin", stdin=listed)


def log_of_ref(git: Git, ref: str, *, limit: int) -> tuple[LoggedCommit, ...]:
    """Return the commits that `ref` was at, newest first, as far as git still has record of it."""
    if git.try_run("reflog", "exists", ref).exit_code:
        return ()
    return _logged(git, "--walk-reflogs", "--ignore-missing", f"--max-count={limit}", ref)


@dataclass(frozen=True, slots=True)
class DatedCommit(LoggedCommit):
    """Hold a commit with the time at which it was committed, in seconds."""

    seconds: int


def dated(
    git: Git, tips: Mapping[str, str], without: str, *, limit: int
) -> tuple[DatedCommit, ...]:
    """Return the commits that the branches `tips` have and the commit `without` does not."""
    listed = "".join(f"{each}\n" for each in (*dict.fromkeys(tips.values()), f"^{without}"))
    output = git.run(
        "log", "-z", "--format=%H %ct %P%n%B", f"--max-count={limit}", "--stdin",
        stdin=listed.encode(),
    )  # fmt: skip
    found = []
    for record in filter(None, output.split("\0")):
        head, _, message = record.partition("\n")
        commit, seconds, *parents = head.split()
        found.append(DatedCommit(commit, tuple(parents), message, int(seconds)))
    return tuple(found)


def lacking(git: Git, commit: str, tips: Collection[str], *, limit: int) -> Mapping[str, int]:
    """Return, for each of `tips`, how many commits `commit` has and it does not.

    One process answers for all. Counted are at most `limit`.
    """
    wanted = tuple(dict.fromkeys(tips))
    base = merge_base(git, commit, *wanted) if wanted else ""
    listed = "".join(f"{each}\n" for each in (commit, *wanted, *([f"^{base}"] if base else ())))
    lines = git.run(
        "rev-list", "--topo-order", "--parents", f"--max-count={limit}", "--stdin",
        stdin=listed.encode(),
    ).splitlines()  # fmt: skip
    reached = {each: 1 << number for number, each in enumerate(wanted)}
    ours = 1 << len(wanted)
    reached[commit] = reached.get(commit, 0) | ours
    missing = dict.fromkeys(wanted, 0)
    for line in lines:
        name, *parents = line.split()
        by = reached.get(name, 0)
        for parent in parents:
            reached[parent] = reached.get(parent, 0) | by
        if by & ours:
            for number, tip in enumerate(wanted):
                missing[tip] += not by >> number & 1
    return missing


def first_parents(commits: Collection[LoggedCommit], tip: str) -> tuple[str, ...]:
    """Return `tip`, its first parent, the first parent of that one, and so on. Pure."""
    parents = {each.id: each.parents for each in commits}
    found: list[str] = []
    following: str | None = tip
    while following in parents:
        found.append(following)
        following = next(iter(parents[following]), None)
    return tuple(found)


def merge_base(git: Git, *tips: str) -> str:
    """Return the newest commit that all of `tips` have; "" if there is none."""
    done = git.try_run("merge-base", "--octopus", *tips)
    return "" if done.exit_code else text_of(done.stdout).split("\n")[0].strip()


def is_ancestor(git: Git, commit: str, of: str) -> bool:
    """Return whether the commit `of` follows `commit`, or is it."""
    return git.try_run("merge-base", "--is-ancestor", commit, of).exit_code == 0


def ids_since(git: Git, base: str, tip: str, *, limit: int) -> tuple[str, ...]:
    """Return the commits from `tip` back to `base`, newest first, merges left out.

    With "" for `base`, they go back to the beginning.
    """
    until = [f"^{base}"] if base else []
    output = git.run("rev-list", "--no-merges", f"--max-count={limit}", tip, *until)
    return tuple(output.split())


def parents_before(git: Git, tips: Collection[str], *, limit: int) -> Mapping[str, tuple[str, ...]]:
    """Return the parents of each of `tips` and of the commits before them, at most `limit`."""
    output = git.run(
        "rev-list", "--parents", "--ignore-missing", f"--max-count={limit}", "--stdin",
        stdin="".join(f"{each}\n" for each in tips).encode(),
    )  # fmt: skip
    lines = (line.split() for line in output.splitlines())
    return {commit: tuple(parents) for commit, *parents in lines}


def noted(git: Git, ref: str) -> tuple[str, ...]:
    """Return the ids of the objects that have a note under the notes ref."""
    listed = git.run("notes", f"--ref={ref}", "list").splitlines()
    return tuple(line.split()[1] for line in listed)


def _logged(git: Git, *arguments: str, stdin: bytes = b"") -> tuple[LoggedCommit, ...]:
    output = git.run("log", "-z", "--format=%H %P%n%B", *arguments, stdin=stdin)
    found = []
    for record in filter(None, output.split("\0")):
        head, _, message = record.partition("\n")
        commit, *parents = head.split()
        found.append(LoggedCommit(commit, tuple(parents), message))
    return tuple(found)


def write(git: Git, tree: str, parent: str, facts: CommitFacts, *merged: str) -> str:
    """Create a commit of `tree` on `parent`, and on what it merges, and return its id.

    No hook runs, and the commit is not signed.
    """
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", facts.author), ("EMAIL", facts.email), ("DATE", facts.date))
    }
    parents = (word for each in (parent, *merged) for word in ("-p", each))
    return git.with_config(SYNCED).run(
        "commit-tree", tree, *parents, stdin=facts.message.encode(), environment=who
    )


@dataclass(frozen=True, slots=True)
class MergedTree:
    """Hold the tree of a merge, and the files that conflict, sorted."""

    tree: str
    conflicts: tuple[str, ...]


def merge_trees(git: Git, ours: str, theirs: str) -> MergedTree:
    """Merge two commits without a working tree; no ref has the result.

    A file for which the repo's own config defines a merge driver conflicts where both changed it:
    the driver is a program that a stranger may have chosen.
    """
    own = (e.key for e in repos.read_config(git) if e.scope in SCOPES_OF_THE_REPO)
    undone = [(key, "false") for key in own if key.startswith("merge.") and key.endswith(".driver")]
    done = git.with_config(undone).try_run(
        "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs
    )
    if done.exit_code not in (0, 1) or done.timed_out:
        raise GitFailed(done, "install git 2.38 or newer, which merges without a working tree")
    tree, *conflicts = filter(None, text_of(done.stdout).split("\0"))
    return MergedTree(tree, tuple(sorted(conflicts)))


def add_note(git: Git, ref: str, commit: str, text: str, facts: CommitFacts) -> None:
    """Attach `text` to `commit` under the notes ref, in the place of any earlier note."""
    git.run(
        "notes", f"--ref={ref}", "add", "--force", "--file=-", commit,
        stdin=text.encode(), environment=_as(facts),
    )  # fmt: skip


def append_note(git: Git, ref: str, commit: str, text: str, facts: CommitFacts) -> None:
    """Attach `text` to `commit` under the notes ref, below an earlier note and an empty line."""
    git.run(
        "notes", f"--ref={ref}", "append", "--file=-", commit,
        stdin=text.encode(), environment=_as(facts),
    )  # fmt: skip


def remove_note(git: Git, ref: str, commit: str, facts: CommitFacts) -> None:
    """Remove the note that `commit` has under the notes ref, if it has one."""
    git.run("notes", f"--ref={ref}", "remove", "--ignore-missing", commit, environment=_as(facts))


class NotesMerge(StrEnum):
    """Say how two notes on the same commit become one."""

    TEXTS = "union"
    """One follows the other, after an empty line."""
    LINES = "cat_sort_uniq"
    """All of their lines are kept, each of them once."""


def merge_notes(git: Git, ref: str, theirs: str, how: NotesMerge, author: Identity) -> None:
    """Add the notes of the commit `theirs` of another notes ref to those under `ref`.

    A note that one side alone has changed since the two were equal is as on that side.
    """
    facts = CommitFacts("", author.name, author.email, "")
    git.run("notes", f"--ref={ref}", "merge", "-q", "-s", how, theirs, environment=_as(facts))


def _as(facts: CommitFacts) -> dict[str, str]:
    who = {"GIT_COMMITTER_NAME": facts.author, "GIT_COMMITTER_EMAIL": facts.email}
    return {**who, "GIT_AUTHOR_NAME": facts.author, "GIT_AUTHOR_EMAIL": facts.email}


def notes(git: Git, ref: str, on: Collection[str]) -> dict[str, str]:
    """Return the notes under the notes ref by commit, for those commits of `on` that have one."""
    listed = [line.split() for line in git.run("notes", f"--ref={ref}", "list").splitlines()]
    found = {commit: blob for blob, commit in listed if commit in on}
    texts = trees.blobs(git, tuple(found.values()))
    return {
        commit: texts[blob].decode("utf-8", "replace")
        for commit, blob in found.items()
        if blob in texts
    }


def object_id(kind: str, content: bytes, length: int) -> str:
    """Return git's id of an object; `length` tells which hash the repo uses."""
    algorithm = "sha1" if length == 40 else "sha256"
    data = b"%b %d\0%b" % (kind.encode(), len(content), content)
    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def is_id_of(found: str, content: bytes) -> bool:
    """Return whether `found` is the id of a file with this content."""
    return object_id("blob", content, len(found)) == found


@dataclass(frozen=True)
class CommitObject:
    """Hold a commit's id and bytes. Nothing of them is believed: anybody may have written them."""

    id: str
    raw: bytes

    @cached_property
    def is_intact(self) -> bool:
        return object_id("commit", self.raw, len(self.id)) == self.id

    @cached_property
    def _parts(self) -> tuple[tuple[tuple[str, str], ...], str]:
        head, _, message = self.raw.decode("utf-8", "surrogateescape").partition("\n\n")
        lines = (line.partition(" ") for line in head.split("\n"))
        return tuple((name, value) for name, _, value in lines), message

    @property
    def headers(self) -> tuple[str, ...]:
        """Return the names of the header lines; the lines that continue one have no name."""
        return tuple(name for name, _ in self._parts[0])

    @property
    def message(self) -> str:
        return self._parts[1]

    @property
    def tree(self) -> str:
        return self._first("tree")

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(value for name, value in self._parts[0] if name == "parent")

    @property
    def author(self) -> str:
        return self._first("author")

    @property
    def committer(self) -> str:
        return self._first("committer")

    def _first(self, name: str) -> str:
        return next((value for each, value in self._parts[0] if each == name), "")


def read_commits(git: Git, ids: Collection[str]) -> Mapping[str, CommitObject]:
    """Return those of the commits that the repo has, by their ids."""
    if not ids:
        return {}
    return {
        each.name: CommitObject(each.name, each.content)
        for each in git.objects(ids)
        if each.kind == "commit"
    }
