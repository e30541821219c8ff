"""Reads interface stubs and what they declare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from shared.languages.planned_code import TextFault
from shared.languages.python.python_code import parse_code
from shared.languages.read_commands import CodeProblem

# A stub holds signatures. Two of the 700 stubs in typeshed are longer than this.
MAX_STUB_BYTES: Final = 100 * 1024
# The frames that a recursive visitor needs for this depth stay far below Python's limit of 1000.
MAX_DEPTH: Final = 60

_FENCE = re.compile(r"`{3,}|~{3,}")


def parse_stub(text: str) -> ast.Module | TextFault:
    """Return the syntax tree of the stub in `text`, or why there is none. Never raises.

    A code fence around the stub is left out. Lines have the same numbers as in `text`.
    """
    code = _without_fence(text)
    if len(code) * 4 > MAX_STUB_BYTES and len(code.encode(errors="replace")) > MAX_STUB_BYTES:
        return TextFault(f"it is over {MAX_STUB_BYTES} bytes")
    tree = parse_code(code)
    if isinstance(tree, CodeProblem):
        return _located(tree, code)
    if depth_exceeds(tree, MAX_DEPTH):
        return TextFault("it is nested too deep")
    return tree


def _without_fence(text: str) -> str:
    """Return the text in a code fence, if there is one, with each line at its old number."""
    body = text.strip()
    fence = _FENCE.match(body)
    opening, newline, rest = body.partition("\n")
    if fence is None or not newline or not rest.endswith(fence[0]):
        return text
    above = text[: text.index(opening)].count("\n") + 1
    return "\n" * above + rest.rstrip(fence[0][0])


def _located(problem: CodeProblem, code: str) -> TextFault:
    lines = code.splitlines()
    excerpt = lines[problem.line - 1].strip() if 0 < problem.line <= len(lines) else ""
    return TextFault(problem.message, problem.line, excerpt)


def depth_exceeds(tree: ast.AST, limit: int) -> bool:
    """Return whether anything in `tree` is nested deeper than `limit` nodes."""
    level: list[ast.AST] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Definition = FunctionNode | ast.ClassDef
Kind = Literal["function", "class", "variable", "import"]
BINDING_BLOCKS: Final = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)


@dataclass(slots=True)
class BoundName:
    """Represent one declared name.

    `nodes` has the statements that bind the name: several for overloads, and for a property with
    several accessors. `members` has the names that a class declares.
    """

    name: str
    kind: Kind
    line: int
    nodes: list[ast.stmt] = field(default_factory=list)
    members: dict[str, BoundName] = field(default_factory=dict)


def declarations(body: Sequence[ast.stmt]) -> dict[str, BoundName]:
    """Return the declarations that the statements of a module or class make, by name, in order.

    Statements in blocks (`if`, `try`) count too. A name that is bound as several kinds has the
    last kind.
    """
    found: dict[str, BoundName] = {}
    for statement in flat(body):
        for name, kind in bindings(statement):
            known = found.get(name)
            if known is None or known.kind != kind:
                known = found[name] = BoundName(name, kind, getattr(statement, "lineno", 0))
            known.nodes.append(statement)
            if isinstance(statement, ast.ClassDef):
                known.members |= declarations(statement.body)
    return found


def plain_declarations(body: Sequence[ast.stmt]) -> dict[str, BoundName]:
    """Return the declarations outside of blocks, which hold on every system."""
    plain = [each for each in body if next(flat([each]), None) is each]
    found = declarations(plain)
    for each in found.values():
        node = each.nodes[-1]
        if isinstance(node, ast.ClassDef):
            each.members = plain_declarations(node.body)
    return found


def qualified(declared: dict[str, BoundName]) -> frozenset[str]:
    """Return all names, and the qualified names of their members: `Game`, `Game.play`."""
    return frozenset(_qualified(declared))


def _qualified(declared: dict[str, BoundName]) -> Iterator[str]:
    for name, declaration in declared.items():
        yield name
        for member in _qualified(declaration.members):
            yield f"{name}.{member}"


def flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a scope in order, with each block replaced by its statements.

    A block that binds names itself (`for`, `with`) is yielded too, before its statements.
    """
    pending = list(reversed(body))
    while pending:
        statement = pending.pop()
        blocks = list(_blocks(statement))
        if not blocks or isinstance(statement, BINDING_BLOCKS):
            yield statement
        for block in reversed(blocks):
            pending.extend(reversed(block))


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    match statement:
        case ast.If() | ast.For() | ast.AsyncFor() | ast.While():
            yield statement.body
            yield statement.orelse
        case ast.Try() | ast.TryStar():
            yield statement.body
            for handler in statement.handlers:
                yield handler.body
            yield statement.orelse
            yield statement.finalbody
        case ast.With() | ast.AsyncWith():
            yield statement.body
        case ast.Match():
            for case in statement.cases:
                yield case.body
        case _:
            return


def targets_of(node: ast.AST | None) -> list[ast.expr]:
    """Return what a statement stores to, without what those in its blocks do."""
    match node:
        case ast.Assign(targets=targets):
            return targets
        case (
            ast.AnnAssign(target=target)
            | ast.AugAssign(target=target)
            | ast.For(target=target)
            | ast.AsyncFor(target=target)
        ):
            return [target]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [each.optional_vars for each in items if each.optional_vars is not None]
        case _:
            return []


def bindings(statement: ast.stmt) -> Iterator[tuple[str, Kind]]:
    """Yield each name that a statement binds in its scope, without those bound in its blocks."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, "function"
        case ast.ClassDef(name=name):
            yield name, "class"
        case ast.Import(names=names):
            for alias in names:
                yield alias.asname or alias.name.split(".", 1)[0], "import"
        case ast.ImportFrom(names=names):
            yield from ((each.asname or each.name, "import") for each in names if each.name != "*")
        case _:
            for target in targets_of(statement):
                yield from ((name, "variable") for name in target_names(target))
            # The `type` statement is new in Python 3.12, and this code also runs on 3.11.
            if type(statement).__name__ == "TypeAlias":
                yield statement.name.id, "variable"  # type: ignore[attr-defined]


def parameters_of(args: ast.arguments) -> list[ast.arg]:
    """Return all parameters in the order in which they are written."""
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [each for each in every if each is not None]


def type_parameters(node: ast.AST) -> frozenset[str]:
    """Return the names in a type parameter list `[T, *Ts]`, which Python has since 3.12."""
    return frozenset(each.name for each in getattr(node, "type_params", ()))


def target_names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from target_names(element)
        case ast.Starred(value=value):
            yield from target_names(value)
        case _:
            return
