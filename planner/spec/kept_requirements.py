"""Reads the requirements that OpenSpec and Kiro keep, and what changes make of them. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from planner.spec.blocks import visible_lines
from planner.spec.requirements import Requirement
from shared.errors import InvalidInput, quoted

MAX_ID: Final = 64
_HEADING: Final = re.compile(r" {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$")
_REQUIREMENT: Final = re.compile(r"Requirement\s*:\s*(.+)", re.IGNORECASE)
_OPERATION: Final = re.compile(r"(ADDED|MODIFIED|REMOVED|RENAMED)\s+Requirements?", re.IGNORECASE)
_SIDE: Final = re.compile(r"\s*(?:[-*+]\s+)?[*_]*(FROM|TO)[*_]*\s*:[*_]*\s*(.+)", re.IGNORECASE)
_LISTED: Final = re.compile(r"\s*[-*+]\s+(.+)")
_NO_LETTERS: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class StatedRequirement:
    """Hold a requirement of a capability: its name, its text below the name, and its place.

    `raw` is that text as it was written. `origin` is the name that it had at first, from which its
    id follows.
    """

    capability: str
    name: str
    raw: str
    file: str
    line: int
    origin: str

    @property
    def place(self) -> str:
        return f"{self.file}, line {self.line}"

    @property
    def text(self) -> str:
        """Return what is demanded, on one line; the name where nothing is below it."""
        return " ".join("\n".join(_plain_lines(self.raw)).split()) or self.name


def _plain_lines(raw: str) -> Iterator[str]:
    """Yield the lines of a text without comments, and without the marks of headings and items."""
    for line in re.sub(r"<!--.*?-->", "", raw, flags=re.DOTALL).split("\n"):
        heading, item = _HEADING.match(line), _LISTED.match(line)
        yield f"{heading[2]}:" if heading else item[1] if item else line


def stated_in(text: str, capability: str, file: str) -> Iterator[StatedRequirement]:
    """Yield the requirements of a text, in their order."""
    for heading, line, end in _sections(text):
        if named := _REQUIREMENT.fullmatch(heading):
            raw = "\n".join(text.split("\n")[line:end]).strip("\n")
            name = " ".join(named[1].split())
            yield StatedRequirement(capability, name, raw, file, line, name)


def _sections(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the title, the line and the last line of each section, nested ones too."""
    lines = visible_lines(text)
    found = [
        (number, each) for number, line in enumerate(lines, 1) if (each := _HEADING.match(line))
    ]
    levels = [len(each[1]) for _, each in found]
    open_ones: list[int] = []
    ends = [len(lines)] * len(found)
    for index, level in enumerate(levels):
        while open_ones and levels[open_ones[-1]] >= level:
            ends[open_ones.pop()] = found[index][0] - 1
        open_ones.append(index)
    for index, (number, each) in enumerate(found):
        yield each[2], number, ends[index]


@dataclass(frozen=True, slots=True)
class Rename:
    """Say which name of a requirement another one replaces, and where that is written."""

    before: str
    after: str
    place: str


@dataclass(frozen=True, slots=True)
class Delta:
    """Hold what a change does to the requirements of one capability."""

    capability: str
    added: tuple[StatedRequirement, ...] = ()
    modified: tuple[StatedRequirement, ...] = ()
    removed: tuple[StatedRequirement, ...] = ()
    renamed: tuple[Rename, ...] = ()

    @property
    def touched(self) -> frozenset[str]:
        """Return the names that the delta speaks of."""
        whole = (*self.added, *self.modified, *self.removed)
        return frozenset((*(each.name for each in whole), *(each.before for each in self.renamed)))


