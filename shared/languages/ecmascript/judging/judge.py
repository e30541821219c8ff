"""Judges the code of commands and test files at one point of a plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shared.languages.ecmascript.contracts.history import History
from shared.languages.ecmascript.contracts.stub import DEFAULT, Stub
from shared.languages.ecmascript.files import is_code, is_typed, suffix_of
from shared.languages.ecmascript.imports import imports_of
from shared.languages.ecmascript.judging.compiler import Compiler, Complaint, ask
from shared.languages.ecmascript.judging.question import Question
from shared.languages.ecmascript.judging.verdict import Place
from shared.languages.ecmascript.judging.verdicts import judge
from shared.languages.ecmascript.judging.view import View, build_view
from shared.languages.ecmascript.packages import nearest_manifest
from shared.languages.ecmascript.resolution import Kind, resolve
from shared.languages.ecmascript.syntax import tree_of
from shared.languages.fault_words import has_no_definition

# The compiler's own errors of form, which a runtime may accept.
_UNDEFINED = re.compile(r"Cannot find (?:name|namespace) '([^']+)'")
_UNDEFINED_CODES: Final = frozenset({2304, 2552, 2503})
_NAMED_TYPE = re.compile(r"\b[A-Z]\w*")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_WHOLE_MODULE: Final = "'typeof import("  # what a default that is missing is taken for
_ACCEPTED: Final = frozenset(
    {1100, 1102, 1103, 1117, 1118, 1192, 1206, 1259, 1308, 1323, 1324, 1340, 1343, 1375, 1378, 1432,
     1183, 1254, 1039, 1046}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """Hold one fault of a question: its code, the line (0 where none is meant), and the words."""

    path: str
    code: str
    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """Hold the faults of questions, and the `unread` files of the repository that do not parse."""

    faults: tuple[Judged, ...]
    unread: frozenset[str] = frozenset()


def judge_questions(
    history: History, position: int, questions: Mapping[str, str], compiler: Compiler
) -> Judgement:
    """Return the faults of texts by path, as they are after the order at `position`.

    A path gives the folder that the text imports from. Raises `CheckerFailed` where the compiler
    gives no answer.
    """
    view = build_view(history, position, questions)
    moment = history.at(position)
    asked = {path: Question(path, text, moment) for path, text in questions.items()}
    own = [path for path, each in asked.items() if each.origins or _is_whole(each)]
    complaints = ask(compiler, view.files, sorted(own), view.aliases) if own else ()
    found: dict[tuple[str, str, str], Judged] = {}
    for path, question in asked.items():
        for each in _missing_defaults(question, view, history, position):
            found.setdefault((path, each.code, each.message), each)
    no_default = {path for path, _, _ in found}
    for complaint in complaints:
        fault = _judged(complaint, asked[complaint.path], view, history, position)
        if fault is not None and not (fault.path in no_default and _WHOLE_MODULE in fault.message):
            found.setdefault((fault.path, fault.code, fault.message), fault)
    faults = tuple(sorted(found.values(), key=lambda e: (e.path, e.line, e.column)))
    return Judgement(faults, view.unread)


def undefined_in_stubs(
    history: History, position: int, stubs: Mapping[int, Stub], compiler: Compiler
) -> Iterator[tuple[int, str, int]]:
    """Yield the names that stubs use and do not have: index of the stub, name and line."""
    questions: dict[str, str] = {}
    indexes: dict[str, int] = {}
    for index, stub in stubs.items():
        path = f"{stub.path.removesuffix(suffix_of(stub.path))}.llmch-stub{index}.ts"
        questions[path] = stub.text
        indexes[path] = index
    if not any(_may_be_undefined(each) for each in stubs.values()):
        return
    view = build_view(history, position, questions)
    known = {p: _known_names(history, stubs[i].path, position) for p, i in indexes.items()}
    reported: set[tuple[str, str]] = set()
    for each in ask(compiler, view.files, sorted(questions), view.aliases):
        found = _UNDEFINED.search(each.message) if each.code in _UNDEFINED_CODES else None
        if found is None or found[1] in known[each.path] or (each.path, found[1]) in reported:
            continue
        reported.add((each.path, found[1]))
        yield indexes[each.path], found[1], each.line


def _may_be_undefined(stub: Stub) -> bool:
    """Say whether a stub mentions any type besides those that need no definition."""
    return bool(set(_NAMED_TYPE.findall(stub.text)) - stub.imported - stub.declared.keys())


def _known_names(history: History, path: str, position: int) -> frozenset[str]:
    """Return the names that a file has besides those of one stub."""
    layers = history.layers(path, position)
    names = {name for each in layers for name in (*each.stub.declared, *each.stub.imported)}
    source = history.sources.get(path, "")
    return frozenset(names) | frozenset(_WORD.findall(source))


def _is_whole(question: Question) -> bool:
    return question.root is not None


def _judged(
    complaint: Complaint, question: Question, view: View, history: History, position: int
) -> Judged | None:
    line, column = complaint.line, complaint.column
    message = " ".join((complaint.message, *complaint.details[:1]))
    if complaint.is_about_syntax:
        # The reader of syntax, which needs no compiler, has accepted the text.
        certain = complaint.code not in _ACCEPTED
        return Judged(question.path, "E215", line, column, complaint.message) if certain else None
    node = question.node_at(line, column)
    if node is None:
        return None
    verdict = judge(Place(complaint, node, question, view, history, position))
    if verdict is None:
        return None
    if verdict.code == "E216":
        name = complaint.message.partition("'")[2].partition("'")[0]
        message = has_no_definition(name)
    addition = f" ({verdict.addition})" if verdict.addition else ""
    return Judged(question.path, verdict.code, line, column, f"{message}{addition}")


def _missing_defaults(
    question: Question, view: View, history: History, position: int
) -> Iterator[Judged]:
    """Yield the default imports from files under contract that are ES modules without a default."""
    moment = history.at(position)
    if question.root is None:
        return
    for each in imports_of(question.root):
        target = resolve(moment, question.path, each.specifier)
        file = target.name
        if "default" not in each.names or target.kind is not Kind.FILE or each.is_guarded:
            continue
        if file not in view.contracts or file in view.open or file in question.mocked:
            continue
        manifest = nearest_manifest(moment, file)
        is_common = suffix_of(file) in {".cjs", ".cts"}
        is_module = is_typed(file) or file.endswith(".mjs") or bool(manifest and manifest.is_module)
        is_module &= not is_common
        stubs = [layer.stub for layer in history.layers(file, position)]
        if not is_module or any(DEFAULT in e.declared or "export =" in e.text for e in stubs):
            continue
        if any(" as default" in e.text for e in stubs) or _has_default(file, history):
            continue
        later = history.declared_later(file, DEFAULT, position)
        code = "E217" if later is not None else "E211"
        by = f"declared only by {history.label(later)}" if later is not None else f"in {file}"
        message = f"Module '{each.specifier}' has no default export. ({by})"
        yield Judged(question.path, code, each.line, 1, message)


def _has_default(path: str, history: History) -> bool:
    source = history.sources.get(path)
    if source is None:
        return path in history.listing
    root = tree_of(path, source) if is_code(path) else None
    return root is None or "default" in source or "module.exports" in source
