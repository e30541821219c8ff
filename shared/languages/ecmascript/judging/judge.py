"""Judges the code of commands and test files at one point of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shared.languages.ecmascript.contracts.history import History
from shared.languages.ecmascript.contracts.stub import DEFAULT
from shared.languages.ecmascript.files import is_code, is_typed, suffix_of
from shared.languages.ecmascript.imports import imports_of
from shared.languages.ecmascript.judging.batch import Asked
from shared.languages.ecmascript.judging.compiler import Complaint
from shared.languages.ecmascript.judging.question import Question
from shared.languages.ecmascript.judging.verdict import Place
from shared.languages.ecmascript.judging.verdicts import judge
from shared.languages.ecmascript.judging.view import View, build_view
from shared.languages.ecmascript.packages import nearest_manifest
from shared.languages.ecmascript.resolution import Kind, resolve
from shared.languages.ecmascript.syntax import tree_of
from shared.languages.fault_words import has_no_definition

# The compiler's own errors of form, which a runtime may accept.
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


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Hold the texts of one point of a plan, by the paths that give the folders they import from.

    `asked` is the question to the compiler, without targets where it has nothing to say.
    """

    history: History
    position: int
    questions: Mapping[str, Question]
    view: View
    asked: Asked


def inquire(history: History, position: int, texts: Mapping[str, str]) -> Inquiry:
    """Return the inquiry about texts by path, as they are after the order at `position`."""
    view = build_view(history, position, texts)
    moment = history.at(position)
    questions = {path: Question(path, text, moment) for path, text in texts.items()}
    own = sorted(path for path, each in questions.items() if each.origins or _is_whole(each))
    return Inquiry(history, position, questions, view, Asked(view.files, tuple(own), view.aliases))


def judge_answer(inquiry: Inquiry, complaints: Iterable[Complaint]) -> Judgement:
    """Return the faults of the texts, by what the compiler complains about."""
    history, position, view = inquiry.history, inquiry.position, inquiry.view
    found: dict[tuple[str, str, str], Judged] = {}
    for path, question in inquiry.questions.items():
        for each in _missing_defaults(question, view, history, position):
            found.setdefault((path, each.code, each.message), each)
    no_default = {path for path, _, _ in found}
    for complaint in complaints:
        question = inquiry.questions[complaint.path]
        fault = _judged(complaint, question, view, history, position)
        if fault is not None and not (fault.path in no_default and _WHOLE_MODULE in fault.message):
            found.setdefault((fault.path, fault.code, fault.message), fault)
    faults = tuple(sorted(found.values(), key=lambda e: (e.path, e.line, e.column)))
    return Judgement(faults, view.unread)


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