def parse_delta(text: str, capability: str, file: str) -> Delta:
    """Return the delta that a text states. Raises `InvalidInput`, with the place, for half of one.

    What is in no section of a delta is no part of it.
    """
    found: dict[str, list[StatedRequirement]] = {"ADDED": [], "MODIFIED": [], "REMOVED": []}
    renamed: list[Rename] = []
    stated = {each.line: each for each in stated_in(text, capability, file)}
    for title, line, end in _sections(text):
        operation = _OPERATION.fullmatch(title)
        if operation is None:
            continue
        kind = operation[1].upper()
        if kind == "RENAMED":
            renamed += _renames(text, line, end, file)
            continue
        below = [each for number, each in stated.items() if line < number <= end]
        if kind == "REMOVED" and not below:
            below = list(_listed(text, line, end, capability, file))
        found[kind] += below
    return Delta(
        capability,
        tuple(found["ADDED"]),
        tuple(found["MODIFIED"]),
        tuple(found["REMOVED"]),
        tuple(renamed),
    )


def _listed(
    text: str, line: int, end: int, capability: str, file: str
) -> Iterator[StatedRequirement]:
    """Yield the requirements that a section names in a list, as those to be removed may be."""
    for number, each in enumerate(visible_lines(text)[line:end], line + 1):
        if (item := _LISTED.match(each)) and (name := _name_in(item[1])):
            yield StatedRequirement(capability, name, "", file, number, name)


def _renames(text: str, line: int, end: int, file: str) -> Iterator[Rename]:
    before = ""
    place = f"{file}, line {line}"
    for number, each in enumerate(visible_lines(text)[line:end], line + 1):
        side = _SIDE.match(each)
        if side is None:
            continue
        name = _name_in(side[2]) or " ".join(side[2].strip("`\"' ").split())
        if side[1].upper() == "FROM":
            if before:
                break
            before, place = name, f"{file}, line {number}"
        elif not before:
            place = f"{file}, line {number}"
            break
        else:
            yield Rename(before, name, place)
            before = ""
    else:
        if not before:
            return
    raise InvalidInput(
        f"{place}: a requirement is renamed by half",
        "write `- FROM: ### Requirement: NAME`, and below it `- TO: ### Requirement: NAME`",
    )


def _name_in(text: str) -> str:
    bare = text.strip().strip("`\"'").lstrip("#").strip()
    named = _REQUIREMENT.fullmatch(bare)
    return " ".join(named[1].split()) if named else ""


@dataclass(slots=True)
class Capabilities:
    """Hold the requirements of each capability by name, in their order."""

    by_name: dict[str, dict[str, StatedRequirement]] = field(default_factory=dict)

    def add(self, each: StatedRequirement, end: str = "") -> None:
        """Add a requirement. Raises `InvalidInput` where its capability has one of that name."""
        there = self.by_name.setdefault(each.capability, {})
        first = next((one for name, one in there.items() if _is_named(name, each.name)), None)
        if first is not None:
            raise InvalidInput(
                f"{each.place}: requirement {quoted(each.name)} is already in {first.place}{end}",
                "give each requirement of a capability a name of its own"
                + (", or state it as MODIFIED" if end else ""),
            )
        there[each.name] = each

    def apply(self, delta: Delta) -> None:
        """Make of the requirements what a change says: renamed, removed, modified, added.

        Raises `InvalidInput`, with the place, where the change does not fit.
        """
        there = self.by_name.setdefault(delta.capability, {})
        renamed = {each.before: each.after for each in delta.renamed}
        for rename in delta.renamed:
            self._rename(there, rename)
        for each in delta.removed:
            del there[self._found(there, each, "REMOVED", renamed)]
        for each in delta.modified:
            name = self._found(there, each, "MODIFIED", renamed)
            there[name] = replace(each, origin=there[name].origin)
        for each in delta.added:
            self.add(each, ", and ADDED is for a new one")

    def _rename(self, there: dict[str, StatedRequirement], rename: Rename) -> None:
        before = next((name for name in there if _is_named(name, rename.before)), None)
        if before is None:
            raise InvalidInput(
                f"{rename.place}: requirement {quoted(rename.before)} is renamed and not there",
                _among(there),
            )
        if taken := next((n for n in there if _is_named(n, rename.after) and n != before), None):
            raise InvalidInput(
                f"{rename.place}: requirement {quoted(rename.before)} is renamed to "
                f"{quoted(rename.after)}, which is the name of another one in "
                f"{there[taken].place}",
                "choose another name, or remove that one",
            )
        moved = {
            (rename.after if name == before else name): (
                replace(each, name=rename.after) if name == before else each
            )
            for name, each in there.items()
        }
        there.clear()
        there.update(moved)

    def _found(
        self,
        there: Mapping[str, StatedRequirement],
        each: StatedRequirement,
        operation: str,
        renamed: Mapping[str, str],
    ) -> str:
        found = next((name for name in there if _is_named(name, each.name)), None)
        if found is None:
            after = next((new for old, new in renamed.items() if _is_named(old, each.name)), "")
            raise InvalidInput(
                f"{each.place}: requirement {quoted(each.name)} is {operation} and not there",
                f"it is renamed to {quoted(after)}: use that name" if after else _among(there),
            )
        return found

    def __iter__(self) -> Iterator[StatedRequirement]:
        for there in self.by_name.values():
            yield from there.values()

    def named_anew(self, renames: Iterable[tuple[str, Rename]]) -> None:
        """Give requirements the origin that renames of before, oldest first, say they have."""
        origins: dict[tuple[str, str], str] = {}
        for capability, rename in renames:
            first = origins.pop((capability, rename.before), rename.before)
            origins[capability, rename.after] = first
        for there in self.by_name.values():
            for name, each in there.items():
                origin = origins.get((each.capability, name), name)
                there[name] = replace(each, origin=origin)


