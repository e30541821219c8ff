"""Selects the parts of a file that a model sees: windows and definitions.

The model sees the first lines of a file, its outline, and the windows around the definitions and
lines that the order or a failure points to. A small model follows a single function better than a
file. This selection does not limit what a reply may change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import dedent
from typing import Final

from factory.orders.documents import FALL_BACK_UP_TO_LINES
from factory.orders.model_choice import PastAttempt
from factory.proposal.scope import FileKind, FileState
from shared.languages.appended_tests import files_of_tests
from shared.languages.capabilities import DefinitionEdit, Edits, NamedCode, OutlineEntry
from shared.languages.registry import language_of
from shared.llm.model_client import ReplyMalformed, strip_reasoning
from shared.work_order.work_order import Interface, WorkOrder

WINDOWS_BYTES: Final = 24 * 1024
"""How much of a large file is shown in windows."""

_OUTLINE_BYTES = 8 * 1024
_HEAD_LINES = 40
_AROUND_DEFINITION = 3
_AROUND_LINE = 15
_MIN_WORD = 3  # shorter words of a text point everywhere
_WORD = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_AT_MARGIN = re.compile(
    r"(?:(?:export|pub|const|static|let|var|type)[ \t]+)*(?P<name>[^\W\d]\w*)[ \t]*(?::|[-+|:]?=)"
)


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """Hold the first and the last line of a part of a file, counted from 1."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Pointers:
    """Hold what points to places in a file: names of code, and line numbers.

    `names` are those that the order declares or changes, `said` are those of its texts and of
    failures. Qualified names are as definitions have them: `Game.play`.
    """

    names: frozenset[str] = frozenset()
    said: frozenset[str] = frozenset()
    lines: tuple[int, ...] = ()


def words_of(*texts: str) -> frozenset[str]:
    """Return the words of some texts that could name a definition, dotted names also in parts."""
    found = {match for text in texts for match in _WORD.findall(text)}
    parts = {part for word in found for part in word.split(".")}
    return frozenset(word for word in found | parts if len(word) >= _MIN_WORD)


def lines_of(path: str, text: str) -> tuple[int, ...]:
    """Return the lines of the file at `path` that a failure's text names."""
    pattern = re.escape(path) + r'(?::|", line |\()(\d{1,7})'
    return tuple(dict.fromkeys(int(each) for each in re.findall(pattern, text)))


def choose_windows(
    text: str, outline: Sequence[OutlineEntry], pointers: Pointers, room: int = WINDOWS_BYTES
) -> tuple[Window, ...]:
    """Return the parts of `text` to show, in their order, of up to about `room` bytes together.

    The head of the file comes first, then what a failure's lines and the order's names point to,
    then the names that its texts mention.
    """
    lines = text.splitlines(keepends=True)
    sizes = [len(line.encode()) for line in lines]
    chosen: set[int] = set()
    for window in _by_weight(lines, outline, pointers):
        wanted = set(range(max(1, window.first), min(len(lines), window.last) + 1)) - chosen
        cost = sum(sizes[number - 1] for number in wanted)
        if cost <= room:
            room -= cost
            chosen |= wanted
    return merge_lines(chosen)


def outline_lines(outline: Sequence[OutlineEntry]) -> list[str]:
    """Return a line for each definition, with its lines; further ones are only counted."""
    room = _OUTLINE_BYTES
    found: list[str] = []
    for entry in outline:
        line = f"{entry.first}-{entry.last} {entry.name}"
        room -= len(line.encode()) + 1
        if room < 0:
            found.append(f"(and {len(outline) - len(found)} more)")
            break
        found.append(line)
    return found


def merge_lines(numbers: Iterable[int]) -> tuple[Window, ...]:
    """Return the windows that hold exactly these lines."""
    found: list[Window] = []
    for number in sorted(numbers):
        if found and found[-1].last == number - 1:
            found[-1] = Window(found[-1].first, number)
        else:
            found.append(Window(number, number))
    return tuple(found)


def head_of(outline: Sequence[OutlineEntry]) -> Window:
    """Return the first lines of a file, or those before a first definition that begins late."""
    first = min((each.first for each in outline), default=0)
    if first > _HEAD_LINES + 1:  # a long comment is above the imports
        return Window(first - _HEAD_LINES, first - 1)
    return Window(1, _HEAD_LINES)


