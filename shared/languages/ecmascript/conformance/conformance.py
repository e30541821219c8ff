"""Decides whether code keeps the interfaces declared for it, without running any of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities.chain import Chain
from shared.languages.capabilities.checking import CheckerFailed
from shared.languages.capabilities.conformance import DOES_NOT_PARSE, ContractViolation
from shared.languages.capabilities.tools import ToolMissing, Tools
from shared.languages.ecmascript.conformance.probe import Probe, declared_counts, write_probe
from shared.languages.ecmascript.contracts.history import History
from shared.languages.ecmascript.contracts.stub import Stub, parse_stub
from shared.languages.ecmascript.files import is_typed
from shared.languages.ecmascript.judging.compiler import Complaint, ask
from shared.languages.ecmascript.judging.pinned import PinnedCompiler
from shared.languages.ecmascript.judging.view import build_view
from shared.languages.ecmascript.syntax import find_fault, tree_of
from shared.languages.syntax_tree import text_of
from shared.work_order.schemas import Interface

if TYPE_CHECKING:
    from tree_sitter import Node

_MISSING: Final = frozenset({2339, 2551, 2305, 2724, 2694, 2614, 2576})
# How a script may add to its exports where no compiler sees it.
_DYNAMIC = re.compile(r"exports\[|Object\.assign\(|defineProperty|__exportStar|exports = require")
_FUNCTIONS: Final = frozenset(
    {"function_declaration", "function_signature", "generator_function_declaration"}
)


class _Now:
    """Say of files that those of a repository are there; it is a `FilesInTime` without orders."""

    def __init__(self, files: frozenset[str]) -> None:
        self.first: Mapping[str, int] = dict.fromkeys(files, 0)
        self.possible: Mapping[str, int] = {}
        self.blind_from: int | None = None
        self.removed: Mapping[str, int] = {}
        self.removing: Sequence[int] = ()

    def may_exist(self, path: str, after: int) -> bool:
        return path in self.first

    def is_unread(self, path: str, after: int) -> bool:
        return False

    def may_be_folder(self, path: str, after: int) -> bool:
        return any(each.startswith(f"{path}/") for each in self.first)


def check_conformance(
    interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
) -> tuple[ContractViolation, ...]:
    """Return what in `sources` contradicts `interfaces`, sorted by file and name.

    Raises `CheckerFailed` where the compiler is missing or gives no answer.
    """
    found: list[ContractViolation] = []
    probes: dict[str, tuple[Stub, Probe]] = {}
    for each in interfaces:
        stub = parse_stub(each.path, each.stub)
        text = sources.get(each.path)
        if not isinstance(stub, Stub):
            continue
        if text is None:
            found.append(ContractViolation(each.path, "", "is declared but was not written"))
            continue
        root = tree_of(each.path, text)
        fault = find_fault(root) if root is not None else None
        if root is None or fault is not None:
            message = f"{DOES_NOT_PARSE}: {fault or 'it cannot be read'}"
            found.append(ContractViolation(each.path, "", message))
            continue
        probe = write_probe(stub)
        probes[probe.path] = (stub, probe)
        if not is_typed(each.path):
            found += _miscounted(stub, root)
    reported = {(each.path, each.name) for each in found}
    for violation in _judged(probes, sources, tools):
        if (violation.path, violation.name) not in reported:
            reported.add((violation.path, violation.name))
            found.append(violation)
    return tuple(sorted(found, key=lambda each: (each.path, each.name, each.message)))


def _judged(
    probes: Mapping[str, tuple[Stub, Probe]], sources: Mapping[str, str], tools: Tools
) -> Iterator[ContractViolation]:
    if not probes:
        return
    texts = {path: text for _, probe in probes.values() for path, text in probe.files.items()}
    chain = Chain((), _Now(frozenset(sources)), frozenset(sources), sources)
    view = build_view(History(chain), 0, texts)
    try:
        told = ask(PinnedCompiler(tools.runner), view.files, sorted(probes), view.aliases)
    except ToolMissing as missing:
        raise CheckerFailed(str(missing)) from None
    for path, (stub, probe) in probes.items():
        found: dict[str, ContractViolation] = {}
        for complaint in told:
            name = probe.lines.get(complaint.line, "") if complaint.path == path else ""
            if name and not _is_excused(complaint, sources[stub.path], stub):
                found.setdefault(name, _violation(stub, name, complaint))
        yield from (each for name, each in found.items() if not _follows(name, stub, found))


def _follows(name: str, stub: Stub, faulty: Collection[str]) -> bool:
    """Say whether a fault is only that of a class which the declaration mentions."""
    owner, _, member = name.partition(".")
    if member and owner in faulty:
        return True
    for other in faulty:
        of, _, part = other.partition(".")
        # A method that returns itself is of its class.
        words = f"{of}|this" if owner == of else of
        follows = part and name not in {other, of} and _mentions(stub, name, words)
        if follows and other in stub.declared and not _mentions(stub, other, of):
            return True
    return False


def _mentions(stub: Stub, name: str, words: str) -> bool:
    declared = stub.declared.get(name)
    return declared is not None and re.search(rf"\b(?:{words})\b", declared.shown) is not None


def _is_excused(complaint: Complaint, source: str, stub: Stub) -> bool:
    """Say whether a name may be there all the same, made by a script as it runs."""
    is_missing = complaint.code in _MISSING
    return is_missing and not is_typed(stub.path) and _DYNAMIC.search(source) is not None


def _violation(stub: Stub, name: str, complaint: Complaint) -> ContractViolation:
    declared = stub.declared.get(name)
    shown = declared.shown if declared is not None else name
    if complaint.code in _MISSING:
        return ContractViolation(stub.path, name, f"`{shown}` is declared and missing")
    reason = complaint.details[-1] if complaint.details else complaint.message
    message = f"is declared as `{shown}` and written otherwise: {reason}"
    return ContractViolation(stub.path, name, message)


def _miscounted(stub: Stub, root: Node) -> Iterator[ContractViolation]:
    """Yield the functions of a script that take fewer arguments than declared, or need more.

    The compiler takes each parameter of a script as optional.
    """
    declared_root = tree_of(f"{stub.path}.d.ts", stub.text)
    written = {text_of(e.child_by_field_name("name")): e for e in _functions(root)}
    for node in _functions(declared_root) if declared_root is not None else ():
        name = text_of(node.child_by_field_name("name"))
        here = written.get(name)
        body = here.child_by_field_name("body") if here is not None else None
        if here is None or body is None or len(stub.declared[name].forms) > 1:
            continue
        needed, most = declared_counts(node)
        takes_at_least, takes = declared_counts(here)
        text = text_of(body)
        if "arguments" in text:
            continue
        if takes is not None and takes < needed:
            message = f"is declared with {needed} parameters and written with {takes}"
            yield ContractViolation(stub.path, name, message)
        elif most is not None and takes_at_least > most and not _copes(here, text, most):
            message = f"is declared with {most} parameters and needs {takes_at_least}"
            yield ContractViolation(stub.path, name, message)


def _copes(function: Node, body: str, most: int) -> bool:
    """Say whether the body asks if its further parameters are given at all."""
    parameters = function.child_by_field_name("parameters")
    given = [e for e in parameters.named_children if e.type != "comment"] if parameters else []
    asked = r"(?:typeof {0}\b|!{0}\b|\b{0} ?(?:===?|!==?|\?|\|\||&&|=)|\({0}\))"
    return any(
        re.search(asked.format(re.escape(text_of(each))), body) is not None for each in given[most:]
    )


def _functions(root: Node) -> Iterator[Node]:
    for each in root.named_children:
        inner = each.child_by_field_name("declaration") or each
        if inner.type == "ambient_declaration" and inner.named_children:
            inner = inner.named_children[0]
        if inner.type in _FUNCTIONS:
            yield inner
