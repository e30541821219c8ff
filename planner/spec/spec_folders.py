"""Finds specifications that other tools keep in folders, and reads their files and tasks.

Known are the folders of spec-kit, OpenSpec and Kiro. A task is done where all requirements that it
names are, and all its parts. One that names none cannot be judged, and stays as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from planner.spec.blocks import indent_of, visible_lines
from planner.spec.requirements import Requirement
from shared.errors import InvalidInput
from shared.files.text_sources import read_text_input

_MOST: Final = 2_000  # folders that are looked at
_NAMED: Final = 10  # in a message
_CONSTITUTION: Final = ".specify/memory/constitution.md"


def whole_path(path: Path) -> Path:
    """Return a path from the root on, without `..`; links stay as they are."""
    return Path(os.path.normpath(path.absolute()))


class FolderKind(StrEnum):
    """Say which tool keeps a specification so."""

    SPEC_KIT = "spec-kit"
    OPENSPEC = "OpenSpec"
    CHANGE = "OpenSpec change"
    KIRO = "Kiro"


@dataclass(frozen=True, slots=True)
class SpecFolder:
    """Hold a folder that is a specification, and the folder of the project that it is in."""

    kind: FolderKind
    folder: Path
    root: Path

    @property
    def main(self) -> Path:
        """Return the file, or the folder, that has the requirements."""
        match self.kind:
            case FolderKind.SPEC_KIT:
                return self.folder / "spec.md"
            case FolderKind.KIRO:
                return self.folder / "requirements.md"
            case FolderKind.CHANGE:
                return self.folder / "specs"
            case FolderKind.OPENSPEC:
                return self.folder

    @property
    def tasks(self) -> Path | None:
        """Return the list of tasks; `None` where the kind has none."""
        return None if self.kind is FolderKind.OPENSPEC else self.folder / "tasks.md"

    @property
    def beside(self) -> tuple[Path, ...]:
        """Return the files that say how it is to be built."""
        match self.kind:
            case FolderKind.SPEC_KIT:
                names: tuple[str, ...] = ("plan.md",)
            case FolderKind.KIRO:
                names = ("design.md",)
            case FolderKind.CHANGE:
                names = ("proposal.md", "design.md")
            case FolderKind.OPENSPEC:
                names = ()
        return tuple(self.folder / each for each in names)

    @property
    def rules(self) -> Path | None:
        """Return the rules of the house; `None` where the kind has none."""
        return self.root / _CONSTITUTION if self.kind is FolderKind.SPEC_KIT else None

    @property
    def base_specs(self) -> Path:
        """Return the folder of OpenSpec's capabilities."""
        return self.root / "openspec" / "specs"

    def named(self, path: Path) -> str:
        """Return a path as it is seen from the project."""
        return whole_path(path).relative_to(whole_path(self.root)).as_posix()

    def read(self, path: Path) -> str:
        """Return the text of a file. Raises `InvalidInput` for one that a link leads outside to."""
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.root)):
            raise InvalidInput(
                f"spec {path} is a link that leads out of {self.root}",
                "put the file itself there",
            )
        return read_text_input(path, "spec").text

    def read_if_there(self, path: Path) -> str:
        """Return the text of a file, "" where there is none."""
        return self.read(path) if os.path.lexists(path) else ""


def find_spec_folder(path: Path) -> SpecFolder:
    """Return the specification that a folder is, or the only one that it has.

    Raises `InvalidInput` where it has none, or several: the message names them.
    """
    own = _itself(path)
    if own is not None:
        return own
    found = [*_below(path)]
    if not found:
        raise InvalidInput(
            f"spec {path} is a directory, and holds no specification that llmch knows",
            "give the path of the spec itself, or a folder of spec-kit (specs/NAME/spec.md), "
            "OpenSpec (openspec/) or Kiro (.kiro/specs/NAME/requirements.md)",
        )
    if len(found) > 1:
        names = [str(each.folder) for each in found[:_NAMED]]
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise InvalidInput(
            f"spec {path} holds {len(found)} specifications: {', '.join(names)}{more}",
            f"say which one, as in --spec {found[0].folder}",
        )
    return found[0]


def spec_place(path: Path) -> Path:
    """Return the folder of the specification that is meant by a folder; a file is itself."""
    return find_spec_folder(path).folder if path.is_dir() else path


