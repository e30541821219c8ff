"""Loads settings in layers: defaults, files, variables, flags.

This module finds the values, drops those that a target repo may not set, and refuses unknown keys.
`shared.settings.settings` declares the keys themselves.

Files of the project and of the user may hold settings.

The project's files are the `pyproject.toml` (with the table `[tool.llmch]`) and the `llmch.toml`
at the root of the target repo. A command without a target repo reads the `pyproject.toml` in the
current folder. The project may be a stranger's, so a setting there that could weaken the sandbox,
send a key elsewhere or write outside is ignored, with a warning. A setting there that decides what
calls of models cost counts where the person decides nothing else; a notice shows it.

The user's file is the one that `LLMCH_CONFIG` names; `/dev/null` means none. Where the
variable is not set, it is the `llmch.toml` beside the spec, or in the current folder for a command
without a spec. It may set everything. An `llmch.toml` inside the target repo may have come with a
clone, so it is treated like the project's files; for a command without a target repo, that holds
inside any git repo.

A variable is named by its key: `sandbox.net` is `LLMCH_SANDBOX_NET`.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial, reduce
from pathlib import Path, PurePosixPath
from typing import Any

from shared.errors import InvalidInput
from shared.files.strict_documents import parse_toml
from shared.files.text_sources import read_text_input
from shared.settings.declaration import PREFIX, VARIABLES, Flag, FlagGroup, FlagKind, Key, fill
from shared.settings.setting_values import Clamped, RawValue
from shared.settings.settings import KEYS, Settings

Layer = Mapping[str, RawValue]


def file_layer(path: Path, table: tuple[str, ...]) -> Layer:
    """Return the values that the TOML file at `path` sets in `table`; `()` means the whole file.

    Raises `InvalidInput` if the file cannot be read, is not TOML, or sets an unknown key.
    """
    text = read_text_input(path, "config").text
    if not all(part in text for part in table):
        return {}  # most projects have no such table, and their files need not be parsed
    values: object = _parse_config(text, path)
    for part in table:
        values = values.get(part, {}) if isinstance(values, dict) else {}
    at = f"{path}: [{'.'.join(table)}]" if table else str(path)
    if not isinstance(values, dict):
        raise InvalidInput(f"{at} must be a table", "put settings in it, or remove it")
    return {
        name: RawValue(value, str(path), name, path.absolute().parent)
        for name, value in _flattened(values, str(path)).items()
    }


def variable_layer(environ: Mapping[str, str], folder: Path, others: Collection[str]) -> Layer:
    """Return the values that `LLMCH_*` variables set.

    An empty variable sets nothing, and those in `others` are not settings. A relative path starts
    at `folder`. Raises `InvalidInput` for an unknown variable: a misspelt cap would cap nothing.
    """
    by_variable = {key.variable: name for name, key in KEYS.items()}
    layer = {}
    for variable in sorted(each for each in environ if each.startswith(PREFIX)):
        if variable in others or not environ[variable]:
            continue
        if variable not in by_variable:
            raise _unknown(variable, "environment", by_variable)
        value = environ[variable]
        layer[by_variable[variable]] = RawValue(
            value, "environment", variable, folder, as_text=True
        )
    return layer


FLAGS = "command line"
"""The source of values that flags set."""


def flag_layer(flags: Mapping[str, object], folder: Path) -> Layer:
    """Return the values that flags set, by key; `None` means a flag that was not used."""
    return {
        name: RawValue(_paths_as_text(value), FLAGS, KEYS[name].option, folder, as_text=True)
        for name, value in flags.items()
        if value is not None
    }


def _paths_as_text(value: object) -> object:
    """Return `value` with paths as text: the parser of a command line may have made paths."""
    match value:
        case Path():
            return str(value)
        case list() | tuple():
            return [_paths_as_text(each) for each in value]
        case _:
            return value


def guard(layer: Layer) -> tuple[Layer, tuple[str, ...]]:
    """Return `layer` without the values that a target repo may not set, and a warning for each."""
    kept = {}
    warnings = []
    for name, given in layer.items():
        key = KEYS[name]
        refused, rest = _split_guarded(given, key)
        if rest is not None:
            kept[name] = rest
        if refused:
            warnings.append(
                f"{given.source}: {refused} is ignored: a target repo's own config may not set it;"
                f" set it by {key.variable}"
                + (f", {key.flag.option}" if key.flag else "")
                + " or a file outside of the repo that LLMCH_CONFIG names"
            )
    return kept, tuple(warnings)


def _split_guarded(given: RawValue, key: Key) -> tuple[str, RawValue | None]:
    """Return a text that names the refused values, and the values that may stay."""
    if not key.guarded:
        return "", given
    if isinstance(given.value, str) and given.value in key.harmless_words:
        return "", given
    if not key.harmless or not isinstance(given.value, list):
        return key.name, None
    allowed = [each for each in given.value if PurePosixPath(str(each)).name in key.harmless]
    others = [str(each) for each in given.value if each not in allowed]
    refused = f"{key.name} {', '.join(others)}" if others else ""
    # Where no entry of the list may stay, the key counts as not set.
    return refused, None if others and not allowed else replace(given, value=allowed)


def _parse_config(text: str, path: Path) -> dict[str, object]:
    try:
        return parse_toml(text, parse_float=Decimal)
    except RecursionError as error:
        raise InvalidInput(f"config {path} is nested too deep", "flatten it") from error
    except (ValueError, ArithmeticError) as error:
        # These errors also report integers of thousands of digits and for endless exponents.
        raise InvalidInput(f"config {path} is not valid TOML: {error}", "correct it") from error


def _flattened(values: Mapping[str, object], source: str, table: str = "") -> dict[str, object]:
    """Return the values by dotted key. Raises `InvalidInput` for an unknown key."""
    flat: dict[str, object] = {}
    for written, value in values.items():
        name = table + written
        if "." in written or not any(key.startswith(f"{name}.") for key in KEYS):
            flat[_known(name, written, source)] = value
        elif isinstance(value, dict):
            flat |= _flattened(value, source, f"{name}.")
        else:
            raise InvalidInput(f"{source}: {name} must be a table", f"write it as [{name}]")
    return flat


def _known(name: str, written: str, source: str) -> str:
    # A quoted key may itself contain a dot: `"sandbox.net"` is not the key `net` of a table.
    if name in KEYS and "." not in written:
        return name
    raise _unknown(name, source, KEYS)


def _unknown(name: str, source: str, known: Iterable[str]) -> InvalidInput:
    import difflib  # only an error needs this import

    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]}?" if near else f"the settings are {', '.join(sorted(known))}"
    return InvalidInput(f"{source}: unknown setting {name!r}", hint)


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
    """Hold the settings, the warnings about them, and the files that set any of them.

    `notices` say which settings of a target repo may make the calls of models dearer.
    """

    settings: Settings
    warnings: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
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
    may be text, and `None` means a flag that was not used. Raises `InvalidInput`, which names
    source and key, where a file cannot be read, a key is unknown, or a value has the wrong type or
    is out of range.
    """
    cwd = cwd.absolute()
    warnings: list[str] = []
    files: list[Path] = []
    layers: list[Layer] = []
    for path, table, trusted in _config_files(cwd, repo, spec, environ, fetched):
        layer = file_layer(path, table)
        if not trusted:
            layer, refused = guard(layer)
            layer = {name: replace(given, of_repo=True) for name, given in layer.items()}
            warnings += refused
        if layer:
            layers.append(layer)
            files.append(path)
    others = {name for name in environ if name in OTHER_VARIABLES or name.startswith(TEST_PREFIX)}
    layers.append(variable_layer(environ, cwd, others))
    layers.append(flag_layer(flags or {}, cwd))
    for layer in layers:
        # Values that a higher layer overrules are checked too: a fault hidden today would show up
        # later, when the higher layer no longer sets the key.
        for name, given in layer.items():
            KEYS[name].read(given)
    settings = fill(Settings, partial(_value_of, layers=layers, cwd=cwd, warnings=warnings))
    notices = tuple(_notices(layers, cwd))
    return LoadedSettings(settings, tuple(warnings), notices, tuple(files))


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