def _by_weight(
    lines: Sequence[str], outline: Sequence[OutlineEntry], pointers: Pointers
) -> Iterator[Window]:
    yield head_of(outline)
    for line in pointers.lines:
        yield Window(line - _AROUND_LINE, line + _AROUND_LINE)
    every = pointers.names | pointers.said
    for names in (pointers.names, pointers.said):
        yield from _definitions(outline, names, every)
    # What is not a definition, such as `__all__` or a constant, begins a line at the margin.
    others = every - {each.name.rpartition(".")[2] for each in outline}
    for number, text in enumerate(lines, 1):
        named = pointers.names & words_of(text) if not outline else others & _assigned(text)
        if named:
            yield Window(number - _AROUND_LINE, number + _AROUND_LINE)


def _assigned(line: str) -> frozenset[str]:
    found = _AT_MARGIN.match(line)
    return frozenset((found["name"],)) if found else frozenset()


def _definitions(
    outline: Sequence[OutlineEntry], names: frozenset[str], every: frozenset[str]
) -> Iterator[Window]:
    """Yield the windows around definitions with these names, those with the whole name first.

    A name that several definitions share means those in a class that `every` has as well, if there
    are such. The head and the methods of a class that is too large to be shown come one by one.
    """
    plain = {each for each in names if "." not in each}
    # `module.name` is a definition of the file `module`.
    of_module = names | {each.rpartition(".")[2] for each in names - plain}
    whole = [e for e in outline if e.name in names or ("." not in e.name and e.name in of_module)]
    last = [e for e in outline if e not in whole and e.name.rpartition(".")[2] in plain]
    owned = {e.name.rpartition(".")[2] for e in last if _has_named_owner(e, every)}
    chosen = (
        e for e in last if e.name.rpartition(".")[2] not in owned or _has_named_owner(e, every)
    )
    for entry in (*whole, *chosen):
        yield Window(entry.first - _AROUND_DEFINITION, entry.last + _AROUND_DEFINITION)
        yield Window(entry.first - _AROUND_DEFINITION, min(entry.first + _AROUND_LINE, entry.last))


def _has_named_owner(entry: OutlineEntry, names: frozenset[str]) -> bool:
    return not names.isdisjoint(entry.name.split(".")[:-1])


@dataclass(frozen=True, slots=True)
class ShownFile:
    """Hold a file as the model sees it: whole, in parts, or known to be absent.

    `text` is the whole text in any case. `parts` are the windows that are shown of a large file.
    """

    path: str
    state: FileState
    text: str
    parts: tuple[Window, ...] | None = None
    outline: tuple[OutlineEntry, ...] = ()
    may_ask: bool = True
    """Whether the model may still ask for more parts."""
    elides: bool = False
    """Whether only bodies of functions are not in `parts`; a count is shown for each."""

    @property
    def is_in_parts(self) -> bool:
        """Return whether lines of a large file are not shown, so that nobody can write it whole."""
        if self.parts is None or self.elides:
            return False
        lines = {n for each in self.parts for n in range(each.first, each.last + 1)}
        return len(lines) < len(self.text.splitlines())


def hashes_of(shown: Sequence[ShownFile]) -> Mapping[str, FileState]:
    """Return the state of each file that the prompt shows, by its path."""
    return {file.path: file.state for file in shown}


def texts_of(shown: Sequence[ShownFile]) -> Mapping[str, str]:
    """Return the text of each shown file that exists, by its path."""
    return {file.path: file.text for file in shown if file.state.kind is FileKind.FILE}


_LEAST_LEFT_OUT: Final = 400
"""How many bytes less a file has to be without bodies, or it is shown whole."""
_HEAD_OF_FUNCTION: Final = 12
_NO_FUNCTION: Final = re.compile(
    r"\s*(?:\w+\s+)*?(?:class|interface|struct|enum|trait|type|impl)\b"
)
_DOCSTRING: Final = re.compile(r"""\s*[rR]?(?P<quotes>\"{3}|'{3})(?P<rest>.*)""")


