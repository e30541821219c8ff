"""Judges a plan's code by contracts, and rules on the compiler's complaints.

A verdict is an error only where the complaint is about something that the project declares, and
where the code fails for certain. Any other complaint gives a warning or no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import text_of, walk
from shared.languages.ecmascript.compiler_question import (
    Place,
    Question,
    callee_of,
    holder_of,
    is_backed,
    other_verdict,
    where_declared,
)
from shared.languages.ecmascript.compiler_view import (
    View,
    ViewBuilder,
    is_known_value,
    is_literal_misfit,
    may_fit,
    surely_differ,
)
from shared.languages.ecmascript.declaration_stubs import DEFAULT
from shared.languages.ecmascript.ecmascript_syntax import (
    arguments_of,
    is_code,
    is_typed,
    nearest_manifest,
    suffix_of,
    tree_of,
)
from shared.languages.ecmascript.imports import Kind, imports_of, resolve
from shared.languages.ecmascript.typescript_compiler import CompilerQuestion, TscComplaint
from shared.languages.planned_code import DOUBT, Verdict, has_no_definition

if TYPE_CHECKING:
    from tree_sitter import Node

    from shared.languages.ecmascript.contract_history import History


_NO_EXPORT = re.compile(
    r"(?:Module )?'\"?([^'\"]+)\"?' (?:has no exported member|declares)(?: named)? '([^']+)'"
)
_NO_DEFAULT = re.compile(r"Module '\"?([^'\"]+)\"?' has no default export")
_NO_MEMBER = re.compile(
    r"Property '(?P<name>[^']+)' does not exist on type '(?P<type>.+?)'\.(?: |$)"
)
_UNKNOWN_NAME = re.compile(r"Cannot find name '([^']+)'")
_ONLY_A_TYPE = re.compile(r"'([^']+)' only refers to a type")
_MODULE_TYPE = re.compile(r'typeof import\("([^"]+)"\)')
_HEAD = re.compile(r"(?:typeof )?([A-Za-z_$][\w$]*)")
# Names that only some test runners give.
_OF_RUNNERS: Final = frozenset(
    {"$$", "QUnit", "angular", "browser", "by", "device", "driver", "element", "fixture", "inject",
     "page"}
)  # fmt: skip
_OF_TYPES: Final = frozenset(
    {"type_annotation", "type_arguments", "type_identifier", "nested_type_identifier",
     "type_parameters", "type_query", "extends_type_clause"}
)  # fmt: skip
_IMPORTING: Final = frozenset({"import_specifier", "import_statement", "import_clause"})


def missing_export(place: Place) -> Verdict | None:
    """Return the verdict on a name that a module does not export."""
    message = place.complaint.message
    found = _NO_EXPORT.search(message) or _NO_DEFAULT.search(message)
    if found is None or _is_erased(place.node):
        return None
    name = found[2] if len(found.groups()) > 1 else "default"
    file = _file(place, found[1])
    return _lacks(place, file, name) if file else None


def _lacks(place: Place, file: str, name: str, member_of: str = "") -> Verdict | None:
    """Return the verdict on a name that a file, or a type of a file, does not have."""
    later = place.history.declared_later(file, name, place.position)
    if later is not None:
        return Verdict("E217", f"declared only by {place.history.chain.source(later)}")
    if file in place.view.open | place.view.passing or file in place.question.mocked:
        return DOUBT if file in place.view.contracts else None
    if file in place.view.contracts:
        by = place.history.declared_by(file, member_of or name, place.position)
        declared = f"declared by {place.history.chain.source(by)} in {file}" if by else f"in {file}"
        return Verdict("E211", declared)
    # Scripts may add to what they export while they run.
    return Verdict("E211", f"in {file}") if is_typed(file) else DOUBT


def _file(place: Place, specifier: str) -> str:
    moment = place.history.at(place.position)
    target = resolve(moment, place.question.path, specifier)
    if target.kind is Kind.FILE:
        return target.name if suffix_of(target.name) != ".json" else ""
    return ""


def missing_member(place: Place) -> Verdict | None:
    """Return the verdict on a property that a value does not have."""
    found = _NO_MEMBER.search(place.complaint.message)
    question, node = place.question, place.node
    if found is None or found["name"] in question.set_members or found["name"] == "should":
        return None
    of, name = found["type"], found["name"]
    if _is_assigned(node):
        return None
    module = _MODULE_TYPE.search(of)
    if module is not None and of.startswith(("typeof import", "{")):
        file = _path_of_module(place, module[1])
        return _lacks(place, file, name) if file else DOUBT
    holder = holder_of(node)
    origins = question.origin_of(holder)
    if not origins:
        return other_verdict(place)
    head = _HEAD.fullmatch(of.partition("<")[0])
    if head is not None and (owner := _owner(place, head[1])):
        if place.history.declared_by(owner, f"{head[1]}.{name}", place.position) is not None:
            return None  # code of the repository means the type as it was without the member
        return _lacks(place, owner, f"{head[1]}.{name}", head[1])
    if not is_backed(place, origins):
        return DOUBT
    if of.startswith("{") and of.endswith("}") and _is_result(holder):
        return Verdict("E211", where_declared(place, origins))
    return Verdict("E214") if is_known_value(of) else DOUBT


def _is_result(holder: Node | None) -> bool:
    """Say whether an expression is a call's result as it is."""
    while holder is not None and holder.type in {"await_expression", "parenthesized_expression"}:
        holder = holder.named_children[0] if holder.named_children else None
    return holder is not None and holder.type == "call_expression"


