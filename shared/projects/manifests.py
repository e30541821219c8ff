"""Reads manifests, for any build tool.

A build tool is one file beside this one and one entry of `registry.BUILD_TOOLS`. All paths are
relative to the root of the repository and use slashes. Nothing here runs a program or follows a
link: manifests are a stranger's text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, Protocol

from shared.files import strict_documents
from shared.files.strict_documents import Table, table


class RepoFiles(Protocol):
    """Read the files of one tree: a checkout, a commit, or a workspace."""

    @property
    def paths(self) -> Sequence[str]:
        """Return the paths of all files that git tracks, sorted."""

    def text(self, path: str) -> str | None:
        """Return the text of a file.

        The result is `None` if no regular file is there without a link on its way, or if the
        file is too large or not UTF-8.
        """


@dataclass(frozen=True, slots=True)
class VerifyCommand:
    """Hold a command that verifies a repository.

    `origin` names the place that the command comes from, as a person would look it up
    (`package.json: scripts.test`). `defined` is a command that does the same without that place;
    it is empty if the command does not depend on a definition that an order could change.
    """

    text: str
    origin: str
    defined: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """Hold what the manifest of one build tool says.

    `tool` is the build tool's name as people write it (`npm`, `Cargo`), and `manifest` the path
    of its file. `scripts` are the named commands that the manifest defines, and `dependencies`
    the packages that it declares, each as declared. `verify` is empty if nothing in the files
    says how the project is tested; `notes` then tell a person why, in sentences.
    """

    tool: str
    manifest: str
    name: str = ""
    scripts: Mapping[str, str] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    verify: tuple[VerifyCommand, ...] = ()
    notes: tuple[str, ...] = ()


class BuildTool(Protocol):
    """Read the manifests of one build tool."""

    @property
    def name(self) -> str:
        """Return the tool's name as people write it."""

    def read(self, files: RepoFiles) -> Project | None:
        """Return what the manifest at the root says; `None` if the tool has none there.

        A manifest that cannot be read is a project with a note and without commands.
        """


_MOST: Final = 200  # scripts or dependencies that are kept of one manifest
_LONGEST: Final = 300  # characters of a name or a command that are kept


def is_tracked(files: RepoFiles, path: str) -> bool:
    """Return whether there is a file at `path`, readable or not."""
    at = bisect_left(files.paths, path)
    return at < len(files.paths) and files.paths[at] == path


def first_tracked(files: RepoFiles, paths: Iterable[str]) -> str:
    """Return the first of `paths` at which there is a file, or ""."""
    return next((path for path in paths if is_tracked(files, path)), "")


def parse_json(text: str | None) -> Table | None:
    """Return the object in a JSON text; `None` without a text or an object."""
    try:
        document = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def parse_toml(text: str | None) -> Table | None:
    """Return the tables of a TOML text; `None` without a text, and where it is not TOML."""
    if text is None:
        return None
    try:
        return strict_documents.parse_toml(text)
    except (ValueError, RecursionError):
        return None


# The words of all package managers for what a project is built from, whatever table they are in.
_DEPENDING: Final = frozenset({
    "dependencies", "dev-dependencies", "build-dependencies", "optional-dependencies",
    "dependency-groups", "devDependencies", "peerDependencies", "optionalDependencies",
    "build-system", "version",
})  # fmt: skip


def beside_dependencies(path: str, text: str | None) -> object:
    """Return what a manifest says beside dependencies, to be compared; of another file, all of it.

    A list of packages says nothing else, and a manifest that cannot be read may say anything.
    """
    name = path.rpartition("/")[2].lower()
    if name.startswith(_LISTS) or "lock" in name or name == "go.sum":
        return None
    document = parse_json(text) if name.endswith(".json") else parse_toml(text)
    return text if document is None else _without_dependencies(document)


def _without_dependencies(value: object) -> object:
    if isinstance(value, dict):
        kept = (pair for pair in value.items() if pair[0] not in _DEPENDING)
        return {key: _without_dependencies(each) for key, each in kept}
    return [_without_dependencies(each) for each in value] if isinstance(value, list) else value


def text_at(parent: Table, key: str) -> str:
    """Return the text at `key` as one printable line; "" if there is none."""
    found = parent.get(key)
    return one_line(found) if isinstance(found, str) else ""


def texts_at(parent: Table, key: str) -> Iterator[str]:
    """Yield the texts of the list at `key`, each as one printable line."""
    found = parent.get(key)
    yield from (one_line(each) for each in _listed(found) if isinstance(each, str))


def pairs_at(parent: Table, key: str) -> Iterator[tuple[str, str]]:
    """Yield the names in the table at `key` that have a text, with the text."""
    for name, value in table(parent, key).items():
        if isinstance(value, str):
            yield one_line(name), one_line(value)


