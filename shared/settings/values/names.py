"""Reads lists of names: of models, branches, programs, packages and variables."""

from __future__ import annotations

import re
from dataclasses import replace

from shared.errors import InvalidInput
from shared.secrets.names import names_a_secret
from shared.settings.values.given import Given
from shared.settings.values.texts import read_texts

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_PACKAGE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def read_ladder(given: Given) -> tuple[str, ...]:
    """Return names of models from a list, or from a text with commas: `small,large`."""
    names = read_texts(replace(given, as_text=True), ",")
    if not names:
        raise given.refused("the name of a model, or several with commas")
    return names


def read_model(given: Given) -> tuple[str, ...]:
    """Return a ladder of a single model."""
    names = read_ladder(given)
    if len(names) != 1:
        raise given.refused("one model: only the factory takes several")
    return names


def read_branches(given: Given) -> frozenset[str]:
    """Return names of branches."""
    return frozenset(read_texts(given, ","))


def read_programs(given: Given) -> tuple[str, ...]:
    """Return names of programs, without folders."""
    return _matching(given, _PROGRAM, "names of programs, without folders")


def read_packages(given: Given) -> tuple[str, ...]:
    """Return names of packages or modules."""
    return _matching(given, _PACKAGE, "names of packages, without versions")


def read_variables(given: Given) -> tuple[str, ...]:
    """Return names of environment variables; refuse those that may hold a secret or our keys."""
    names = _matching(given, _VARIABLE, "names of environment variables")
    for name in names:
        if name.upper().startswith(("OPENAI_", "LLMCH_")) or names_a_secret(name):
            raise InvalidInput(
                f"{given.source}: {given.name} names {name}, which commands never get",
                f"remove {name} from it",
            )
    return names


def _matching(given: Given, pattern: re.Pattern[str], wanted: str) -> tuple[str, ...]:
    names = read_texts(given, ",")
    if not all(pattern.fullmatch(name) for name in names):
        raise given.refused(wanted)
    return names