def _is_assigned(node: Node) -> bool:
    member = node.parent if node.type == "property_identifier" else node
    above = member.parent if member is not None else None
    if above is None or above.type != "assignment_expression" or member is None:
        return False
    left = above.child_by_field_name("left")
    return left is not None and left.id == member.id


def _path_of_module(place: Place, shown: str) -> str:
    """Return the file of the module that the compiler shows without its suffix."""
    for path in sorted(place.view.contracts | place.view.files.keys()):
        if path.startswith(f"{shown}.") or path == shown:
            return path
    return ""


def _owner(place: Place, name: str) -> str:
    """Return the only file in the view whose contracts declare a type of that name."""
    files = [
        path
        for path in place.view.contracts
        if any(name in each.stub.declared for each in place.history.layers(path, place.position))
    ]
    return files[0] if len(files) == 1 else ""


def unknown_name(place: Place) -> Verdict | None:
    """Return the verdict on a name that nothing defines."""
    found = _UNKNOWN_NAME.search(place.complaint.message)
    if found is None or _is_erased(place.node):
        return None
    name = found[1]
    if place.node.type not in {"identifier", "shorthand_property_identifier"}:
        return None
    above = place.node.parent
    if above is not None and above.type == "unary_expression" and text_of(above)[:6] == "typeof":
        return None
    if place.history.may_be_global(name):
        return None
    if name in _OF_RUNNERS:
        return DOUBT
    said = rf"\b(?:globalThis|global|window|self)\b.*\b{re.escape(name)}\b|/\* global"
    return DOUBT if re.search(said, place.question.text) else Verdict("E216")


def type_as_value(place: Place) -> Verdict | None:
    """Return the verdict on a type that is used as a value."""
    found = _ONLY_A_TYPE.search(place.complaint.message)
    origins = place.question.origin_of(place.node)
    if found is None or not origins or not is_backed(place, origins):
        return other_verdict(place)
    return Verdict("E211", where_declared(place, origins, found[1]))


def _is_erased(node: Node) -> bool:
    """Say whether a name is a type only, which no program has when it runs."""
    each: Node | None = node
    for _ in range(4):
        if each is None:
            break
        is_typed_import = any(child.type == "type" for child in each.children)
        if each.type in _OF_TYPES or (each.type in _IMPORTING and is_typed_import):
            return True
        each = each.parent
    return False


_CLASSES: Final = frozenset({"class_declaration", "abstract_class_declaration"})
_BASE = re.compile(r"\bextends\s+([\w$.]+)")
_CONSTRUCTOR = re.compile(r"\bconstructor\s*\(")
_COUNT = re.compile(r"[Ee]xpected (?:at least )?[\d-]+ arguments, but got (\d+)")
_MISFIT = re.compile(
    r"(?:Argument of type|Type) '(?P<actual>.+)' is not assignable to (?:parameter of )?"
    r"type '(?P<expected>.+)'\.",
    re.DOTALL,
)
_MEANT_ANOTHER: Final = 2561  # "Did you mean to write ...?"
_NOT_ITERABLE = re.compile(r"Type '(.+)' (?:must have a|is not an array type)")


