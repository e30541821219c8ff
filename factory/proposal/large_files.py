"""Shows large files in parts: an outline, and the windows that matter. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from factory.orders.past_attempt import PastAttempt
from factory.proposal.doubts import Doubt, DoubtKind
from factory.proposal.files_format import fence_for
from factory.proposal.show_request import WantedPart, example_request
from factory.proposal.shown import ShownFile
from factory.proposal.windows import (
    Pointers,
    Window,
    choose_windows,
    lines_of,
    merge_lines,
    words_of,
)
from shared.languages.capabilities.edits import OutlineEntry
from shared.languages.registry import language_of
from shared.work_order.schemas import WorkOrder

_OUTLINE_BYTES = 8 * 1024
_MORE_LINES = 400
"""The most lines of a file that a model gets to see by asking for them."""


def show_large_in_parts(
    files: Sequence[ShownFile], order: WorkOrder, past: Sequence[PastAttempt], limit: int
) -> tuple[ShownFile, ...]:
    """Return the files, the largest of them in parts, so that all together keep within `limit`.

    The limit is in bytes. It may be exceeded where even the parts of all files have more.
    """
    shown = {each.path: each for each in files}
    sizes = {each.path: len(each.text.encode()) for each in files}
    for path in sorted(sizes, key=lambda path: -sizes[path]):
        if sum(sizes.values()) <= limit:
            break
        shown[path] = show_in_parts(shown[path], pointers_of(order, path, past))
        sizes[path] = len(render_parts(shown[path]).encode())
    return tuple(shown[each.path] for each in files)


def show_in_parts(file: ShownFile, pointers: Pointers) -> ShownFile:
    """Return a file with its outline and the windows that `pointers` point to."""
    language = language_of(file.path)
    outline = language.edits.outline(file.text) if language and language.edits else ()
    return replace(file, outline=outline, parts=choose_windows(file.text, outline, pointers))


def pointers_of(order: WorkOrder, path: str, past: Sequence[PastAttempt]) -> Pointers:
    """Return what an order and its failures say about places in the file at `path`."""
    named = [each.stub for each in order.interfaces if each.path == path]
    briefs = [each.brief for each in past]
    said = [text for each in briefs for text in (each.primary_error_excerpt, *each.facts)]
    return Pointers(
        names=words_of(*order.changes, *named),
        words=words_of(
            order.title, order.intent, order.notes or "", *order.acceptance_commands, *said
        ),
        lines=tuple(line for text in said for line in lines_of(path, text)),
    )


def show_more(file: ShownFile, wanted: Sequence[WantedPart]) -> ShownFile | str:
    """Return a file with more of its parts, or a sentence that says why one cannot be shown."""
    numbers = [n for each in file.parts or () for n in range(each.first, each.last + 1)]
    last_line = len(file.text.splitlines())
    added: set[int] = set()
    for part in wanted:
        window = _window_of(part, file.outline)
        if window is None:
            return f"{file.path} has no definition {part.name!r}; its outline lists all names."
        if not 0 < window.first <= min(window.last, last_line):
            return f"{file.path} has no lines {window.first} to {window.last}: it has {last_line}."
        added |= set(range(window.first, min(window.last, last_line) + 1))
    if len(added) > _MORE_LINES:
        return f"That is {len(added)} lines of {file.path}: ask for {_MORE_LINES} at most."
    return replace(file, parts=merge_lines({*numbers, *added}), may_ask=False)


def show_more_of(shown: Sequence[ShownFile], wanted: Sequence[WantedPart]) -> tuple[ShownFile, ...]:
    """Return the files with the parts that a reply asks for; nothing more can be asked for then."""
    return tuple(_with_more(file, wanted) for file in shown)


def _with_more(file: ShownFile, wanted: Sequence[WantedPart]) -> ShownFile:
    if file.parts is None:
        return file
    asked = [each for each in wanted if each.path == file.path]
    more = show_more(file, asked) if asked and file.may_ask else file
    return replace(more if isinstance(more, ShownFile) else file, may_ask=False)


def doubt_about_parts(shown: Sequence[ShownFile], wanted: Sequence[WantedPart]) -> Doubt:
    """Return what is answered to a reply that asks to see more."""
    parted = {each.path: each for each in shown if each.parts is not None}
    problems = []
    for path in dict.fromkeys(each.path for each in wanted):
        if path not in parted:
            problems.append(f"{path} is not a file that is shown in part.")
        elif not parted[path].may_ask:
            problems.append(f"No more of {path} can be shown. Make the change now.")
        else:
            more = show_more(parted[path], [each for each in wanted if each.path == path])
            problems += [more] if isinstance(more, str) else []
    note = " ".join(problems) or "The parts that you asked for are shown now."
    return Doubt(DoubtKind.MORE_WANTED, note)


def _window_of(part: WantedPart, outline: Sequence[OutlineEntry]) -> Window | None:
    if not part.name:
        return Window(part.first, part.last)
    for entry in outline:
        if part.name in (entry.name, entry.name.split(".")[-1]):
            return Window(entry.first, entry.last)
    return None


def render_parts(file: ShownFile) -> str:
    """Return what a prompt shows of a file in parts, without its heading."""
    lines = file.text.splitlines()
    said = [f"This file has {len(lines)} lines; parts of it are shown."]
    if file.outline:
        said += ["Its outline:", *_fenced(_outline_lines(file.outline))]
    for part in file.parts or ():
        said.append(f"Lines {part.first} to {part.last}:")
        said += _fenced(lines[part.first - 1 : part.last])
    if file.may_ask:
        by_lines, by_name = example_request(file.path)
        said.append(
            f"To see more of it first, reply with lines like `{by_lines}` or `{by_name}` and "
            "nothing else; you can do so once."
        )
    return "\n".join(said) + "\n"


def _fenced(lines: Sequence[str]) -> Iterator[str]:
    fence = fence_for("\n".join(lines))
    yield from (fence, *lines, fence)


def _outline_lines(outline: Sequence[OutlineEntry]) -> list[str]:
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
