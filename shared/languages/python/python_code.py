"""Reads a piece of Python without running it.

llmch runs on several versions of Python, and the code that it judges runs on whichever version
the target project has. All of them read the grammar of `OLDEST`: plans are held to that grammar,
whichever Python judges them. `ast.parse` can be held to an older grammar in all but f-strings;
f-strings are scanned here by the rules that Python 3.11 had for them. The answer depends on the
text alone and not on the Python that is asked.
"""

from __future__ import annotations

import ast
import functools
import posixpath
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final, TypeVar

from shared.languages.read_commands import Code, CodeProblem, Import
from shared.processes.shell_words import MAX_ARGUMENT_BYTES, is_too_long

NAME: Final = "Python"

ROOTS: Final = ("", "src/")
"""The folders in which imports are looked up: the root of the repo, and that of a `src` layout."""

_TEST_NAME = re.compile(r"test_.*|.*_test|conftest|tests?")
# These Python files are run, or found by their place. Nobody imports them for their names.
_WITHOUT_NAMES = frozenset({"__init__.py", "__main__.py", "setup.py"})


# Many rules ask about the same few paths.
@functools.lru_cache(maxsize=4096)
def is_test_file(path: str) -> bool:
    """Return whether a Python file holds tests, or code that only tests use."""
    folder, name = posixpath.split(path)
    in_tests = any(part in {"test", "tests"} for part in folder.split("/"))
    return in_tests or _TEST_NAME.fullmatch(name.removesuffix(".py")) is not None


@functools.lru_cache(maxsize=4096)
def has_names_to_declare(path: str) -> bool:
    """Return whether `path` is a Python file whose names other files import."""
    is_python = path.endswith(".py") and posixpath.basename(path) not in _WITHOUT_NAMES
    return is_python and not is_test_file(path)


def last_part(node: ast.AST) -> str:
    """Return the last part of a dotted name; "" for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def name_behind(node: ast.expr) -> str:
    """Return the last part of a dotted name, without call or subscript; "" for anything else."""
    match node:
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return name_behind(inner)
        case _:
            return last_part(node)


def decorator_names(node: ast.stmt) -> frozenset[str]:
    """Return the last names of the decorators of a function or class."""
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    return frozenset(name_behind(each) for each in decorators)


def base_names(node: ast.stmt) -> frozenset[str]:
    """Return the last names of a class's bases; nothing for any other statement."""
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    return frozenset(map(name_behind, bases))


def package_of(path: str, module: str) -> list[str]:
    """Return the parts of the package that the file of a module is in, or is the root of."""
    parts = module.split(".")
    return parts if path.endswith(("/__init__.py", "/__init__.pyi")) else parts[:-1]


def absolute_module(package: Sequence[str], base: str | None, level: int) -> str:
    """Return the module that `from` names in a file of a package; `level` counts its dots."""
    start = package[: len(package) - level + 1] if level else ()
    return ".".join([*start, *([base] if base else [])])


OLDEST: Final = (3, 11)

_F_STRING = re.compile(r"(?:[fF][rR]?|[rR][fF])['\"]")
# A comment, a name (which may be the prefix of a string), or the quotes that open a string.
_TOKEN = re.compile(r"#[^\n]*|[^\W\d]\w*|'''|\"\"\"|'|\"")
_PREFIXES: Final = frozenset({"r", "u", "b", "br", "rb", "f", "fr", "rf"})
# The end of a string, by its quotes. An escaped character is matched too and does not end it. The
# end of a line cuts off a string in single quotes, and does nothing to one in triple quotes.
_ENDS: Final = {
    quotes: re.compile(rf"\\.|{quotes}" + (r"|\n" if len(quotes) == 1 else ""), re.DOTALL)
    for quotes in ("'", '"', "'''", '"""')
}
_NAMED_CHARACTER = re.compile(r"\\N\{[^}]*\}?")
_OPENING: Final = {")": "(", "]": "[", "}": "{"}
_CONVERSIONS: Final = ("s", "r", "a")
_BLANKS: Final = " \t\n\r\f\v"
_MAX_SPEC_DEPTH: Final = 2
_NEVER_CLOSES: Final = "the braces of an f-string do not close before its own quotes do"