def _value_of(key: Key, layers: Sequence[Layer], cwd: Path, warnings: list[str]) -> object:
    """Return the value of one setting, and add to `warnings` where the value was clamped."""
    given = _given(key, layers)
    if not given or (given[-1].of_repo and key.like and _is_own(KEYS[key.like], layers)):
        if key.like and not any(_given(KEYS[each], layers) for each in key.unless):
            return _value_of(KEYS[key.like], layers, cwd, warnings)
        return cwd / key.default if isinstance(key.default, Path) else key.default
    if key.merge:
        return reduce(key.merge, map(key.read, given), key.default)
    last = given[-1]
    if isinstance(key.read, Clamped):
        number, warning = key.read.clamp(key.read(last), f"{last.source}: {last.name}")
        warnings += [warning] if warning else []
        return number
    return key.read(last)


def _given(key: Key, layers: Sequence[Layer]) -> list[RawValue]:
    """Return the values that a setting was given, the one that counts last.

    A flag for all roles was typed for this command. Elsewhere, what is said of a role counts more
    than what is said of all, also where a variable says it and the role's is in a file.
    """
    own = [(each[key.name], True) for each in layers if key.name in each]
    of_all = [(each[key.general], False) for each in layers if key.general in each]
    if key.like:  # what the role is like has the value already, but for a flag
        of_all = [each for each in of_all if each[0].source == FLAGS]
    given = sorted(
        (*own, *of_all),
        key=lambda each: (not each[0].of_repo, each[0].source == FLAGS, each[1]),
    )
    return [value for value, _ in given]


