"""Loads settings in layers: defaults, the project's config, the user's, variables, flags.

Files of the project and of the user may hold settings.

The project's files are the `pyproject.toml` (with the table `[tool.llmch]`) and the `llmch.toml`
at the root of the target repo. A command without a target repo reads the `pyproject.toml` in the
current folder. The project may be a stranger's, so a setting there that could weaken the sandbox,
send a key elsewhere or write outside is ignored, with a warning.

The user's file is the one that `LLMCH_CONFIG` names; `/dev/null` stands for none. Where the
variable is not set, it is the `llmch.toml` beside the spec, or in the current folder for a command
without a spec. It may set everything. An `llmch.toml` inside the target repo may have come with a
clone, so it is treated like the project's files; for a command without a target repo, that holds
inside any git repo.

A variable is named by its key: `sandbox.net` is `LLMCH_SANDBOX_NET`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shared.settings.declaration import PREFIX, Key, fill
from shared.settings.environment import VARIABLES
from shared.settings.layers import (
    Layer,
    Layers,
    check_layer,
    file_layer,
    flag_layer,
    guard,
    variable_layer,
)
from shared.settings.settings import KEYS, Settings
from shared.settings.values.numbers import Clamped

USER_FILE = "llmch.toml"
PROJECT_FILE = "pyproject.toml"
PROJECT_FILES = (PROJECT_FILE, USER_FILE)
"""The files at the root of a target repo that may hold settings."""
PROJECT_TABLE = ("tool", "llmch")
CONFIG_VARIABLE = "LLMCH_CONFIG"
# These variables are not settings: other code reads them. Tests have a prefix of their own.
OTHER_VARIABLES = frozenset(each for each in VARIABLES if each.startswith(PREFIX))
TEST_PREFIX = "LLMCH_TEST_"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Hold the settings, the warnings about them, and the files that set any of them."""

    settings: Settings
    warnings: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


def load_settings(
    *,
    cwd: Path,
    repo: Path | None = None,
    spec: Path | None = None,
    fetched: bool = False,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
) -> LoadedSettings:
    """Return the settings for a command run in `cwd` on `repo` with `spec`.

    `fetched` says that `repo` was fetched for its settings alone: it does not show whether the
    person's own file came with a clone.

    `flags` holds values by key, as in `{"max_cost": "2.50", "sandbox.backend": "off"}`. Numbers
    may be text, and `None` stands for a flag that was not used. Raises `InvalidInput`, which names
    source and key, where a file cannot be read, a key is unknown, or a value has the wrong type or
    is out of range.
    """
    cwd = cwd.absolute()
    warnings: list[str] = []
    files: list[Path] = []
    layers: list[Layer] = []
    for path, table, trusted in _config_files(cwd, repo, spec, environ, fetched):
        layer = file_layer(path, table, KEYS)
        if not trusted:
            layer, refused = guard(layer, KEYS)
            warnings += refused
        if layer:
            layers.append(layer)
            files.append(path)
    others = {name for name in environ if name in OTHER_VARIABLES or name.startswith(TEST_PREFIX)}
    layers.append(variable_layer(environ, KEYS, cwd, others))
    layers.append(flag_layer(flags or {}, KEYS, cwd))
    checked = Layers(tuple(check_layer(each, KEYS) for each in layers))
    settings = fill(Settings, partial(_value_of, layers=checked, cwd=cwd, warnings=warnings))
    return LoadedSettings(settings, tuple(warnings), tuple(files))


def own_config(cwd: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the person's own file for commands in `cwd` that have no spec; `None` for none.

    An `llmch.toml` inside a git repo may have come with a clone, so it is not the person's.
    """
    named = environ.get(CONFIG_VARIABLE)
    if named:
        return None if named == os.devnull else cwd / named
    own = cwd / USER_FILE
    tree = _working_tree(cwd)
    return own if _is_there(own) and not (tree and _is_within(own, tree)) else None


def _config_files(
    cwd: Path, repo: Path | None, spec: Path | None, environ: Mapping[str, str], fetched: bool
) -> Iterator[tuple[Path, tuple[str, ...], bool]]:
    """Yield each existing file, the table to read in it, and whether it may set everything."""
    root = (_working_tree(cwd / repo) or cwd / repo) if repo else None
    named = environ.get(CONFIG_VARIABLE)
    own = cwd / named if named else ((cwd / spec).parent if spec else cwd) / USER_FILE
    if _is_there(project := (root or cwd) / PROJECT_FILE):
        yield project, PROJECT_TABLE, False
    if root and _is_there(shared := root / USER_FILE) and not _is_same(shared, own):
        yield shared, (), False
    if named == os.devnull:
        return
    if named:
        yield own, (), True
    elif _is_there(own):
        target = (None if fetched else root) or _working_tree(own.parent)
        yield own, (), target is None or not _is_within(own, target)


def _is_within(file: Path, repo: Path) -> bool:
    """Return whether `file` lies in the working tree that `repo` is in, or is reached through it.

    A file is reached through the tree where a symbolic link on its way leads there.
    """
    tree = _working_tree(repo) or Path(os.path.realpath(repo))
    way = (file, *Path(os.path.normpath(file)).parents)
    return any(Path(os.path.realpath(each)).is_relative_to(tree) for each in way)


def _is_same(file: Path, other: Path) -> bool:
    return os.path.realpath(file) == os.path.realpath(other)


def _working_tree(folder: Path) -> Path | None:
    """Return the root of the git working tree that `folder` is in, or `None`."""
    root = Path(os.path.realpath(folder))
    return next((each for each in (root, *root.parents) if _is_there(each / ".git")), None)


def _is_there(path: Path) -> bool:
    """Return whether `path` exists; unlike `Path.exists`, never raise where a folder is closed."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _value_of(key: Key, layers: Layers, cwd: Path, warnings: list[str]) -> object:
    """Return the value of one setting, and add to `warnings` where the value was clamped."""
    given = layers.given(key)
    if given is None:
        if key.like:
            return _value_of(KEYS[key.like], layers, cwd, warnings)
        return cwd / key.default if isinstance(key.default, Path) else key.default
    if key.merge:
        value = key.default
        for each in layers.all_given(key):
            value = key.merge(value, key.read(each))
        return value
    if isinstance(key.read, Clamped):
        number, warning = key.read.clamp(key.read(given), f"{given.source}: {given.name}")
        warnings += [warning] if warning else []
        return number
    return key.read(given)
