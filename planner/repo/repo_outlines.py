"""Shows the code of a repo as far as a specification is about it, within a budget.

Three things can be shown of a definition: its name, its signature, its code. The budget goes to
what is worth most for its length: first what the specification names, then what this uses and what
uses it, then what resembles it, then the names of the rest.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Final

from planner.prompts.prompt_templates import fenced
from planner.repo.spec_words import NAMED_PATH, Corpus, SpecWords, best, read_corpus
from shared.languages.registry import LANGUAGES, language_of

if TYPE_CHECKING:
    from shared.files.text_sources import TreeSources
    from shared.languages.capabilities import Language, OutlineEntry

# These bound the work, whatever the repo holds. Reading 1,000 sources takes some 100 ms, and the
# parsers take about a second for a megabyte.
MAX_READ_FILES: Final = 1_000
MAX_READ_CHARACTERS: Final = 4_000_000
MAX_PARSED_CHARACTERS: Final = 300_000
_AT_ONCE: Final = 100  # files that are read from a commit at a time

_MAX_HEAD: Final = 240  # characters of a signature
_HEAD_LINES: Final = 12
_MAX_FIELDS: Final = 400  # characters of the fields of a type
_MAX_VALUE: Final = 100  # characters of a line outside of definitions
_MAX_CODE: Final = 6_000  # characters of a definition that is shown with its code
_WHOLE_SHARE: Final = 0.4  # of the budget, which a file that is shown whole may take
_NAMED: Final = 3.0  # the score from which on the specification names a definition
_MEANT: Final = 9.0  # the score of one that it names, and that no other is called like
_WRAPPED: Final = 200  # characters of a line of names
_MANY: Final = 30  # definitions of a file, after which each further one is worth half
_USED: Final = 20  # definitions whose users and whose needs are looked for
_WORD: Final = re.compile(r"(?<!@)#?\b\w+")
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w{2,}")
_FUNCTION: Final = re.compile(r"(?:[\w()\"]+ )*(?:def|fn|func|function)\b")
_FIELD: Final = re.compile(
    r"\s+(?:\w+ ){0,3}#?\w+[?!]?(?:: | = ).*|\t+\w+(?:, \w+)* +[\w*\[\].]+.*"
    r"|\s+[A-Z]\w*(?:[({].*)?,"
)
# A constant, or names that are passed on, at the top of a file.
_VALUE: Final = re.compile(
    r"(?:export |pub(?:\([\w: ]+\))? |const |static |var |let |type )*([^\W\d]\w*)(?::[^=]+)? = .+"
    r"|(?:pub use|pub mod|export [*{]).*"
)
_LEAST_IDIOM: Final = 200  # characters; fewer of a test show no pattern
_TESTS: Final = re.compile(r"\bassert|\bexpect\(|\bfunc Test|\b(?:test|it)\(|#\[test\]")
_NO_VALUE: Final = frozenset({"if", "for", "while", "return", "with", "assert"})


@dataclass(frozen=True, slots=True)
class Part:
    """Hold a definition with what can be shown of it: its name, its `head`, its lines.

    Lines count from 1. `first` is 0 for what has nothing but a head.
    """

    name: str
    first: int
    last: int
    head: str
    score: float

    @property
    def last_name(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Hold a source file, how near it is to the specification, and its definitions."""

    path: str
    text: str
    language: Language
    score: float = 0.0
    is_named: bool = False
    is_test: bool = False
    rows: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

    def code(self, part: Part) -> str:
        """Return the code of a definition as the file has it."""
        return "\n".join(self.rows[part.first - 1 : part.last])


@dataclass(frozen=True, slots=True)
class Outlines:
    """Hold the outlines of a repo as text, the files that these show, and how many are left out."""

    text: str = ""
    paths: frozenset[str] = frozenset()
    left_out: int = 0