def without_bodies(file: ShownFile) -> ShownFile:
    """Return a file without the bodies of its functions, as what only calls them needs it.

    A function keeps its signature and its docstring; one whose name begins with one `_` is left out
    whole. The file is returned as it is where hardly anything would be left out.
    """
    language = language_of(file.path)
    if language is None or language.edits is None or file.state.kind is not FileKind.FILE:
        return file
    lines, outline = file.text.splitlines(), language.edits.outline(file.text)
    hidden = {n for each in outline if _is_leaf(each, outline) for n in _body(lines, each)}
    kept = merge_lines(n for n in range(1, len(lines) + 1) if n not in hidden)
    shorter = replace(file, parts=kept, outline=outline, elides=True)
    saved = len(file.text.encode()) - len("\n".join(elided_lines(shorter)).encode())
    return shorter if saved >= _LEAST_LEFT_OUT else file


def elided_lines(file: ShownFile) -> Iterator[str]:
    """Yield the lines of a file that are in its parts, and a count for those between them."""
    lines, done = file.text.splitlines(), 0
    for part in (*(file.parts or ()), Window(len(lines) + 1, len(lines))):
        if left_out := lines[done : part.first - 1]:
            first = next((each for each in left_out if each.strip()), "")
            yield f"{first[: len(first) - len(first.lstrip())]}... ({len(left_out)} lines)"
        yield from lines[part.first - 1 : part.last]
        done = part.last


def _is_leaf(entry: OutlineEntry, outline: Sequence[OutlineEntry]) -> bool:
    return not any(each.name.startswith(f"{entry.name}.") for each in outline)


def _body(lines: Sequence[str], entry: OutlineEntry) -> range:
    """Return the numbers of the lines of a function that its callers do not need."""
    name = entry.name.rpartition(".")[2]
    head = lines[entry.first - 1 : min(entry.first - 1 + _HEAD_OF_FUNCTION, entry.last)]
    signed = next((n for n, line in enumerate(head) if line.rstrip().endswith((":", "{"))), None)
    if signed is None or any(map(_NO_FUNCTION.match, head)) or "(" not in "".join(head):
        return range(0)
    if name.startswith("_") and not name.startswith("__"):
        blank = (n for n in range(entry.first - 1, 0, -1) if lines[n - 1].strip())
        return range(next(blank, 0) + 1, entry.last + 1)
    begins = entry.first + signed + 1
    if begins <= entry.last and (found := _DOCSTRING.match(lines[begins - 1])):
        texts = (found["rest"], *lines[begins : entry.last])
        begins += 1 + next((n for n, text in enumerate(texts) if found["quotes"] in text), 0)
    return range(begins, entry.last + (not lines[entry.last - 1].lstrip().startswith("}")))


def show_what_is_called(
    order: WorkOrder, known: Sequence[Interface], shown: Sequence[ShownFile]
) -> tuple[ShownFile, ...]:
    """Return the files, those that are only read without bodies, and first.

    They come in the sequence in which the plan declares them, so that the prompts of orders which
    read the same files begin alike. A test is read as a pattern, so it stays whole.
    """
    paths = [each.path for each in known]
    placed = {*order.allowed_files, *(each.path for each in order.acceptance_files)}
    read = [each for each in shown if each.path not in placed]
    read.sort(key=lambda each: paths.index(each.path) if each.path in paths else len(paths))
    rest = (each for each in shown if each.path in placed)
    bare = (each if "test" in each.path else without_bodies(each) for each in read)
    return (
        *(new if old.parts is None else old for new, old in zip(bare, read, strict=True)),
        *rest,
    )


_LARGEST_SHARE: Final = 0.5
"""The largest part of a file that is shown alone; above it, the whole file is shown."""

