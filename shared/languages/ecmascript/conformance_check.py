"""Asks the compiler whether code keeps its declared interfaces."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import ContractViolation
from shared.languages.declared.declarations import name_of, text_of
from shared.languages.ecmascript.compiler_view import ViewBuilder
from shared.languages.ecmascript.contract_history import History
from shared.languages.ecmascript.declaration_stubs import DEFAULT, Stub, parse_stub, statements
from shared.languages.ecmascript.ecmascript_syntax import (
    CLASSES,
    FUNCTIONS,
    TYPES,
    VARIABLES,
    declaration_path,
    find_fault,
    is_typed,
    parts_of,
    suffix_of,
    tree_of,
)
from shared.languages.ecmascript.typescript_compiler import TscComplaint, ask
from shared.languages.language_tools import (
    CheckerFailed,
    ToolMissing,
    Tools,
    as_far_as_answered,
)
from shared.languages.planned_code import DOES_NOT_PARSE, Chain

if TYPE_CHECKING:
    from tree_sitter import Node

    from shared.work_order.work_order import Interface


_WORD: Final = re.compile(r"(?<![.\w$])[A-Za-z_$][\w$]*(?![\w$]|\s*:)")
_NEEDED: Final = frozenset({"required_parameter", "identifier", "object_pattern", "array_pattern"})


@dataclass(frozen=True, slots=True)
class Probe:
    """Hold a probe: its files by path, the path of its code, and the name that each line is about.

    Lines count from 1. The names of `exists` are asked for without their types.
    """

    files: Mapping[str, str]
    path: str
    lines: Mapping[int, str]


def write_probe(stub: Stub) -> Probe:
    """Return the probe of the file that a stub declares."""
    suffix = suffix_of(stub.path)
    stem = stub.path.removesuffix(suffix)
    name = posixpath.basename(stem)
    lines = [
        f'import * as written from "./{name}{suffix}";',
        f'import * as declared from "./{name}.llmch-declared";',
    ]
    about: dict[int, str] = {}
    root = tree_of(declaration_path(stub.path), stub.text)
    imports = root.named_children if root is not None and is_typed(stub.path) else []
    lines += [" ".join(text_of(e).split()) for e in imports if e.type == "import_statement"]
    for name_, line in _lines(root, is_typed(stub.path)) if root is not None else ():
        lines.append(line)
        about[len(lines)] = name_
    path = f"{stem}.llmch-probe.ts"
    files = {
        path: "\n".join(lines) + "\n",
        f"{stem}.llmch-declared.d.ts": stub.text if stub.exports else f"{stub.text}\nexport {{}};",
    }
    return Probe(files, path, about)


def _lines(root: Node, with_types: bool) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for node, is_default in statements(root):
        if node.type in VARIABLES:
            for each in node.named_children:
                name = name_of(each)
                if each.type == "variable_declarator" and name.isidentifier():
                    yield name, _same(name)
            continue
        name = DEFAULT if is_default else name_of(node)
        if not name or name in seen or node.type in {"import_statement", "internal_module"}:
            continue
        count = sum(name_of(each) == name for each, _ in statements(root))
        is_overloaded = not is_default and count > 1
        seen.add(name)
        parameters = node.child_by_field_name("type_parameters")
        if node.type in TYPES:
            if with_types:
                yield name, _type_line(name, node, _generic(parameters, _type_names(root)))
        elif with_types and node.type == "enum_declaration":
            yield from _enum_lines(name, node)
        elif is_overloaded and with_types:
            # Which of them a signature meets, the compiler cannot always tell.
            yield name, f"{{ const c: (...a: never[]) => unknown = written.{name}; }}"
        elif node.type in CLASSES:
            # A class of a script has no type parameters that could be given.
            generic = _generic(parameters, _type_names(root)) if with_types else Generic()
            if with_types or parameters is None:
                yield from _class_lines(name, node, generic)
            else:
                yield name, f"void written.{name};"
        elif is_overloaded or node.type == "enum_declaration" or (parameters and not with_types):
            yield name, f"void written.{name};"
        else:
            yield name, _same(name)


def _same(name: str) -> str:
    return f"{{ const c: typeof declared.{name} = written.{name}; }}"


def _type_line(name: str, node: Node, generic: Generic) -> str:
    """Return the line that compares a type: it has all that is declared, and may have more.

    A union of words may have more of them; of other unions, only the name is looked for.
    """
    value = node.child_by_field_name("value")
    has, wanted = "written", "declared"
    if value is not None and value.type == "union_type":
        if not _is_of_literals(value):
            return f"type t_{name} = written.{name};"
        has, wanted = wanted, has
    of = f"{name}{generic.given}"
    return generic.around(f"const c: {wanted}.{of} = null! as {has}.{of};")


def _is_of_literals(node: Node) -> bool:
    if node.type == "union_type":
        return all(map(_is_of_literals, node.named_children))
    return node.type == "literal_type"


def _enum_lines(name: str, node: Node) -> Iterator[tuple[str, str]]:
    yield name, f"void written.{name};"
    body = node.child_by_field_name("body")
    for each in body.named_children if body is not None else ():
        member = name_of(each) or text_of(each)
        if member.isidentifier():
            yield f"{name}.{member}", f"void written.{name}.{member};"


@dataclass(frozen=True, slots=True)
class Generic:
    """Hold the type parameters of a class: `names` to give, and `text` with their constraints."""

    names: tuple[str, ...] = ()
    text: str = ""

    @property
    def given(self) -> str:
        """Return the names as arguments of a type; empty if the class is not generic."""
        return f"<{', '.join(self.names)}>" if self.names else ""

    def around(self, statement: str) -> str:
        return f"(<{self.text}>() => {{ {statement} }});" if self.names else f"{{ {statement} }}"


def _generic(parameters: Node | None, types: Collection[str]) -> Generic:
    """Return type parameters; their constraints mention the declared `types` by their module."""
    nodes = parameters.named_children if parameters is not None else []
    own = [each for each in nodes if each.type == "type_parameter"]
    names = [name_of(each) for each in own]
    texts = []
    for name, each in zip(names, own, strict=True):
        found = (each.child_by_field_name(part) for part in ("constraint", "value"))
        qualify = _qualify({*types} - {*names})
        words = [name, *(_WORD.sub(qualify, text_of(part)) for part in found if part)]
        texts.append(" ".join(words))
    return Generic(tuple(names), ", ".join(texts))


def _qualify(types: Collection[str]) -> Callable[[re.Match[str]], str]:
    return lambda word: f"declared.{word[0]}" if word[0] in types else word[0]


def _type_names(root: Node) -> frozenset[str]:
    kinds = {*TYPES, *CLASSES, "enum_declaration"}
    return frozenset(name_of(each) for each, _ in statements(root) if each.type in kinds)


def _class_lines(name: str, node: Node, generic: Generic) -> Iterator[tuple[str, str]]:
    made = f"(null! as written.{name}{generic.given})" if generic.names else _made(name)
    yield name, generic.around(f"void {made};") if generic.names else f"void written.{name};"
    body = node.child_by_field_name("body")
    if body is None:
        return
    names = [name_of(each) for each in body.named_children]
    for each in body.named_children:
        member = name_of(each)
        words = {part.type for part in each.children}
        hidden = any(text_of(p) in {"private", "protected"} for p in each.named_children)
        if not member.isidentifier() or hidden or member.startswith("#"):
            continue
        qualified = f"{name}.{member}"
        if member == "constructor":
            if names.count(member) == 1:
                given = f"declare const a: ConstructorParameters<typeof declared.{name}>;"
                yield qualified, f"namespace n_{name} {{ {given} new written.{name}(...a); }}"
        elif names.count(member) > 1:
            of = f"written.{name}.{member}" if "static" in words else f"{made}.{member}"
            yield qualified, generic.around(f"void {of};")
        elif "static" in words:
            yield qualified, _same(qualified)
        else:
            kind = f'declared.{name}{generic.given}["{member}"]'
            yield qualified, generic.around(f"const c: {kind} = {made}.{member};")


def _made(name: str) -> str:
    return f"(null! as InstanceType<typeof written.{name}>)"


def declared_counts(node: Node) -> tuple[int, int | None]:
    """Return how many arguments a function needs, and how many it takes; `None` for any number."""
    parameters = node.child_by_field_name("parameters")
    given = parts_of(parameters)
    needed = total = 0
    for each in given:
        text = text_of(each)
        if each.type == "rest_pattern" or text.startswith("..."):
            return needed, None
        total += 1
        is_plain = each.type in _NEEDED and each.child_by_field_name("value") is None
        needed += is_plain and text.partition(":")[0] != "this"
    return needed, total


_MISSING: Final = frozenset({2339, 2551, 2305, 2724, 2694, 2614, 2576})
# How a script may add to an object where no compiler sees it.
_ADDING: Final = r"(?:Object\.assign|Object\.definePropert(?:y|ies))\(\s*"
_TO_EXPORTS = re.compile(
    rf"exports\[|{_ADDING}(?:module\.)?exports\b|__exportStar|exports = require"
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

    Raises `CheckerFailed` if the compiler is missing or gives no answer, and nothing is found
    without it.
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
    for violation in as_far_as_answered(found, _judged(probes, sources, tools)):
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
    view = ViewBuilder(History(chain), 0).build(texts)
    try:
        told = ask(tools.runner, view.files, sorted(probes), view.aliases)
    except ToolMissing as missing:
        raise CheckerFailed(str(missing)) from None
    for path, (stub, probe) in probes.items():
        found: dict[str, ContractViolation] = {}
        for complaint in told:
            name = probe.lines.get(complaint.line, "") if complaint.path == path else ""
            if name and not _is_excused(complaint, name, sources[stub.path], stub):
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


def _is_excused(complaint: TscComplaint, name: str, source: str, stub: Stub) -> bool:
    """Say whether a name may be there all the same, made by a script as it runs."""
    if complaint.code not in _MISSING or is_typed(stub.path):
        return False
    owner, _, member = name.partition(".")
    if not member:
        return _TO_EXPORTS.search(source) is not None
    target = rf"(?:this|{re.escape(owner)}(?:\.prototype)?)"
    return re.search(rf"\b{target}\[|{_ADDING}{target}\b", source) is not None


def _violation(stub: Stub, name: str, complaint: TscComplaint) -> ContractViolation:
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
    written = {name_of(e): e for e in _functions(root)}
    for node in _functions(declared_root) if declared_root is not None else ():
        name = name_of(node)
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
    given = parts_of(parameters)
    asked = r"(?:typeof {0}\b|!{0}\b|\b{0} ?(?:===?|!==?|\?|\|\||&&|=)|\({0}\))"
    return any(
        re.search(asked.format(re.escape(text_of(each))), body) is not None for each in given[most:]
    )


def _functions(root: Node) -> Iterator[Node]:
    for each in root.named_children:
        inner = each.child_by_field_name("declaration") or each
        if inner.type == "ambient_declaration" and inner.named_children:
            inner = inner.named_children[0]
        if inner.type in FUNCTIONS:
            yield inner
