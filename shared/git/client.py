"""Runs git in one folder with settings of its own, and parses its answers.

The other files of this room ask the questions and do the acts, each a function of a `Git` with a
plain answer; they are grouped by what they are about. These functions raise `GitFailed` unless
they say otherwise.

Git runs with our own environment and settings. Inherited `GIT_*` variables could point it at
another repo. Hooks, file-system monitors and filters that only the target's own config defines
are code of the target, which never runs outside the sandbox. Each object is as it is stored: what
`git replace` or a graft puts in its place is not what would be committed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from shared.errors import CommandFailed
from shared.files.secret_values import for_others
from shared.processes.process import Finished, ProgramMissing, ToolFailed, run_tool

Setting: TypeAlias = tuple[str, str]
"""A key of git's config and its value."""

FIXED_CONFIG: tuple[Setting, ...] = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("log.showSignature", "false"),  # else `git log` runs the `gpg.program` of the target's config
    ("submodule.recurse", "false"),
    ("core.quotePath", "false"),
    ("i18n.commitEncoding", "utf-8"),  # what we write; equal commits have equal ids everywhere
    ("i18n.logOutputEncoding", "utf-8"),  # what we read: a log in UTF-16 has other line ends
    ("core.commitGraph", "false"),  # a file in which anybody can give a commit another tree
    ("gc.auto", "0"),  # `git gc` in the middle of a run would compete with it for the disk
    ("maintenance.auto", "false"),
    ("core.safecrlf", "false"),  # we compare altered content ourselves, and refuse it
    ("advice.detachedHead", "false"),
)

# By default git leaves it to the system when new objects and refs reach the disk. A power loss may
# then keep a ref whose commit is lost. A landing is therefore synced in this order: the objects of
# the commit, the journal's record, the index of a checkout that follows the branch, the ref.
SYNCED: tuple[Setting, ...] = (("core.fsync", "committed"),)
ALL_SYNCED: tuple[Setting, ...] = (("core.fsync", "all"),)

# Git takes a driver that exits with a code beyond 128 for broken, not for one that found a
# conflict. `git merge-file` exits with such a code on binary files.

PROTOCOLS = "GIT_ALLOW_PROTOCOL"


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """Hold one value of git's config and where it was set: "system", "global", "local", ..."""

    scope: str
    key: str
    value: str


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for git: the user's, without `GIT_*`, `LLMCH_*`, and model servers."""
    return for_others(environ, ("GIT_", "LLMCH_")) | {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        # Few calls need a remote, and they say so (`shared.git.refs`). Where objects of a partial
        # clone are missing, git would fetch them with a command that the target's config names.
        PROTOCOLS: "none",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        # Git warns of every file of grafts that it can open, be it empty. This one cannot be there.
        "GIT_GRAFT_FILE": "/dev/null/none",
        "GIT_EDITOR": "false",
        "GIT_MERGE_AUTOEDIT": "no",
    }


def repo_filters(entries: Iterable[ConfigEntry]) -> tuple[str, ...]:
    """Return the names of filters that the repo's own config defines or changes, sorted."""
    return tuple(sorted({name for name, _, _ in _filter_values(entries, trusted=False)}))


def without_repo_filters(entries: Iterable[ConfigEntry]) -> tuple[Setting, ...]:
    """Return settings that undo the filter definitions of the repo's own config.

    A filter that the user's or the system's config defines keeps that definition (git-lfs). A
    filter that only the repo defines passes content through unchanged.
    """
    found = tuple(entries)
    trusted = {(name, key): value for name, key, value in _filter_values(found, trusted=True)}
    # Only keys that the repo sets are undone: an empty `process` would keep a trusted `clean`
    # from running.
    own = sorted({(name, key) for name, key, _ in _filter_values(found, trusted=False)})
    defaults = {"required": "false"}
    return tuple(
        (f"filter.{name}.{key}", trusted.get((name, key), defaults.get(key, "")))
        for name, key in own
    )


