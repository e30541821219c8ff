"""Reads which versions of its toolchains a repo asks for, and picks an installed one. Pure.

The files are a stranger's. A version is a name and nothing else, so it can choose among what is
installed, and leads nowhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

TextOf: TypeAlias = Callable[[str], str | None]
"""Return the text of a file of the repo, by its path; `None` where it cannot be read."""

_VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,60}")
_CHANNEL: Final = re.compile(r"""^\s*channel\s*=\s*["']([^"']+)["']""", re.MULTILINE)
_TABLE_ENTRY: Final = re.compile(r"""^\s*["']?([\w-]+)["']?\s*=\s*["']([^"']+)["']""")
_ONE_LINE: Final = (
    (".nvmrc", "node"),
    (".node-version", "node"),
    (".python-version", "python"),
    (".go-version", "go"),
    (".java-version", "java"),
)
_OTHER_NAMES: Final = {"nodejs": "node", "golang": "go"}
_LONGEST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Pin:
    """Hold the version that a file asks for, as it is written there."""

    tool: str
    version: str
    origin: str


def read_pins(text_of: TextOf) -> tuple[Pin, ...]:
    """Return the versions that a repo asks for; the first of a tool is the one that counts."""
    return tuple(each for each in _pins(text_of) if _VERSION.fullmatch(each.version))


def pinned(pins: Iterable[Pin], tool: str) -> Pin | None:
    """Return what the repo asks for of a tool."""
    return next((each for each in pins if each.tool == tool), None)


def pick(wanted: str, installed: Iterable[str]) -> str | None:
    """Return the installed version that `wanted` names in whole or in its first parts.

    `20` is the newest of `v20.1.0` and `v20.9.0`, and `stable` is `stable-x86_64-linux-gnu`.
    """
    name = wanted.removeprefix("v")
    fitting = [each for each in installed if _fits(each.removeprefix("v"), name)]
    exact = [each for each in fitting if each.removeprefix("v") == name]
    return max(exact or fitting, key=version_key, default=None)


def version_key(version: str) -> tuple[int, ...]:
    """Return a key that orders versions by their numbers."""
    return tuple(int(each) for each in re.findall(r"\d{1,9}", version))


def _fits(version: str, name: str) -> bool:
    return version == name or version.startswith((f"{name}.", f"{name}-"))


def _pins(text_of: TextOf) -> Iterator[Pin]:
    for path in ("rust-toolchain.toml", "rust-toolchain"):
        text = _read(text_of, path)
        found = _CHANNEL.search(text)
        if found or (text and "[" not in text):
            yield Pin("rust", found[1] if found else _first_word(text), path)
    yield from _volta(text_of)
    for path, tool in _ONE_LINE:
        yield Pin(tool, _first_word(_read(text_of, path)), path)
    yield from _sdkman(text_of)
    yield from asdf_tools(_read(text_of, ".tool-versions"), ".tool-versions")
    for path in ("mise.toml", ".mise.toml"):
        yield from mise_tools(_read(text_of, path), path)


def mise_tools(text: str, origin: str) -> Iterator[Pin]:
    """Yield the versions in the table `tools` of one of mise's files."""
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = line.strip() == "[tools]"
        elif inside and (entry := _TABLE_ENTRY.match(line)):
            yield Pin(_OTHER_NAMES.get(entry[1], entry[1]), entry[2], origin)


def asdf_tools(text: str, origin: str) -> Iterator[Pin]:
    """Yield the versions in a file `.tool-versions`."""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) > 1:
            yield Pin(_OTHER_NAMES.get(words[0], words[0]), words[1], origin)


def _sdkman(text_of: TextOf) -> Iterator[Pin]:
    for line in _read(text_of, ".sdkmanrc").splitlines():
        tool, equals, version = line.partition("#")[0].partition("=")
        if equals:
            yield Pin(tool.strip(), version.strip(), ".sdkmanrc")


def _volta(text_of: TextOf) -> Iterator[Pin]:
    try:
        document = json.loads(_read(text_of, "package.json"))
    except (ValueError, RecursionError):
        return
    table = document.get("volta") if isinstance(document, dict) else None
    for tool, version in table.items() if isinstance(table, dict) else ():
        if isinstance(version, str):
            yield Pin(tool, version, "package.json: volta")


def _first_word(text: str) -> str:
    return next(iter(text.split()), "")


def _read(text_of: TextOf, path: str) -> str:
    return (text_of(path) or "")[:_LONGEST]
