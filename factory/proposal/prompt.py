"""Renders the factory's prompts; its fixed text lies beside this file.

A prompt contains nothing about the run or the machine, so that a recorded reply is found again.

A small model follows a short prompt best: docs/local-models.md has the figures. It is shown neither
a format with examples, whose paths it would copy, nor how to name the one file that it may write.
If it has to change one definition of a file, it sees this definition alone: shown the file, it
copies the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources

from factory.orders.documents import WHOLE_UP_TO_LINES, Offer, ReplyFormat
from factory.orders.model_choice import PastAttempt
from factory.proposal.assemble_edits import render_claim, render_format
from factory.proposal.prompt_parts import (
    REMOVED,
    how_to_reply,
    name_removed,
    render_hint,
    render_history,
    room_for_history,
)
from factory.proposal.read_reply import Doubt, DoubtKind
from factory.proposal.reply_formats import NO_FINAL_NEWLINE, fence_for
from factory.proposal.scope import FileKind
from factory.proposal.shown_code import (
    Focus,
    Pointers,
    ShownFile,
    WantedPart,
    Window,
    choose_windows,
    elided_lines,
    example_request,
    head_of,
    is_long_document,
    is_named_long,
    merge_lines,
    outline_lines,
    pointers_of,
)
from shared.files.text_sources import fill
from shared.languages.appended_tests import files_of_tests, tests_beside_code
from shared.languages.capabilities import OutlineEntry
from shared.languages.registry import language_of, outline_of
from shared.projects.conventions import Conventions
from shared.work_order.work_order import AcceptanceFile, Interface, WorkOrder

_MORE_LINES = 400
"""The most lines of a file that a model gets to see by asking for them."""


def show_large_in_parts(
    files: Sequence[ShownFile],
    order: WorkOrder,
    past: Sequence[PastAttempt],
    limit: int,
    *,
    long_in_parts: bool = False,
) -> tuple[ShownFile, ...]:
    """Return the files, the largest of them in parts, so that all together keep within `limit`.

    The limit is in bytes. It may be exceeded where even the parts of all files have more. With
    `long_in_parts`, a long document such as a changelog is shown in parts in any case, and so is
    long code if the order names a definition of it.
    """
    shown = {each.path: each for each in files}
    sizes = {each.path: len(each.text.encode()) for each in files}
    for path in sorted(sizes, key=lambda path: -sizes[path]):
        if sum(sizes.values()) <= limit and not (
            long_in_parts and (is_long_document(shown[path]) or is_named_long(order, shown[path]))
        ):
            continue
        shown[path] = show_in_parts(shown[path], pointers_of(order, shown[path], past))
        sizes[path] = len(render_parts(shown[path]).encode())
    return tuple(shown[each.path] for each in files)


def show_in_parts(file: ShownFile, pointers: Pointers) -> ShownFile:
    """Return a file with its outline and the windows that `pointers` point to."""
    outline = outline_of(file.path, file.text)
    return replace(file, outline=outline, parts=choose_windows(file.text, outline, pointers))


def show_added(file: ShownFile, before: str | None) -> ShownFile:
    """Return a test file with its head, and the definitions with lines that `before` lacks.

    The file is shown whole where it is new or short, or where more than lines were added to it.
    """
    lines, old = file.text.splitlines(), iter((before or "").splitlines())
    language = language_of(file.path)
    if before is None or len(lines) <= WHOLE_UP_TO_LINES or not language or not language.edits:
        return file
    wanted = next(old, None)
    added: set[int] = set()
    for number, line in enumerate(lines, 1):
        if line == wanted:
            wanted = next(old, None)
        else:
            added.add(number)
    if wanted is not None:
        return file
    outline = language.edits.outline(file.text)
    first, head = min((each.first for each in outline), default=1), head_of(outline)
    spans = [range(each.first, each.last + 1) for each in outline]
    grown = [each for each in spans if not added.isdisjoint(each)]
    # Of a class that holds other definitions, its first line says where the test is.
    holding = [each for each in grown if any(o != each and o[0] in each for o in spans)]
    whole = {n for each in grown if each not in holding for n in each}
    shown = merge_lines(
        {*range(head.first, min(first - 1, head.last) + 1), *added, *whole}
        | {each[0] for each in holding}
    )
    return replace(file, parts=shown, outline=outline, may_ask=False, elides=True)


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
    if file.elides:
        return "\n".join(_fenced([*elided_lines(file)])) + "\n"
    lines = file.text.splitlines()
    said = [f"This file has {len(lines)} lines; parts of it are shown."]
    if file.outline:
        said += ["Its outline:", *_fenced(outline_lines(file.outline))]
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


_PLACED = (
    "These tests are put in place before the commands run, exactly as they are shown. They are not "
    "yours to write, and a reply that writes one is refused:"
)


_BESIDE = (
    "This test is added to the module of tests in {}, which your reply leaves as it is, without "
    "this test:"
)


def _render_placed(order: WorkOrder) -> str:
    placed, beside = sorted(files_of_tests(order)), tests_beside_code(order)
    parts = [f"{_PLACED}\n{_bullets(placed)}"] if placed else []
    for path, code in beside.items():
        parts.append("\n".join((_BESIDE.format(path), *_fenced(code.split("\n")))))
    return "".join(f"\n\n{each}" for each in parts)


def render_prompt(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    verification: Sequence[str],
    offer: Offer,
    known: Sequence[Interface] = (),
    past: Sequence[PastAttempt] = (),
    note: str = "",
    hint: str = "",
    conventions: Conventions | None = None,
    *,
    short: bool = False,
) -> str:
    """Return the prompt of an order, after the failed attempts in `past`.

    `known` are interfaces that earlier orders declared for files that this order needs. `note` says
    why the reply before could not be used, if this is asked again within an attempt. `hint` is what
    the person who runs the order says, and `conventions` are what the repo says to those who
    change it. A retry is to be `short` for a small model.
    """
    values = prompt_values(order, shown, verification, offer, known)
    values["FILES"] = render_conventions(conventions, shown) + values["FILES"]
    advice = f"\n{render_hint(hint)}\n" if hint else ""
    first = fill(_template(), values | {"PAST": advice})
    if not past and not note:
        return first
    room = room_for_history(first, note, short=short)
    history = render_history(past, shown, offer.format, room)
    said = advice + (f"\n{history}" if history else "")
    return fill(_template(), values | {"PAST": said + (f"\n{note}\n" if note else "")})


def prompt_values(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    verification: Sequence[str],
    offer: Offer,
    known: Sequence[Interface],
) -> dict[str, str]:
    """Return the texts of an order for a template, by their names in it."""
    commands = (*verification, *order.acceptance_commands)
    return {
        "FILES": _render_files(order, shown, offer.format),
        "ID": order.id,
        "TITLE": order.title,
        "INTENT": order.intent,
        "NOTES": f"\n{order.notes}\n" if order.notes else "",
        "INTERFACES": _render_interfaces(order, known, shown),
        "OPENING": _render_opening(order, shown) if offer.format is ReplyFormat.FILES else "",
        "WHICH": "this file" if len(order.allowed_files) == 1 else "these files",
        "ALLOWED": _render_allowed(order, shown),
        "FORBIDDEN": _render_removed(order.removed_files) + _render_forbidden(order.forbidden),
        "COMMANDS": _bullets(commands) + _render_placed(order),
        "IMPOSSIBLE": render_claim(offer.format),
        "FORMAT": render_format(offer.format, offer.forms),
    }


@cache
def _template() -> str:
    return resources.files("factory.proposal").joinpath("FACTORY_PROMPT.md").read_text("utf-8")


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


_LEFT_OUT = (
    "Where `...` counts lines, the body of a function is left out. To see it first, reply with "
    "lines like `{}` or `{}` and nothing else; you can do so once.\n"
)


def _render_files(order: WorkOrder, shown: Sequence[ShownFile], asked: ReplyFormat) -> str:
    if not shown:
        return ""
    writable = frozenset(order.allowed_files)
    # The format `files` needs no hashes, so it shows none that could be copied wrongly.
    hashes = asked is ReplyFormat.JSON
    placed = files_of_tests(order)
    parts = [
        _render_file(each, _role(each.path, writable, placed), hashes and each.path not in placed)
        for each in shown
    ]
    if asks := next((each.path for each in shown if each.elides and each.may_ask), None):
        parts.append(_LEFT_OUT.format(*example_request(asks)))
    return "# Files as they are now\n\n" + "\n".join(parts) + "\n"


def render_conventions(conventions: Conventions | None, shown: Sequence[ShownFile]) -> str:
    if conventions is None or any(each.path == conventions.path for each in shown):
        return ""
    quoted = "\n".join(_fenced(conventions.quoted().split("\n")))
    return f"# Conventions of the repository\n\n{conventions.introduction}\n\n{quoted}\n\n"


def _role(path: str, writable: frozenset[str], placed: frozenset[str]) -> str:
    if path in placed:
        return " (a test that your change has to pass, read only)"
    return "" if path in writable else " (read only)"


def _render_file(file: ShownFile, role: str, with_hash: bool) -> str:
    base = f"base_sha256: {file.state.sha256}\n" if with_hash else ""
    head = f"## {file.path}{role}\n{base}"
    if file.state.kind is FileKind.ABSENT:
        return f"{head}This file does not exist yet.\n"
    if not file.text:
        return f"{head}This file is empty.\n"
    if file.parts is not None:
        return head + render_parts(file)
    fence = fence_for(file.text)
    if file.text.endswith("\n"):
        return f"{head}{fence}\n{file.text}{fence}\n"
    return f"{head}{fence}\n{file.text}\n{fence}\n{NO_FINAL_NEWLINE}\n"


def _render_interfaces(
    order: WorkOrder, known: Sequence[Interface], shown: Sequence[ShownFile] = ()
) -> str:
    own = [each.stub for each in order.interfaces]
    known = [each for each in known if each.stub not in own]
    staying = [each for each in known if each.path in order.allowed_files]
    whole = {each.path for each in shown if each.text and (each.parts is None or each.elides)}
    others = [each for each in known if each not in staying and each.path not in whole]
    but = f", but for {', '.join(order.changes)}" if order.changes else ""
    parts: list[str] = []
    for heading, interfaces in (
        # These come first: a model that writes a whole file easily leaves existing names out.
        (f"These names are there already. They have to stay{but}:", staying),
        ("These interfaces are fixed. Keep every name and signature exactly:", order.interfaces),
        ("These are there, and you can rely on them:", others),
    ):
        if stubs := [_render_stub(each) for each in interfaces if each.stub.strip()]:
            parts += [f"{heading}\n", *stubs]
    return "\n" + "\n".join(parts) if parts else ""


def _render_stub(interface: Interface) -> str:
    fence = fence_for(interface.stub)
    stub = interface.stub.rstrip("\n")
    return f"## Interface of {interface.path}\n{fence}\n{stub}\n{fence}\n"


def _render_forbidden(paths: Sequence[str]) -> str:
    return f"\nThese must stay untouched:\n{_bullets(paths)}\n" if paths else ""


def _render_removed(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    return f"\n{REMOVED} Nothing may use them any more, and no reply may write them:\n" + (
        f"{_bullets(name_removed(paths))}\n"
    )


def _render_allowed(order: WorkOrder, shown: Sequence[ShownFile]) -> str:
    wanted = _files_to_create(order, shown)
    return _bullets(
        [f"{path} (new: write it)" if path in wanted else path for path in order.allowed_files]
    )


def _files_to_create(order: WorkOrder, shown: Sequence[ShownFile]) -> frozenset[str]:
    absent = frozenset(file.path for file in shown if file.state.kind is FileKind.ABSENT)
    return absent.intersection(condition.path for condition in order.postconditions)


def _render_opening(order: WorkOrder, shown: Sequence[ShownFile]) -> str:
    """Return the required beginning of the reply: without it, small models repeat what they saw."""
    first = order.allowed_files[0]
    certain = len(order.allowed_files) == 1 or first in _files_to_create(order, shown)
    unless = "" if certain else ", unless that file stays as it is"
    exists = any(file.path in order.allowed_files and file.text for file in shown)
    keep = "A block replaces its whole file: also give all the lines that stay.\n" if exists else ""
    opening = f"Summary: {' '.join(order.title.split())}\n\n```{first}"
    return f"{keep}\nYour reply begins like this{unless}:\n\n{opening}"


def has_short_prompt(order: WorkOrder, shown: Sequence[ShownFile]) -> bool:
    """Return whether an order is simple enough: one short file to write, and no other to read."""
    placed = files_of_tests(order)
    listed = set(order.context_files) <= {*order.allowed_files, *placed}
    single = len(order.allowed_files) == 1 and listed
    return single and all(
        (each.parts is None or each.path in placed) and len(_lines_shown(each)) <= WHOLE_UP_TO_LINES
        for each in shown
    )


def _lines_shown(file: ShownFile) -> list[str]:
    return file.text.splitlines() if file.parts is None else [*elided_lines(file)]


def render_short_prompt(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    known: Sequence[Interface] = (),
    past: Sequence[PastAttempt] = (),
    note: str = "",
    hint: str = "",
    *,
    focus: Focus | None = None,
    verification: Sequence[str] = (),
    with_commands: bool = True,
    conventions: Conventions | None = None,
    asked: ReplyFormat = ReplyFormat.FILES,
) -> str:
    """Return the prompt of an order that `has_short_prompt`, after the failed attempts in `past`.

    `note` says why the reply before could not be used, if this is asked again within an attempt.
    `hint` is what the person who runs the order says. With a `focus` of the order, this definition
    is shown and asked for, whatever the size of its file. Commands tempt a small model to write
    tests as well; `with_commands` says whether they are shown, those of `verification` too.
    `conventions` come first. What is `asked` for is the file in a block, or in JSON.
    """
    commands = (*verification, *order.acceptance_commands) if with_commands else ()
    is_shown = not with_commands and not past
    tests = [
        each for each in order.acceptance_files if not (is_shown and _says(each, order, shown))
    ]
    parts = _told(order, shown, known, focus, commands, asked, tests)
    if said := render_conventions(conventions, shown):
        parts.insert(0, said.rstrip("\n"))
    task = "\n\n".join([*parts, render_hint(hint)] if hint else parts)
    room = room_for_history(task, note, short=not with_commands)
    history = render_history(past, shown, asked, room)
    all_parts = (
        task,
        history.rstrip("\n"),
        note,
        how_to_reply(order.allowed_files[0], focus, asked),
    )
    return "\n\n".join(part for part in all_parts if part) + "\n"


def _told(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    known: Sequence[Interface],
    focus: Focus | None,
    commands: Sequence[str],
    asked: ReplyFormat,
    tests: Sequence[AcceptanceFile],
) -> list[str]:
    (path,) = order.allowed_files
    file = next((each for each in shown if each.path == path), None)
    text = file.text if file is not None else ""
    # The code comes first: a small model that reads the task before the code copies more of it.
    parts = [_block_of(path, focus.code)] if focus else []
    title = " ".join(order.title.split())
    parts += [order.intent] if title in order.intent else [title, order.intent]
    if order.notes:
        parts.append(order.notes)
    own = dict.fromkeys(each.stub for each in order.interfaces if each.path == path)
    # A model that writes one definition cannot change what the rest of the file has to define.
    staying = dict.fromkeys(each.stub for each in known if each.path == path and not focus)
    others = [each for each in known if each.path != path]
    but = f" But for {', '.join(order.changes)}, it keeps" if order.changes else " It keeps"
    if own:
        parts += [f"{path} has to define, exactly so:", *(_block_of(path, each) for each in own)]
    if kept := [each for each in staying if each not in own]:
        parts += [f"{path} is there.{but} these names:", *(_block_of(path, each) for each in kept)]
    for each in others:
        parts += [f"{each.path} is there, and you can rely on it:", _block_of(each.path, each.stub)]
    if file is not None and asked is ReplyFormat.JSON:
        parts.append(_render_file(file, "", with_hash=True).rstrip("\n"))
    elif text and not focus:
        parts += [f"This is {path}:", _block_of(path, text)]
    elif path not in order.intent and not focus:
        parts.append(f"The file is {path}, and it does not exist yet.")
    if order.removed_files:
        parts.append(f"{REMOVED} Use none of them: {', '.join(name_removed(order.removed_files))}")
    texts = {each.path: "\n".join(_lines_shown(each)) for each in shown}
    apart = files_of_tests(order)
    for test in tests:
        if test.path in apart:
            content = texts.get(test.path, test.text)
            parts += [f"{test.path} is there, and has to pass:", _block_of(test.path, content)]
        else:
            parts += [_BESIDE.format(test.path), _block_of(test.path, test.text)]
    if order.forbidden:
        parts.append(_render_forbidden(order.forbidden).strip())
    if commands:
        parts.append(f"These commands must succeed afterwards:\n{_bullets(commands)}")
        parts.append(render_claim(asked))
    return parts


def _says(test: AcceptanceFile, order: WorkOrder, shown: Sequence[ShownFile]) -> bool:
    """Return whether a test has the examples of the file's own documentation, and nothing else.

    A small model that is shown them twice copies the test's import into the file.
    """
    (path,) = order.allowed_files
    language = language_of(path)
    new_test = language.new_test if language else None
    text = next((each.text for each in shown if each.path == path and each.parts is None), "")
    if new_test is None or new_test.examples is None or not text:
        return False
    documented = new_test.examples.test_of_examples(text, order.intent, "")
    return bool(documented) and _after_first_line(documented) == _after_first_line(test.text)


def _after_first_line(text: str) -> str:
    return text.partition("\n")[2]


def _block_of(path: str, text: str) -> str:
    """Return a text of the file at `path` in a fence that names its language.

    Below one that names none, a model of 1.5B answers with a block of a few characters.
    """
    fence, body, language = fence_for(text), text.rstrip("\n"), language_of(path)
    return f"{fence}{language.name.lower() if language else ''}\n{body}\n{fence}"
