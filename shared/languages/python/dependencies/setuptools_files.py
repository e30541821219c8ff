"""Reads what `setup.cfg` and `setup.py` declare. `setup.py` is parsed and never run."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterator, Mapping
from typing import Final

from shared.errors import InvalidInput
from shared.languages.capabilities.dependencies import ManifestFiles
from shared.languages.python.dependencies.requirements import Declared

_LISTS: Final = ("install_requires", "tests_require")


def from_setup_cfg(files: ManifestFiles, extras: tuple[str, ...]) -> Iterator[Declared]:
    """Yield what `setup.cfg` requires. Raises `InvalidInput` where it cannot be read."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(files.text("setup.cfg") or "")
    except configparser.Error as error:
        words = str(error).splitlines()[0]
        raise InvalidInput(f"setup.cfg cannot be read: {words}", "correct it") from error
    for key in _LISTS:
        text = parser.get("options", key, fallback="")
        yield from _lines(f"setup.cfg: options.{key}", text)
    for name in extras:
        text = parser.get("options.extras_require", name, fallback="")
        yield from _lines(f"setup.cfg: options.extras_require.{name}", text)


def _lines(place: str, text: str) -> Iterator[Declared]:
    lines = (line.strip() for line in text.replace("\n", ";;").split(";;"))
    yield from (Declared(place, line) for line in lines if line and not line.startswith("#"))


def from_setup_py(
    files: ManifestFiles, extras: tuple[str, ...]
) -> tuple[list[Declared], list[str]]:
    """Return what `setup.py` requires as far as it is written there, and notes on what is not.

    Only lists of texts are read: in the call of `setup`, or in a variable that it names.
    """
    text = files.text("setup.py")
    try:
        module = ast.parse(text or "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [], ["setup.py cannot be parsed, so what it requires is not known."]
    variables = dict(_assignments(module))
    declared: list[Declared] = []
    notes: list[str] = []
    for keyword in _keywords_of_setup(module):
        if keyword.arg in _LISTS:
            values = {keyword.arg: keyword.value}
        elif keyword.arg == "extras_require":
            values = _table(_resolved(keyword.value, variables), extras)
        else:
            continue
        for name, value in values.items():
            place = f"setup.py: {name}"
            texts = _texts(_resolved(value, variables))
            if texts is None:
                notes.append(f"{place} is computed, and setup.py is not run to find out.")
            declared.extend(Declared(place, each.strip()) for each in texts or () if each.strip())
    return declared, notes


def _keywords_of_setup(module: ast.Module) -> Iterator[ast.keyword]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name == "setup":
                yield from node.keywords


def _assignments(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in module.body:
        if isinstance(node, ast.Assign):
            yield from (
                (each.id, node.value) for each in node.targets if isinstance(each, ast.Name)
            )


def _resolved(value: ast.expr, variables: Mapping[str, ast.expr]) -> ast.expr:
    return variables.get(value.id, value) if isinstance(value, ast.Name) else value


def _table(value: ast.expr, extras: tuple[str, ...]) -> dict[str, ast.expr]:
    if not isinstance(value, ast.Dict):
        return {"extras_require": value}
    named = zip(value.keys, value.values, strict=True)
    return {
        f"extras_require.{key.value}": each
        for key, each in named
        if isinstance(key, ast.Constant) and key.value in extras
    }


def _texts(value: ast.expr) -> tuple[str, ...] | None:
    """Return the texts of a literal list, `None` where it is anything else."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return tuple(value.value.splitlines())
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    texts = [each.value for each in value.elts if isinstance(each, ast.Constant)]
    strings = tuple(each for each in texts if isinstance(each, str))
    return strings if len(strings) == len(value.elts) else None