def counted(count: int, thing: str) -> str:
    """Return the count and what is counted, in the plural where it is not one."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def rank_files(
    files: TreeSources, scores: Mapping[str, float], spec: SpecWords
) -> list[SourceFile]:
    """Return the sources among the paths that have `scores`, the nearest to `spec` first.

    Those whose paths are nearest are read, as far as the bounds go.
    """
    sources = with_outlines(scores)
    nearest = nsmallest(MAX_READ_FILES, sources, key=lambda path: (-scores[path], path))
    read = list(_read(files, nearest))
    lowered = [each.text.casefold() for each in read]
    names = [_names_in(each) for each in read]
    corpus = read_corpus(spec, lowered, (name for each in names for name in each))
    found = []
    for file, text, own in zip(read, lowered, names, strict=True):
        score = scores[file.path] + 2 * corpus.content_score(text)
        score += best([corpus.name_score(name) for name in set(own)])
        score = score / 3 if file.is_test else score
        found.append(replace(file, score=score, is_named=scores[file.path] >= NAMED_PATH))
    found.sort(key=lambda each: (-each.score, each.path))
    return _related(list(_parsed(found, corpus)), corpus)


def with_outlines(paths: Iterable[str]) -> list[str]:
    """Return the paths of the files that can have an outline."""
    suffixes = tuple(suffix for each in LANGUAGES for suffix in each.outliner.outlined)
    return [path for path in paths if path.endswith(suffixes)]


def _names_in(file: SourceFile) -> list[str]:
    return [found[1] for found in file.language.outliner.definition.finditer(file.text)]


def _read(files: TreeSources, paths: Iterable[str]) -> Iterator[SourceFile]:
    named = ((path, language_of(path)) for path in paths)
    room = MAX_READ_CHARACTERS
    while batch := list(islice(named, _AT_ONCE)):
        files.load([path for path, _ in batch])
        for path, language in batch:
            assert language is not None, "the suffix is a language's"
            text = files.text(path)
            room -= len(text or "")
            if room < 0:
                return
            if text is not None and "\0" not in text:
                is_test = language.plans is not None and language.plans.is_test_file(path)
                yield SourceFile(path, text, language, is_test=is_test)


def _parsed(files: Iterable[SourceFile], corpus: Corpus) -> Iterator[SourceFile]:
    """Yield the files with their definitions, as far as the bounds go."""
    room = MAX_PARSED_CHARACTERS
    for file in files:
        room -= len(file.text)
        if room < 0:
            return
        edits, rows = file.language.edits, tuple(file.text.split("\n"))
        # Text without a definition is not parsed: what is not code takes a parser long.
        defines = file.language.outliner.definition.search(file.text) is not None
        entries = edits.outline(file.text) if edits and defines else ()
        share = min(file.score, 20) / (24 if file.is_test else 8)
        found = _parts(rows, entries, corpus) if entries else _lexical(file, rows, corpus)
        parts = [*found, *_values(rows, entries, corpus)]
        weight = 0.25 if file.is_test else 1
        scored = (replace(each, score=each.score * weight + share) for each in parts)
        yield replace(file, rows=rows, parts=tuple(sorted(scored, key=lambda each: each.first)))


def _parts(rows: Sequence[str], entries: Sequence[OutlineEntry], corpus: Corpus) -> Iterator[Part]:
    for at, entry in enumerate(entries):
        following = islice(entries, at + 1, None)
        inner = next((e.first for e in following if e.first > entry.first), entry.last + 1)
        head = _head(rows[entry.first - 1 : entry.last], entry, min(inner, entry.last + 1))
        code = "\n".join(rows[entry.first - 1 : entry.last]).casefold()
        score = corpus.name_score(entry.name) + corpus.content_score(code)
        yield Part(entry.name, entry.first, entry.last, head, score)


def _lexical(file: SourceFile, rows: Sequence[str], corpus: Corpus) -> Iterator[Part]:
    """Yield the definitions of a file that cannot be parsed, a line each."""
    for number, row in enumerate(rows, 1):
        found = file.language.outliner.definition.search(row[:_MAX_HEAD])
        if found and not _VALUE.fullmatch(row[: 4 * _MAX_VALUE]):
            head = row[:_MAX_HEAD].rstrip()
            yield Part(found[1], number, number, head, corpus.name_score(found[1]))


def _values(rows: Sequence[str], entries: Sequence[OutlineEntry], corpus: Corpus) -> Iterator[Part]:
    """Yield the constants of a file, and what it passes on, a line each."""
    taken = {number for each in entries for number in range(each.first, each.last + 1)}
    for number, row in enumerate(rows, 1):
        found = None if number in taken else _VALUE.fullmatch(row[: 4 * _MAX_VALUE])
        if found and found[1] not in _NO_VALUE:
            name = found[1] or ""
            head = row if len(row) <= _MAX_VALUE else f"{row[: _MAX_VALUE - 4]} ..."
            score = corpus.name_score(name) if name else 0.0
            yield Part(name, number, number, head, score)


def _head(own: Sequence[str], entry: OutlineEntry, until: int) -> str:
    """Return the signature of a definition on one line, and below it the fields of a type.

    `own` are its lines, and `until` is the line where the first definition inside begins.
    """
    name = entry.name.rpartition(".")[2]
    start = next((at for at, line in enumerate(own) if _begins(line, name)), 0)
    indent = own[start][: len(own[start]) - len(own[start].lstrip())] if own else ""
    signature, length = _signature("\n".join(own[start : start + _HEAD_LINES]))
    marks = [indent + line.strip() for line in own[:start] if line.lstrip()[:1] == "@"]
    fields: list[str] = []
    if not _FUNCTION.match(signature):
        after = own[start + length : until - entry.first]
        fields = [line for line in after if len(line) <= _MAX_VALUE and _FIELD.fullmatch(line)]
    while len("\n".join(fields)) > _MAX_FIELDS:
        fields.pop()
    short = (mark for mark in marks if len(mark) < _MAX_VALUE)
    return "\n".join((*short, indent + signature, *fields))


def _begins(line: str, name: str) -> bool:
    return line.lstrip()[:2] not in ("//", "/*", "#[") and name in _WORD.findall(line)


def _signature(text: str) -> tuple[str, int]:
    """Return the text up to where a body begins, on one line, and how many lines this takes."""
    depth, end = 0, len(text)
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        begins = character in "{;" or (character == ":" and text[at + 1 : at + 2] in ("", "\n"))
        if depth <= 0 and (begins or character == "\n"):
            end = at
            break
    line = " ".join(text[:end].split())
    cut = line if len(line) <= _MAX_HEAD else f"{line[: _MAX_HEAD - 4]} ..."
    return cut, text.count("\n", 0, end) + 1


def _related(files: Sequence[SourceFile], corpus: Corpus) -> list[SourceFile]:
    """Return the files with higher scores for what named definitions use, and what uses these."""
    every = [(part, file) for file in files if not file.is_test for part in file.parts]
    named = sorted(
        (each for each in every if each[0].score >= _NAMED),
        key=lambda each: (-each[0].score, each[1].path, each[0].first),
    )[:_USED]
    needs: dict[str, float] = {}
    for part, file in named:
        for name in _IDENTIFIER.findall(file.code(part)):
            needs[name] = max(needs.get(name, 0), part.score)
    uses = {part.last_name: part.score for part, _ in reversed(named) if part.last_name}
    return [
        replace(file, parts=tuple(_raised(file, each, corpus, needs, uses) for each in file.parts))
        for file in files
    ]


def _raised(
    file: SourceFile,
    part: Part,
    corpus: Corpus,
    needs: Mapping[str, float],
    uses: Mapping[str, float],
) -> Part:
    rarity = 1 / max(1, corpus.given.get(part.last_name, 1))
    more = 0.2 * rarity * needs.get(part.last_name, 0)
    found = set(_IDENTIFIER.findall(file.code(part))) & uses.keys() - {part.last_name}
    used = max((0.2 * uses[name] for name in found), default=0)
    return replace(part, score=part.score + min(more + (used / 4 if file.is_test else used), 3))


class Level(IntEnum):
    """Say how much is shown of a definition."""

    NAME = 1
    HEAD = 2
    CODE = 3
    WHOLE_FILE = 4


@dataclass(frozen=True, slots=True)
class _Offer:
    """Represent one way to spend about `cost` characters on what is `worth` it."""

    worth: float
    cost: int
    file: int
    part: int
    level: Level

    @property
    def rank(self) -> tuple[float, int, int]:
        return -self.worth / max(1, self.cost), self.file, self.part


def _offers(at: int, file: SourceFile, room: int) -> Iterator[_Offer]:
    opening = (len(file.path) + 10) // max(1, len(file.parts))
    order = sorted(range(len(file.parts)), key=lambda each: -file.parts[each].score)
    for place, number in enumerate(order):
        part = file.parts[number]
        share = _MANY / (_MANY + place)
        if part.name:
            cost = len(part.last_name) + 2 + opening
            yield _Offer(share * (part.score + 0.1), cost, at, number, Level.NAME)
        # However long it is, it matters more than many short ones.
        weight = 20 if part.score >= _MEANT else 1
        worth = weight * share * (part.score + 0.1) * (0.6 if part.name else 1)
        yield _Offer(worth, len(part.head) + 1 + opening, at, number, Level.HEAD)
        if part.score >= _NAMED and part.last > part.first:
            code = len(file.code(part))
            if code <= _MAX_CODE:
                yield _Offer(2 * weight * part.score, code + 1, at, number, Level.CODE)
    top = best([each.score for each in file.parts])
    if len(file.text) <= room * _WHOLE_SHARE and (file.is_named or top >= 2 * _NAMED):
        worth = 2 * top + NAMED_PATH * file.is_named
        yield _Offer(worth, len(file.text), at, -1, Level.WHOLE_FILE)


Chosen = dict[int, Level]
"""How much is shown of the parts of a file, by their indexes; of the part -1 if it is all."""


def choose_parts(files: Sequence[SourceFile], room: int) -> list[Chosen]:
    """Return what is shown of each file, in about `room` characters together."""
    chosen: list[Chosen] = [{} for _ in files]
    owners = [{each.name: at for at, each in enumerate(file.parts)} for file in files]
    offers = [each for at, file in enumerate(files) for each in _offers(at, file, room)]
    for offer in sorted(offers, key=lambda each: each.rank):
        file, own = files[offer.file], chosen[offer.file]
        if _is_shown(file, own, offer):
            continue
        wanted: Chosen = {offer.part: offer.level}
        if offer.level in (Level.HEAD, Level.CODE):
            around = _around(file, offer.part, owners[offer.file])
            wanted |= {each: Level.HEAD for each in around if own.get(each, 0) < Level.HEAD}
        replaced = (
            own if offer.level is Level.WHOLE_FILE else {each: own.get(each) for each in wanted}
        )
        cost = _size(file, wanted) - _size(file, replaced) + (0 if own else len(file.path) + 4)
        if cost <= room:
            room -= cost
            if offer.level is Level.WHOLE_FILE:
                own.clear()
            own.update(wanted)
    return chosen


def _is_shown(file: SourceFile, own: Chosen, offer: _Offer) -> bool:
    if -1 in own or own.get(offer.part, 0) >= offer.level:
        return True
    if offer.level is Level.WHOLE_FILE:
        return False
    part = file.parts[offer.part]
    codes = (file.parts[at] for at, level in own.items() if level is Level.CODE)
    return any(each.first <= part.first and part.last <= each.last for each in codes)


def _around(file: SourceFile, at: int, owners: Mapping[str, int]) -> Iterator[int]:
    """Yield the definitions that the part `at` is inside of."""
    owner = file.parts[at].name.rpartition(".")[0]
    while owner:
        around = owners.get(owner)
        if around is not None and file.parts[around].last >= file.parts[at].last:
            yield around
        owner = owner.rpartition(".")[0]


def _size(file: SourceFile, chosen: Mapping[int, Level | None]) -> int:
    return sum(_length(file, at, level) for at, level in chosen.items())


def _length(file: SourceFile, at: int, level: Level | None) -> int:
    match level:
        case Level.NAME:
            return len(file.parts[at].last_name) + 2
        case Level.HEAD:
            return len(file.parts[at].head) + 1
        case Level.CODE:
            return len(file.code(file.parts[at])) + 1
        case Level.WHOLE_FILE:
            return len(file.text)
        case None:
            return 0


def outline_files(files: Sequence[SourceFile], room: int) -> Outlines:
    """Return the code of `files` as far as it fits in `room` characters, the nearest file first."""
    left = room
    while True:
        chosen = choose_parts(files, max(0, left))
        blocks: dict[str, list[str]] = {}
        for file, own in zip(files, chosen, strict=True):
            if own:
                blocks.setdefault(file.language.name, []).append(_block(file, own))
        text = "\n\n".join(
            _section(each, blocks[each.name]) for each in LANGUAGES if each.name in blocks
        )
        if len(text) <= room or left <= 0:
            break
        left -= len(text) - room  # headings, and owners of names, which nothing was set aside for
    shown = frozenset(file.path for file, own in zip(files, chosen, strict=True) if own)
    return Outlines(text, shown) if len(text) <= room else Outlines()


def _block(file: SourceFile, own: Chosen) -> str:
    """Return what is shown of a file, below its path."""
    mark = file.language.outliner.comment
    lines = [f"{mark} {file.path}"]
    if -1 in own:
        return "\n".join((*lines, file.text.strip("\n")))
    names: dict[str, list[str]] = {}
    until, left = 0, 0
    for at, part in enumerate(file.parts):
        level = own.get(at)
        if 0 < part.last <= until:
            continue
        if level is Level.CODE:
            lines.append(file.code(part))
            until = part.last
        elif level is Level.HEAD:
            lines.append(part.head)
        elif level is Level.NAME:
            names.setdefault(part.name.rpartition(".")[0], []).append(part.last_name)
        else:
            left += 1
    return "\n".join((*lines, *_names(names, left, mark)))


def _names(names: Mapping[str, Sequence[str]], left: int, mark: str) -> list[str]:
    """Return names by what they belong to, as comments: `also Game: play, stop; main`."""
    if not names and not left:
        return []
    own = ((owner and f"{owner}: ") + ", ".join(dict.fromkeys(names[owner])) for owner in names)
    more = (f"{left:,} more",) if left else ()
    return textwrap.wrap(
        "; ".join((*own, *more)),
        _WRAPPED,
        initial_indent=f"{mark} also ",
        subsequent_indent=f"{mark} ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _section(language: Language, blocks: Sequence[str]) -> str:
    what = counted(len(blocks), language.outliner.file_noun)
    return f"Code of {what}:\n\n" + fenced("\n\n".join(blocks), language.outliner.fence)


def render_idiom(files: Sequence[SourceFile], limit: int) -> str:
    """Return the beginning of the nearest test, as the pattern of tests here; empty without one."""
    for file in files if limit >= _LEAST_IDIOM else ():
        if file.is_test and _TESTS.search(file.text):
            kept = "\n".join(fitting(file.rows, limit, stop=True)).rstrip()
            shown = fenced(kept, file.language.outliner.fence)
            return f"Tests here are written like this ({file.path}, its beginning):\n\n{shown}"
    return ""


_CASES: Final = re.compile(r"parametrize|\.each\b|\]struct\b|\] ?\{|in \[")
_MOST_TABLES: Final = 5


def render_tables(files: Iterable[SourceFile]) -> str:
    """Return a line that names tests of the nearest file whose tests take cases from a table."""
    for file in islice((e for e in files if e.is_test and _CASES.search(e.text)), _MOST_TABLES):
        edits = file.language.edits
        tables = edits.find_tables(file.path, file.text) if edits is not None else ()
        count = Counter(name for each in tables for name in each.names)
        tests = [e for e in count if count[e] == 1 and (" " in e or e.lower().startswith("test"))]
        if tests := [each for each in tests if "." not in each]:
            named = ", ".join(sorted(tests)[:_MOST_TABLES])
            return f'{file.path}: "append" may be cases alone, with "table": one of {named}'
    return ""


def fitting(lines: Iterable[str], room: int, *, stop: bool = False) -> list[str]:
    """Return the lines that fit in `room` characters; with `stop`, end at one that does not."""
    kept = []
    for line in lines:
        if len(line) < room:
            kept.append(line)
            room -= len(line) + 1
        elif stop or room <= 1:
            break
    return kept
