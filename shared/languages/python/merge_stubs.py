"""Merges stubs over modules: the contracts that hold after a chain of orders.

In `class Store: def list(self) -> list[str]` a person means the built-in type, and so does Python
where annotations are not evaluated. A type checker takes the method for the type and then knows
nothing about the result. Such types therefore get a name of their own.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Collection, Iterable, Sequence
from typing import Final, TypeVar

from shared.languages.declared.declarations import normal_changes
from shared.languages.python.python_code import last_part
from shared.languages.python.signatures import quoted_type
from shared.languages.python.stubs import (
    BoundName,
    declarations,
    parameters_of,
    parse_stub,
    qualified,
    target_names,
)
from shared.work_order.work_order import Interface, WorkOrder

_ANY: Final = "_Anything"
_N = TypeVar("_N", bound=ast.AST)
_F = TypeVar("_F", ast.FunctionDef, ast.AsyncFunctionDef)


def merge_stubs(interfaces: Iterable[Interface]) -> dict[str, list[ast.stmt]]:
    """Return the declared statements of each file by path, later ones merged over earlier ones.

    Stubs that do not parse are left out.
    """
    bodies: dict[str, list[ast.stmt]] = {}
    for each in interfaces:
        stub = parse_stub(each.stub)
        if isinstance(stub, ast.Module):
            bodies[each.path] = merge(bodies.get(each.path, ()), stub.body)
    return bodies


def merge(base: Sequence[ast.stmt], delta: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of `base` with the declarations of `delta` in force.

    A class that both have is merged by member. Where `delta` names no bases or no decorators, the
    class keeps those of `base`. Neither argument is changed.
    """
    had = declarations(base)
    declared = declarations(delta)
    both = {
        each for each in had.keys() & declared if had[each].kind == declared[each].kind == "class"
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
    added.sort(key=lambda each: not _is_import(each))
    front, at = sum(map(_is_import, added)), after_future_imports(kept)
    return [*kept[:at], *added[:front], *kept[at:], *added[front:]]


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def without(body: Sequence[ast.stmt], names: Collection[str]) -> list[ast.stmt]:
    """Return `body` without the statements that bind `names`; a name may be that of a member.

    A member is named with its class: `Game.undo`.
    """
    plain, members = _by_class(names)
    return [new for each in body for new in _without(each, plain, members)]


def _by_class(names: Collection[str]) -> tuple[set[str], dict[str, set[str]]]:
    """Return the names of no class, and those of members by their class."""
    members: dict[str, set[str]] = {}
    for each in names:
        owner, dot, member = each.partition(".")
        if dot:
            members.setdefault(owner, set()).add(member)
    return {each for each in names if "." not in each}, members


def loosened(body: Sequence[ast.stmt], names: Collection[str]) -> list[ast.stmt]:
    """Return `body` with each binding of `names` replaced by one of the type `Any`."""
    at = after_future_imports(body)
    import_any = ast.ImportFrom("typing", [ast.alias("Any", _ANY)], 0)
    return [*body[:at], import_any, *_loosened(body[at:], names)]


def _loosened(body: Sequence[ast.stmt], names: Collection[str]) -> list[ast.stmt]:
    plain, members = _by_class(names)
    left = [
        copied(each, body=_loosened(each.body, members.get(each.name, ())))
        if isinstance(each, ast.ClassDef)
        else each
        for each in without(body, plain)
    ]
    return [*left, *(ast.AnnAssign(ast.Name(e), ast.Name(_ANY), None, 1) for e in sorted(plain))]


def _without(
    statement: ast.stmt, names: Collection[str], members: dict[str, set[str]]
) -> list[ast.stmt]:
    match statement:
        case (
            ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
            | ast.ClassDef(name=name)
            | ast.AnnAssign(target=ast.Name(id=name))
        ) if name in names:
            return []
        case ast.ClassDef(name=name) if name in members:
            body = without(statement.body, members[name])
            return [copied(statement, body=body or [ast.Pass()])]
        case ast.Assign(targets=targets):
            return _without_targets(statement, targets, names)
        case ast.Import() | ast.ImportFrom():
            left = [e for e in statement.names if (e.asname or e.name.split(".")[0]) not in names]
            return [copied(statement, names=left)] if left else []
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
    renamed = copy.deepcopy(list(targets))
    for each in (node for target in renamed for node in ast.walk(target)):
        if isinstance(each, ast.Name) and each.id in names:
            each.id = "_replaced"
    return [copied(statement, targets=renamed)]


def _without_in_blocks(statement: _N, names: Collection[str], members: dict[str, set[str]]) -> _N:
    changed: dict[str, object] = {}
    for block in ("body", "orelse", "finalbody"):
        inside = getattr(statement, block, None)
        if inside:
            left = [new for each in inside for new in _without(each, names, members)]
            changed[block] = left or [ast.Pass()]
    if isinstance(statement, ast.Try):
        handlers = statement.handlers
        changed["handlers"] = [_without_in_blocks(each, names, members) for each in handlers]
    return copied(statement, **changed)


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
    return copied(
        delta,
        bases=delta.bases or base.bases,
        keywords=delta.keywords or base.keywords,
        decorator_list=delta.decorator_list or base.decorator_list,
        body=merge(base.body, delta.body) or [ast.Pass()],
    )


def after_future_imports(body: Sequence[ast.stmt]) -> int:
    """Return the index behind the last `from __future__` import, or else behind the docstring."""
    for index in range(len(body), 0, -1):
        each = body[index - 1]
        if isinstance(each, ast.ImportFrom) and each.module == "__future__":
            return index
    first = body[0] if body else None
    return int(isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant))


