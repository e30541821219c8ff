"""Defines the settings and the environment that git runs with. This module is pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

Setting: TypeAlias = tuple[str, str]
"""A key of git's config and its value."""

FIXED_CONFIG: tuple[Setting, ...] = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("log.showSignature", "false"),  # else `git log` runs the `gpg.program` of the target's config
    ("submodule.recurse", "false"),
    ("core.quotePath", "false"),
    ("i18n.commitEncoding", "utf-8"),  # what we write; equal commits have equal ids everywhere
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
    """Return the environment for git: the user's, without `GIT_*`, `OPENAI_*` and `LLMCH_*`."""
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(("GIT_", "OPENAI_", "LLMCH_"))
    }
    return kept | {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        # No call but a push needs a remote. Where objects of a partial clone are missing, git would
        # fetch them with a command that the target's config may name.
        PROTOCOLS: "none",
        "GIT_LITERAL_PATHSPECS": "1",
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


def _filter_values(
    entries: Iterable[ConfigEntry], *, trusted: bool
) -> Iterator[tuple[str, str, str]]:
    for name, key, entry in _values_of("filter", entries):
        if trusted == (entry.scope in ("system", "global")):
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
