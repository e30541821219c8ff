"""Reads syntax trees, and a file as its declarations, whatever the language.

tree-sitter reads the files. It reads whatever it is given, so a file with faults still shows the
declarations that are whole. Nothing in a file is run.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from shared.languages.capabilities import CaseTable
from shared.languages.planned_code import TextFault

if TYPE_CHECKING:
    from tree_sitter import Language, Node


Kind = Literal["function", "type", "value", "module", "implementation"]

# Longer contracts, and longer files of tests in a plan, are refused instead of read.
MAX_BYTES = 100 * 1024


@dataclass(frozen=True, slots=True)
class Member:
    """Represent a field, a variant or a method that a type lists, as it is written."""

    text: str
    key: str


@dataclass(frozen=True, slots=True)
class Declared:
    """Represent one declaration of a file.

    `name` is qualified: `Game.play`. `head` is the declaration on one line without its body, and
    `key` is equal for declarations that mean the same. `start` and `end` are characters of the
    file, attributes included; declarations that one statement makes together have its place. `text`
    is the text of that range, or that of a statement of its own which makes it alone. `line` counts
    from 1. `around` is the head of the block that the declaration is in. `role` has the words by
    which a class may have two members of one name: `get`, `set`, `static`.

    For a function, `body` has the characters of its block, braces included, `opening` is the text
    before its result, and `result` is the type that it returns. A value of Go has its type there.
    For a type, `separator` separates its members. The first `marked` characters of the range are
    attributes or decorators, or the first `signatures` those of overloads; the last `ending` are
    the semicolon without which it would go on in the next line.
    """

    name: str
    kind: Kind
    head: str
    key: str
    line: int
    start: int
    end: int
    is_public: bool
    body: tuple[int, int] | None = None
    members: Mapping[str, Member] = field(default_factory=dict)
    around: str = ""
    role: frozenset[str] = frozenset()
    text: str = ""
    opening: str = ""
    result: str = ""
    separator: str = "\n"
    marked: int = 0
    signatures: int = 0
    ending: int | None = None

    @property
    def last_name(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """Return the type that the declaration belongs to; empty if it belongs to none."""
        return self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class TestFunction:
    """Represent one test of a file; a `skipped` one is not run, and a test that asserts can fail.

    In Rust, the name has the modules around the test: `tests::scores`. `at` are its bytes.
    """

    name: str
    skipped: bool
    can_fail: bool
    at: tuple[int, int] = (0, 0)

    @property
    def is_idle(self) -> bool:
        return self.skipped or not self.can_fail


@dataclass(frozen=True, slots=True)
class Imported:
    """Represent one name that a file brings in: what it is called there, and where it is from."""

    name: str
    source: str
    line: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Declarations:
    """Hold what a file declares, in its order. `fault` is the first of its faults, if any.

    `package` is the name that the file gives itself, where its language asks for one.
    """

    text: str
    items: tuple[Declared, ...] = ()
    imports: tuple[Imported, ...] = ()
    fault: TextFault | None = None
    package: str = ""

    def named(self, name: str) -> tuple[Declared, ...]:
        return tuple(each for each in self.items if each.name == name)

    def is_shared(self, item: Declared) -> bool:
        """Return whether other declarations are made by the statement that makes this one."""
        return sum(each.start == item.start for each in self.items) > 1


MAX_LINE: Final = 240  # characters of a declaration; the rest of a longer one is cut off
# 200 KB of code take 0.2 seconds. Text that is not code takes up to fifty times as long, because
# the reader looks for a way to go on at each word. So only such text is ever given up.
_SECONDS_A_BYTE: Final = 5e-6
_LEAST_SECONDS: Final = 0.5
# Each chunk is copied, also where only the text of a short node is asked for.
_CHUNK: Final = 2_048  # bytes

Grammar = Callable[[], object]


def parse(grammar: Grammar, text: str) -> Node | None:
    """Return the root of the syntax tree of `text`; `None` if it cannot be read.

    `grammar` is the function by which a grammar's package gives its language. Reading is given up
    after five times what code of this size takes, in processor time.
    """
    from tree_sitter import Parser

    end = time.thread_time() + seconds_for(text)
    try:
        code = text.encode()
        code += b"" if code.endswith(b"\n") else b"\n"  # behind a type of Go
        tree = Parser(_language(grammar)).parse(
            lambda start, _: code[start : start + _CHUNK],
            progress_callback=lambda _, __: time.thread_time() > end,
        )
    except ValueError:  # a lone surrogate, or given up
        return None
    return tree.root_node


def seconds_for(text: str) -> float:
    """Return the processor time after which reading a text is given up: a second for 200 KB."""
    return max(_LEAST_SECONDS, _SECONDS_A_BYTE * len(text))


@cache
def _language(grammar: Grammar) -> Language:
    from tree_sitter import Language

    return Language(grammar())


def text_of(node: Node | None) -> str:
    """Return the text of a node on one line, whole; the empty string for no node."""
    return _one_line(node.text) if node is not None else ""


def name_of(node: Node) -> str:
    """Return the name that a declaration gives; the empty string if it gives none."""
    return text_of(node.child_by_field_name("name"))


def shown(node: Node) -> str:
    """Return the text of a node on one line, cut to `MAX_LINE` characters."""
    return cut(text_of(node))


def head_of(node: Node, body: Node | None) -> str:
    """Return the text of a node on one line, up to its `body` where it has one, cut likewise."""
    if body is None or node.text is None:
        return shown(node)
    return cut(_one_line(node.text[: body.start_byte - node.start_byte]))


def cut(line: str, limit: int = MAX_LINE) -> str:
    """Return the line, cut to so many characters."""
    return line if len(line) <= limit else f"{line[: limit - 4]} ..."


def _one_line(code: bytes | None) -> str:
    # A cut may fall into a character only where the text was not UTF-8 to begin with.
    text = " ".join((code or b"").decode("utf-8", "replace").split())
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


_WHOLE: Final = ("lifetime", "string_literal", "interpreted_string_literal")
_MAX_EXCERPT: Final = 120
UNREADABLE: Final = TextFault("it cannot be read")


def read_root(grammar: Grammar, text: str) -> Node | None:
    """Return the root of the syntax tree of a text of bounded size; `None` if there is none."""
    return parse(grammar, text) if len(text) <= 3 * MAX_BYTES else None


class Offsets:
    """Translate the bytes of a UTF-8 text to its characters."""

    def __init__(self, text: str) -> None:
        code = b"" if text.isascii() else text.encode("utf-8", "replace")
        self._inner = [at for at, byte in enumerate(code) if byte & 0xC0 == 0x80]

    def character(self, byte: int) -> int:
        """Return the index of the character at a byte."""
        return byte - bisect_left(self._inner, byte)


class DeclarationReader:
    """Read a text's nodes at their characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._offsets = Offsets(text)

    def at(self, node: Node) -> tuple[int, int]:
        """Return the characters at which a node begins and ends."""
        return self._offsets.character(node.start_byte), self._offsets.character(node.end_byte)

    def body_at(self, node: Node | None) -> tuple[int, int] | None:
        return self.at(node) if node is not None else None


