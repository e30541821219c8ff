"""Builds code that keeps its interfaces and does nothing.

A command that passes on such code proves nothing: it would pass on any code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import name_of, text_of, walk
from shared.languages.ecmascript.declaration_stubs import DEFAULT, Stub, parse_stub, statements
from shared.languages.ecmascript.ecmascript_syntax import (
    CLASSES,
    FUNCTIONS,
    TYPES,
    VARIABLES,
    declaration_path,
    find_fault,
    is_code,
    is_declaration,
    is_typed,
    suffix_of,
    tree_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from shared.work_order.work_order import Interface


_MAX_DEPTH: Final = 6  # of types within each other
NOTHING: Final = "undefined"
_PLAIN: Final = {
    "number": "0", "string": '""', "boolean": "false", "bigint": "0n", "symbol": 'Symbol("")',
    "object": "{}", "void": NOTHING, "undefined": NOTHING, "null": "null", "any": NOTHING,
    "unknown": NOTHING, "never": NOTHING,
}  # fmt: skip
_NAMED: Final = {
    "Map": "new Map()", "Set": "new Set()", "WeakMap": "new WeakMap()", "Date": "new Date(0)",
    "RegExp": "/(?:)/", "Error": 'new Error("")', "Array": "[]", "ReadonlyArray": "[]",
    "ReadonlyMap": "new Map()", "ReadonlySet": "new Set()", "Record": "{}", "Partial": "{}",
    "Required": "{}", "Readonly": "{}", "Pick": "{}", "Omit": "{}", "Iterable": "[]",
    "ArrayLike": "[]", "Iterator": "[][Symbol.iterator]()", "Uint8Array": "new Uint8Array()",
    "Generator": "(function* () {})()", "IterableIterator": "[][Symbol.iterator]()",
    "AsyncGenerator": "(async function* () {})()", "AsyncIterable": "(async function* () {})()",
    "Buffer": 'Buffer.from("")', "URL": 'new URL("about:blank")', "Function": "() => undefined",
}  # fmt: skip
_WRAPPERS: Final = frozenset(
    {"type_annotation", "parenthesized_type", "readonly_type", "asserts_annotation"}
)


class EmptyValues:
    """Choose values for types; `declared` has the nodes of the types that stubs declare."""

    def __init__(self, declared: Mapping[str, Node]) -> None:
        self._declared = declared

    def of(self, node: Node | None, depth: int = _MAX_DEPTH) -> str:
        """Return code for an empty value of a type; `undefined` where none is known."""
        if node is None or not depth:
            return NOTHING
        match node.type:
            case kind if kind in _WRAPPERS:
                return self.of(next(iter(node.named_children), None), depth)
            case "predefined_type" | "literal_type":
                return self._plain(node)
            case "array_type" | "tuple_type":
                return "[]"
            case "object_type" | "interface_body":
                return self._object(node, depth)
            case "function_type":
                return f"() => {self.of(node.child_by_field_name('return_type'), depth - 1)}"
            case "union_type":
                parts = [self.of(each, depth - 1) for each in node.named_children]
                return next((e for e in parts if e in {NOTHING, "null"}), parts[0])
            case "intersection_type":
                parts = [self.of(each, depth - 1) for each in node.named_children]
                return f"{{ {', '.join(f'...{each}' for each in parts)} }}"
            case "generic_type" | "type_identifier" | "nested_type_identifier":
                return self._named(node, depth)
            case "type_predicate_annotation" | "type_predicate":
                return "false"
            case "this_type":
                return "this"
            case _:
                return NOTHING

    def _plain(self, node: Node) -> str:
        text = text_of(node)
        if text in _PLAIN:
            return _PLAIN[text]
        if text[:1] in {"'", '"', "`"}:
            return '""'
        return "0" if text[:1].isdigit() or text[:1] == "-" else "false"

    def _named(self, node: Node, depth: int) -> str:
        name = text_of(node.child_by_field_name("name") or node)
        name = name.partition("<")[0]
        arguments = node.child_by_field_name("type_arguments")
        if name in {"Promise", "PromiseLike"}:
            inner = arguments.named_children[0] if arguments and arguments.named_children else None
            return f"Promise.resolve({self.of(inner, depth - 1)})"
        declared = self._declared.get(name)
        if declared is None:
            return _NAMED.get(name, NOTHING)
        if declared.type == "type_alias_declaration":
            return self.of(declared.child_by_field_name("value"), depth - 1)
        if declared.type == "interface_declaration":
            return self._object(declared.child_by_field_name("body"), depth - 1)
        if declared.type == "enum_declaration":
            return f"Object.values({name})[0]"
        return f"Object.create({name}.prototype)"

    def _object(self, body: Node | None, depth: int) -> str:
        members: list[str] = []
        for each in body.named_children if body is not None else ():
            name = name_of(each)
            is_optional = any(part.type == "?" for part in each.children)
            if not name or is_optional or name.startswith("["):
                continue
            if each.type == "method_signature":
                made = self.of(each.child_by_field_name("return_type"), depth - 1)
                members.append(f"{name}: () => ({made})")
            elif each.type == "property_signature":
                members.append(f"{name}: {self.of(each.child_by_field_name('type'), depth - 1)}")
        return f"{{ {', '.join(members)} }}" if members else "{}"


_BODIES: Final = frozenset({"arrow_function", "function_expression", "method_definition"})


def build_skeleton(interfaces: Sequence[Interface], sources: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each declared file, as code that runs and does nothing.

    Where `sources` already has the file, the functions that are declared get an empty body, and
    what is new is added. Stubs that do not parse, and files of declarations, are left out.
    """
    stubs = [
        stub
        for each in interfaces
        if is_code(each.path)
        and not is_declaration(each.path)
        and isinstance(stub := parse_stub(each.path, each.stub), Stub)
    ]
    trees = {each.path: tree_of(declaration_path(each.path), each.text) for each in stubs}
    types = {
        name_of(node): node
        for root in trees.values()
        if root is not None
        for node, _ in statements(root)
        if node.type in TYPES | CLASSES | {"enum_declaration"}
    }
    found = ((path, root) for path, root in trees.items() if root is not None)
    return {path: _Skeleton(path, e, EmptyValues(types), sources).text() for path, e in found}