def wrong_count(place: Place) -> Verdict | None:
    """Return the verdict on a call with too many or too few arguments."""
    got = _COUNT.search(place.complaint.message)
    call = place.question.call_around(place.node, int(got[1]) if got else None)
    if call is None or any(each.type == "spread_element" for each in arguments_of(call)):
        return other_verdict(place)
    return _of_call(place, call, "E212", with_sources=True)


def _of_call(place: Place, call: Node, code: str, *, with_sources: bool = False) -> Verdict | None:
    """Return an error about a call of what a contract declares, and less about any other call."""
    callee = callee_of(call)
    origins = place.question.origin_of(callee)
    if not origins:
        return other_verdict(place)
    if call.type == "new_expression" and _inherits_unknown(place, text_of(callee)):
        return DOUBT
    name = text_of(callee).rpartition(".")[2]
    if is_backed(place, origins):
        return Verdict(code, where_declared(place, origins, name))
    known = with_sources and all(map(is_typed, origins)) and not origins & place.view.open
    return Verdict(code, where_declared(place, origins)) if known else DOUBT


def _inherits_unknown(place: Place, name: str) -> bool:
    """Say whether a class has the constructor of one that is not known, as one of a package is."""
    closed = [p for p in place.view.files if is_code(p) and p not in place.view.open]
    found = _classes(place, closed)
    for _ in range(len(found)):
        declared = found.get(name.rpartition(".")[2])
        if declared is None:
            return True
        base, constructs = declared
        if constructs or not base:
            return False
        name = base
    return True


def _classes(place: Place, paths: Iterable[str]) -> Mapping[str, tuple[str, bool]]:
    """Return, by the name of each class, its base, and whether it has its own constructor."""
    found: dict[str, tuple[str, bool]] = {}
    for path in paths:
        root = tree_of(path, place.view.files[path])
        for node in walk(root) if root is not None else ():
            if node.type in _CLASSES and (own := node.child_by_field_name("name")):
                bases = _BASE.search(text_of(node).partition("{")[0])
                body = text_of(node.child_by_field_name("body"))
                base, constructs = bases[1] if bases else "", _CONSTRUCTOR.search(body) is not None
                known = found.get(text_of(own), ("", False))
                found[text_of(own)] = (base or known[0], constructs or known[1])
    return found


def wrong_argument(place: Place) -> Verdict | None:
    """Return the verdict on an argument of another type than is declared."""
    found = _MISFIT.search(place.complaint.message)
    call = place.question.call_with_argument(place.node)
    if found is None or call is None or not place.question.origin_of(callee_of(call)):
        return other_verdict(place) if place.complaint.code != 2322 else None
    if _certainly_misfits(place, found["actual"], found["expected"]):
        return _of_call(place, call, "E213")
    return None if may_fit(found["actual"], found["expected"]) else DOUBT


def unknown_option(place: Place) -> Verdict | None:
    """Return the verdict on a property that an argument's declared type does not have.

    A name close to a declared one is a slip. Any other may be there to be ignored.
    """
    call = place.question.call_with_literal(place.node)
    if call is None or not place.question.origin_of(callee_of(call)):
        return other_verdict(place)
    found = _of_call(place, call, "E212")
    return found if place.complaint.code == _MEANT_ANOTHER else DOUBT


def _certainly_misfits(place: Place, actual: str, expected: str) -> bool:
    objects = frozenset(
        name
        for path in place.view.contracts
        for each in place.history.layers(path, place.position)
        for name in each.stub.classes
    )
    return any(
        surely_differ(actual, each, objects) or is_literal_misfit(actual, each)
        for each in (expected, _alias(place, expected))
    )


def _alias(place: Place, name: str) -> str:
    """Return the type that a contract's alias means; the name itself if it is not an alias."""
    for path in sorted(place.view.contracts):
        for layer in reversed(place.history.layers(path, place.position)):
            known = layer.stub.declared.get(name)
            if known is not None and known.shown.startswith("type "):
                return known.shown.partition("=")[2].strip().rstrip(";").replace("'", '"')
    return name