class FStringFault(Exception):
    """Hold the reason why Python 3.11 does not read an f-string, and its first line, from 1."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def f_string_fault(source: str) -> FStringFault | None:
    """Return the fault of the first f-string in `source` that Python 3.11 does not read, if any.

    Code that Python 3.11 compiles has no fault, with one exception: a `=` in the braces of a format
    is a fault, because early releases of Python 3.12 fail on it. Never raises. Takes linear time.
    """
    if not _F_STRING.search(source):
        return None
    try:
        _scan_code(re.sub(r"\r\n?", "\n", source))
    except FStringFault as fault:
        return fault
    return None


def _scan_code(code: str) -> None:
    """Read each f-string in `code`, also those within the braces of another f-string."""
    position, prefix = 0, ""
    while token := _TOKEN.search(code, position):
        text, position = token[0], token.end()
        if text not in _ENDS:
            is_prefix = text.lower() in _PREFIXES and code[position : position + 1] in ("'", '"')
            prefix = text.lower() if is_prefix else ""
            continue
        start, position = position, _string_end(code, text, position)
        if position < 0 and "f" not in prefix:
            return  # the code ends within a string, which the compiler reports better
        if "f" in prefix:
            try:
                if position < 0:
                    raise FStringFault(_NEVER_CLOSES)
                _FString(code[start : position - len(text)], is_raw="r" in prefix).read()
            except FStringFault as fault:
                fault.line = code.count("\n", 0, start) + 1
                raise
        prefix = ""


def _string_end(code: str, quotes: str, start: int) -> int:
    """Return the end of the string whose text begins at `start`, or -1 where it never ends."""
    for found in _ENDS[quotes].finditer(code, start):
        if found[0] == "\n":
            break
        if found[0] == quotes:
            return found.end()
    return -1


class _FString:
    """Read the text of an f-string as the parser of Python 3.11 does, from left to right.

    Raises `FStringFault` if that parser refuses the text.
    """

    def __init__(self, text: str, *, is_raw: bool) -> None:
        self._text = text
        self._is_raw = is_raw
        self._at = 0

    def read(self, depth: int = 0) -> None:
        """Read literal text and replacement fields in turn, to the end of the text or format."""
        while True:
            self._skip_literal(depth)
            if self._next in ("", "}"):
                return
            self._read_field(depth)

    @property
    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_literal(self, depth: int) -> None:
        while character := self._next:
            if character == "\\" and not self._is_raw:
                named = _NAMED_CHARACTER.match(self._text, self._at)
                if named is not None:
                    self._at = named.end()
                    continue
                self._at += 1
                if self._next not in ("{", "}"):
                    self._at += 1
            elif character not in "{}":
                self._at += 1
            elif depth == 0 and self._text[self._at + 1 : self._at + 2] == character:
                self._at += 2
            elif depth == 0 and character == "}":
                raise FStringFault("an f-string holds a single `}`")
            else:
                return

    def _read_field(self, depth: int) -> None:
        if depth >= _MAX_SPEC_DEPTH:
            raise FStringFault("the formats of an f-string are nested too deeply")
        self._at += 1
        _scan_code(self._read_expression())
        if self._next == "=":
            if depth:
                raise FStringFault("an f-string holds a `=` in the braces of a format")
            self._at += 1
            while self._next and self._next in _BLANKS:
                self._at += 1
        if self._next == "!":
            self._at += 1
            if self._next not in _CONVERSIONS:
                raise FStringFault("an f-string holds a conversion other than !s, !r and !a")
            self._at += 1
        if self._next == ":":
            self._at += 1
            self.read(depth + 1)
        if self._next != "}":
            raise FStringFault(_NEVER_CLOSES)
        self._at += 1

    def _read_expression(self) -> str:
        """Return the expression in a field, and move to the character that ends it."""
        text, start, quotes, open_brackets = self._text, self._at, "", []
        while character := self._next:
            if character == "\\":
                raise FStringFault("an f-string holds a backslash within its braces")
            if quotes:
                if text.startswith(quotes, self._at):
                    self._at += len(quotes) - 1
                    quotes = ""
            elif character in "'\"":
                triple = character * 3
                quotes = triple if text.startswith(triple, self._at) else character
                self._at += len(quotes) - 1
            elif character == "#":
                raise FStringFault("an f-string holds a `#` within its braces")
            elif character in "([{":
                open_brackets.append(character)
            elif not open_brackets and character in "!:}=<>":
                if character in "!=<>" and text[self._at + 1 : self._at + 2] == "=":
                    self._at += 1
                elif character not in "<>":
                    return text[start : self._at]
            elif character in ")]}" and (
                not open_brackets or open_brackets.pop() != _OPENING[character]
            ):
                raise FStringFault("the brackets in an f-string do not match")
            self._at += 1
        raise FStringFault(_NEVER_CLOSES)


_NAME = r"[A-Za-z_][A-Za-z0-9_]*+"
_DOTTED = rf"{_NAME}(?:\.{_NAME})*+"
_AS = rf"(?: as {_NAME})?"
_LEADING_IMPORT = re.compile(
    rf"(?:from (?P<module>{_DOTTED}) import (?P<names>{_NAME}{_AS}(?:, ?{_NAME}{_AS})*+)"
    rf"|import (?P<modules>{_DOTTED}{_AS}(?:, ?{_DOTTED}{_AS})*+))"
    r"[ \t]*+(?:[;\n][ \t\n]*+|\Z)"
)
_CATCHES_IMPORT_ERROR = frozenset(
    {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
)
_LONE_CR: Final = re.compile(r"\r(?!\n)")
_LONG_NUMBER: Final = re.compile(r"0[xXoObB][0-9a-fA-F_]{3000}")
_MOST_BITS: Final = 14_000  # below 4,300 digits
_warnings_lock = threading.Lock()

T = TypeVar("T")


def read_code(source: str) -> Code:
    """Return `source` with its problem or its imports, without running any of it.

    Never raises and never warns. Code that needs a newer Python than `OLDEST` has a problem,
    whichever Python compiles it.
    """
    if is_too_long(source):
        too_long = f"it is over {MAX_ARGUMENT_BYTES} bytes, too long an argument"
        return Code(source, CodeProblem(too_long, False), ())
    problem = _newer_f_string(source)
    read = _attempt(source, _compiled_imports) if problem is None else problem
    if not isinstance(read, CodeProblem) and len(source) > _DEEPEST:
        tree = parse_as_here(source)
        read = tree if isinstance(tree, CodeProblem) else read
    return Code(source, read, ()) if isinstance(read, CodeProblem) else Code(source, None, read)


def parse_code(source: str) -> ast.Module | CodeProblem:
    """Return the syntax tree of `source`, or why there is none. Never raises and never warns.

    Code that needs a newer Python than `OLDEST` has no tree, whichever Python parses it.
    """
    problem = _newer_f_string(source)
    return _attempt(source, _parse_as_oldest) if problem is None else problem


def parse_as_here(source: str) -> ast.Module | CodeProblem:
    """Return the syntax tree that the running Python makes of `source`, or why there is none."""
    return _attempt(source, ast.parse)


def _parse_as_oldest(source: str) -> ast.Module:
    return ast.parse(source, feature_version=OLDEST)


def _newer_f_string(source: str) -> CodeProblem | None:
    if "\0" in source or not (fault := f_string_fault(source)):
        return None
    oldest = ".".join(map(str, OLDEST))
    return CodeProblem(f"{fault.reason}, as Python {oldest} reads it", True, fault.line)


def _compiled_imports(source: str) -> tuple[Import, ...]:
    compile(source, "<code>", "exec", dont_inherit=True)
    if sys.version_info[:2] > OLDEST:
        _parse_as_oldest(source)
    return _imports(source)


def _attempt(source: str, read: Callable[[str], T]) -> T | CodeProblem:
    if "\0" in source:
        return CodeProblem("it holds a NUL", False)
    if "\r" in source and (lone := _LONE_CR.search(source)):
        line = source.count("\n", 0, lone.start()) + 1
        return CodeProblem("it has a line end of a single CR", False, line)
    if source.startswith("\ufeff"):  # as many bytes, so that columns stay what they are
        source = "\f\f\f" + source[1:]
    try:
        with _warnings_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = read(source)
    except SyntaxError as error:
        return CodeProblem(error.msg, True, error.lineno or 0, error.offset or 0)
    except (RecursionError, MemoryError):
        return CodeProblem(_TOO_DEEP, False)
    except (ValueError, OverflowError, SystemError) as error:
        return CodeProblem(f"the compiler refuses it: {error}", False)
    if isinstance(found, ast.Module):
        if _is_deep(found):
            return CodeProblem(_TOO_DEEP, False)
        if _LONG_NUMBER.search(source) and any(map(_is_endless, ast.walk(found))):
            return CodeProblem("it holds a number of too many digits", False)
    return found


def _is_endless(node: ast.AST) -> bool:
    """Return whether a number has more digits than Python writes: `repr` and the like raise."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int) and value.bit_length() > _MOST_BITS