# What a remote is reached by, and the value that undoes it. Keys are as git lists them. A list
# (helpers, addresses) is emptied by an empty value; a proxy and cookies are none by one.
_NEUTRAL: Final = tuple(
    (re.compile(pattern), value)
    for pattern, value in (
        (r"core\.sshcommand", "ssh"),
        (r"ssh\.variant", "auto"),
        (r"core\.(askpass|gitproxy)", ""),
        (r"core\.alternaterefscommand|gpg\.ssh\.defaultkeycommand", "true"),
        (r"gpg\.(openpgp\.)?program", "gpg"),
        (r"gpg\.x509\.program", "gpgsm"),
        (r"gpg\.ssh\.program", "ssh-keygen"),
        (r"push\.gpgsign", "false"),
        (r"credential\.(.+\.)?helper", ""),
        (r"http\.(.+\.)?(proxy|curloptresolve|cookiefile)", ""),
        (r"http\.(.+\.)?savecookies", "false"),
        (r"http\.(.+\.)?sslverify", "true"),
    )
)
SCOPES_OF_THE_PERSON: Final = ("system", "global")
SCOPES_OF_THE_REPO: Final = ("local", "worktree")
_PROTOCOLS: Final = ("file", "git", "http", "https", "ssh")
_RUNNING_WORDS: Final = ("ext", "fd")  # protocols whose URL names a command or a descriptor


def repo_programs(entries: Iterable[ConfigEntry]) -> tuple[str, ...]:
    """Return the keys by which the repo's own config has a say in how remotes are reached.

    These are programs, helpers and proxies, and what makes git trust another server.
    """
    own = (each.key for each in entries if each.scope in SCOPES_OF_THE_REPO)
    return tuple(dict.fromkeys(key for key in own if _neutral(key) is not None))


def without_repo_programs(entries: Iterable[ConfigEntry]) -> tuple[Setting, ...]:
    """Return settings that undo `repo_programs`: what the person's own config says comes back."""
    found = tuple(entries)
    trusted = [each for each in found if each.scope in SCOPES_OF_THE_PERSON]
    own, settings = repo_programs(found), []
    for key in own:
        section, name = key.partition(".")[0], key.rpartition(".")[2]
        settings.append((key, _neutral(key) or ""))
        # A proxy for one address gives way to the person's for all addresses.
        for same in dict.fromkeys((f"{section}.{name}", key)):
            settings += [(key, each.value) for each in trusted if each.key == same]
    helpers = [each for each in trusted if _is_helper(each.key)]
    if any(_is_helper(key) for key in own):  # all helpers are one list, whichever address has them
        settings.append(("credential.helper", ""))
        settings += [(each.key, each.value) for each in helpers]
    return tuple(settings)


def allowed_protocols(entries: Iterable[ConfigEntry]) -> str:
    """Return the protocols for remotes: git's own, and those that the person always allows."""
    named = (
        name
        for name, key, entry in _values_of("protocol", entries)
        if (key, entry.value) == ("allow", "always") and entry.scope in SCOPES_OF_THE_PERSON
    )
    more = (each for each in named if each not in _RUNNING_WORDS)
    return ":".join(dict.fromkeys((*_PROTOCOLS, *more)))


def _neutral(key: str) -> str | None:
    return next((value for pattern, value in _NEUTRAL if pattern.fullmatch(key)), None)


def _is_helper(key: str) -> bool:
    return key.startswith("credential.") and key.endswith(".helper")


def _filter_values(
    entries: Iterable[ConfigEntry], *, trusted: bool
) -> Iterator[tuple[str, str, str]]:
    for name, key, entry in _values_of("filter", entries):
        if trusted == (entry.scope in SCOPES_OF_THE_PERSON):
            yield name, key, entry.value