def no_variant(place: Place) -> Verdict | None:
    """Return the verdict on a call that fits none of several declared forms."""
    call = place.question.call_around(place.node)
    misfits = [found for each in place.complaint.details if (found := _MISFIT.search(each))]
    forms = sum(each.startswith("Overload ") for each in place.complaint.details)
    if call is None or not forms or len(misfits) < forms:
        return other_verdict(place)
    if all(_certainly_misfits(place, each["actual"], each["expected"]) for each in misfits[:forms]):
        return _of_call(place, call, "E213")
    return other_verdict(place)


def misused_value(place: Place) -> Verdict | None:
    """Return the verdict on a value that is called, made with `new`, or gone through."""
    code, details = place.complaint.code, place.complaint.details
    call = place.question.call_around(place.node)
    origins = place.question.origin_of(callee_of(call) if call is not None else None)
    if any("constituent" in each for each in details) or not origins:
        return other_verdict(place)
    certain = code in {2348, 6234} or any(" has no c" in each for each in details)
    return Verdict("E214") if certain and is_backed(place, origins) else DOUBT


def not_iterable(place: Place) -> Verdict | None:
    """Return the verdict on a value that is gone through and cannot be."""
    found = _NOT_ITERABLE.search(place.complaint.message)
    node: Node | None = place.node
    if node is not None and node.type.endswith("_pattern"):
        node = holder_of(node)
    origins = place.question.origin_of(node)
    if found is None or not origins or not is_backed(place, origins):
        return other_verdict(place)
    return Verdict("E214") if is_known_value(found[1]) else DOUBT


def never_equal(place: Place) -> Verdict | None:
    """Return the verdict on a comparison of types that have no value in common."""
    node = place.node
    while node.type != "binary_expression" and node.parent is not None:
        node = node.parent
    left, right = (node.child_by_field_name(side) for side in ("left", "right"))
    is_asserted = node.parent is not None and node.parent.type == "arguments"
    call = node.parent.parent if is_asserted and node.parent is not None else None
    called = text_of(callee_of(call)) if call is not None else ""
    operator = text_of(node.child_by_field_name("operator"))
    if operator != "===" or called not in {"assert", "assert.ok", "console.assert"}:
        return other_verdict(place)
    origins = [place.question.origin_of(each) for each in (left, right)]
    own = [each for each in origins if each]
    certain = bool(own) and all(is_backed(place, each) for each in own)
    types = re.findall(r"'([^']*)'", place.complaint.message)
    if certain and len(types) == 2 and surely_differ(*types):
        return Verdict("E214")
    return other_verdict(place)


_OF_VALUES: Final = frozenset({"E211", "E212", "E213", "E214"})


def judge(place: Place) -> Verdict | None:
    """Return the verdict on a complaint; `None` if it is not to be reported."""
    if place.question.is_guarded(place.node):
        return None
    found = _JUDGES.get(place.complaint.code, other_verdict)(place)
    if found is None or found == DOUBT:
        return found
    # A mock may take other arguments than what it replaces, and has members of its own.
    is_replaced = place.question.uses_mocks and found.code in _OF_VALUES
    return DOUBT if is_replaced else found


_JUDGES: Final[Mapping[int, Callable[[Place], Verdict | None]]] = {
    **dict.fromkeys((2305, 2724, 2614, 2459, 2460, 1192, 2613), missing_export),
    **dict.fromkeys((2339, 2551, 2576), missing_member),
    **dict.fromkeys((2554, 2555, 2575), wrong_count),
    **dict.fromkeys((2345, 2322), wrong_argument),
    **dict.fromkeys((2353, 2561), unknown_option),
    2769: no_variant,
    **dict.fromkeys((2348, 2349, 2351, 6234), misused_value),
    **dict.fromkeys((2488, 2461), not_iterable),
    2367: never_equal,
    **dict.fromkeys((2304, 2552, 18004), unknown_name),
    **dict.fromkeys((2693, 2749), type_as_value),
}


