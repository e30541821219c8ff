"""Layers of configuration: files, variables and flags, each a mapping from key to value.

Here is how the values are found, who may set them, and what is said of a key that nobody knows.
The keys themselves are declared in `shared.settings.settings`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path, PurePosixPath

from shared.errors import InvalidInput
from shared.files.text_input import read_text_input
from shared.settings.declaration import PREFIX, Key, Keys
from shared.settings.values import Given

Layer = Mapping[str, Given]


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers in rising order: the last that sets a key wins."""

    layers: tuple[Layer, ...]

    def given(self, key: Key) -> Given | None:
        """Return the winning value as it was written."""
        return next((each[key.name] for each in reversed(self.layers) if key.name in each), None)

    def all_given(self, key: Key) -> tuple[Given, ...]:
        """Return each layer's value as it was written, for settings that add up."""
        return tuple(each[key.name] for each in self.layers if key.name in each)


def check_layer(layer: Layer, keys: Keys) -> Layer:
    """Return `layer`, whose values all can be read. Raises `InvalidInput` where one cannot.

    Also those are checked that a higher layer overrules: a fault hidden today bites tomorrow.
    """
    for name, given in layer.items():
        keys[name].read(given)
    return layer


def file_layer(path: Path, table: tuple[str, ...], keys: Keys) -> Layer:
    """Return what the TOML file at `path` sets in `table`, `()` for the whole file.

    Raises `InvalidInput` where the file cannot be read, is no TOML, or sets an unknown key.
    """
    text = read_text_input(path, "config").text
    if not all(part in text for part in table):
        return {}  # most projects say nothing of us, and need not be parsed
    values: object = _parse_toml(text, path)
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
    """Return what `LLMCH_*` variables set; an empty one sets nothing, `others` are no settings.

    A relative path starts at `folder`. Raises `InvalidInput` for an unknown one: a misspelt cap
    would hold nothing.
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
    """Return what flags set, given by key; `None` stands for a flag that was not used."""
    return {
        name: Given(_spelt(value), "command line", keys[name].option, folder, as_text=True)
        for name, value in flags.items()
        if value is not None
    }


def _spelt(value: object) -> object:
    """Return paths as text: a command line's parser may have made them already."""
    match value:
        case Path():
            return str(value)
        case list() | tuple():
            return [_spelt(each) for each in value]
        case _:
            return value


def guard(layer: Layer, keys: Keys) -> tuple[Layer, tuple[str, ...]]:
    """Return `layer` without what a target repo may not set, and a warning for each such key."""
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
                f" llmch.toml beside a spec outside of the repo, {key.variable} or a flag may"
            )
    return kept, tuple(warnings)


def _split_guarded(given: Given, key: Key) -> tuple[str, Given | None]:
    """Return what to refuse, in words, and what may stay."""
    if not key.guarded:
        return "", given
    if isinstance(given.value, str) and given.value in key.harmless_words:
        return "", given
    if not key.harmless or not isinstance(given.value, list):
        return key.name, None
    allowed = [each for each in given.value if PurePosixPath(str(each)).name in key.harmless]
    others = [str(each) for each in given.value if each not in allowed]
    refused = f"{key.name} {', '.join(others)}" if others else ""
    # Where nothing of the list may stay, it is as if the key were not set.
    return refused, None if others and not allowed else replace(given, value=allowed)


def _parse_toml(text: str, path: Path) -> dict[str, object]:
    import tomllib  # costs 5 ms, and mostly there is nothing to parse

    try:
        return tomllib.loads(text, parse_float=Decimal)
    except RecursionError as error:
        raise InvalidInput(f"config {path} is nested too deep", "flatten it") from error
    except (ValueError, ArithmeticError) as error:
        # Besides malformed TOML: integers of thousands of digits, exponents beyond all bounds.
        raise InvalidInput(f"config {path} is not valid TOML: {error}", "correct it") from error


def _flattened(values: Mapping[str, object], keys: Keys, source: str) -> dict[str, object]:
    """Return values by dotted key. Raises `InvalidInput` for an unknown one."""
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
    # A quoted key may hold a dot of its own: `"sandbox.net"` is not the key `net` of a table.
    if name in keys and "." not in written:
        return name
    raise _unknown(name, source, keys)


def _unknown(name: str, source: str, known: Iterable[str]) -> InvalidInput:
    import difflib  # only a mistake needs it

    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
    return InvalidInput(f"{source}: unknown setting {name!r}", hint)