def walk(root: Node, *, into: Callable[[Node], bool] = lambda _: True) -> Iterator[Node]:
    """Yield a node and all below it, in the order of the text; below only where `into` is true."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if into(node):
            pending.extend(reversed(node.children))


def lines_within(root: Node | None, kinds: Collection[str]) -> frozenset[int]:
    """Return the lines, from 0, that begin within a node of one of these kinds."""
    nodes = (each for each in (walk(root) if root else ()) if each.type in kinds)
    spans = (range(each.start_point[0] + 1, each.end_point[0] + 1) for each in nodes)
    return frozenset(line for span in spans for line in span)


def text_without(root: Node, parts: Iterable[tuple[int, int]]) -> str:
    """Return the text of a file without its comments and these parts, which are in bytes."""
    comments = (each for each in walk(root) if "comment" in each.type)
    spans = sorted([*parts, *((each.start_byte, each.end_byte) for each in comments)])
    code, at, kept = root.text or b"", root.start_byte, bytearray()
    for start, end in [*spans, (root.end_byte, root.end_byte)]:
        kept += code[at - root.start_byte : max(start, at) - root.start_byte] + b" "
        at = max(at, end)
    return kept.decode("utf-8", "replace")


def failing_text(root: Node | None, tests: Sequence[TestFunction]) -> str:
    """Return what `Plans.asserting_text` does, of a file with these tests."""
    if root is None or root.has_error or all(each.is_idle for each in tests):
        return ""
    return text_without(root, [each.at for each in tests if each.is_idle])


def table_at(node: Node, names: Iterable[str], offsets: Offsets) -> CaseTable:
    """Return the brackets of `node` as a table of cases."""
    cases = [each for each in node.named_children if "comment" not in each.type]
    first, last = node.children[0], node.children[-1]
    return CaseTable(
        frozenset(filter(None, names)),
        offsets.character(first.end_byte),
        offsets.character(last.start_byte),
        tuple(
            (offsets.character(each.start_byte), offsets.character(each.end_byte)) for each in cases
        ),
        tuple(map(tokens_of, cases)),
    )


def first_fault(root: Node, text: str) -> TextFault | None:
    """Return the place of the first fault of syntax; `None` if there is none."""
    if not root.has_error:
        return None
    for node in walk(root, into=lambda each: each.has_error):
        if node.is_missing:
            return fault_at(node, text, f"{_shown(node.type)} is missing")
        if node.is_error:
            return fault_at(node, text, "there is a fault of syntax")
    return TextFault("there is a fault of syntax")


def fault_at(node: Node, text: str, message: str) -> TextFault:
    """Return a fault at the line where a node begins."""
    line = node.start_point[0] + 1
    lines = text.split("\n")
    excerpt = lines[line - 1].strip()[:_MAX_EXCERPT] if line <= len(lines) else ""
    return TextFault(message, line, excerpt)


def tokens_of(node: Node | None) -> str:
    """Return the words and signs of a node with a blank between them, without its comments."""
    if node is None:
        return ""
    nodes = walk(node, into=lambda each: each.type not in _WHOLE and "comment" not in each.type)
    leaves = (
        each
        for each in nodes
        if (not each.children or each.type in _WHOLE) and "comment" not in each.type
    )
    words = ((each.text or b"").decode("utf-8", "replace").strip() for each in leaves)
    return " ".join(word for word in words if word)


def _shown(kind: str) -> str:
    return f"`{kind}`" if not kind.isidentifier() else kind.replace("_", " ")


def normal_changes(changes: Sequence[str]) -> frozenset[str]:
    """Return an order's `changes` with dots for `::`, without blanks and a final `()`."""
    return frozenset(each.strip().removesuffix("()").replace("::", ".") for each in changes)