def _is_own(key: Key, layers: Sequence[Layer]) -> bool:
    return any(not given.of_repo for given in _given(key, layers))


def _notices(layers: Sequence[Layer], cwd: Path) -> Iterator[str]:
    """Yield a sentence on each setting of a target repo that may make calls of models dearer."""
    own = [{n: given for n, given in each.items() if not given.of_repo} for each in layers]
    for key in KEYS.values():
        set_by = _given(key, layers)
        if not (key.costs and set_by and set_by[-1].of_repo):
            continue
        value, otherwise = (_value_of(key, each, cwd, []) for each in (layers, own))
        if _is_dearer(value, otherwise):
            yield (
                f"{set_by[-1].source}: {key.name} is {_in_words(value)}, not "
                f"{_in_words(otherwise)}: the repo's own config decides it, and calls may cost "
                f"more; {key.variable} or {key.option if key.flag else 'a file of yours'} overrules"
            )


def _is_dearer(value: object, otherwise: object) -> bool:
    """Return whether a value may cost more than another; of words nobody can say which does."""
    if isinstance(value, int) and isinstance(otherwise, int):
        return value > otherwise
    return value != otherwise


def _in_words(value: object) -> str:
    if value is None:
        return "the server's"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def add_setting_flags(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup, group: FlagGroup
) -> None:
    """Add the flags of one group of settings to `parser`.

    Values stay text, so that each value is read, and refused, in the same way as in a file.
    """
    for key in KEYS.values():
        if key.flag and key.flag.group is group:
            _add_flag(parser, key, key.flag)


def flags_given(args: argparse.Namespace) -> Mapping[str, object]:
    """Return the flags that are settings, by setting name; `None` means an unused flag."""
    return {name: value for name, value in vars(args).items() if name in KEYS}


def flag_words(values: Mapping[str, object]) -> str:
    """Return the options with their values as words of a command line, each after a space."""
    return "".join(
        f" {option} {shlex.quote(str(each))}"
        for option, value in values.items()
        for each in (value if isinstance(value, list | tuple) else (value,))
    )


def _add_flag(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup, key: Key, flag: Flag
) -> None:
    words = f"{key.help}, {key.range}" if key.range and not key.choices else key.help
    more: dict[str, Any] = {"metavar": flag.metavar}
    match flag.kind:
        case FlagKind.SWITCH:
            more = {"action": argparse.BooleanOptionalAction, "default": None}
        case FlagKind.LIST:
            more["action"] = "append"
        case FlagKind.VALUE:
            more["choices"] = key.choices or None
    text = f"{words} ({key.default_words})".replace("%", "%%")
    parser.add_argument(flag.option, dest=key.name, help=text, **more)
    if flag.old:
        parser.add_argument(flag.old, dest=key.name, help=argparse.SUPPRESS)