def _values_of(
    section: str, entries: Iterable[ConfigEntry]
) -> Iterator[tuple[str, str, ConfigEntry]]:
    """Yield name, key and entry of each value in a `[section "name"]` of the config."""
    for entry in entries:
        head, _, rest = entry.key.partition(".")
        name, _, key = rest.rpartition(".")
        if head == section and name:
            yield name, key, entry


@cache  # nearly every call has the same settings
def as_environment(settings: tuple[Setting, ...]) -> Mapping[str, str]:
    """Return the environment variables that pass the settings to git.

    The option `-c KEY=VALUE` is not used: git splits it at the first `=`, and the target chooses
    some of the keys.
    """
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        found[f"GIT_CONFIG_KEY_{number}"] = key
        found[f"GIT_CONFIG_VALUE_{number}"] = value
    return found


TIMEOUT_SECONDS = 600.0
"""The limit of one call: a checkout of a very large repo on a slow disk takes less."""


_NOT_WRITABLE = re.compile("[Pp]ermission denied|insufficient permission|Read-only file system")


class GitFailed(CommandFailed):
    """Say that a git command that had to succeed failed; the message has git's own words."""

    def __init__(self, done: Finished, hint: str = "") -> None:
        said = done.stderr.decode(errors="replace").strip()
        reason = "timed out" if done.timed_out else said or f"exit code {done.exit_code}"
        if not hint and _NOT_WRITABLE.search(said):
            hint = "make what git names writable for you: `ls -ld` says whose it is"
        super().__init__(f"git {_subcommand(done.argv)} failed: {reason}", hint)
        self.done = done


