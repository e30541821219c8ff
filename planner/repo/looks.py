"""Answers what the planning model asks to see of the repository before it plans.

The answers come from the commit that the plan begins with, and from nowhere else: what is ignored
or untracked is not in it, and no link is followed. Both sides are strangers: the model may ask for
anything, and the repo may hold anything. So each answer is bounded, and quoted as data.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from planner.prompts.prompt_templates import fenced, render_looks
from planner.repo.machine import FOLDERS, Machine
from planner.repo.repo_outlines import counted, fitting, with_outlines
from shared.errors import LlmchError
from shared.files.paths import VERIFY_SCRIPT, PathProblem, check_path, is_git_path, path_inside
from shared.files.secret_values import holds_private_key, names_a_secret_file, redact, secret_values
from shared.files.strict_documents import JsonObject, JsonProblem, JsonValue, parse_json
from shared.git.trees import CommitSources, files_with
from shared.languages.acceptance_commands import analyse_command
from shared.languages.capabilities import OutlineEntry
from shared.languages.language_tools import ToolResult
from shared.languages.registry import language_of
from shared.llm.model_client import ReplyMalformed, Usage, extract_json_object
from shared.work_order.parse_order import DocumentInvalid, parse_document
from shared.work_order.work_order import Assumption

_TOKEN_CHARACTERS: Final = 4
_MOST_ITEMS: Final = 20  # of one reply
_MOST_SAID: Final = 100  # characters that are repeated of what the model asked for
_MOST_LINE: Final = 400  # characters of a line that is shown
_MOST_PATHS: Final = 40  # of a folder
_MOST_HITS: Final = 40
_MOST_SEARCHED: Final = 30  # files that hold a text or a name and are read
_MOST_PARSED: Final = 300_000  # characters for one definition; parsers take a second for a megabyte
_MOST_DEFINITIONS: Final = 5  # of one name
_SEARCHED: Final = range(3, 201)  # characters of a text that is searched for
_VERIFY_SECONDS: Final = 60.0
_VERIFY_CHARACTERS: Final = 4_000
_LEAST_ROOM: Final = 200  # characters; an answer of fewer says nothing
_PLAN: Final = frozenset({"work_orders", "revised", "added", "removed"})


def parse_looks(text: str) -> tuple[JsonValue, ...] | None:
    """Return what a reply asks to see or to be answered; `None` for any other reply.

    A question is an object with the key `ask`. A reply with a plan is a plan.
    """
    try:
        document = parse_json(extract_json_object(text))
    except (ReplyMalformed, JsonProblem):
        return None
    if not isinstance(document, dict) or _PLAN & document.keys():
        return None
    if document.keys().isdisjoint(("look", "ask")):
        return None
    questions: list[JsonValue] = [{"ask": each} for each in _listed(document.get("ask"))]
    return (*questions, *_listed(document.get("look")))


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [] if value is None else [value]


class SpecAnswered(LlmchError):
    """Raised when a person answered what the model asked: the specification has the answers now."""


@dataclass(slots=True)
class Looks:
    """Hold the looks that are left to a planning, and what was seen.

    `left` counts replies, and `room` characters of answers. `open_tree` gives the files of the
    commit; nothing is read before the first look. `verification` are the commands that verify the
    repo, which `machine` can run. `asked` has a line on each look, `rounds` counts the replies that
    looked, and `spent` is what the calls took that answered them. `ask_person` asks, adds the
    answers to the specification, and returns whether there are any; without it nobody is there.
    `known` are the ids of the questions that it answers already.
    """

    left: int
    room: int
    open_tree: Callable[[], CommitSources | None] = lambda: None
    verification: Sequence[str] = ()
    machine: Machine = field(default_factory=lambda: Machine(None))
    ask_person: Callable[[Sequence[Assumption]], bool] | None = None
    known: Collection[str] = ()
    asked: list[str] = field(default_factory=list)
    rounds: int = 0
    spent: Usage = field(default_factory=Usage)
    _seen: list[str] = field(default_factory=list)
    _open: list[Assumption] = field(default_factory=list)
    _tree: CommitSources | None = None

    @property
    def forecast(self) -> str:
        """Return what the looks that are left add to a planning at most, in words."""
        tokens = self.room // _TOKEN_CHARACTERS
        calls = f"{self.left} more call{'' if self.left == 1 else 's'}"
        return f"at most {calls}, each with the prompt and up to {tokens:,} tokens of answers"

    def offered(self, prompt: str) -> str:
        """Return the prompt with the offer to look, and what was seen so far."""
        if not (self.left or self._seen):
            return prompt
        return render_looks(prompt, "\n\n".join(self._seen), self.left)

    def below(self, prompt: str) -> str:
        """Return the prompt with what was seen, and without an offer."""
        return "\n\n".join((prompt.strip("\n"), *self._seen)) if self._seen else prompt

    def answer(self, items: Sequence[JsonValue]) -> tuple[str, ...]:
        """Look at what one reply asks for; return a line on each look, as people read it."""
        self.left, self.rounds = self.left - 1, self.rounds + 1
        before = len(self.asked)
        if self._tree is None:
            self._tree = self.open_tree()
        for place, item in enumerate(items[:_MOST_ITEMS]):
            share = self.room // (min(len(items), _MOST_ITEMS) - place)
            self._add(self._one(item, share))
        if len(items) > _MOST_ITEMS:
            self._add(("", f"Only the first {_MOST_ITEMS} looks of a reply are answered."))
        if self.room < _LEAST_ROOM:
            self.left = 0
        return tuple(self.asked[before:])

    def have_answered(self) -> None:
        """Ask the person what the last reply asked.

        Raises `SpecAnswered` where somebody answers, since the plan is then for another text.
        """
        asked, self._open = self._open, []
        if asked and self.ask_person is not None and self.ask_person(asked):
            raise SpecAnswered("a person answered what the model asked, so the planning began anew")

    def _add(self, found: tuple[str, str]) -> None:
        name, text = found
        text = text.encode("utf-8", "replace").decode()
        self.room = max(0, self.room - len(text))
        self._seen.append(text)
        if name:
            self.asked.append(name)

    def _one(self, item: JsonValue, share: int) -> tuple[str, str]:
        """Return a line on a look, empty where it was answered before, and its answer."""
        if isinstance(item, str):
            item = {"file": item}
        name, answer = self._reading(item if isinstance(item, dict) else {})
        if not name:
            said = json.dumps(item, ensure_ascii=False)[:_MOST_SAID]
            return f"unknown: {said}", f"`{said}` is not a look: see the forms above."
        if name in self.asked:
            return "", f"{name}: is answered above."
        if share < _LEAST_ROOM:
            return name, f"{name}: there is no room left."
        return name, answer(share)

    def _reading(self, item: JsonObject) -> tuple[str, Callable[[int], str]]:
        """Return a line on a look, empty where it has no known form, and what answers it."""
        match item:
            case {"file": str(path), **more}:
                span = _span(more.get("lines"))
                path = path_inside(path.removesuffix("/")) or path
                lines = f", lines {span[0]} to {span[1]}" if span else ""
                name = f"{_said(path)}{lines}"
                return name, lambda room: _file(self._tree, path, span, name, room)
            case {"definition": str(wanted)}:
                name = f"definition {_said(wanted)}"
                return name, lambda room: _definitions(self._tree, wanted, name, room)
            case {"search": str(text), **more}:
                below = more.get("in")
                folder = below if isinstance(below, str) else ""
                name = f"search {_said(text)}" + (f" in {_said(folder)}" if folder else "")
                return name, lambda room: _search(self._tree, text, folder, name, room)
            case {"ask": question}:
                return self._question(question)
            case {"run": str()}:
                return "the verification", self._verified
            case _:
                return "", lambda room: ""

    def _question(self, stated: JsonValue) -> tuple[str, Callable[[int], str]]:
        asked = {"kind": "question", **stated} if isinstance(stated, dict) else stated
        try:
            question = parse_document(Assumption, asked)
        except DocumentInvalid:
            return "", lambda room: ""
        name = f"question {question.id}: {question.render()}"
        if question.id in self.known:
            return name, lambda room: f"{question.id} is answered in the specification."
        self._open.append(question)
        said = "nobody is here to answer; your reading counts, and belongs into `assumptions`"
        return name, lambda room: f"{question.id}: {said}."

    def _verified(self, room: int) -> str:
        """Return how the commands that verify the repo end on the base: they are run once."""
        blocks = []
        for command in self.verification:
            argv = analyse_command(command).argv
            said = self.machine.ask(argv, {}, _ending, seconds=_VERIFY_SECONDS) if argv else ""
            blocks.append(f"$ {command}\n{said or 'It cannot be run here.'}")
        text = "\n".join(blocks) or "Nothing says how the repository is verified."
        return _quoted("The verification on the base", text[-max(0, room - 80) :])


_CODE: Final = re.compile(
    r"\.(?:java|kts?|scala|groovy|rb|php|pl|pm|lua|c|h|cc|cpp|hpp|cxx|m|mm|cs|fs|vb|swift|dart|exs?"
    r"|erl|hs|ml|clj|jl|r|R|nim|zig|cr|elm|sh|sql|vue|svelte)$"
)


def has_code(paths: Collection[str]) -> bool:
    """Return whether one of the paths is that of code, in whatever language."""
    others = (each for each in paths if each != VERIFY_SCRIPT)
    return bool(with_outlines(paths)) or any(map(_CODE.search, others))


def redacted(text: str) -> str:
    """Return the text without the secrets of this process's environment."""
    return redact(text, secret_values(os.environ))


