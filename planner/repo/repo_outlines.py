"""Outlines the files that seem nearest to a specification.

The score is plain and the same on every machine. It only decides which files are shown first
where not all of them fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from planner.prompts.prompt_templates import fenced
from shared.languages.registry import LANGUAGES, language_of

if TYPE_CHECKING:
    from shared.files.text_sources import TreeSources
    from shared.languages.capabilities import Outliner

# The weight of a shared stem in the file's own name, in its definitions, and in its folders.
NAME_WEIGHT = 3
DEFINITION_WEIGHT = 2
FOLDER_WEIGHT = 1

MIN_STEM = 3

_WORD = re.compile(r"[^\W\d_]+")
_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# The longest come first, because only the first that fits is cut off.
_ENDINGS = ("ions", "ies", "ing", "ion", "ers", "ors", "ed", "er", "es", "or", "e", "s", "y")

# Words that every spec has, and names that every repo has.
_COMMON_WORDS = """
the and for with that this from have has not are was were must should shall may can will when each
one any all its into use used using where which who what then than but also only
file files test tests python src init main lib
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def spec_stems(spec_text: str) -> frozenset[str]:
    """Return the stems of the spec's words."""
    return frozenset().union(*(_stems_of(word) for word in set(_WORD.findall(spec_text))))


def path_score(path: str, wanted: frozenset[str]) -> int:
    """Return how much the path shares with the wanted stems."""
    *folders, name = path.split("/")
    in_name = _stems_of(name) & wanted
    in_folders = frozenset().union(*(_stems_of(each) for each in folders)) & wanted
    return NAME_WEIGHT * len(in_name) + FOLDER_WEIGHT * len(in_folders - in_name)


def definition_score(source: str, wanted: frozenset[str], definition: re.Pattern[str]) -> int:
    """Return how much the names that `definition` finds in `source` share with `wanted`."""
    names = {found[1] for found in definition.finditer(source)}
    return DEFINITION_WEIGHT * len(frozenset().union(*(_stems_of(each) for each in names)) & wanted)


@lru_cache(maxsize=65_536)  # folders repeat: a repo of 20,000 files has some hundred
def _stems_of(name: str) -> frozenset[str]:
    """Return the stems in an identifier, a word or a part of a path: `MazeSolver` has two."""
    words = (each.casefold() for each in _WORD.findall(_CAMEL_HUMP.sub(" ", name)))
    return frozenset(_stem(each) for each in words if len(each) >= MIN_STEM and each not in _COMMON)


def _stem(word: str) -> str:
    """Return the word without its ending: solve, solves, solver and solving have one stem."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM:
            return word if word.endswith("ss") else word.removesuffix(ending)
    return word


# These bound the work, whatever the repo holds. Reading 400 sources takes some 30 ms. The parsers
# take about a second for a megabyte, and the outlines of a usual budget need a fifth of that.
MAX_READ_FILES = 400
MAX_READ_BYTES = 4_000_000
MAX_PARSED_CHARACTERS = 1_000_000
MIN_BLOCK = 200  # characters; a shorter block says nothing about a file
FILE_SHARE = 6  # one large file gets at most a sixth of the room, so that others fit too

_HEADING: Final = 100  # characters of the sentence and the fence that each further language takes
_AT_ONCE: Final = 50  # files that are read from a commit at a time


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Hold a file whose language has outlines, with its text."""

    path: str
    source: str
    language: Outliner


@dataclass(frozen=True, slots=True)
class Outlines:
    """Hold the outlines of a repo as text, and how many files they show or leave out.

    `size` is what they take of the room, without the first sentence and the first fence.
    """

    text: str
    size: int
    shown: int
    left_out: int


def read_source_files(files: TreeSources, paths: Sequence[str]) -> list[SourceFile]:
    """Read the first files of `paths` whose languages have outlines, as far as the bounds go."""
    found = []
    room = MAX_READ_BYTES
    for each in _readable(files, paths):
        room -= len(each.source)
        if room < 0:
            break
        found.append(each)
    return found