# A word of prose is not a name, so `name` has to be marked, called, or of a form that prose lacks.
_MARKED: Final = re.compile(r"`(?P<name>[^\W\d]\w*(?:\.\w+)*)(?P<call>\()?[^`\n]*`")
_NAME_LIKE: Final = re.compile(
    r"(?<![\w.`/])(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?P<call>\()?(?![\w`/]|\.\w)"
)
_UNLIKE_PROSE: Final = re.compile(r"\w_\w|\w\.\w|\d|[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class Focus:
    """Hold a definition of the file at `path`: its qualified name, and its code.

    The code begins at the margin, if it can be put back from there without a change.
    `holds_others` says that other definitions are inside this one, as the methods in a class.
    """

    path: str
    name: str
    code: str
    language: str = ""
    holds_others: bool = False

    @property
    def last_name(self) -> str:
        """Return the name without those of the definitions around it."""
        return self.name.rpartition(".")[2]


def focus_of(order: WorkOrder, shown: Sequence[ShownFile]) -> Focus | None:
    """Return the definition that an order changes; `None` if that is not certain enough.

    The order has to write one file that is there, and to read no other. Its intent has to name one
    definition of this file, which is at most half of it, and to call nothing that is not in the
    file: that may be what the order adds.
    """
    file = _only_file(order, shown)
    language = language_of(file.path) if file else None
    if file is None or language is None or language.edits is None:
        return None
    outline = language.edits.outline(file.text)
    if not outline or _is_to_define_more(order, language.edits, outline):
        return None
    lines = file.text.splitlines()
    named = _named_in(order.intent, outline)
    if len(named) != 1:
        return None
    (entry,) = named
    code = lines[entry.first - 1 : entry.last]
    if len(code) > len(lines) * _LARGEST_SHARE:
        return None
    return Focus(
        file.path,
        entry.name,
        _at_margin("\n".join(code), file, entry.name, language.edits),
        language.name,
        any(each.name.startswith(f"{entry.name}.") for each in outline),
    )


def _at_margin(code: str, file: ShownFile, name: str, edits: Edits) -> str:
    """Return the code moved to the margin; as it is where its strings would not be the same."""
    moved = dedent(code)
    (edit,) = edits.edit_definitions(file.path, file.text, [NamedCode(name, moved)], ())
    return code if isinstance(edit, DefinitionEdit) else moved


def _only_file(order: WorkOrder, shown: Sequence[ShownFile]) -> ShownFile | None:
    placed = files_of_tests(order)
    needed = {*order.context_files, *order.allowed_files} - placed
    if len(order.allowed_files) != 1 or needed != set(order.allowed_files) or order.removed_files:
        return None
    return next((each for each in shown if each.path in needed and each.text), None)


def _is_to_define_more(order: WorkOrder, edits: Edits, outline: Sequence[OutlineEntry]) -> bool:
    """Return whether the order declares names that the file does not have."""
    there = {each.name.rpartition(".")[2] for each in outline}
    return any(not there.issuperset(edits.defined_names(each.stub)) for each in order.interfaces)


def _named_in(text: str, outline: Sequence[OutlineEntry]) -> list[OutlineEntry]:
    """Return the definitions that a text names, without those that hold another of them.

    A name that several definitions share means those in a class that is named as well. Nothing is
    returned where the text calls what is not in the file.
    """
    found: dict[str, OutlineEntry] = {}
    shared: list[OutlineEntry] = []
    for name, is_call in _names_in(text):
        entries = [each for each in outline if each.name == name]
        entries = entries or [each for each in outline if each.name.endswith(f".{name}")]
        if not entries and is_call:
            return []
        if len(entries) == 1:
            found[entries[0].name] = entries[0]
        shared += entries if len(entries) > 1 else ()
    found |= {each.name: each for each in shared if each.name.rpartition(".")[0] in found}
    return [each for each in found.values() if not any(f"{each.name}." in other for other in found)]


def _names_in(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each name of code in a text, and whether the text calls it."""
    for match in _MARKED.finditer(text):
        yield match["name"], bool(match["call"])
    for match in _NAME_LIKE.finditer(_MARKED.sub(" ", text)):
        if match["call"] or _UNLIKE_PROSE.search(match["name"]):
            yield match["name"], bool(match["call"])


_IN_QUOTES: Final = re.compile(r"(?<!\w)['\"]([^\W\d]\w*(?:\.\w+)*)['\"]")


def names_said(*texts: str) -> frozenset[str]:
    """Return the names of code in some texts: marked, called, or of a form that prose lacks."""
    found = {name for text in texts for name, _ in _names_in(text)}
    return frozenset(found.union(*map(_IN_QUOTES.findall, texts)))


_HEADING: Final = re.compile(r"(?:#{1,6}|=+|\*\*)?[ \t]*(?P<title>\S.{2,100}?)[ \t#=*]*")
_UNDERLINE: Final = re.compile(r"([-=~^\"'#*+])\1{2,}")
_MOST_HEADINGS: Final = 5


def headings_said(text: str, said: str) -> tuple[int, ...]:
    """Return the lines of a document's headings, such as `## 2.0`, that a text names."""
    lines, found = text.splitlines(), []
    for number, line in enumerate(lines, 1):
        is_heading = line[:1] in ("#", "=") or _UNDERLINE.fullmatch(
            "".join(lines[number : number + 1])
        )
        title = _HEADING.fullmatch(line[:120]) if is_heading else None
        if title and title["title"].casefold() in said.casefold():
            found.append(number)
    return tuple(found[:_MOST_HEADINGS])


_DOCUMENTS: Final = (".md", ".markdown", ".rst", ".txt", ".adoc")
_LONG_DOCUMENT: Final = 16 * 1024


def is_long_document(file: ShownFile) -> bool:
    is_document = file.path.lower().endswith(_DOCUMENTS) or "." not in file.path
    return is_document and len(file.text.encode()) > _LONG_DOCUMENT


def is_named_long(order: WorkOrder, file: ShownFile) -> bool:
    """Return whether a file is long code, and the order names a definition that it has.

    No reply is asked to write so long a file whole.
    """
    language = language_of(file.path)
    if file.text.count("\n") <= FALL_BACK_UP_TO_LINES or not language or not language.edits:
        return False
    said = _named_to_change(order, file.path) | names_said(*_own_texts(order))
    return any(_definitions(language.edits.outline(file.text), said, said))


def pointers_of(order: WorkOrder, file: ShownFile, past: Sequence[PastAttempt]) -> Pointers:
    """Return what an order and its failures say about places in a file.

    Of a document these are the headings that the order names.
    """
    briefs = [each.brief for each in past]
    failed = [text for each in briefs for text in (each.primary_error_excerpt, *each.facts)]
    own = _own_texts(order)
    lines = tuple(line for text in failed for line in lines_of(file.path, text))
    if is_long_document(file):
        return Pointers(lines=(*lines, *headings_said(file.text, "\n".join(own))))
    tests = (each.text for each in order.acceptance_files)
    return Pointers(
        names=_named_to_change(order, file.path),
        said=names_said(*own, *failed) | words_of(*order.acceptance_commands) | names_said(*tests),
        lines=lines,
    )


def _own_texts(order: WorkOrder) -> tuple[str, ...]:
    return (order.title, order.intent, order.notes or "")


def _named_to_change(order: WorkOrder, path: str) -> frozenset[str]:
    """Return the names that an order changes, and those that its interface declares for a file."""
    language = language_of(path)
    edits = language.edits if language else None
    found = {each.removesuffix("()").replace("::", ".") for each in order.changes}
    for stub in (each.stub for each in order.interfaces if each.path == path and edits):
        assert edits is not None
        outline = edits.outline(stub)
        found.update([each.name for each in outline] or edits.defined_names(stub))
    return frozenset(found)


_MAX_PARTS = 20
_PART = re.compile(
    r"(?:[-*] +)?`?show (?P<path>\S.*?)"
    r"(?:::(?P<name>[\w.]+)|[ :](?:lines? )?(?P<first>\d{1,7})(?: ?(?:-|to) ?(?P<last>\d{1,7}))?)`?"
)


@dataclass(frozen=True, slots=True)
class WantedPart:
    """Hold a part of a file that the model asks to see: a definition by name, or lines.

    `name` is empty if lines are asked for; these count from 1.
    """

    path: str
    name: str = ""
    first: int = 0
    last: int = 0


def parse_show_request(reply: str) -> tuple[WantedPart, ...]:
    """Return the parts that a reply asks to see; none if it is anything but such a request."""
    try:
        text = strip_reasoning(reply)
    except ReplyMalformed:
        return ()
    lines = [line.strip() for line in text.splitlines()]
    asked = [line for line in lines if line and not line.startswith("```")]
    if not 0 < len(asked) <= _MAX_PARTS:
        return ()
    found = [_PART.fullmatch(line) for line in asked]
    return tuple(map(_part, found)) if all(found) else ()


def _part(match: re.Match[str] | None) -> WantedPart:
    assert match is not None
    if match["name"]:
        return WantedPart(match["path"], name=match["name"])
    first = int(match["first"])
    return WantedPart(match["path"], first=first, last=int(match["last"] or first))


def example_request(path: str) -> Sequence[str]:
    """Return how parts of the file at `path` are asked for."""
    return (f"show {path} 120-180", f"show {path}::Class.method")
