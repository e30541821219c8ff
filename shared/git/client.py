"""Asks git questions and acts on a repo; each question or act is a method with a plain answer.

Git runs with our own environment and settings. Inherited `GIT_*` variables could point it at
another repo. Hooks, file-system monitors and filters that only the target's own config defines
are code of the target, which never runs outside the sandbox.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from shared.errors import CommandFailed
from shared.git.answers import (
    Changes,
    Checkout,
    PatchedFile,
    TreeEntry,
    parse_blobs,
    parse_entries,
    parse_numstat,
    parse_status,
)
from shared.git.config import (
    FIXED_CONFIG,
    PROTOCOLS,
    ConfigEntry,
    Setting,
    as_environment,
    clean_environment,
    without_merge_drivers,
)
from shared.process import Finished, ToolFailed, ToolMissing, run_tool

TIMEOUT_SECONDS = 600.0
"""The limit of one call: a checkout of a very large repo on a slow disk takes less."""

# By default git leaves it to the system when new objects and refs reach the disk. A power loss may
# then keep a ref whose commit is lost. A landing is therefore synced in this order: the objects of
# the commit, the journal's record, the index of a checkout that follows the branch, the ref.
_SYNCED: tuple[Setting, ...] = (("core.fsync", "committed"),)
_ALL_SYNCED: tuple[Setting, ...] = (("core.fsync", "all"),)

# The same patch comes out whatever the config says, and no program of the config is run.
_PATCH = ("--patch", "--binary", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_FILE_HEAD = b"diff --git "

_REF_NAME_BYTES = 250  # for one part: git makes a file of that name, and one with `.lock` added
_NO_WORKING_TREE = (b"not a git repository", b"must be run in a work tree")


class GitFailed(CommandFailed):
    """Say that a git command that had to succeed failed; the message has git's own words."""

    def __init__(self, done: Finished, hint: str = "") -> None:
        said = done.stderr.decode(errors="replace").strip()
        reason = "timed out" if done.timed_out else said or f"exit code {done.exit_code}"
        super().__init__(f"git {_subcommand(done.argv)} failed: {reason}", hint)
        self.done = done


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
class Git:
    """Run git in one folder. Methods raise `GitFailed` unless they say otherwise.

    `held` are file descriptors that git has open as long as it runs.
    """

    folder: Path
    config: tuple[Setting, ...] = ()
    held: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: clean_environment(os.environ))

    def at(self, folder: Path) -> Git:
        """Return the same git for another folder."""
        return replace(self, folder=folder)

    def with_config(self, entries: Iterable[Setting]) -> Git:
        """Return the same git with more settings."""
        return replace(self, config=(*self.config, *entries))

    def holding(self, descriptor: int) -> Git:
        """Return the same git, which keeps the lock of `descriptor` even after our process ends."""
        return replace(self, held=(*self.held, descriptor))

    def try_run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run one git command and return how it ended.

        Raises `CommandFailed` where git cannot be started.
        """
        settings = as_environment((*FIXED_CONFIG, *self.config))
        try:
            return run_tool(
                [_program(self.environment.get("PATH", "")), *arguments],
                cwd=self.folder,
                env={**self.environment, **settings, **(environment or {})},
                timeout_seconds=TIMEOUT_SECONDS,
                stdin=stdin,
                pass_fds=self.held,
            )
        except (ToolMissing, ToolFailed) as error:
            raise CommandFailed(
                str(error), "install git, or check that the folder exists"
            ) from error

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Run one git command and return its output without the last newline."""
        done = self.try_run(*arguments, stdin=stdin, environment=environment)
        if done.exit_code or done.timed_out:
            raise GitFailed(done)
        return _text(done.stdout).removesuffix("\n")

    # Questions

    def layout(self) -> tuple[Path, Path, Path] | None:
        """Return working tree, git dir and common git dir; `None` outside of a working tree."""
        done = self.try_run(
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-dir",
            "--git-common-dir",
        )
        if done.exit_code:
            if any(words in done.stderr for words in _NO_WORKING_TREE):
                return None
            raise GitFailed(done, "check that `git status` works there")
        try:
            tree, git_dir, common = _text(done.stdout).removesuffix("\n").split("\n")
        except ValueError:
            raise GitFailed(done, "rename the folder: its path has a line break") from None
        return Path(tree), Path(git_dir), Path(common)

    def is_bare(self) -> bool:
        """Return whether the folder is a bare repo or inside one."""
        done = self.try_run("rev-parse", "--is-bare-repository")
        return done.stdout.strip() == b"true"

    def setting(self, key: str) -> str:
        """Return the value of one setting of git's config; empty where it is not set."""
        done = self.try_run("config", "--get", key)
        return "" if done.exit_code else _text(done.stdout).removesuffix("\n")

    def read_config(self) -> tuple[ConfigEntry, ...]:
        """Return the whole config, with includes resolved, in the order in which git reads it."""
        fields = self.run("config", "--list", "-z", "--show-scope").split("\0")
        entries = []
        for scope, pair in zip(fields[::2], fields[1::2], strict=False):
            key, _, value = pair.partition("\n")
            entries.append(ConfigEntry(scope, key, value))
        return tuple(entries)

    def changes(self, *, own_tree: bool = False) -> Changes:
        """Return the paths that differ from the commit.

        In a tree of our own, untracked folders are listed file by file, and git may refresh its
        index; the user's index is only read. Only the commit of a submodule is compared: to look
        further, git would run with that repo's own config.
        """
        output = self.run(
            "status", "--porcelain=v2", "-z", "--branch", "--no-renames",
            "--ignore-submodules=dirty",
            "--untracked-files=" + ("all" if own_tree else "normal"),
            environment={} if own_tree else {"GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
        return parse_status(output.split("\0"))

    def is_exactly(self, tree: str) -> bool:
        """Return whether index and tracked files are those of `tree`, which may be a commit.

        Files are compared by their status on disk alone. The result may be false also where a
        file was touched but its content is still the same.
        """
        return not self.run(
            "diff-index", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=dirty",
            tree, "--",
        )  # fmt: skip

    def has_staged(self, commit: str) -> bool:
        """Return whether the index is that of `commit`; the files themselves do not matter."""
        done = self.try_run("diff-index", "--cached", "--quiet", "--no-ext-diff", commit, "--")
        return done.exit_code == 0

    def commit_of(self, name: str) -> str:
        """Return the id of the commit that `name` stands for; empty where there is none."""
        done = self.try_run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"
        )
        return "" if done.exit_code else _text(done.stdout).strip()

    def tree_of(self, commit: str) -> str:
        """Return the id of a commit's tree."""
        return self.run("rev-parse", "--verify", "--end-of-options", commit + "^{tree}")

    def branch_name_allowed(self, name: str) -> bool:
        """Return whether git takes `name`, unchanged, as the name of a branch."""
        if name == "HEAD" or name.startswith("-") or "\0" in name:
            return False
        if any(len(os.fsencode(part)) > _REF_NAME_BYTES for part in name.split("/")):
            return False
        # The option `--branch` is not used: it also takes `@{-1}`, the branch checked out before.
        return self.try_run("check-ref-format", f"refs/heads/{name}").exit_code == 0

    def refs_in_the_way(self, ref: str) -> tuple[str, ...]:
        """Return the refs that keep `ref` from being made: `a/b` cannot exist beside `a`."""
        parts = ref.split("/")
        above = ["/".join(parts[:end]) for end in range(3, len(parts))]
        names = self.run("for-each-ref", "--format=%(refname)", *above, ref).split("\n")
        return tuple(name for name in names if name in above or name.startswith(ref + "/"))

    def checkouts(self) -> tuple[Checkout, ...]:
        """Return all working trees of the repo."""
        found: list[Checkout] = []
        for record in self.run("worktree", "list", "--porcelain", "-z").split("\0\0"):
            lines = dict(line.partition(" ")[::2] for line in record.split("\0") if line)
            if "worktree" in lines:
                branch = lines.get("branch", "").removeprefix("refs/heads/")
                found.append(Checkout(Path(lines["worktree"]), branch))
        return tuple(found)

    def tracked_files(self) -> tuple[str, ...]:
        """Return the paths in the index, sorted."""
        output = self.run("ls-files", "-z", "--full-name")
        return tuple(sorted(filter(None, output.split("\0"))))

    def files_of(self, commit: str) -> tuple[str, ...]:
        """Return the paths in a commit's tree, sorted."""
        output = self.run("ls-tree", "-r", "-z", "--name-only", commit)
        return tuple(sorted(filter(None, output.split("\0"))))

    def submodules_of(self, commit: str) -> tuple[str, ...]:
        """Return the folders of a commit's tree that are submodules."""
        # The option -d lists folders and submodules alone, which is fast even with many files.
        output = self.run("ls-tree", "-r", "-d", "-z", commit)
        records = (record.partition("\t") for record in output.split("\0"))
        return tuple(path for facts, _, path in records if facts.startswith("160000 "))

    def messages(self, tip: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """Return ids and messages of `tip` and its first parents, newest first, at most `limit`."""
        output = self.run(
            "log", "-z", "--first-parent", f"--max-count={limit}", "--format=%H%n%B", tip
        )
        pairs = (record.partition("\n") for record in output.split("\0") if record)
        return tuple((commit, message) for commit, _, message in pairs)

    def files_between(self, old: str, new: str) -> frozenset[str]:
        """Return the paths that differ between two commits."""
        output = self.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
        return frozenset(filter(None, output.split("\0")))

    def content_of(self, commit: str, path: str) -> bytes | None:
        """Return the content that a checkout of `commit` would have at `path`.

        Filters are applied. The result is `None` where the commit has no such file.
        """
        done = self.try_run("cat-file", "--filters", f"{commit}:{path}")
        return None if done.exit_code else done.stdout

    def blobs(self, object_ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the stored content of blobs by their ids; what is not there is left out."""
        if not object_ids:
            return {}
        done = self.try_run("cat-file", "--batch", stdin="\n".join(object_ids).encode() + b"\n")
        if done.exit_code or done.timed_out:
            raise GitFailed(done)
        return parse_blobs(done.stdout)

    def patch_between(self, old: str, new: str) -> bytes:
        """Return the difference between two commits or trees as a patch for `git apply`."""
        return self._patch("diff-tree", *_PATCH, old, new)

    def patch_of_folders(self, old: str, new: str) -> bytes:
        """Return the difference between two folders; their names stand before each path."""
        return self._patch("diff", "--no-index", "--no-prefix", *_PATCH, "--", old, new)

    def _patch(self, *arguments: str) -> bytes:
        done = self.try_run(*arguments)
        if done.exit_code not in (0, 1) or done.timed_out:  # 1: the folders differ
            raise GitFailed(done)
        return done.stdout

    def files_in_patch(self, patch: bytes) -> tuple[PatchedFile, ...]:
        """Return the files that a patch changes, and how much of each; no repo is looked at."""
        if not patch.startswith(_FILE_HEAD) and b"\n" + _FILE_HEAD not in patch:
            return ()  # git would refuse it
        done = self.try_run("apply", "--numstat", "-z", "-", stdin=patch)
        if done.exit_code or done.timed_out:
            raise GitFailed(done)
        return parse_numstat(_text(done.stdout))

    def holds_file(self, commit: str, path: str) -> bool:
        """Return whether `commit` has a file at `path`."""
        return path in self.entries_of(commit, [path])

    def ignored(self, paths: Sequence[str]) -> frozenset[str]:
        """Return those of `paths` that git's ignore rules match; the paths need not exist."""
        names = "".join(path + "\0" for path in paths).encode("utf-8", "surrogateescape")
        done = self.try_run(
            "check-ignore",
            "-z",
            "--stdin",
            stdin=names,
            environment={"GIT_LITERAL_PATHSPECS": "0"},  # check-ignore refuses literal pathspecs
        )
        if done.exit_code not in (0, 1) or done.timed_out:  # 1: none of them is ignored
            raise GitFailed(done)
        return frozenset(filter(None, _text(done.stdout).split("\0")))

    # Acts

    def open_worktree(self, path: Path, commit: str) -> None:
        """Check `commit` out, detached, into a new working tree at `path`."""
        self.run("worktree", "add", "--detach", "--quiet", "--force", "--", str(path), commit)

    def forget_worktree(self, path: Path) -> None:
        """Remove the repo's data about a working tree, and the tree itself if it still exists.

        `git worktree prune` is never used: it would also forget working trees of the user on a
        disk that is not mounted at the moment.
        """
        self.try_run("worktree", "remove", "--force", "--force", "--", str(path))

    def reset(self, commit: str) -> None:
        """Make HEAD, index and tracked files exactly `commit`; untracked files in the way go."""
        self.run("reset", "--hard", "--quiet", commit)

    def reset_keeping(self, commit: str) -> None:
        """Make HEAD, index and files `commit`; change nothing where a changed file would be lost.

        In that case `GitFailed` is raised.
        """
        self.run("reset", "--keep", "--quiet", commit)

    def stage(self, paths: Sequence[str]) -> None:
        """Put the named files, and nothing else, into the index, even where they are ignored.

        On an index with very many files, `git add` would take half as long again.
        """
        names = "".join(path + "\0" for path in paths).encode()
        self.with_config(_SYNCED).run("update-index", "--add", "-z", "--stdin", stdin=names)

    def write_tree(self) -> str:
        """Return the id of the index as a tree."""
        return self.with_config(_SYNCED).run("write-tree")

    def staged_entries(self, paths: Sequence[str]) -> Mapping[str, TreeEntry]:
        """Return the index's entries, by path, for those of `paths` that it has."""
        return parse_entries(self.run("ls-files", "--stage", "-z", "--", *paths))

    def entries_of(self, tree: str, paths: Sequence[str]) -> Mapping[str, TreeEntry]:
        """Return a tree's entries, by path, for those of `paths` that it has."""
        return parse_entries(self.run("ls-tree", "-z", "--", tree, *paths))

    def sizes_of(self, commit: str, paths: Sequence[str]) -> Mapping[str, int]:
        """Return the sizes in bytes of those of `paths` that are files in `commit`."""
        records = self.run("ls-tree", "-l", "-z", "--", commit, *paths).split("\0")
        entries = (record.partition("\t") for record in records if record)
        facts = ((path, words.split()) for words, _, path in entries)
        return {path: int(words[3]) for path, words in facts if words[1] == "blob"}

    def attributes_of(
        self, paths: Sequence[str], names: Sequence[str]
    ) -> Mapping[str, Mapping[str, str]]:
        """Return the named attributes' values by path: "set", "unset", "unspecified", ..."""
        stdin = "".join(path + "\0" for path in paths).encode()
        fields = self.run("check-attr", "-z", "--stdin", *names, stdin=stdin).split("\0")
        found: dict[str, dict[str, str]] = {path: {} for path in paths}
        for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            found[path][name] = value
        return found

    def write_commit(self, tree: str, parent: str, facts: CommitFacts) -> str:
        """Create a commit of `tree` on `parent` and return its id.

        No hook runs, and the commit is not signed.
        """
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (
                ("NAME", facts.author),
                ("EMAIL", facts.email),
                ("DATE", facts.date),
            )
        }
        return self.with_config(_SYNCED).run(
            "commit-tree", tree, "-p", parent, stdin=facts.message.encode(), environment=who
        )

    def merge_trees(self, ours: str, theirs: str) -> str | None:
        """Return the tree of both commits merged, or `None` where they conflict. No ref moves.

        Merge drivers are programs, so files that a driver would merge are merged as text.
        """
        plain = self.with_config((*without_merge_drivers(self.read_config()), *_SYNCED))
        done = plain.try_run("merge-tree", "--write-tree", "--no-messages", ours, theirs)
        if done.exit_code not in (0, 1) or done.timed_out:
            raise GitFailed(done)
        return _text(done.stdout).split("\n")[0] if done.exit_code == 0 else None

    def move_ref(self, ref: str, new: str, old: str, reason: str) -> bool:
        """Move `ref` from `old` to `new` and return whether git did it.

        The result is false where `ref` is no longer at `old`. With `NO_COMMIT` for `old`, the ref
        must not exist yet.
        """
        if old == NO_COMMIT:
            old = "0" * len(new)  # the repo's kind of hash says how many digits an id has
        done = self.with_config(_SYNCED).try_run(
            "update-ref", "--create-reflog", "-m", reason, ref, new, old
        )
        return done.exit_code == 0

    def detach_head(self, commit: str) -> None:
        """Point HEAD of this tree at `commit`; index and files stay as they are."""
        self.run("update-ref", "--no-deref", "HEAD", commit)

    def fast_forward(self, commit: str) -> Finished:
        """Move the checked-out branch and its tree forward to `commit`, or change nothing.

        An ignored file in the way is kept, and the move is refused. By default git would overwrite
        such a file silently.
        """
        return self.with_config(_ALL_SYNCED).try_run(
            "merge", "--ff-only", "--no-overwrite-ignore", "--quiet", "--no-autostash", commit
        )

    def add_note(self, ref: str, commit: str, text: str, facts: CommitFacts) -> None:
        """Attach `text` to `commit` under the notes ref, in the place of any earlier note."""
        who = {"GIT_COMMITTER_NAME": facts.author, "GIT_COMMITTER_EMAIL": facts.email}
        author = {"GIT_AUTHOR_NAME": facts.author, "GIT_AUTHOR_EMAIL": facts.email}
        self.run(
            "notes", f"--ref={ref}", "add", "--force", "--file=-", commit,
            stdin=text.encode(), environment={**who, **author},
        )  # fmt: skip

    def push(self, remote: str, branch: str) -> Finished:
        """Push `branch` and set its upstream, as the user's own git would, but without hooks."""
        environment = {k: v for k, v in self.environment.items() if k != PROTOCOLS}
        # A credential helper may leave a process running, which must not hold our descriptors.
        return replace(self, environment=environment, held=()).try_run(
            "push", "--set-upstream", remote, f"refs/heads/{branch}"
        )


NO_COMMIT = "0" * 40
"""The id that stands for the commit of a ref that does not exist."""


@cache
def _program(path: str) -> str:
    """Return where git is on `path`; the result is cached, so that not every call searches."""
    found = shutil.which("git", path=path) if path else None
    return found if found and Path(found).is_absolute() else "git"


def _text(output: bytes) -> str:
    # Git treats file names as bytes; surrogateescape lets each be encoded again unchanged.
    return output.decode("utf-8", "surrogateescape")


def _subcommand(argv: Sequence[str]) -> str:
    return next(iter(argv[1:]), "")