def copied(node: _N, **changed: object) -> _N:
    """Return a node of the same kind and place with other values for some of its fields."""
    fields = {name: getattr(node, name) for name in node._fields if hasattr(node, name)}
    copied = type(node)(**{**fields, **changed})
    return ast.copy_location(copied, node)


_PREFIX: Final = "_Outer_"
_TYPES: Final = frozenset(
    name for name in dir(builtins) if isinstance(getattr(builtins, name), type)
)


def with_outer_types(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return a module's statements with hidden types renamed, so that nothing hides a type.

    The argument is not changed. Where no type is hidden, its own statements are returned.
    """
    declared = declarations(body)
    here = {name for name, each in declared.items() if _hides(each) and not _is_alias(each)}
    outer = _TYPES | {name for name in declared if name not in here}
    if not (here & _TYPES or any(_hides_inside(each, outer) for each in declared.values())):
        return list(body)
    renaming = _TypeRenaming(here & _TYPES, outer)
    renamed = [renaming.visit(copy.deepcopy(each)) for each in body]
    if not renaming.used:
        return list(body)
    at = after_future_imports(body)
    made = [_alias(name, declared) for name in sorted(renaming.used)]
    imports = [each for each in made if _is_import(each)]
    aliases = [each for each in made if not _is_import(each)]
    return [*renamed[:at], *imports, *renamed[at:], *aliases]


def _hides(declaration: BoundName) -> bool:
    return declaration.kind in {"function", "variable"}


def _hides_inside(declaration: BoundName, outer: Collection[str]) -> bool:
    """Return whether a member of a class, or of a class in it, has the name of an outer type."""
    return any(
        (name in outer and _hides(each)) or _hides_inside(each, outer)
        for name, each in declaration.members.items()
    )


def _is_alias(declaration: BoundName) -> bool:
    match declaration.nodes[-1]:
        case ast.Assign():
            return True
        case ast.AnnAssign(annotation=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name == "TypeAlias"
        case _:
            return False


def _alias(name: str, declared: Collection[str]) -> ast.stmt:
    if name in declared and name not in _TYPES:
        return ast.Assign([ast.Name(_PREFIX + name, ast.Store())], ast.Name(name), lineno=0)
    return ast.ImportFrom("builtins", [ast.alias(name, _PREFIX + name)], 0)


class _TypeRenaming(ast.NodeTransformer):
    """Rename hidden types in the annotations of a module, and collect their names in `used`."""

    def __init__(self, hidden: Collection[str], outer: Collection[str]) -> None:
        self._hidden = frozenset(hidden)
        self._outer = frozenset(outer)
        self.used: set[str] = set()

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        members = {name for name, each in declarations(node.body).items() if _hides(each)}
        before = self._hidden
        self._hidden = before | (members & self._outer)
        node.body = [self.visit(each) for each in node.body]
        self._hidden = before
        return node

    def visit_FunctionDef(self, node: _F) -> _F:
        for each in parameters_of(node.args):
            each.annotation = self._type(each.annotation)
        node.returns = self._type(node.returns)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  # the name is that of `ast`

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.annotation = self._type(node.annotation) or node.annotation
        return node

    def _type(self, annotation: ast.expr | None) -> ast.expr | None:
        if annotation is None or not self._hidden:
            return annotation
        named = _AnnotationRenaming(self._hidden)
        found: ast.expr = named.visit(annotation)
        self.used |= named.used
        return found


class _AnnotationRenaming(ast.NodeTransformer):
    """Rename hidden types in one annotation, except in `Literal`, which lists values."""

    def __init__(self, hidden: frozenset[str]) -> None:
        self._hidden = hidden
        self.used: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id not in self._hidden:
            return node
        self.used.add(node.id)
        return ast.Name(_PREFIX + node.id, node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        inner = quoted_type(node.value) if isinstance(node.value, str) else None
        if inner is None:
            return node
        found: ast.expr = self.visit(inner)
        return found if self.used else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if last_part(node.value) != "Literal":
            self.generic_visit(node)
        return node


def contracts_in_force(orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
    """Return one stub for each file, with the declarations that hold after the last of `orders`.

    Later declarations are merged over earlier ones. A name in an order's `changes` that the order
    does not declare is removed from the files that the order may write. Stubs that do not parse
    declare nothing.
    """
    bodies: dict[str, list[ast.stmt]] = {}
    for order in orders:
        declared: set[str] = set()
        for path, body in merge_stubs(order.interfaces).items():
            bodies[path] = merge(bodies.get(path, ()), body)
            declared |= qualified(declarations(body))
        changed = normal_changes(order.changes)
        for path in order.allowed_files if changed else ():
            names = qualified(declarations(bodies.get(path, ()))) - declared
            gone = {each for each in names if exactly_meant(each, path, changed)}
            if gone:
                bodies[path] = without(bodies[path], gone)
    return tuple(
        Interface(path=path, stub=ast.unparse(ast.Module(body, [])))
        for path, body in bodies.items()
    )


def exactly_meant(name: str, path: str, changed: Collection[str]) -> bool:
    return not {name, f"{_module(path)}.{name}", f"{path}:{name}"}.isdisjoint(changed)


def is_meant(name: str, path: str, changed: Collection[str]) -> bool:
    owner, last = name.split(".", 1)[0], name.rpartition(".")[2]
    return last in changed or any(exactly_meant(each, path, changed) for each in (name, owner))


def _module(path: str) -> str:
    stem = path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__")
    return stem.replace("/", ".").removeprefix("src.")