def score_definitions(file: SourceFile, wanted: frozenset[str]) -> int:
    """Return how much the names that the file defines share with the wanted stems."""
    return definition_score(file.source, wanted, file.language.definition)


def outline_files(nearest: Sequence[str], files: Sequence[SourceFile], room: int) -> Outlines:
    """Return the outlines of `files`, in that order, of at most `room` characters.

    `nearest` are all paths of the repo, so that what is left out can be counted.
    """
    of_path = [language.name for path in nearest if (language := _outliner_of(path))]
    total = Counter(of_path)
    headings = _HEADING * max(0, len(total) - 1)
    blocks, empty = _blocks(files, room - headings)
    left_out = {name: total[name] - len(blocks.get(name, ())) - empty[name] for name in total}
    shown = [each.outliner for each in LANGUAGES if each.name in blocks]
    return Outlines(
        text="\n\n".join(_section(each, blocks[each.name], left_out[each.name]) for each in shown),
        size=headings + sum(len("\n\n".join(each)) for each in blocks.values()),
        shown=sum(map(len, blocks.values())),
        left_out=sum(left_out.values()),
    )


def counted(count: int, thing: str) -> str:
    """Return the count and what is counted, in the plural where it is not one."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _outliner_of(path: str) -> Outliner | None:
    language = language_of(path)
    has_outline = language is not None and path.endswith(language.outliner.outlined)
    return language.outliner if language is not None and has_outline else None


def _readable(files: TreeSources, paths: Sequence[str]) -> Iterator[SourceFile]:
    named = [(path, language) for path in paths if (language := _outliner_of(path))]
    for batch in _batches(named[:MAX_READ_FILES]):
        files.load([path for path, _ in batch])
        for path, language in batch:
            source = files.text(path)
            if source is not None:
                yield SourceFile(path, source, language)


def _batches(
    named: Iterable[tuple[str, Outliner]],
) -> Iterator[tuple[tuple[str, Outliner], ...]]:
    remaining = iter(named)
    while batch := tuple(islice(remaining, _AT_ONCE)):
        yield batch


def _blocks(files: Sequence[SourceFile], room: int) -> tuple[Mapping[str, list[str]], Counter[str]]:
    """Return the outlines that fit, by language, and how many files have no name to show."""
    blocks: dict[str, list[str]] = {}
    empty: Counter[str] = Counter()
    limit = max(room // FILE_SHARE, 1_000)
    parsed = 0
    for file in files:
        parsed += len(file.source)
        if room < MIN_BLOCK or parsed > MAX_PARSED_CHARACTERS:
            break
        name = file.language.name
        lines = file.language.public_names(file.path, file.source)
        if lines is None:
            continue
        if not lines:
            empty[name] += 1
            continue
        if block := _block(file, lines, min(limit, room)):
            room -= len(block) + 2
            blocks.setdefault(name, []).append(block)
    return blocks, empty


def _block(file: SourceFile, lines: Sequence[str], limit: int) -> str:
    """Return the file's lines under its path, cut at a line where they are too long."""
    mark = file.language.comment
    text = "\n".join((f"{mark} {file.path}", *lines))
    if len(text) <= limit:
        return text
    kept = fitting(lines, limit - len(file.path) - 40, stop=True)
    if not kept:
        return ""
    left = f"{mark} ... and {len(lines) - len(kept)} lines more"
    return "\n".join((f"{mark} {file.path}", *kept, left))


def fitting(lines: Sequence[str], room: int, *, stop: bool = False) -> list[str]:
    """Return the lines that fit in `room` characters; with `stop`, end at one that does not fit."""
    kept = []
    for line in lines:
        if len(line) < room:
            kept.append(line)
            room -= len(line) + 1
        elif stop or room <= 1:
            break
    return kept


def _section(language: Outliner, blocks: Sequence[str], left_out: int) -> str:
    text = f"Public names of {counted(len(blocks), language.file_noun)}"
    text += f" ({left_out:,} left out)" if left_out else ""
    return f"{text}:\n\n" + fenced("\n\n".join(blocks), language.fence)
