"""Loads settings in layers: defaults, the project's config, the user's, variables, flags.

Two files may hold settings. `[tool.llmch]` in the `pyproject.toml` of the target repo (without
one, of the current folder) belongs to the project: it may be a stranger's, so what could weaken
the sandbox, send a key elsewhere or write outside is ignored there, with a warning. `llmch.toml`
beside the spec (without one, in the current folder), or the file that `LLMCH_CONFIG` names, belongs
to the user and may set everything, unless it lies inside the target repo (without one, inside any:
it may have come with a clone).

A variable is named by its key: `sandbox.net` is `LLMCH_SANDBOX_NET`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shared.settings.declaration import Key, fill
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
from shared.settings.values import Clamped

USER_FILE = "llmch.toml"
PROJECT_FILE = "pyproject.toml"
PROJECT_TABLE = ("tool", "llmch")
CONFIG_VARIABLE = "LLMCH_CONFIG"
# Variables that are no settings: one is read elsewhere, and tests have a name space of their own.
OTHER_VARIABLES = frozenset({CONFIG_VARIABLE, "LLMCH_WORKSPACES", "LLMCH_DEBUG"})
TEST_PREFIX = "LLMCH_TEST_"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, what the user should know about them, and the files that had a say."""

    settings: Settings
    warnings: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


def load_settings(
    *,
    cwd: Path,
    repo: Path | None = None,
    spec: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
) -> LoadedSettings:
    """Return the settings for a command run in `cwd` on `repo` with `spec`.

    `flags` are by key, as in `{"max_cost": "2.50", "sandbox.backend": "off"}`; numbers may be text,
    and `None` is a flag that was not used. Raises `InvalidInput` naming source and key where a file
    cannot be read, a key is unknown, or a value is of the wrong type or out of range.
    """
    cwd = cwd.absolute()
    warnings: list[str] = []
    files: list[Path] = []
    layers: list[Layer] = []
    for path, table, trusted in _config_files(cwd, repo, spec, environ):
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


def _config_files(
    cwd: Path, repo: Path | None, spec: Path | None, environ: Mapping[str, str]
) -> Iterator[tuple[Path, tuple[str, ...], bool]]:
    """Yield each file that is there, the table to read of it, and whether it may set everything."""
    project = (cwd / repo if repo else cwd) / PROJECT_FILE
    if _is_there(project):
        yield project, PROJECT_TABLE, False
    if named := environ.get(CONFIG_VARIABLE):
        yield cwd / named, (), True
        return
    beside = (cwd / spec).parent if spec else cwd
    if _is_there(own := beside / USER_FILE):
        target = cwd / repo if repo else _working_tree(beside)
        yield own, (), target is None or not _is_within(own, target)


def _is_within(file: Path, repo: Path) -> bool:
    """Say whether `file` lies in the working tree that `repo` is in, or is reached through it."""
    tree = _working_tree(repo) or Path(os.path.realpath(repo))
    way = (file, *Path(os.path.normpath(file)).parents)
    return any(Path(os.path.realpath(each)).is_relative_to(tree) for each in way)


def _working_tree(folder: Path) -> Path | None:
    """Return the root of the git working tree that `folder` is in, if it is in one."""
    root = Path(os.path.realpath(folder))
    return next((each for each in (root, *root.parents) if _is_there(each / ".git")), None)


def _is_there(path: Path) -> bool:
    """Like `Path.exists`, which raises where a folder on the way may not be searched."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _value_of(key: Key, layers: Layers, cwd: Path, warnings: list[str]) -> object:
    """Return the value in force of one setting, and add to `warnings` where it was changed."""
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