# Times and folders differ from run to run: a planning that goes on would not find its replies.
_DURATION: Final = re.compile(r"\b\d+(?:\.\d+)? ?(?:m?s|ms|sec(?:onds?)?|min(?:utes?)?)\b")


def _ending(done: ToolResult) -> str:
    how = "cut off" if done.exit_code is None else f"exit code {done.exit_code}"
    both = redacted("\n".join(filter(None, (done.stdout.rstrip(), done.stderr.rstrip()))))
    shown = "".join(c if c.isprintable() or c in "\n\t" else " " for c in both)
    shown = FOLDERS.sub("", _DURATION.sub("(time)", shown[-_VERIFY_CHARACTERS:]))
    return f"{shown}\n({how})".lstrip()


def _said(text: str) -> str:
    """Return a text of the model as a message may repeat it."""
    short = "".join(each if each.isprintable() else " " for each in text[:_MOST_SAID])
    return f"`{short.replace('`', ' ')}`"


def _span(lines: JsonValue) -> tuple[int, int] | None:
    match lines:
        case [int(first), int(last)] if 0 < first <= last:
            return int(first), int(last)
        case _:
            return None


def _quoted(heading: str, text: str) -> str:
    return f"{heading}:\n{fenced(text)}"


def _withheld(path: str) -> str:
    """Return why a path of the model is not looked at; empty where nothing speaks against it."""
    try:
        normal = check_path(path)
    except PathProblem as problem:
        return str(problem)
    if is_git_path(normal):
        return "is git's own"
    if names_a_secret_file(normal):
        return "is a file of secrets, which is not shown"
    return ""


