"""Reads layers of configuration: files, variables and flags, each a mapping from key to value.

This module finds the values, drops those that a target repo may not set, and refuses unknown keys.
`shared.settings.settings` declares the keys themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path, PurePosixPath

from shared.errors import InvalidInput
from shared.files.text_input import read_text_input
from shared.files.toml_text import parse_toml
from shared.settings.declaration import PREFIX, Key, Keys
from shared.settings.values.given import Given

Layer = Mapping[str, Given]


@dataclass(frozen=True, slots=True)
class Layers:
    """Hold layers in rising order: the last layer that sets a key wins."""

    layers: tuple[Layer, ...]

    def given(self, key: Key) -> Given | None:
        """Return the winning value as it was written, or `None` where no layer sets the key."""
        return next((each[key.name] for each in reversed(self.layers) if key.name in each), None)

    def all_given(self, key: Key) -> tuple[Given, ...]:
        """Return each layer's value as it was written, for settings that add up."""
        return tuple(each[key.name] for each in self.layers if key.name in each)


def check_layer(layer: Layer, keys: Keys) -> Layer:
    """Return `layer`. Raises `InvalidInput` where one of its values cannot be read.

    Values that a higher layer overrules are checked too: a fault hidden today would show up
    later, when the higher layer no longer sets the key.
    """
    for name, given in layer.items():
        keys[name].read(given)
    return layer


def file_layer(path: Path, table: tuple[str, ...], keys: Keys) -> Layer:
    """Return the values that the TOML file at `path` sets in `table`; `()` means the whole file.

    Raises `InvalidInput` where the file cannot be read, is not TOML, or sets an unknown key.
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
        name: Given(value, str(path), name, path.absolute().parent)
        for name, value in _flattened(values, keys, str(path)).items()
    }


def variable_layer(
    environ: Mapping[str, str], keys: Keys, folder: Path, others: Collection[str]
) -> Layer:
    """Return the values that `LLMCH_*` variables set.

    An empty variable sets nothing, and those in `others` are not settings. A relative path starts
    at `folder`. Raises `InvalidInput` for an unknown variable: a misspelt cap would cap nothing.
    """
    by_variable = {key.variable: name for name, key in keys.items()}
    layer = {}
    for variable in sorted(each for each in environ if each.startswith(PREFIX)):
        if variable in others or not environ[variable]:
            continue
        if variable not in by_variable:
            raise _unknown(variable, "environment", by_variable)
        value = environ[variable]
        layer[by_variable[variable]] = Given(value, "environment", variable, folder, as_text=True)
    return layer


def flag_layer(flags: Mapping[str, object], keys: Keys, folder: Path) -> Layer:
    """Return the values that flags set, by key; `None` stands for a flag that was not used."""
    return {
        name: Given(_paths_as_text(value), "command line", keys[name].option, folder, as_text=True)
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


def guard(layer: Layer, keys: Keys) -> tuple[Layer, tuple[str, ...]]:
    """Return `layer` without the values that a target repo may not set, and a warning for each."""
    kept = {}
    warnings = []
    for name, given in layer.items():
        key = keys[name]
        refused, rest = _split_guarded(given, key)
        if rest is not None:
            kept[name] = rest
        if refused:
            warnings.append(
                f"{given.source}: {refused} is ignored: a target repo's own config may not set it;"
                f" set it by llmch.toml beside a spec outside of the repo, {key.variable} or a flag"
            )
    return kept, tuple(warnings)


def _split_guarded(given: Given, key: Key) -> tuple[str, Given | None]:
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
        # These errors also stand for integers of thousands of digits and for endless exponents.
        raise InvalidInput(f"config {path} is not valid TOML: {error}", "correct it") from error


def _flattened(values: Mapping[str, object], keys: Keys, source: str) -> dict[str, object]:
    """Return the values by dotted key. Raises `InvalidInput` for an unknown key."""
    tables = {name.split(".")[0] for name in keys if "." in name}
    flat: dict[str, object] = {}
    for name, value in values.items():
        if name not in tables:
            flat[_known(name, name, keys, source)] = value
            continue
        if not isinstance(value, dict):
            raise InvalidInput(f"{source}: {name} must be a table", f"write it as [{name}]")
        for inner, inner_value in value.items():
            flat[_known(f"{name}.{inner}", inner, keys, source)] = inner_value
    return flat


def _known(name: str, written: str, keys: Keys, source: str) -> str:
    # A quoted key may itself contain a dot: `"sandbox.net"` is not the key `net` of a table.
    if name in keys and "." not in written:
        return name
    raise _unknown(name, source, keys)


def _unknown(name: str, source: str, known: Iterable[str]) -> InvalidInput:
    import difflib  # only an error needs this import

    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]}?" if near else f"the settings are {', '.join(sorted(known))}"
    return InvalidInput(f"{source}: unknown setting {name!r}", hint)