# Python reads a sum of 1,500 terms, and cannot walk its tree. Most expressions are too short to be
# deep, and are not looked into.
_TOO_DEEP: Final = "it is nested too deep"
_DEEPEST: Final = 200
_SHORT: Final = 100


def _is_deep(tree: ast.Module) -> bool:
    """Return whether a tree is too deep for functions that call themselves for each level."""
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        below: list[ast.AST] = []
        for node in chain.from_iterable(map(_branches, level)):
            for value in vars(node).values():
                if value.__class__ is list:
                    below += [e for e in value if isinstance(e, ast.AST) and not _is_short(e)]
                elif isinstance(value, ast.AST) and not _is_short(value):
                    below.append(value)
        if not below:
            return False
        level = below
    return True


def _branches(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node with its branches: each `elif` is the `else` of the one before."""
    while isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        yield ast.If(node.test, node.body, [])
        node = node.orelse[0]
    yield node


def _is_short(node: ast.AST) -> bool:
    if not isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.arg):
        return isinstance(node, ast.expr_context | ast.operator | ast.alias)
    if node.end_lineno != node.lineno:
        return False
    return (node.end_col_offset or 0) - node.col_offset <= _SHORT


def _imports(source: str) -> tuple[Import, ...]:
    """Return the imports of code that compiles.

    Nearly all code has plain imports at its start and none after them. Matching those by a pattern
    takes a fifth of the time of a syntax tree. The tree is built only for other code.
    """
    found: list[Import] = []
    position = 0
    while match := _LEADING_IMPORT.match(source, position):
        line = source.count("\n", 0, position) + 1
        if modules := match["modules"]:
            found += [Import(name, (), line) for name in _without_aliases(modules)]
        else:
            found.append(Import(match["module"], _without_aliases(match["names"]), line))
        position = match.end()
    if source.find("import", position) < 0:
        return tuple(found)
    return tuple(_imports_of(ast.parse(source)))


def _without_aliases(names: str) -> tuple[str, ...]:
    return tuple(name.partition(" as ")[0].strip() for name in names.split(","))


def _imports_of(tree: ast.AST) -> Iterator[Import]:
    pending: list[ast.AST] = [tree]
    while pending:
        match pending.pop():
            case ast.Import(names=names, lineno=line):
                for each in names:
                    yield Import(each.name, (), line)
            case ast.ImportFrom(module=str(module), level=0, names=names, lineno=line):
                yield Import(module, tuple(each.name for each in names), line)
            case ast.Try() | ast.TryStar() as node if any(
                each.type is None or _names_import_error(each.type) for each in node.handlers
            ):
                pending += reversed(node.orelse + node.finalbody)
            case ast.With() as node if any(map(_suppresses, node.items)):
                pass
            case node:
                pending += reversed(list(ast.iter_child_nodes(node)))


def _suppresses(item: ast.withitem) -> bool:
    """Return whether this is `suppress(ImportError)`, `pytest.raises(ImportError)` or the like."""
    call = item.context_expr
    return isinstance(call, ast.Call) and any(map(_names_import_error, call.args))


def _names_import_error(expression: ast.expr) -> bool:
    if isinstance(expression, ast.Tuple):
        return any(map(_names_import_error, expression.elts))
    return last_part(expression) in _CATCHES_IMPORT_ERROR
