"""Finds the mutations of a Python file, by the positions in Python's own syntax tree.

What no test can see is left out: docstrings, annotations, what only a type checker reads, and what
is said in logs.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from math import isinf
from types import CodeType
from typing import Final

from shared.languages.capabilities import Batch, Mutation, MutationKind, Useless
from shared.languages.python import python_commands, second_look
from shared.languages.python.python_code import last_part, name_behind, parse_as_here
from shared.languages.read_commands import CodeProblem

_KIND = MutationKind
_TOKENS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>", ast.And: "and", ast.Or: "or", ast.Eq: "==",
    ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_OPERATORS: Final = {
    "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*", "@": "*",
    "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<", "and": "or", "or": "and",
    "==": "!=", "!=": "==", "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
_BOUNDARIES: Final = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
# Between operands there are brackets, comments and blanks beside the operator.
_BEFORE_OPERATOR: Final = re.compile(r"(?:[\s\\()]|#[^\r\n]*)*")
_LOGS: Final = re.compile(r"_?log(?:s|ger|ging)?", re.IGNORECASE)
_LEVELS: Final = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})
_FOR_CHECKERS: Final = frozenset({"cast", "TypeVar", "NewType", "ParamSpec"})
_REMOVED: Final = (ast.AugAssign, ast.Delete, ast.Raise, ast.Assert, ast.Break, ast.Continue)
_UNSEEN: Final = "TYPE_CHECKING"
_MOST_BITS: Final = 1024
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def find_mutations(path: str, text: str) -> tuple[Mutation, ...] | None:
    """Return the mutations of a file in the order of the text; `None` if it does not parse."""
    tree = parse_as_here(text)
    if isinstance(tree, CodeProblem):
        return None
    if path.endswith(".pyi"):  # no code runs in it
        return ()
    try:
        found = tuple(_Finder(text).below(tree))
    except RecursionError:  # by an `elif` after hundreds
        return None
    return tuple(sorted(found, key=lambda each: (each.start, each.end, each.text)))


class _Finder:
    """Find the mutations of a tree at the characters of its text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(each.end() for each in _LINE_END.finditer(text))]

    def below(self, node: ast.AST) -> Iterator[Mutation]:
        """Yield the mutations of a node and of all below it."""
        yield from self.of(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_params", "type_comment"):
                continue
            for each in value if isinstance(value, list) else (value,):
                if isinstance(each, ast.AST) and not _is_left_out(node, name, each):
                    yield from self.below(each)

    def of(self, node: ast.AST) -> Iterator[Mutation]:
        """Yield the mutations of one node."""
        match node:
            case ast.BinOp(left, operator, right):
                yield from self.exchanged(operator, left, right)
            case ast.BoolOp(operator, values):
                for left, right in pairwise(values):
                    yield from self.exchanged(operator, left, right)
            case ast.Compare(first, operators, values):
                pairs = pairwise((first, *values))
                for compared, (left, right) in zip(operators, pairs, strict=True):
                    yield from self.exchanged(compared, left, right)
            case ast.UnaryOp(ast.Not()):
                yield self.at(_KIND.OPERATOR, self.start(node), "not", "not not")
            case ast.UnaryOp(ast.USub()):
                yield self.at(_KIND.OPERATOR, self.start(node), "-", "+")
            case ast.Constant():
                yield from self.constant(node)
            case ast.Return(value) if value and not isinstance(value, ast.Constant):
                yield self.whole(_KIND.RETURN, value, "None")
            case ast.comprehension(ifs=tests):
                for test in tests:
                    yield from self.inverted(test)
            case ast.match_case(guard=ast.expr() as test):
                yield from self.inverted(test)
            case ast.If(test) | ast.While(test) | ast.IfExp(test):
                yield from self.inverted(test)
            case _:
                yield from self.removed(node)
        if isinstance(node, ast.AugAssign):
            yield from self.exchanged(node.op, node.target, node.value, "=")

    def exchanged(
        self, operator: ast.AST, left: ast.AST, right: ast.AST, more: str = ""
    ) -> Iterator[Mutation]:
        """Yield the mutation of the operator between two operands."""
        was = _TOKENS[type(operator)]
        found = _BEFORE_OPERATOR.match(self.text, self.end(left))
        at = found.end() if found else self.end(left)
        pattern = r"\s+".join(map(re.escape, was.split())) + re.escape(more)
        written = re.compile(pattern).match(self.text, at)
        if written and written.end() <= self.start(right):
            kind = _KIND.BOUNDARY if was in _BOUNDARIES else _KIND.OPERATOR
            instead = (_BOUNDARIES | _OPERATORS)[was] + more
            yield Mutation(kind, at, written.end(), instead)

    def constant(self, node: ast.Constant) -> Iterator[Mutation]:
        match node.value:
            case bool(value):
                instead = str(not value)
            case int(value) if value.bit_length() > _MOST_BITS:  # too long to be written as text
                return
            case float(value) if isinf(value):
                return
            case int(value) | float(value):
                instead = repr(value + 1)
            case str(value):
                instead = '""' if value else '"llmch"'
            case bytes(value):
                instead = 'b""' if value else 'b"llmch"'
            case _:
                return
        yield self.whole(_KIND.CONSTANT, node, instead)

    def inverted(self, test: ast.expr) -> Iterator[Mutation]:
        """Yield the mutation of a condition, unless another mutation of it does the same."""
        match test:
            case ast.Constant() | ast.UnaryOp(ast.Not()):
                return
            case _ if last_part(test) == _UNSEEN:
                return
            case ast.Compare(ops=[operator]) if _TOKENS[type(operator)] in _OPERATORS:
                return
            case _:
                code = self.text[self.start(test) : self.end(test)]
                yield self.whole(_KIND.CONDITION, test, f"not ({code})")

    def removed(self, node: ast.AST) -> Iterator[Mutation]:
        """Yield the mutation that leaves a statement out."""
        match node:
            case ast.Expr(ast.Call() | ast.Await()):
                pass
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
                pass  # a name that is never bound is no fault that a test has to look for
            case _ if isinstance(node, _REMOVED):
                pass
            case _:
                return
        yield self.whole(_KIND.STATEMENT, node, "pass")

    def whole(self, kind: MutationKind, node: ast.AST, instead: str) -> Mutation:
        return Mutation(kind, self.start(node), self.end(node), instead)

    def at(self, kind: MutationKind, start: int, was: str, instead: str) -> Mutation:
        return Mutation(kind, start, start + len(was), instead)

    def start(self, node: ast.AST) -> int:
        return self.character(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self.character(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def character(self, line: int, byte: int) -> int:
        """Return the character at a byte of a line's UTF-8."""
        start = self.starts[line - 1]
        part = self.text[start : start + byte]
        return start + (byte if part.isascii() else len(part.encode()[:byte].decode()))


def _is_left_out(node: ast.AST, name: str, part: ast.AST) -> bool:
    """Return whether no test sees what a part of a node says."""
    match part:
        case (
            ast.Expr(ast.Constant()) | ast.JoinedStr()
        ):  # positions in an f-string differ by version
            return True
        case ast.Call(ast.Attribute(owner, attr=level)) if level in _LEVELS:
            return _LOGS.fullmatch(last_part(owner)) is not None
        case ast.Expr(ast.Call() as call):
            return _is_left_out(part, "value", call)
        case _:
            pass
    match node:
        case ast.If(test):
            return last_part(test) == _UNSEEN and name == "body"
        case ast.Assign(targets=[ast.Name("__all__" | "__slots__"), *_]):
            return True
        case ast.Call(func, [first, *_]):
            return part is first and name_behind(func) in _FOR_CHECKERS
        case _:
            return False


def why_useless(path: str, text: str, mutated: str) -> Useless | None:
    """Return why a mutant need not be run: it does not compile, or compiles to the same code."""
    try:
        after = _compiled(mutated)
        return Useless.EQUIVALENT if _facts(_compiled(text)) == _facts(after) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Useless.INVALID


@lru_cache(maxsize=2)
def _compiled(text: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on `1 is x`, which only the mutant says
        return compile(text, "<mutant>", "exec", dont_inherit=True)


def _facts(code: CodeType) -> tuple[object, ...]:
    """Return all that code does, without the places it came from."""
    constants = tuple(
        _facts(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts
    )
    return (
        code.co_name, code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars,
        code.co_cellvars, code.co_flags, code.co_argcount, code.co_posonlyargcount,
        code.co_kwonlyargcount, getattr(code, "co_exceptiontable", b""),
    )  # fmt: skip


def is_unbuilt(output: str) -> bool:
    """Return false: what does not compile is never run."""
    return False


def batched(batch: Batch) -> tuple[str, ...]:
    """Return the command that forks for each mutant; empty if its commands are no Python's.

    A tree that takes the place of modules which the forking process imports is left alone.
    """
    if any(map(_is_read_first, batch.files)):
        return ()
    launched = [second_look.launched_parts(each, batch.tests) for each in batch.commands]
    interpreters = {each.interpreter for each in launched if each}
    if not all(launched) or len(interpreters) != 1:
        return ()
    commands = [each.words for each in launched if each]
    runners = {words[2] for words in commands if words[1] == "-m"} & {"pytest", "unittest"}
    document = {
        "first": batch.first_code,
        "commands": commands,
        "path": batch.path,
        "changes": batch.changes,
        "seconds": batch.seconds,
        "beside": batch.beside,
        "imports": [*sorted(runners), *(["_pytest.config"] if "pytest" in runners else [])],
    }
    program = second_look.launcher_program("mutant_runs")
    return (*interpreters.pop(), "-c", program, json.dumps(document))


def _is_read_first(path: str) -> bool:
    return (
        path.endswith((".py", ".pth"))
        and path.rpartition("/")[2] != "conftest.py"
        and (bool(python_commands.steers(path)))
    )