@dataclass(frozen=True, slots=True)
class Git:
    """Say in which folder git runs, and with which settings and environment.

    `held` are file descriptors that git has open as long as it runs.
    """

    folder: Path
    config: tuple[Setting, ...] = ()
    held: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: clean_environment(os.environ))

    def at(self, folder: Path) -> Git:
        return replace(self, folder=folder)

    def with_config(self, entries: Iterable[Setting]) -> Git:
        return replace(self, config=(*self.config, *entries))

    def holding(self, descriptor: int) -> Git:
        """Return the same git, which keeps the lock of `descriptor` even after our process ends."""
        return replace(self, held=(*self.held, descriptor))

    def try_run(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> Finished:
        """Run one git command and return how it ended.

        Raises `CommandFailed` if git cannot be started.
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
        except (ProgramMissing, ToolFailed) as error:
            raise CommandFailed(
                str(error), "install git, or check that the folder exists"
            ) from error

    def run(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> str:
        """Run one git command and return its output without the last newline.

        Raises `GitFailed` if it failed or timed out.
        """
        output = self.output(*arguments, stdin=stdin, environment=environment)
        return text_of(output).removesuffix("\n")

    def output(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> bytes:
        """Run one git command and return its output as it is. Raises as `run` does."""
        done = self.try_run(*arguments, stdin=stdin, environment=environment)
        if done.exit_code or done.timed_out:
            raise GitFailed(done)
        return done.stdout

    def objects(self, names: Iterable[str]) -> Iterator[StoredObject]:
        """Return the objects that `names` name, in their sequence. Raises as `run` does."""
        asked = "".join(f"{each}\n" for each in names).encode("utf-8", "surrogateescape")
        return parse_batch(self.output("cat-file", "--batch", stdin=asked))


def text_of(output: bytes) -> str:
    """Return git's output as text that can be encoded again unchanged: file names are bytes."""
    return output.decode("utf-8", "surrogateescape")


@cache
def _program(path: str) -> str:
    """Return where git is on `path`; the result is cached, so that not every call searches."""
    found = shutil.which("git", path=path) if path else None
    return found if found and Path(found).is_absolute() else "git"


def _subcommand(argv: Sequence[str]) -> str:
    return next(iter(argv[1:]), "")


_SIZED: Final = re.compile("(?P<id>[0-9a-f]{40}|[0-9a-f]{64}) (?P<kind>[a-z]+) (?P<size>[0-9]+)")


@dataclass(frozen=True, slots=True)
class Changes:
    """Hold the result of `git status`: the commit and branch checked out, and the changed paths.

    `head` is empty before the first commit, `branch` on a detached HEAD. `changed` are tracked
    paths that differ from the commit or the index. `untracked` are paths that git neither tracks
    nor ignores; a folder without tracked files ends in a slash.
    """

    head: str
    branch: str
    changed: tuple[str, ...]
    untracked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """Hold the entry of a tree at a path: its mode, such as "100644", and the object's id."""

    mode: str
    object_id: str


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Hold an object: its id, and its kind, such as "blob"; the kind of a missing one is ""."""

    name: str
    kind: str
    content: bytes


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """Hold how many lines a patch adds to a file and removes; `None` for a file of binary data."""

    path: str
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """Hold that a commit changed a file: the ids of its content before and after.

    An id is all zeros where the file was not there.
    """

    commit: str
    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """Describe a working tree of the repo; `branch` is empty if none is checked out."""

    path: Path
    branch: str


def parse_entries(output: str) -> dict[str, TreeEntry]:
    """Return the entries, by path, of `ls-files` ("mode id stage") or `ls-tree` output.

    A record of `ls-tree` is "mode type id".
    """
    found = {}
    for record in filter(None, output.split("\0")):
        facts, _, path = record.partition("\t")
        mode, *rest = facts.split(" ")
        found[path] = TreeEntry(mode, max(rest, key=len))
    return found


def parse_batch(output: bytes) -> Iterator[StoredObject]:
    """Yield the objects in the output of `cat-file --batch`, in the sequence of the questions."""
    start = 0
    while start < len(output):
        end = output.find(b"\n", start)
        end = len(output) if end < 0 else end
        text = output[start:end].decode("utf-8", "surrogateescape")
        start = end + 1
        found = _SIZED.fullmatch(text)
        if found is None:  # "ID missing"
            yield StoredObject(text, "", b"")
            continue
        end = start + int(found["size"])
        yield StoredObject(found["id"], found["kind"], output[start:end])
        start = end + 1


def parse_numstat(output: str) -> tuple[PatchedFile, ...]:
    """Return the files in the output of `--numstat -z`, which writes `-` for binary data."""
    found = []
    for record in filter(None, output.split("\0")):
        added, removed, path = record.split("\t", 2)
        found.append(PatchedFile(path, _lines(added), _lines(removed)))
    return tuple(found)


def parse_changes(output: str) -> tuple[FileChange, ...]:
    """Return the changes in the output of `log -z --raw --format=%x01%H`, in its sequence."""
    found: list[FileChange] = []
    commit = ""
    records = iter(output.split("\0"))
    for record in records:
        text = record.lstrip("\n")
        if text.startswith("\x01"):
            commit = text[1:].strip()
        elif text.startswith(":"):
            _, _, before, after, _ = text.split(" ")
            found.append(FileChange(commit, next(records, ""), before, after))
    return tuple(found)


def _lines(count: str) -> int | None:
    return int(count) if count.isdigit() else None


def parse_status(records: Sequence[str]) -> Changes:
    """Return the changes that the records of `git status --porcelain=v2` list."""
    head = branch = ""
    changed: list[str] = []
    untracked: list[str] = []
    for record in records:
        if record.startswith("# branch.oid "):
            head = record.removeprefix("# branch.oid ")
        elif record.startswith("# branch.head "):
            branch = record.removeprefix("# branch.head ")
        elif record.startswith("1 "):
            changed.append(record.split(" ", 8)[8])
        elif record.startswith("u "):
            changed.append(record.split(" ", 10)[10])
        elif record.startswith("? "):
            untracked.append(record[2:])
    return Changes(
        head="" if head == "(initial)" else head,
        branch="" if branch == "(detached)" else branch,
        changed=tuple(sorted(changed)),
        untracked=tuple(sorted(untracked)),
    )