def exactly_meant(name: str, path: str, changed: Collection[str]) -> bool:
    """Return whether `changed` has this qualified name, alone or with its module or file."""
    stem = path.rpartition("/")[2].partition(".")[0]
    module = path.rpartition("/")[0].rpartition("/")[2]
    spelled = {name, f"{path}:{name}", f"{stem}.{name}", f"{module}.{name}", path}
    return not spelled.isdisjoint(changed)


def is_meant(name: str, path: str, changed: Collection[str]) -> bool:
    """Return whether `changed` has a qualified name, its type, or its last part alone."""
    owner, last = name.split(".", 1)[0], name.rpartition(".")[2]
    return last in changed or any(exactly_meant(each, path, changed) for each in (name, owner))


# `func [ T any ](`, `fn < T : Ord >(`, `type_spec[ T any ] struct`, `impl<T: Ord> Stack<T>`
_OPENED: Final = re.compile(r"^[\w ]*?(?:\*)?[\[<] ?")
_BLOCK: Final = re.compile(r"(?:unsafe )?impl ?(?=<)")
_WORD: Final = re.compile(r"'?[A-Za-z_]\w*")
_SPLIT: Final = frozenset({"const"})  # words before the name of a parameter


@dataclass(frozen=True, slots=True)
class TypeParameters:
    """Hold type parameters: `text` with their constraints, and their `names` in order."""

    text: str = ""
    names: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    """Every parameter with its constraint."""
    rest: str = ""
    """The text behind the parameters."""

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(each for each in self.names if not each.startswith("'"))


def type_parameters(key: str) -> TypeParameters:
    """Return the type parameters in a key; none if the declaration is not generic."""
    found = _OPENED.match(key)
    if found is None:
        return TypeParameters()
    start, text, rest = found.end(), "", ""
    depth, part = 1, ""
    parts: list[str] = []
    for at in range(start, len(key)):
        each = key[at]
        is_arrow = each == ">" and key[at - 1 : at] in ("-", "=")
        depth += (each in "[<({") - (each in "])}" or (each == ">" and not is_arrow))
        if not depth:
            text, rest = key[start:at].strip(), key[at + 1 :]
            break
        if each == "," and depth == 1:
            parts.append(part)
            part = ""
        else:
            part += each
    if not text:
        return TypeParameters()
    parts = [each.strip() for each in (*parts, part) if _WORD.search(each)]
    words = (_WORD.findall(each) for each in parts)
    names = (next((w for w in found if w not in _SPLIT), "") for found in words)
    return TypeParameters(text, tuple(each for each in names if each), tuple(parts), rest)


def block_parameters(head: str) -> TypeParameters:
    """Return the type parameters of a block of methods, `impl<T: Ord> Stack<T>`, by its head."""
    return type_parameters(head) if _BLOCK.match(head) else TypeParameters()


def split_outside(
    text: str, separator: str, opening: str, closing: str, quotes: str = ""
) -> list[str]:
    """Return the parts of a text between separators that are outside of brackets and quotes.

    The arrows `->` and `=>` close no bracket.
    """
    parts, depth, start, quote = [], 0, 0, ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in quotes:
            quote = character
        elif character in opening:
            depth += 1
        elif character in closing and not (character == ">" and text[at - 1 : at] in ("-", "=")):
            depth -= 1
        elif character == separator and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def split_list(text: str, opening: str, closing: str) -> list[str]:
    """Return the parts of a list that is separated by commas outside of brackets."""
    parts = map(str.strip, split_outside(text, ",", opening, closing))
    return [each for each in parts if each]


def renamed(key: str, names: Mapping[str, str]) -> str:
    """Return a key with other names for its type parameters."""
    return _WORD.sub(lambda found: names.get(found[0], found[0]), key) if names else key


def same_names(item: Declared, other: Declared) -> Mapping[str, str]:
    """Return how the type parameters of `item`, and of its block, are called in `other`."""
    pairs = (
        (block_parameters(item.around).names, block_parameters(other.around).names),
        (type_parameters(item.key).names, type_parameters(other.key).names),
    )
    alike = (zip(*pair, strict=True) for pair in pairs if len(pair[0]) == len(pair[1]))
    return {own: theirs for each in alike for own, theirs in each if own != theirs}