def bounded(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without repetition, empty ones, and what exceeds the bound."""
    return tuple(dict.fromkeys(filter(None, names)))[:_MOST]


def one_line(text: str) -> str:
    """Return a text as one line of bounded length that is safe to show on a terminal."""
    words = " ".join(text[: 2 * _LONGEST].split())
    shown = "".join(each for each in words if each.isprintable())
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def unreadable(path: str) -> str:
    return f"{path} cannot be read, so nothing is run for it: `--verify CMD` names a command"


def _listed(value: object) -> list[object]:
    return value[:_MOST] if isinstance(value, list) else []


class ChangedFiles:
    """Lay texts over the files of a tree; `None` means that the file is not there."""

    def __init__(self, files: RepoFiles, texts: Mapping[str, str | None]) -> None:
        self._files = files
        self._texts = texts
        there = {path for path, text in texts.items() if text is not None}
        gone = texts.keys() - there
        self._paths = files.paths
        if gone or not there <= set(files.paths):
            self._paths = tuple(sorted((set(files.paths) | there) - gone))

    @property
    def paths(self) -> Sequence[str]:
        return self._paths

    def text(self, path: str) -> str | None:
        """Return the text that was laid over the file, else the file's own."""
        return self._texts[path] if path in self._texts else self._files.text(path)


@dataclass(frozen=True, slots=True)
class Required:
    """Hold the versions of a program that a manifest asks for, as it is written there.

    `ask` is the command that prints the version of the program that is installed.
    """

    tool: str
    versions: str
    origin: str
    ask: tuple[str, ...]

    def is_met_by(self, version: str) -> bool:
        """Return whether a version is one of those; true where a part is not understood."""
        numbers = _numbers(f"{version}.0")
        return not numbers or any(
            " - " in one or all(_fits(numbers, *each) for each in _BOUND.findall(one))
            for one in self.versions.split("||")
        )


_NUMBER: Final = re.compile(r"\d{1,9}")
_BOUND: Final = re.compile(r"(>=|<=|~=|==|!=|[<>=^~]|(?<![\w.*-]))\s*v?(\d[\d.]{0,60})(?![\w*-])")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in _NUMBER.findall(version)[:3])


def _fits(version: tuple[int, ...], sign: str, bound: str) -> bool:
    """Return whether a version keeps to a bound.

    The ends that `^20`, `~20` and `20` have by their meaning are not judged: a newer tool often
    serves.
    """
    other = _numbers(bound)
    match sign:
        case "<":
            return version < other
        case "<=":
            return version[: len(other)] <= other
        case "!=":
            return version[: len(other)] != other
        case ">":
            return version[: len(other)] > other
        case _:
            return version >= other


def required_versions(files: RepoFiles) -> Iterator[Required]:
    """Yield what the manifests at the root ask of the programs that run the project."""
    engines = table(parse_json(files.text("package.json")) or {}, "engines")
    python = table(parse_toml(files.text("pyproject.toml")) or {}, "project")
    rust = table(parse_toml(files.text("Cargo.toml")) or {})
    go = _GO_LINE.search(files.text("go.mod") or "")
    found = (
        Required("Node.js", text_at(engines, "node"), "package.json", ("node", "--version")),
        Required(
            "Python", text_at(python, "requires-python"), "pyproject.toml", ("python", "--version")
        ),
        Required(
            "Rust",
            text_at(table(rust, "package"), "rust-version")
            or text_at(table(rust, "workspace", "package"), "rust-version"),
            "Cargo.toml",
            ("rustc", "--version"),
        ),
        Required("Go", go[1] if go else "", "go.mod", ("go", "version")),
    )
    yield from (each for each in found if each.versions)


_GO_LINE: Final = re.compile(r"^go[ \t]+(\d[\d.]{0,60})", re.MULTILINE)

_SUFFIXES: Final = (".md", ".rst", ".adoc", ".txt")
_NAMES: Final = (
    "readme", "license", "licence", "copying", "notice", "changelog", "authors", "contributing",
    "code_of_conduct", "security",
)  # fmt: skip
# The files that `llmch init` writes.
_OWN: Final = frozenset({"llmch.toml", "spec.yaml", "spec.yml", "spec.json"})
_LISTS: Final = ("requirements", "constraints")  # lists of packages that end in .txt


def holds_only_documents(paths: Iterable[str]) -> bool:
    """Return whether none of the files is code or a manifest: texts, licences and settings alone.

    Hidden files are settings of other tools. Anything that is not known for a document counts as
    code, so that a tree is never taken for an empty one by mistake.
    """
    return all(map(_is_document, paths))


def _is_document(path: str) -> bool:
    place = PurePosixPath(path)
    name = place.name.lower()
    if "".join(place.parts[:1]).startswith("."):
        return True
    if name.startswith(_LISTS) or name == "cmakelists.txt":
        return False
    if len(place.parts) == 1 and (path in _OWN or name.partition(".")[0] in _NAMES):
        return place.suffix.lower() in ("", *_SUFFIXES) or path in _OWN
    return place.suffix.lower() in _SUFFIXES