class _Skeleton:
    def __init__(
        self, path: str, stub: Node, values: EmptyValues, sources: Mapping[str, str]
    ) -> None:
        self._path = path
        self._stub = stub
        self._values = values
        self._source = sources.get(path)
        self._typed = is_typed(path)
        self._given = "...given: any[]" if self._typed else "...given"
        self._noted = ": any" if self._typed else ""
        self._common = _is_common(path, sources)

    def text(self) -> str:
        root = tree_of(self._path, self._source) if self._source is not None else None
        if self._source is None or root is None or find_fault(root) is not None:
            return "\n".join([*self._heritage(), *self._statements(frozenset())]) + "\n"
        return self._emptied(root, self._source)

    def _heritage(self) -> Iterator[str]:
        """Yield the imports that classes need for what they extend."""
        needed = {
            text_of(each)
            for node, _ in statements(self._stub)
            if node.type in CLASSES
            for part in node.children
            if part.type == "class_heritage"
            for each in walk(part)
            if each.type in {"identifier", "type_identifier"}
        }
        for node in self._stub.named_children:
            named = {text_of(each) for each in walk(node) if each.type == "identifier"}
            if node.type == "import_statement" and needed & named and not self._common:
                yield text_of(node)

    def _statements(self, there: frozenset[str]) -> Iterator[str]:
        seen: set[str] = set(there)
        for node, is_default in statements(self._stub):
            name = name_of(node)
            if node.type in VARIABLES:
                yield from self._constants(node, there)
            elif node.type in TYPES:
                if self._typed and name not in there:
                    yield f"export {text_of(node)}"
            elif node.type == "enum_declaration" and name not in there:
                yield self._enumeration(name, node)
            elif node.type in FUNCTIONS | CLASSES:
                key = DEFAULT if is_default else name
                if key in seen:
                    continue
                seen.add(key)
                code = f"function {name}({self._given}){self._noted} {self._body(node)}"
                code = self._class(name, node) if node.type in CLASSES else code
                yield self._exported(name, code, is_default=is_default)

    def _exported(self, name: str, code: str, *, is_default: bool) -> str:
        if not self._common:
            return f"export default {code}" if is_default else f"export {code}"
        if is_default:
            whole = name or "module.exports"
            return f"{code}\nmodule.exports = Object.assign({whole}, module.exports);"
        return f"{code}\nmodule.exports.{name} = {name};"

    def _constants(self, node: Node, there: frozenset[str]) -> Iterator[str]:
        for each in node.named_children:
            name = name_of(each)
            if each.type == "variable_declarator" and name not in there:
                value = self._values.of(each.child_by_field_name("type"))
                code = f"const {name}{self._noted} = {value};"
                yield self._exported(name, code, is_default=False)

    def _enumeration(self, name: str, node: Node) -> str:
        if self._typed:
            return f"export {text_of(node)}"
        body = node.child_by_field_name("body")
        written = map(text_of, body.named_children if body else ())
        members = (each.partition("=")[0].strip() for each in written)
        pairs = ", ".join(f"{each}: {index}" for index, each in enumerate(members))
        return self._exported(name, f"const {name} = {{ {pairs} }};", is_default=False)

    def _body(self, node: Node) -> str:
        return f"{{ return {self._values.of(node.child_by_field_name('return_type'))}; }}"

    def _class(self, name: str, node: Node) -> str:
        heritage = next((text_of(e) for e in node.children if e.type == "class_heritage"), "")
        extends = heritage.partition(" implements ")[0]
        extends = "" if extends.startswith("implements") else extends.partition("<")[0]
        body = node.child_by_field_name("body")
        lines = list(self._members(body, frozenset(), derived=bool(extends)))
        return f"class {name}{' ' + extends if extends else ''} {{\n" + "\n".join(lines) + "\n}"

    def _members(self, body: Node | None, there: frozenset[str], *, derived: bool) -> Iterator[str]:
        seen: set[str] = set(there)
        for each in body.named_children if body is not None else ():
            name = name_of(each)
            words = [part.type for part in each.children if part.type in {"static", "get", "set"}]
            key = " ".join([*words, name])
            if not name or key in seen or name in there:
                continue
            seen.add(key)
            prefix = "  " + "".join(f"{word} " for word in words)
            if name == "constructor":
                inner = " super(...given); " if derived else ""
                yield f"  constructor({self._given}) {{{inner}}}"
            elif "set" in words:
                yield f"{prefix}{name}(given{self._noted}) {{}}"
            elif each.type == "public_field_definition":
                value = self._values.of(each.child_by_field_name("type"))
                yield f"{prefix}{name}{self._noted} = {value};"
            elif "get" in words:
                yield f"{prefix}{name}(){self._noted} {self._body(each)}"
            else:
                yield f"{prefix}{name}({self._given}){self._noted} {self._body(each)}"

    def _emptied(self, root: Node, source: str) -> str:
        """Return the source with the declared functions emptied, and with what is new added."""
        wanted = {
            name_of(node): node
            for node, _ in statements(self._stub)
            if node.type in FUNCTIONS | CLASSES
        }
        edits: list[tuple[int, int, str]] = []
        for name, node in _written(root):
            if name in wanted:
                edits += self._edits(node, wanted[name])
        code = source.encode()
        for start, end, text in sorted(edits, reverse=True):
            code = code[:start] + text.encode() + code[end:]
        there = frozenset(name for name, _ in _written(root))
        added = list(self._statements(there | {DEFAULT}))
        return "\n".join([code.decode("utf-8", "replace"), *added]).rstrip() + "\n"

    def _edits(self, node: Node, declared: Node) -> Iterator[tuple[int, int, str]]:
        body = node.child_by_field_name("body")
        if body is None:
            return
        if node.type not in CLASSES:
            yield body.start_byte, body.end_byte, self._body(declared)
            return
        stub_body = declared.child_by_field_name("body")
        members = {name_of(each): each for each in (stub_body.named_children if stub_body else ())}
        for each in body.named_children:
            name = name_of(each)
            inner = each.child_by_field_name("body")
            is_method = each.type == "method_definition" and name != "constructor"
            if is_method and inner is not None and name in members:
                yield inner.start_byte, inner.end_byte, self._body(members[name])
        own = frozenset(
            text_of(e.child_by_field_name("name") or e.child_by_field_name("property"))
            for e in body.named_children
        )
        # A parameter of the constructor may be a field, too.
        given = frozenset(
            text_of(part)
            for each in body.named_children
            if name_of(each) == "constructor"
            for part in walk(each)
            if part.type == "identifier"
        )
        new = list(self._members(stub_body, own | given | {"constructor"}, derived=False))
        if new:
            yield body.end_byte - 1, body.end_byte - 1, "\n".join(["", *new, ""])


def _written(root: Node) -> Iterator[tuple[str, Node]]:
    """Yield the functions and classes at the top of a source, by their names."""
    for each in root.named_children:
        node = each.child_by_field_name("declaration") or each.child_by_field_name("value") or each
        if node.type in FUNCTIONS | CLASSES | {"enum_declaration"} | TYPES:
            yield name_of(node), node
        for part in node.named_children if node.type in VARIABLES else ():
            value = part.child_by_field_name("value")
            name = name_of(part)
            if value is not None:
                yield name, value if value.type in _BODIES | CLASSES else part


def _is_common(path: str, sources: Mapping[str, str]) -> bool:
    """Say whether a new file is a CommonJS module, by its suffix or by the files beside it."""
    suffix = suffix_of(path)
    if is_typed(path) or suffix in {".mjs", ".jsx"}:
        return False
    if suffix == ".cjs":
        return True
    names = sorted(each for each in sources if each.endswith(".js"))[:50]
    beside = [path] if sources.get(path) is not None else names
    for text in filter(None, map(sources.get, beside)):
        if "module.exports" in text or "exports." in text:
            return True
        if "\nexport " in f"\n{text}" or "\nimport " in f"\n{text}":
            return False
    return False
