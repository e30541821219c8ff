"""Outlines the files of a repo that seem nearest to a spec, within bounds on the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from planner.prompts.template import fenced
from planner.repo.relevance import definition_score
from shared.files.tree_sources import TreeSources
from shared.languages.capabilities.outlines import Outliner
from shared.languages.registry import LANGUAGES, language_of

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