def _among(there: Mapping[str, StatedRequirement]) -> str:
    if not there:
        return "the capability has no requirements: ADDED is for new ones"
    names = [quoted(each) for each in there]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"the capability has {', '.join(names[:5])}{more}"


def _is_named(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def ids_of(stated: Sequence[StatedRequirement]) -> Iterator[str]:
    """Yield the id of each requirement, such as `sign-in.session-expiry`.

    It follows from the capability and the name that the requirement had first. Where a name was
    given to another requirement later, that one has an id with digits of its own.
    """
    first = sorted(range(len(stated)), key=lambda n: stated[n].origin == stated[n].name)
    ids: dict[int, str] = {}
    taken: set[str] = set()
    for number in first:
        each = stated[number]
        ids[number] = _id_of(each.capability, each.origin, taken)
        taken.add(ids[number])
    yield from (ids[number] for number in range(len(stated)))


def _id_of(capability: str, name: str, taken: Container[str]) -> str:
    head, head_lost = _slug(capability.replace("/", "."), ".")
    tail, tail_lost = _slug(name, "")
    whole = f"{head}.{tail}".strip(".-") or "requirement"
    if len(whole) <= MAX_ID and not head_lost and not tail_lost and whole not in taken:
        return whole
    digest = hashlib.sha256(f"{capability}\n{name}".encode("utf-8", "replace")).hexdigest()[:6]
    return f"{whole[: MAX_ID - 7].rstrip('.-')}-{digest}"


def _slug(text: str, kept: str) -> tuple[str, bool]:
    """Return the letters and digits of a text, and whether some of them have no form in ASCII."""
    plain = unicodedata.normalize("NFKD", text)
    lost = any(each.isalnum() and not each.isascii() for each in plain)
    parts = plain.lower().split(kept) if kept else [plain.lower()]
    return kept.join(_NO_LETTERS.sub("-", each).strip("-") for each in parts), lost


_NUMBERED_TITLE: Final = re.compile(
    r"[*_]*Requirement\s+(\d{1,4}(?:\.\d{1,4}){0,2})\b[*_]*[\s.:)\u2013\u2014-]*(.*)", re.IGNORECASE
)
_CRITERIA: Final = re.compile(r"[\s*_#]*acceptance criteria[\s*_:]*", re.IGNORECASE)
_NUMBERED: Final = re.compile(
    # A number alone may be a word of a line that was wrapped.
    r"(\s*)(?:[-*+]\s+)?[*_]*(\d{1,4}(?:\.\d{1,4}){0,3}(?=[*_]*[.):])|\d{1,4}(?:\.\d{1,4}){1,3})"
    r"[*_]*[.):]?[*_]*\s+(\S.*)"
)
_BULLET: Final = re.compile(r"(\s*)[-*+]\s+(?:\[[ xX]\]\s+)?(\S.*)")


@dataclass(slots=True)
class _Criterion:
    line: int
    number: str
    words: list[str]
    indent: int


@dataclass(slots=True)
class _NumberedSection:
    """Hold a requirement while its lines are read."""

    number: str
    line: int
    level: int
    words: list[str] = field(default_factory=list)
    criteria: list[_Criterion] = field(default_factory=list)
    are_next: bool = False
    last: int = 0

    def take(self, line: int, text: str) -> None:
        if _CRITERIA.fullmatch(text):
            self.are_next = True
            return
        item = self._criterion(line, text) if self.are_next else None
        if item is not None:
            self.criteria.append(item)
        elif self.criteria:
            self.criteria[-1].words.append(text)
        else:
            self.words.append(text)

    def _criterion(self, line: int, text: str) -> _Criterion | None:
        """Return the criterion that a line begins; `None` where it goes on with the one before."""
        first = self.criteria[0] if self.criteria else None
        found = _NUMBERED.match(text) or (_BULLET.match(text) if self._has_bullets else None)
        if found is None:
            return None
        indent = len(found[1].expandtabs(4))
        if first is not None and indent > first.indent + 1:
            return None
        is_numbered = found.re is _NUMBERED
        return _Criterion(
            line, found[2] if is_numbered else "", [found[3 if is_numbered else 2]], indent
        )

    @property
    def _has_bullets(self) -> bool:
        return not self.criteria or not self.criteria[0].number


def numbered_requirements(text: str, named: str) -> tuple[tuple[Requirement, ...], frozenset[int]]:
    """Return the criteria as requirements, such as `1.2`, and the lines of their sections.

    The number is the one that its author wrote. Where a list counts nothing (`1.` for each item, or
    bullets), the place in the list counts. A requirement without criteria is one itself. Raises
    `InvalidInput`, with both lines, where a number is given twice.
    """
    sections = [*_numbered_sections(text)]
    found: list[Requirement] = []
    for each in sections:
        found += _criteria_of(each, named)
    lines: dict[str, int] = {}
    for requirement in found:
        assert requirement.line is not None, "a criterion is on a line"
        first = lines.setdefault(requirement.id, requirement.line)
        if first != requirement.line:
            raise InvalidInput(
                f"{named}: line {requirement.line}: {requirement.id} is already the number of the "
                f"requirement on line {first}",
                "give each requirement, and each criterion of it, its own number",
            )
    inside = {number for each in sections for number in range(each.line, each.last + 1)}
    return tuple(found), frozenset(inside)


def _numbered_sections(text: str) -> Iterator[_NumberedSection]:
    held: _NumberedSection | None = None
    number = 0
    for number, line in enumerate(visible_lines(text), 1):
        heading = _HEADING.match(line)
        begun = _NUMBERED_TITLE.fullmatch(heading[2]) if heading else None
        if heading and held and (begun or len(heading[1]) <= held.level):
            held.last = number - 1
            yield held
            held = None
        if heading and begun:
            held = _NumberedSection(begun[1], number, len(heading[1]), [begun[2]])
        elif held and heading:
            held.are_next = bool(_CRITERIA.fullmatch(heading[2]))
        elif held and line.strip():
            held.take(number, line)
    if held:
        held.last = number
        yield held


def _criteria_of(section: _NumberedSection, named: str) -> Iterator[Requirement]:
    if not section.criteria:
        text = _joined(section.words)
        if text:
            yield Requirement(section.number, text, section.line, given=True, counted=True)
        return
    written = [each.number for each in section.criteria]
    is_counted = len(written) > 1 and len(set(written)) == 1
    for place, each in enumerate(section.criteria, 1):
        own = str(place) if is_counted or not each.number else each.number
        name = own if own.startswith(f"{section.number}.") else f"{section.number}.{own}"
        yield Requirement(name, _joined(each.words), each.line, given=True, counted=True)


def _joined(words: Sequence[str]) -> str:
    bare = (found[2] if (found := _BULLET.match(each)) else each for each in words)
    return " ".join(" ".join(bare).split())
