"""Reads which distributions a project declares, and says which modules they provide. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final

_PROJECT: Final = "pyproject.toml"
_REQUIREMENTS = re.compile(r"(?:.*/)?requirements[^/]*\.txt|requirements/[^/]+\.txt")
_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_MISSING = re.compile(r"No module named '?(\w+)")
_SEPARATORS = re.compile(r"[-_.]+")

# Packages whose modules have another name. The most used ones are enough: a module that is
# missing here counts as undeclared.
_MODULES_OF: Final[Mapping[str, frozenset[str]]] = {
    "beautifulsoup4": frozenset({"bs4"}),
    "attrs": frozenset({"attr"}),
    "mysqlclient": frozenset({"MySQLdb"}),
    "opencv-python": frozenset({"cv2"}),
    "pillow": frozenset({"PIL"}),
    "protobuf": frozenset({"google"}),
    "pyjwt": frozenset({"jwt"}),
    "pymupdf": frozenset({"fitz"}),
    "pyserial": frozenset({"serial"}),
    "pyyaml": frozenset({"yaml"}),
    "scikit-image": frozenset({"skimage"}),
    "scikit-learn": frozenset({"sklearn"}),
    "setuptools": frozenset({"pkg_resources"}),
}


def declares_requirements(path: str) -> bool:
    """Return whether a file of this path declares what a project requires."""
    return path == _PROJECT or _REQUIREMENTS.fullmatch(path) is not None


def normal_name(name: str) -> str:
    """Return a distribution's name in its normal form, so that two spellings compare equal."""
    return _SEPARATORS.sub("-", name).lower()


def provides_module(names: Collection[str], module: str) -> bool:
    """Return whether one of these distributions, in normal form, has the top-level `module`.

    A distribution is judged by its name, and by a table of those whose modules have another name.
    """
    wanted = normal_name(module)
    return any(
        name in (wanted, f"python-{wanted}", f"py{wanted}") or module in _MODULES_OF.get(name, ())
        for name in names
    )


@lru_cache(maxsize=16)
def required_names(text: str) -> frozenset[str]:
    """Return the normal names of the distributions that a file declares.

    The file is a `pyproject.toml` or a list of requirements. Its text may be anything.
    """
    try:
        lines = tuple(_requirements_of(tomllib.loads(text)))
    except (tomllib.TOMLDecodeError, RecursionError):
        lines = tuple(
            line for line in text.splitlines() if not line.lstrip().startswith(("#", "-"))
        )
    return frozenset(normal_name(found[1]) for line in lines if (found := _NAME.match(line)))


def modules_not_found(text: str, output: str) -> tuple[str, ...]:
    """Return the modules that a command's `output` misses and that the file `text` declares."""
    names = required_names(text)
    missed = dict.fromkeys(_MISSING.findall(output))
    return tuple(f"The module {each!r}" for each in missed if provides_module(names, each))


def _requirements_of(project: Mapping[str, object]) -> Iterator[str]:
    """Yield each requirement in a `pyproject.toml`: PEP 621, PEP 735, Poetry, build system."""
    own = _table(project, "project")
    poetry = _table(_table(project, "tool"), "poetry")
    yield from _texts(own.get("dependencies"))
    yield from _texts(_table(project, "build-system").get("requires"))
    for groups in (_table(own, "optional-dependencies"), _table(project, "dependency-groups")):
        for group in groups.values():
            yield from _texts(group)
    yield from _table(poetry, "dependencies")
    for group in (poetry, *_table(poetry, "group").values()):
        if isinstance(group, dict):
            yield from _table(group, "dependencies")
            yield from _table(group, "dev-dependencies")


def _table(parent: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = parent.get(key)
    return found if isinstance(found, dict) else {}


def _texts(value: object) -> Iterator[str]:
    yield from (each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