_PLACES: Final = (
    (FolderKind.KIRO, re.compile(r"(.*)/\.kiro/specs/[^/]+")),
    (FolderKind.OPENSPEC, re.compile(r"(.*)/openspec/specs(?:/.+)?")),
    (FolderKind.CHANGE, re.compile(r"(.*)/openspec/changes/(?!archive$)[^/]+")),
    (None, re.compile(r"(.*)/openspec/changes(?:/.*)?")),
    (FolderKind.SPEC_KIT, re.compile(r"(.*)/specs/[^/]+")),
)


def _itself(path: Path) -> SpecFolder | None:
    """Return the specification that a folder is by its place; its files may be missing."""
    whole = whole_path(path)
    own = (path / "spec.md").is_file()
    for kind, pattern in _PLACES:
        if found := pattern.fullmatch(whole.as_posix()):
            if kind is FolderKind.SPEC_KIT and not own and not _is_begun(path):
                continue
            return SpecFolder(kind, path, Path(found[1] or "/")) if kind else None
    if (path / "requirements.md").is_file() and not own:
        return SpecFolder(FolderKind.KIRO, path, whole)
    return SpecFolder(FolderKind.SPEC_KIT, path, whole) if own else None


def _is_begun(path: Path) -> bool:
    """Say whether a folder looks like a feature of spec-kit whose specification is missing."""
    is_kiros = (path / "requirements.md").is_file()
    return not is_kiros and any((path / each).is_file() for each in ("plan.md", "tasks.md"))


def _below(path: Path) -> Iterator[SpecFolder]:
    """Yield the specifications of a project, of its folders of them, or of one tool in it."""
    whole = whole_path(path)
    up = whole.parent
    match whole.name:
        case "openspec":
            yield from _of_openspec(path, up)
        case "changes" if up.name == "openspec":
            yield from _of_openspec(path / "..", up.parent)
        case ".kiro":
            yield from _inside(FolderKind.KIRO, path / "specs", up)
        case "specs" if up.name == ".kiro":
            yield from _inside(FolderKind.KIRO, path, up.parent)
        case "specs":
            yield from _inside(FolderKind.SPEC_KIT, path, up)
        case _:
            yield from _inside(FolderKind.SPEC_KIT, path / "specs", whole)
            yield from _of_openspec(path / "openspec", whole)
            yield from _inside(FolderKind.KIRO, path / ".kiro" / "specs", whole)


def _inside(kind: FolderKind, specs: Path, root: Path) -> Iterator[SpecFolder]:
    """Yield the folders in `specs` that have a file of the kind."""
    for each in folders_in(specs):
        found = SpecFolder(kind, each, root)
        if any(file.is_file() for file in (found.main, *found.beside, each / "tasks.md")):
            yield found


def _of_openspec(openspec: Path, root: Path) -> Iterator[SpecFolder]:
    """Yield the changes that are open; where there are none, the specs themselves."""
    changes = [*open_changes(openspec / "changes")]
    for each in changes:
        yield SpecFolder(FolderKind.CHANGE, each, root)
    if not changes and next(capability_files(openspec / "specs"), None):
        yield SpecFolder(FolderKind.OPENSPEC, openspec / "specs", root)


def open_changes(changes: Path) -> Iterator[Path]:
    """Yield the folders of changes that are not archived."""
    return (each for each in folders_in(changes) if each.name != "archive")


def archived_changes(changes: Path) -> Sequence[Path]:
    """Return the folders of archived changes, the oldest first: their names begin with dates."""
    return folders_in(changes / "archive")


