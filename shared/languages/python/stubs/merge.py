"""Merges a stub over a module's statements: each name that the stub declares is replaced."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterable, Sequence
from typing import Final, TypeVar

from shared.languages.python.stubs.declarations import declarations, target_names
from shared.languages.python.stubs.stubs import Stub, parse_stub
from shared.work_order.schemas import Interface

_ANY: Final = "_Anything"
_N = TypeVar("_N", bound=ast.AST)


def merge_stubs(interfaces: Iterable[Interface]) -> dict[str, list[ast.stmt]]:
    """Return the declared statements of each file by path, later ones merged over earlier ones.

    Stubs that do not parse are left out.
    """
    bodies: dict[str, list[ast.stmt]] = {}
    for each in interfaces:
        stub = parse_stub(each.stub)
        if isinstance(stub, Stub):
            bodies[each.path] = merge(bodies.get(each.path, ()), stub.tree.body)
    return bodies


def merge(base: Sequence[ast.stmt], delta: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of `base` with the declarations of `delta` in force.

    A class that both have is merged by member. Where `delta` names no bases or no decorators, the
    class keeps those of `base`. Neither argument is changed.
    """
    had = declarations(base)
    declared = declarations(delta)
    both = {
        name
        for name, each in declared.items()
        if each.kind == "class" and name in had and had[name].kind == "class"
    }
    merged = {name: _merge_class(had[name].nodes[-1], declared[name].nodes[-1]) for name in both}
    imports = {ast.dump(each) for each in base if _is_import(each)}
    added = [
        each
        for each in delta
        if not (isinstance(each, ast.ClassDef) and each.name in both)
        and not (_is_import(each) and ast.dump(each) in imports)
    ]
    kept = _with_merged_classes(without(base, declarations(added).keys()), merged)
    front = [each for each in added if _is_import(each)]
    rest = [each for each in added if not _is_import(each)]
    at = _after_future_imports(kept)
    return [*kept[:at], *front, *kept[at:], *rest]


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def without(body: Sequence[ast.stmt], names: Collection[str]) -> list[ast.stmt]:
    """Return `body` without the statements that bind `names`; a name may be that of a member.

    A member is named with its class: `Game.undo`.
    """
    plain = {each for each in names if "." not in each}
    members: dict[str, set[str]] = {}
    for each in names:
        owner, dot, member = each.partition(".")
        if dot:
            members.setdefault(owner, set()).add(member)
    return [new for each in body for new in _without(each, plain, members)]


def loosened(body: Sequence[ast.stmt], names: Collection[str]) -> list[ast.stmt]:
    """Return `body` with each binding of `names` replaced by one of the type `Any`."""
    at = _after_future_imports(body)
    import_any = ast.ImportFrom("typing", [ast.alias("Any", _ANY)], 0)
    return [*body[:at], import_any, *_loosened(body[at:], names)]


def _loosened(body: Sequence[ast.stmt], names: Collection[str]) -> list[ast.stmt]:
    plain = sorted(each for each in names if "." not in each)
    left = [
        _copy(each, body=_loosened(each.body, _members_of(each.name, names)))
        if isinstance(each, ast.ClassDef)
        else each
        for each in without(body, plain)
    ]
    return [*left, *(ast.AnnAssign(ast.Name(each), ast.Name(_ANY), None, 1) for each in plain)]


def _members_of(owner: str, names: Collection[str]) -> list[str]:
    return [each.partition(".")[2] for each in names if each.startswith(f"{owner}.")]


def _without(
    statement: ast.stmt, names: Collection[str], members: dict[str, set[str]]
) -> list[ast.stmt]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [] if name in names else [statement]
        case ast.ClassDef(name=name):
            if name in names:
                return []
            if name in members:
                return [_with_body(statement, without(statement.body, members[name]))]
            return [statement]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [] if name in names else [statement]
        case ast.Assign(targets=targets):
            return _without_targets(statement, targets, names)
        case ast.Import() | ast.ImportFrom():
            left = [
                each
                for each in statement.names
                if (each.asname or each.name.split(".", 1)[0]) not in names
            ]
            return [_copy(statement, names=left)] if left else []
        case ast.If() | ast.For() | ast.While() | ast.Try() | ast.With():
            return [_without_in_blocks(statement, names, members)]
        case _:
            return [statement]


def _without_targets(
    statement: ast.Assign, targets: Sequence[ast.expr], names: Collection[str]
) -> list[ast.stmt]:
    bound = {name for target in targets for name in target_names(target)}
    if not bound & set(names):
        return [statement]
    if bound <= set(names):
        return []
    # In `a, b = 1, 2` only `a` is removed: it is renamed, and `b` stays.
    renamed = [_Renamed(names).visit(copy.deepcopy(target)) for target in targets]
    return [_copy(statement, targets=renamed)]


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("_replaced", node.ctx) if node.id in self._names else node


def _without_in_blocks(
    statement: ast.stmt, names: Collection[str], members: dict[str, set[str]]
) -> ast.stmt:
    changed: dict[str, object] = {}
    for block in ("body", "orelse", "finalbody"):
        inside = getattr(statement, block, None)
        if inside:
            left = [new for each in inside for new in _without(each, names, members)]
            changed[block] = left or [ast.Pass()]
    if isinstance(statement, ast.Try):
        changed["handlers"] = [
            _copy(
                handler,
                body=[new for each in handler.body for new in _without(each, names, members)]
                or [ast.Pass()],
            )
            for handler in statement.handlers
        ]
    return _copy(statement, **changed)


def _with_merged_classes(
    body: Sequence[ast.stmt], classes: dict[str, ast.ClassDef]
) -> list[ast.stmt]:
    """Return `body` with the merged class in place of the last one of its name."""
    left = dict(classes)
    out: list[ast.stmt] = []
    for statement in reversed(body):
        if isinstance(statement, ast.ClassDef) and statement.name in classes:
            if statement.name in left:
                out.append(left.pop(statement.name))
            continue
        out.append(statement)
    out.reverse()
    return [*out, *left.values()]  # a class that was in a block is appended


def _merge_class(base: ast.stmt, delta: ast.stmt) -> ast.ClassDef:
    assert isinstance(base, ast.ClassDef), "only classes are merged"
    assert isinstance(delta, ast.ClassDef), "only classes are merged"
    return _copy(
        delta,
        bases=delta.bases or base.bases,
        keywords=delta.keywords or base.keywords,
        decorator_list=delta.decorator_list or base.decorator_list,
        body=merge(base.body, delta.body) or [ast.Pass()],
    )


def _with_body(statement: ast.ClassDef, body: list[ast.stmt]) -> ast.ClassDef:
    return _copy(statement, body=body or [ast.Pass()])


def _after_future_imports(body: Sequence[ast.stmt]) -> int:
    for index in range(len(body), 0, -1):
        each = body[index - 1]
        if isinstance(each, ast.ImportFrom) and each.module == "__future__":
            return index
    first = body[0] if body else None
    return int(isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant))


def _copy(node: _N, **changed: object) -> _N:
    """Return a shallow copy of a node with some of its fields changed."""
    fields = {name: getattr(node, name) for name in node._fields if hasattr(node, name)}
    copied = type(node)(**{**fields, **changed})
    return ast.copy_location(copied, node)