def _file(
    tree: CommitSources | None, path: str, span: tuple[int, int] | None, name: str, room: int
) -> str:
    if reason := _withheld(path):
        return f"{name}: {reason}."
    paths = tree.paths if tree else ()
    inside = [each for each in paths if each.startswith(f"{path}/")]
    if inside:
        named = (each for each in inside[:_MOST_PATHS] if each.isprintable())
        shown = "\n".join(fitting(named, room - 80 - len(name)))
        return _quoted(f"{name} is a folder with {counted(len(inside), 'file')}", shown)
    if tree is None or path not in paths:
        return f"{name}: is not in the commit that the plan begins with."
    text = _text(tree, path)
    if text is None:
        return f"{name}: is not a text of at most 200 KB, or is a link or a secret."
    rows = _lines(text)
    first, last = span or (1, len(rows))
    return _rows(f"`{path}`", rows, first, min(last, len(rows)), room)


def _text(tree: CommitSources, path: str) -> str | None:
    """Return a file's text without secrets, `None` where it is not shown."""
    text = None if _withheld(path) else tree.text(path)
    if text is None or "\0" in text or holds_private_key(text):
        return None
    return redacted(text)


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _rows(name: str, rows: Sequence[str], first: int, last: int, room: int) -> str:
    """Return lines of a file as data, as many as there is room for."""
    short = (row if len(row) <= _MOST_LINE else f"{row[:_MOST_LINE]} ..." for row in rows)
    chosen = islice(short, min(first - 1, len(rows)), last)
    shown = fitting(chosen, room - 80 - len(name), stop=True)
    if not shown:
        return f"{name}: has {len(rows):,} lines, and none of these is shown."
    end = first + len(shown) - 1
    cut = ", cut here" if end < last else ""
    return _quoted(f"{name}, lines {first} to {end} of {len(rows):,}{cut}", "\n".join(shown))


