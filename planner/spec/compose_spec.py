"""Makes one specification of the files of a folder.

The text that a model gets has the files one after another, each requirement with its id, and below
them what lies beside: the plan, the design and the tasks, as context.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from planner.spec.blocks import visible_lines
from planner.spec.kept_requirements import (
    Capabilities,
    Delta,
    StatedRequirement,
    ids_of,
    numbered_requirements,
    parse_delta,
    stated_in,
)
from planner.spec.requirements import Requirement, derive_requirements, with_ids
from planner.spec.spec_folders import (
    FolderKind,
    SpecFolder,
    archived_changes,
    capability_files,
    name_of,
    open_changes,
    render_tasks,
    whole_path,
)
from shared.errors import InvalidInput, quoted
from shared.files.text_sources import MEGABYTE
from shared.projects.conventions import Conventions, conventions_of
from shared.work_order.work_order import MAX_LISTED, MAX_SAID

_SHOWN: Final = 8_000  # characters of each file beside the requirements
_INTRODUCTION: Final = 1_000  # characters before the first requirement of a capability
_OPEN: Final = re.compile(r"\[NEEDS CLARIFICATION:?\s*([^\]]{1,1000})\]")


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """Hold a question that the specification itself asks, and the requirements that it is about."""

    text: str
    requirements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FolderText:
    """Hold what the files of a folder say: the parts of a specification.

    `rules` are those of the house, which state no requirements. `remarks` are sentences for the
    person.
    """

    title: str
    text: str
    requirements: tuple[Requirement, ...]
    rules: Conventions | None = None
    open_points: tuple[OpenPoint, ...] = ()
    remarks: tuple[str, ...] = ()
    untouched: int = 0
    """How many of the requirements a change leaves as they are."""


def compose(folder: SpecFolder) -> FolderText:
    """Return the specification that a folder is.

    Raises `InvalidInput` where the file with the requirements is missing or states none, a file
    cannot be read, an id is given twice, or a change does not fit to what it changes.
    """
    parts, found, remarks = _main(folder)
    if not found:
        raise InvalidInput(
            f"spec {folder.main} states no requirement", "state in it what is demanded"
        )
    if len(found) > MAX_LISTED:
        raise InvalidInput(
            f"spec {folder.folder} states {len(found):,} requirements, over the limit of "
            f"{MAX_LISTED:,}",
            "plan a part of it: one feature, or one capability",
        )
    title = name_of(folder)
    text = "\n\n".join([f"# {title}", *parts, *_context(folder)]) + "\n"
    if len(text) > MEGABYTE:
        raise InvalidInput(
            f"spec {folder.folder} has {len(text):,} characters, over the limit of {MEGABYTE:,}",
            "plan a part of it: one feature, or one capability",
        )
    asked = _open_points("\n".join(parts), found)
    is_change = folder.kind is FolderKind.CHANGE
    own = f"{folder.named(folder.folder)}/"
    untouched = sum(is_change and not each.file.startswith(own) for each in found)
    return FolderText(title, text, found, _rules(folder), asked, remarks, untouched)


def _main(folder: SpecFolder) -> tuple[list[str], tuple[Requirement, ...], tuple[str, ...]]:
    match folder.kind:
        case FolderKind.SPEC_KIT | FolderKind.KIRO:
            return _of_one_file(folder)
        case FolderKind.OPENSPEC:
            stated = _base(folder)
            return (*_of_capabilities(folder, stated), ())
        case FolderKind.CHANGE:
            return _of_change(folder)


def _of_one_file(
    folder: SpecFolder,
) -> tuple[list[str], tuple[Requirement, ...], tuple[str, ...]]:
    text, named = folder.read(folder.main), f"spec {folder.main}"
    if not text.strip():
        raise InvalidInput(f"{named} is empty", "state in it what is demanded")
    found: tuple[Requirement, ...] = ()
    inside: frozenset[int] = frozenset()
    if folder.kind is FolderKind.KIRO:
        found, inside = numbered_requirements(text, named)
    remarks: list[str] = []
    derived = derive_requirements(text, named, remarks.append)
    others = (each for each in derived if each.line not in inside)
    file = folder.named(folder.main)
    whole = sorted((*found, *others), key=lambda each: each.line or 0)
    placed = tuple(replace(each, file=file) for each in whole)
    return (
        [f"File {file}:\n\n{with_ids(text.rstrip(), placed)}"],
        placed,
        () if found else tuple(remarks),
    )


def _base(folder: SpecFolder) -> Capabilities:
    """Return the requirements that the specs of OpenSpec state; of one capability, if it is one."""
    stated = Capabilities()
    for capability, file in capability_files(folder.base_specs):
        is_asked = folder.kind is FolderKind.CHANGE or _is_below(file, folder.folder)
        for each in (
            stated_in(folder.read(file), capability, folder.named(file)) if is_asked else ()
        ):
            stated.add(each)
    stated.named_anew(
        (delta.capability, each)
        for change in archived_changes(folder.base_specs / "../changes")
        for delta in _deltas(folder, change)
        for each in delta.renamed
    )
    return stated


def _is_below(file: Path, folder: Path) -> bool:
    return file.resolve().is_relative_to(folder.resolve())


def _deltas(folder: SpecFolder, change: Path) -> Iterator[Delta]:
    for capability, file in capability_files(change / "specs"):
        yield parse_delta(folder.read(file), capability, folder.named(file))


def _of_change(
    folder: SpecFolder,
) -> tuple[list[str], tuple[Requirement, ...], tuple[str, ...]]:
    stated = _base(folder)
    deltas = [each for each in _deltas(folder, folder.folder) if each.touched]
    if not deltas:
        raise InvalidInput(
            f"spec {folder.folder} changes no requirement: nothing below {folder.main} has a "
            "section such as `## ADDED Requirements` with `### Requirement: NAME`",
            "write the delta of each capability into specs/CAPABILITY/spec.md",
        )
    for each in deltas:
        stated.apply(each)
    parts, found = _of_capabilities(folder, stated)
    return [_said_of(deltas), *parts], found, tuple(_touched_twice(folder, deltas))


def _said_of(deltas: Sequence[Delta]) -> str:
    """Return what the change does, as the head of the specification that results from it."""
    lines = []
    for delta in deltas:
        for word, names in (
            ("adds", [each.name for each in delta.added]),
            ("modifies", [each.name for each in delta.modified]),
            ("removes", [each.name for each in delta.removed]),
            ("renames", [f"{each.before} to {each.after}" for each in delta.renamed]),
        ):
            lines += [f"- {delta.capability}: the change {word} {each}" for each in names]
    return "\n".join(
        ("This is what holds after a change to what was specified before:", "", *lines)
    )


def _touched_twice(folder: SpecFolder, deltas: Sequence[Delta]) -> Iterator[str]:
    """Yield a sentence for each other open change that speaks of the same requirements."""
    own = {(each.capability, name) for each in deltas for name in each.touched}
    for change in open_changes(folder.folder / ".."):
        if change.name == whole_path(folder.folder).name:
            continue
        others = {(d.capability, name) for d in _deltas(folder, change) for name in d.touched}
        if both := sorted(own & others):
            names = ", ".join(f"{quoted(name)} ({capability})" for capability, name in both[:5])
            yield (
                f"the change {change.name}, which is open too, touches the same requirements: "
                f"{names}; this plan knows nothing of it"
            )


def _of_capabilities(
    folder: SpecFolder, stated: Capabilities
) -> tuple[list[str], tuple[Requirement, ...]]:
    every = [*stated]
    found = tuple(
        Requirement(name, each.text, each.line, given=True, file=each.file)
        for name, each in zip(ids_of(every), every, strict=True)
    )
    parts, capability = [], ""
    for each, requirement in zip(every, found, strict=True):
        if each.capability != capability:
            capability = each.capability
            parts.append(_head_of(folder, capability))
        parts.append(_shown(each, requirement.id))
    return parts, found


def _head_of(folder: SpecFolder, capability: str) -> str:
    text = folder.read_if_there(folder.base_specs / capability / "spec.md")
    before = re.split(r"(?m)^ {0,3}#{1,6}\s+Requirements?\b", text, maxsplit=1)[0].strip()
    before = re.sub(r"(?m)^#{1,6}\s+", "", before)
    return f"## Capability {capability}" + (f"\n\n{_cut(before, _INTRODUCTION)}" if before else "")


def _shown(each: StatedRequirement, name: str) -> str:
    return f"### Requirement: {each.name} [{name}]\n\n{each.raw.strip()}".rstrip()


def _context(folder: SpecFolder) -> Iterator[str]:
    """Yield what lies beside the requirements, with the words that introduce it."""
    found = [(each, folder.read_if_there(each).strip()) for each in folder.beside]
    parts = [f"## {path.name}\n\n{_cut(text, _SHOWN)}" for path, text in found if text]
    if folder.tasks is not None and (tasks := render_tasks(folder.read_if_there(folder.tasks))):
        parts.append(
            "## tasks.md\n\nThe authors expect these steps. They are hints of order and size.\n\n"
            + _cut(tasks, _SHOWN)
        )
    if parts:
        yield (
            "# Beside the specification\n\nWhat follows is context. It states no requirements of "
            "its own, and commands in it are not run."
        )
        yield from parts


def _cut(text: str, limit: int) -> str:
    left = len(text) - limit
    return text if left <= 0 else f"{text[:limit]}\n[... {left:,} characters more are left out ...]"


def _rules(folder: SpecFolder) -> Conventions | None:
    if folder.rules is None:
        return None
    text = folder.read_if_there(folder.rules)
    return conventions_of(folder.named(folder.rules), text) if text.strip() else None


def _open_points(text: str, found: Iterable[Requirement]) -> tuple[OpenPoint, ...]:
    """Return what a text marks as open, each question once, with the requirements that it is in."""
    about: dict[str, list[str]] = {}
    for said in _OPEN.finditer(" ".join(" ".join(visible_lines(text)).split())):
        about.setdefault(said[1].strip()[:MAX_SAID], [])
    for each in found:
        for said in _OPEN.finditer(each.text):
            about.setdefault(said[1].strip()[:MAX_SAID], []).append(each.id)
    return tuple(
        OpenPoint(text, tuple(dict.fromkeys(ids)))
        for text, ids in about.items()
        if any(map(str.isalnum, text))
    )


def render_open_points(points: Sequence[OpenPoint]) -> str:
    """Return the section that has a plan ask what the specification leaves open, if it does."""
    if not points:
        return ""
    lines = (f"- {each.text} ({', '.join(each.requirements)})" for each in points)
    return "\n".join((
        "", "# Open questions", "",
        "The specification marks these as open. State each among the `assumptions` of the plan: "
        'kind "question", `text` as it is here, word for word, your reading, and the ids.',
        "", *lines, "",
    ))  # fmt: skip