# The compiler's own errors of form, which a runtime may accept.
_WHOLE_MODULE: Final = "'typeof import("  # what a default that is missing is taken for
_ACCEPTED: Final = frozenset(
    {1100, 1102, 1103, 1117, 1118, 1192, 1206, 1259, 1308, 1323, 1324, 1340, 1343, 1375, 1378, 1432,
     1183, 1254, 1039, 1046}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class JudgedUse:
    """Hold one fault of a question: its code, the line (0 where none is meant), and the words."""

    path: str
    code: str
    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Hold the texts of one point of a plan, by the paths that give the folders they import from.

    `asked` is the question to the compiler, without targets where it has nothing to say.
    """

    history: History
    position: int
    questions: Mapping[str, Question]
    view: View
    asked: CompilerQuestion


def inquire(history: History, position: int, texts: Mapping[str, str]) -> Inquiry:
    """Return the inquiry about texts by path, as they are after the order at `position`."""
    view = ViewBuilder(history, position).build(texts)
    moment = history.at(position)
    questions = {path: Question(path, text, moment) for path, text in texts.items()}
    own = sorted(path for path, each in questions.items() if each.origins or each.root is not None)
    return Inquiry(
        history, position, questions, view, CompilerQuestion(view.files, tuple(own), view.aliases)
    )


def judge_answer(inquiry: Inquiry, complaints: Iterable[TscComplaint]) -> tuple[JudgedUse, ...]:
    """Return the faults of the texts, by what the compiler complains about."""
    found: dict[tuple[str, str, str], JudgedUse] = {}
    for path, question in inquiry.questions.items():
        for each in _missing_defaults(question, inquiry):
            found.setdefault((path, each.code, each.message), each)
    no_default = {path for path, _, _ in found}
    for complaint in complaints:
        fault = _judged(complaint, inquiry)
        if fault is not None and not (fault.path in no_default and _WHOLE_MODULE in fault.message):
            found.setdefault((fault.path, fault.code, fault.message), fault)
    return tuple(sorted(found.values(), key=lambda e: (e.path, e.line, e.column)))


def _judged(complaint: TscComplaint, inquiry: Inquiry) -> JudgedUse | None:
    path, line, column = complaint.path, complaint.line, complaint.column
    message = " ".join((complaint.message, *complaint.details[:1]))
    if complaint.is_about_syntax:
        # The reader of syntax, which needs no compiler, has accepted the text.
        certain = complaint.code not in _ACCEPTED
        return JudgedUse(path, "E215", line, column, complaint.message) if certain else None
    question = inquiry.questions[path]
    node = question.node_at(line, column)
    about = (question, inquiry.view, inquiry.history, inquiry.position)
    verdict = judge(Place(complaint, node, *about)) if node is not None else None
    if verdict is None:
        return None
    if verdict.code == "E216":
        name = complaint.message.partition("'")[2].partition("'")[0]
        message = has_no_definition(name)
    addition = f" ({verdict.addition})" if verdict.addition else ""
    return JudgedUse(path, verdict.code, line, column, f"{message}{addition}")


def _missing_defaults(question: Question, inquiry: Inquiry) -> Iterator[JudgedUse]:
    """Yield the default imports from files under contract that are ES modules without a default."""
    history, position, view = inquiry.history, inquiry.position, inquiry.view
    moment = history.at(position)
    for each in imports_of(question.root) if question.root is not None else ():
        target = resolve(moment, question.path, each.specifier)
        file = target.name
        if "default" not in each.names or target.kind is not Kind.FILE or each.is_guarded:
            continue
        if file not in view.contracts or file in view.open or file in question.mocked:
            continue
        manifest = nearest_manifest(moment, file)
        is_module = is_typed(file) or file.endswith(".mjs") or bool(manifest and manifest.is_module)
        is_module &= suffix_of(file) not in {".cjs", ".cts"}
        stubs = [layer.stub for layer in history.layers(file, position)]
        if not is_module or any(DEFAULT in e.declared or "export =" in e.text for e in stubs):
            continue
        if any(" as default" in e.text for e in stubs) or _has_default(file, history):
            continue
        later = history.declared_later(file, DEFAULT, position)
        code = "E217" if later is not None else "E211"
        by = (
            f"declared only by {history.chain.source(later)}" if later is not None else f"in {file}"
        )
        message = f"Module '{each.specifier}' has no default export. ({by})"
        yield JudgedUse(question.path, code, each.line, 1, message)


def _has_default(path: str, history: History) -> bool:
    source = history.chain.sources.get(path)
    if source is None:
        return path in history.chain.listing
    root = tree_of(path, source) if is_code(path) else None
    return root is None or "default" in source or "module.exports" in source