def _definitions(tree: CommitSources | None, wanted: str, name: str, room: int) -> str:
    """Return the code of the definitions that have a qualified name: `Game.play`, `game.play`."""
    parts = [each for each in re.split(r"\.|::|/|#", wanted.strip("`() ")) if each]
    if tree is None or not parts or not all(each.isidentifier() for each in parts):
        return f"{name}: is not a name."
    found: list[str] = []
    parsed = _MOST_PARSED
    for path, text in _holding(tree, parts[-1], "", parts):
        language, rows = language_of(path), _lines(text)
        if language is None or language.edits is None:
            about = all(re.search(rf"\b{each}\b", f"{path} {text}") for each in parts)
            entries = (*_likely(rows, parts[-1]),) if about else ()
        elif (parsed := parsed - len(text)) < 0:
            continue
        else:
            outline = language.edits.outline(text)
            entries = tuple(e for e in outline if _is_meant(e.name.split("."), parts, path))
        for each in entries:
            block = _rows(f"`{path}`", rows, each.first, each.last, room // 2)
            found.append(block)
            room -= len(block)
            if len(found) == _MOST_DEFINITIONS or room < _LEAST_ROOM:
                return "\n\n".join(found)
    return "\n\n".join(found) or f"{name}: is not defined in a file that is read."


_DEFINES: Final = (
    "class|interface|struct|enum|record|trait|type|module|object|protocol|extension|namespace|union"
    "|function|func|fun|fn|def|defp|defn|defmodule|sub|proc|macro|TABLE|VIEW|FUNCTION|PROCEDURE"
)
_NO_TYPE: Final = "return|else|throw|new|await|yield|case|in|not|and|or|import|package|using|goto"
_MOST_ROWS: Final = 60  # of a definition whose end is guessed


def _likely(rows: Sequence[str], name: str) -> Iterator[OutlineEntry]:
    """Yield what seems to define a name, in a file of any language."""
    words = rf"(?:(?!(?:{_NO_TYPE})\b)[\w.<>\[\],?*&:@]+\s+)"
    begins = re.compile(
        rf"(?!\s*(?:\*|//|#|--)).*\b(?:{_DEFINES})\s+&?(?:\w+[.:]+)?{name}\b"
        rf"|\s*{words}*[*&]*(?:\w+::)*{name}\s*\([^;]*[{{(,=]\s*$"
        rf"|\s*{words}+[*&]*(?:\w+::)*{name}\s*\(\s*$"
        rf"|\s*(?:\w+\s+)*{name}\s*(?:<-|:?=)\s*(?:async\s*)?"
        r"(?:function\b|\([^;]*(?:=>|$)|\w+\s*=>)"
    )
    for number, row in enumerate(rows, 1):
        opens = " {" if rows[number : number + 1] == [f"{row[: _margin(row)]}{{"] else ""
        if name in row and begins.match(f"{row[:_MOST_LINE]}{opens}"):
            yield OutlineEntry(name, number, _likely_end(rows, number))


def _likely_end(rows: Sequence[str], first: int) -> int:
    """Return the last line of what begins at a line: all that is indented more, and its end."""
    margin, last = _margin(rows[first - 1]), first
    for number in range(first + 1, min(len(rows), first + _MOST_ROWS) + 1):
        row = rows[number - 1]
        closes = re.match(r"\s*(?:[]{})]|(?:end|else|catch|rescue)\b)", row)
        if row.strip() and _margin(row) <= margin and not (closes and _margin(row) == margin):
            break
        last = number if row.strip() else last
    return last


def _margin(row: str) -> int:
    return len(row) - len(row.lstrip())


def _is_meant(own: Sequence[str], parts: Sequence[str], path: str) -> bool:
    """Say whether a definition of the file at `path` has the name: its end, or module and name."""
    if own[-len(parts) :] == parts:
        return True
    before = len(parts) - len(own)
    stem = re.sub(r"\.\w+$", "", path).split("/")
    module, place = parts[:before], parts[before:]
    return before > 0 and place == [*own] and module in (stem[-before:], stem[-1 - before : -1])


def _search(tree: CommitSources | None, text: str, below: str, name: str, room: int) -> str:
    """Return the lines that hold a fixed text, with their places."""
    folder = path_inside(below.removesuffix("/"))
    if below.strip("./") and not folder:
        return f"{name}: the folder is not one of the repository."
    if tree is None or len(text) not in _SEARCHED or not text.isprintable():
        return f"{name}: is not one line of {_SEARCHED[0]} to {_SEARCHED[-1]} characters."
    hits: list[str] = []
    for path, content in _holding(tree, text, folder):
        for number, row in enumerate(_lines(content), 1):
            if text in row and path.isprintable():
                at = max(0, row.find(text) - _MOST_LINE // 4)
                hits.append(f"{path}:{number}: {row[at : at + _MOST_LINE // 2].strip()}")
        if len(hits) > _MOST_HITS:
            break
    if not hits:
        return f"{name}: is nowhere."
    shown = fitting(hits[:_MOST_HITS], room - 80 - len(name), stop=True)
    cut = ", cut here" if len(shown) < len(hits) else ""
    return _quoted(f"{name}, {counted(len(shown), 'line')}{cut}", "\n".join(shown))


def _holding(
    tree: CommitSources, text: str, below: str, near: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the files that hold a text, with what is shown of them: first those `near` in name."""
    paths = [each for each in files_with(tree.git, tree.commit, text, below) if not _withheld(each)]
    wanted = {each.casefold() for each in near}
    paths.sort(key=lambda each: (not wanted & {*re.split(r"[/.]", each.casefold())}, each))
    tree.load(paths[:_MOST_SEARCHED])
    for path in paths[:_MOST_SEARCHED]:
        content = _text(tree, path)
        if content is not None:
            yield path, content