def folders_in(path: Path) -> Sequence[Path]:
    """Return the folders in a folder by name, none where it is not there."""
    try:
        with os.scandir(path) as entries:
            found = sorted(each.name for each in entries if each.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise InvalidInput(
            f"spec {path} cannot be read: {error.strerror}", "check your permission to read it"
        ) from error
    return tuple(path / each for each in found[:_MOST] if not each.startswith("."))


_DEEPEST: Final = 4


def capability_files(specs: Path, deepest: int = _DEEPEST) -> Iterator[tuple[str, Path]]:
    """Yield the `spec.md` of each capability, with the capability's name such as `shop/cart`."""
    for each in folders_in(specs):
        if os.path.lexists(each / "spec.md"):
            yield each.name, each / "spec.md"
        if deepest > 1 and not each.is_symlink():  # a link could lead back here
            for name, file in capability_files(each, deepest - 1):
                yield f"{each.name}/{name}", file


_NUMBER: Final = re.compile(r"\d{1,6}[-_]")


def name_of(folder: SpecFolder) -> str:
    """Return what a specification is called: by its folder, without a number before."""
    place = folder.root if folder.kind is FolderKind.OPENSPEC else folder.folder
    name = whole_path(place).name
    return _NUMBER.sub("", name, count=1) or name


_TASK: Final = re.compile(r"(\s*[-*+]\s+)\[([ xX-])\](?:\*)?\s+(\S.*)")


@dataclass(frozen=True, slots=True)
class SpecTask:
    """Hold a task: its line, its words, its indentation, and the lines that belong to it."""

    line: int
    text: str
    indent: int
    is_done: bool
    details: tuple[str, ...] = ()


def parse_tasks(text: str) -> tuple[SpecTask, ...]:
    """Return the tasks of a list, in their order; those in code and comments are none."""
    found: list[SpecTask] = []
    details: list[str] = []

    def close() -> None:
        if found:
            last = found[-1]
            found[-1] = SpecTask(*(last.line, last.text, last.indent, last.is_done), tuple(details))
        details.clear()

    for number, line in enumerate(visible_lines(text), 1):
        task = _TASK.match(line)
        if task:
            close()
            found.append(SpecTask(number, task[3].strip(), indent_of(line), task[2] in "xX"))
        elif line.strip() and found and line[:1].isspace():
            details.append(line.strip())
    close()
    return tuple(found)


def render_tasks(text: str) -> str:
    """Return the tasks without their boxes, so that a tick changes nothing."""
    lines = (f"{' ' * each.indent}- {each.text}" for each in parse_tasks(text))
    return "\n".join(lines)


_AFTER_LABEL: Final = re.compile(
    r"(?<![A-Za-z])(?:Requirements?[*_]*\s*:|Validates[*_]*\s*:(?:[*_\s]*Requirements?)?)[*_\s]*(.+)",
    re.IGNORECASE,
)
_RANGE: Final = re.compile(
    r"(?<![A-Za-z0-9.])([A-Za-z][\w.-]*-|(?:\d+\.)+)(\d+)"
    r"\s*(?:-|\u2013|\u2014|\.\.|to\b|through\b)\s*\1(\d+)(?!\d)"
)
_WORD: Final = re.compile(r"[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*")
_QUOTED: Final = re.compile(r"[`\"]([^`\"]{1,300})[`\"]")
_STORY: Final = re.compile(r"\[US-?(\d{1,3})\]", re.IGNORECASE)
_STORY_TITLE: Final = re.compile(r" {0,3}(#{1,6})\s+User Story\s+(\d{1,3})\b", re.IGNORECASE)
_ANY_TITLE: Final = re.compile(r" {0,3}(#{1,6})\s")
_LOOKS_LIKE_ID: Final = re.compile(r"[A-Z]{2,8}-\d{1,5}")
_NUMBERING: Final = re.compile(r"(\d{1,4}(?:\.\d{1,4}){0,3})[.)]?\s")
_MOST_IN_RANGE: Final = 500


@dataclass(frozen=True, slots=True)
class NamedRequirements:
    """Hold by which names tasks speak of requirements: their ids, their stories, their titles."""

    ids: frozenset[str]
    stories: Mapping[str, tuple[str, ...]]
    titles: Mapping[str, str]

    def named_by(self, task: SpecTask) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the requirements that a task names, and the names that are none."""
        found: list[str] = []
        unknown: list[str] = []
        for text in (task.text, *task.details):
            words, numbers = _names_in(text)
            for each in (*words, *numbers):
                if each in self.ids:
                    found.append(each)
                elif each in numbers and (inside := self._below(each)):
                    found += inside
                elif each in numbers or _LOOKS_LIKE_ID.fullmatch(each):
                    unknown.append(each)
            for quoted in _QUOTED.findall(text):
                if name := self.titles.get(" ".join(quoted.split()).casefold()):
                    found.append(name)
        if not found and not unknown:
            for number in _STORY.findall(task.text):
                story = self.stories.get(number.lstrip("0"), ())
                found += story
                unknown += [] if story else [f"US{number}"]
        return tuple(dict.fromkeys(found)), tuple(dict.fromkeys(unknown))

    def _below(self, number: str) -> list[str]:
        return sorted(name for name in self.ids if name.startswith(f"{number}."))


def _names_in(text: str) -> tuple[list[str], list[str]]:
    """Return the words of a text that may be ids, and the numbers after a label that are."""
    label = _AFTER_LABEL.search(text)
    said = _RANGE.sub(_spelled_out, label[1] if label else text)
    words = _WORD.findall(said)
    if label is None:
        return [each for each in words if not each[0].isdigit()], []
    return (
        [each for each in words if not each[0].isdigit()],
        [each for each in words if each[0].isdigit() and each.replace(".", "").isdigit()],
    )


def _spelled_out(found: re.Match[str]) -> str:
    head, first, last = found[1], int(found[2]), int(found[3])
    if not first <= last < first + _MOST_IN_RANGE:
        return found[0]
    return " ".join(f"{head}{n:0{len(found[2])}}" for n in range(first, last + 1))


def stories_in(text: str, requirements: Sequence[Requirement]) -> Mapping[str, tuple[str, ...]]:
    """Return the requirements that the section of each user story states, by its number."""
    story_of: dict[int, str] = {}
    story, level = "", 0
    for number, line in enumerate(visible_lines(text), 1):
        begun, title = _STORY_TITLE.match(line), _ANY_TITLE.match(line)
        if begun:
            story, level = begun[2].lstrip("0"), len(begun[1])
        elif title and len(title[1]) <= level:
            story = ""
        story_of[number] = story
    found: dict[str, tuple[str, ...]] = {}
    for each in requirements:
        if name := story_of.get(each.line or 0, ""):
            found[name] = (*found.get(name, ()), each.id)
    return found


class TaskState(StrEnum):
    """Say what becomes of a task."""

    DONE = "done"
    """It is ticked already."""
    TICKED = "ticked"
    OPEN = "open"
    UNNAMED = "unnamed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TaskOutlook:
    """Hold a task, what becomes of it, and why: the names that are open or unknown."""

    task: SpecTask
    state: TaskState
    names: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Return why it is not ticked, "" if it is."""
        names = ", ".join(self.names[:8]) + (" and others" if len(self.names) > 8 else "")
        match self.state:
            case TaskState.DONE | TaskState.TICKED:
                return ""
            case TaskState.OPEN:
                return f"not landed: {names}"
            case TaskState.UNNAMED:
                return "names no requirement"
            case TaskState.UNKNOWN:
                return f"names what the specification does not have: {names}"


def judge_tasks(
    tasks: Sequence[SpecTask], named: NamedRequirements, landed: Collection[str]
) -> tuple[TaskOutlook, ...]:
    """Return what becomes of each task; `landed` are the requirements that are carried out."""
    found: dict[int, TaskOutlook] = {}
    parts = _parts_of(tasks)
    for index in reversed(range(len(tasks))):
        inside = [found[each] for each in parts[index]]
        found[index] = _outlook(tasks[index], inside, named, landed)
    return tuple(found[index] for index in range(len(tasks)))


def _outlook(
    task: SpecTask,
    parts: Sequence[TaskOutlook],
    named: NamedRequirements,
    landed: Collection[str],
) -> TaskOutlook:
    if task.is_done:
        return TaskOutlook(task, TaskState.DONE)
    names, unknown = named.named_by(task)
    if unknown:
        return TaskOutlook(task, TaskState.UNKNOWN, unknown)
    left = tuple(each for each in names if each not in landed)
    left += tuple(f"line {each.task.line}" for each in parts if each.reason)
    if left:
        return TaskOutlook(task, TaskState.OPEN, left)
    return TaskOutlook(task, TaskState.TICKED if names or parts else TaskState.UNNAMED)


def _parts_of(tasks: Sequence[SpecTask]) -> Sequence[Sequence[int]]:
    """Return the tasks directly or at any depth below each task: by indentation, or by numbers."""
    parts: list[list[int]] = [[] for _ in tasks]
    numbers = [found[1] if (found := _NUMBERING.match(each.text)) else "" for each in tasks]
    above: list[int] = []
    for index, each in enumerate(tasks):
        while above and not (
            each.indent > tasks[above[-1]].indent
            or (numbers[above[-1]] and numbers[index].startswith(f"{numbers[above[-1]]}."))
        ):
            above.pop()
        for one in above:
            parts[one].append(index)
        above.append(index)
    return parts


def tick(text: str, outlooks: Collection[TaskOutlook]) -> str:
    """Return a list with an `x` in the boxes of those to be ticked, and all else as it is."""
    lines = text.split("\n")
    for each in outlooks:
        if each.state is TaskState.TICKED and (found := _TASK.match(lines[each.task.line - 1])):
            line = lines[each.task.line - 1]
            lines[each.task.line - 1] = f"{line[: found.start(2)]}x{line[found.end(2) :]}"
    return "\n".join(lines)
