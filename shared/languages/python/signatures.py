"""Finds declarations that contradict each other, and names that a stub leaves undefined.

Only the parts that both declarations have are compared: the later one may leave out an annotation,
the base classes or the decorators that the earlier one has, and may add them where it has none.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from shared.languages.planned_code import Conflict
from shared.languages.python.python_code import last_part, name_behind, parse_code
from shared.languages.python.stubs import (
    MAX_DEPTH,
    BoundName,
    FunctionNode,
    declarations,
    depth_exceeds,
    type_parameters,
)
from shared.languages.python.type_text import parse_type, surely_differ
from shared.languages.read_commands import CodeProblem

_BUILTIN_FORMS: Final = {
    "List": "list",
    "Dict": "dict",
    "Set": "set",
    "FrozenSet": "frozenset",
    "Tuple": "tuple",
    "Type": "type",
}
_TYPING: Final = frozenset({"typing", "t", "typing_extensions", "collections", "abc"})
# These decorators say how a function is bound to its class, which callers can see.
_BINDING_DECORATORS: Final = frozenset({"staticmethod", "classmethod"})
# These options of a dataclass say how its values are stored and shown. Callers cannot see them.
_INVISIBLE_OPTIONS: Final = frozenset({"slots", "repr", "match_args", "weakref_slot"})


def conflicts(earlier: Sequence[ast.stmt], later: Sequence[ast.stmt]) -> tuple[Conflict, ...]:
    """Return each name (`play`, `Game.play`) whose declaration in `later` contradicts `earlier`."""
    return tuple(_conflicts(declarations(earlier), declarations(later), ""))


def _conflicts(
    earlier: dict[str, BoundName], later: dict[str, BoundName], prefix: str
) -> Iterator[Conflict]:
    for name, after in later.items():
        before = earlier.get(name)
        if before is None or "import" in (before.kind, after.kind):
            continue
        if not _compatible(before, after, in_class=bool(prefix)):
            yield Conflict(f"{prefix}{name}", after.line, shown(before), shown(after))
        elif before.kind == after.kind == "class":
            yield from _conflicts(before.members, after.members, f"{prefix}{name}.")


def _compatible(before: BoundName, after: BoundName, *, in_class: bool) -> bool:
    if before.kind != after.kind:
        # A property and an attribute are read in the same way.
        return (
            in_class
            and {before.kind, after.kind} == {"function", "variable"}
            and any(_is_property(node) for each in (before, after) for node in each.nodes)
        )
    match before.kind:
        case "function":
            return _same_functions(before.nodes, after.nodes, in_class=in_class)
        case "class":
            return _same_heads(before.nodes[-1], after.nodes[-1])
        case _:
            return _same_variables(before.nodes[-1], after.nodes[-1])


def _same_functions(
    before: Sequence[ast.stmt], after: Sequence[ast.stmt], *, in_class: bool
) -> bool:
    if len(before) != len(after):
        return False
    return all(
        isinstance(one, FunctionNode)
        and isinstance(other, FunctionNode)
        and type(one) is type(other)
        and _binding(one) == _binding(other)
        and _same_parameters(one.args, other.args, skip_first=in_class)
        and _agree(one.returns, other.returns)
        for one, other in zip(before, after, strict=True)
    )


def _binding(node: FunctionNode) -> frozenset[str]:
    names = frozenset(each.id for each in node.decorator_list if isinstance(each, ast.Name))
    accessor = {"property"} if _is_property(node) else set()
    return (names & _BINDING_DECORATORS) | accessor


def _is_property(node: ast.stmt) -> bool:
    if not isinstance(node, FunctionNode):
        return False
    return any(
        (isinstance(each, ast.Name) and each.id in {"property", "cached_property"})
        or (isinstance(each, ast.Attribute) and each.attr in {"setter", "cached_property"})
        for each in node.decorator_list
    )


def _same_parameters(one: ast.arguments, other: ast.arguments, *, skip_first: bool) -> bool:
    left, right = _parameters(one), _parameters(other)
    # The first may be `self`, under whatever name and annotation.
    pairs = [*zip(left, right, strict=False)][skip_first:]
    return len(left) == len(right) and all(
        mine[:3] == theirs[:3] and _agree(mine[3], theirs[3]) for mine, theirs in pairs
    )


def _parameters(args: ast.arguments) -> list[tuple[str, str, bool, ast.expr | None]]:
    plain = [*(("position", each) for each in args.posonlyargs), *(("any", a) for a in args.args)]
    optional = len(plain) - len(args.defaults)
    found = [
        (kind, each.arg, index >= optional, each.annotation)
        for index, (kind, each) in enumerate(plain)
    ]
    if args.vararg:
        found.append(("*", "", False, args.vararg.annotation))
    found += sorted(
        ("keyword", each.arg, default is not None, each.annotation)
        for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    )
    if args.kwarg:
        found.append(("**", "", False, args.kwarg.annotation))
    return found


def _same_heads(before: ast.stmt, after: ast.stmt) -> bool:
    if not (isinstance(before, ast.ClassDef) and isinstance(after, ast.ClassDef)):
        return False
    return _same_where_both(before.bases, after.bases) and _same_where_both(
        [_visible_part(each) for each in before.decorator_list],
        [_visible_part(each) for each in after.decorator_list],
    )


def _visible_part(decorator: ast.expr) -> ast.expr:
    """Return a decorator by its last name, without the options that callers cannot see."""
    if isinstance(decorator, ast.Attribute):
        return ast.Name(decorator.attr)
    if not isinstance(decorator, ast.Call):
        return decorator
    keywords = [each for each in decorator.keywords if each.arg not in _INVISIBLE_OPTIONS]
    function = _visible_part(decorator.func)
    if not decorator.args and not keywords:
        return function
    return ast.Call(function, decorator.args, keywords)


def _same_where_both(before: Sequence[ast.expr], after: Sequence[ast.expr]) -> bool:
    if not before or not after:
        return True
    return [normal(each) for each in before] == [normal(each) for each in after]


def _same_variables(before: ast.stmt, after: ast.stmt) -> bool:
    if not _agree(*(declared_type(each, {"Final", "ClassVar"}) for each in (before, after))):
        return False
    one, other = _constant(before), _constant(after)
    return one is None or other is None or one == other


def declared_type(node: ast.stmt, qualifiers: Collection[str]) -> ast.expr | None:
    """Return the annotated type of a variable without these qualifiers; `None` for none."""
    found = node.annotation if isinstance(node, ast.AnnAssign) else None
    while found is not None and name_behind(found) in qualifiers:
        found = found.slice if isinstance(found, ast.Subscript) else None
    return found


def _constant(node: ast.stmt) -> str | None:
    """Return a dump of the value of a variable; `None` if it has none, or has `...`."""
    value = node.value if isinstance(node, ast.AnnAssign | ast.Assign) else None
    if value is None or (isinstance(value, ast.Constant) and value.value is ...):
        return None
    return ast.dump(value)


def _agree(one: ast.expr | None, other: ast.expr | None) -> bool:
    return one is None or other is None or normal(one) == normal(other)


def normal(annotation: ast.expr) -> str:
    """Return one spelling of a type, equal for `Optional[List[int]]` and `list[int] | None`."""
    match annotation:
        case ast.Constant(value=str(text)):
            inner = quoted_type(text)
            return repr(text) if inner is None else normal(inner)
        case ast.Constant(value=value):
            return repr(value)
        case ast.Name(id=name):
            return _BUILTIN_FORMS.get(name, name)
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _TYPING:
            return _BUILTIN_FORMS.get(name, name)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _union([left, right])
        case ast.Subscript(value=value, slice=inner) if name_behind(value) == "Optional":
            return _union([inner, ast.Constant(None)])
        case ast.Subscript(value=value, slice=inner) if name_behind(value) == "Union":
            return _union(inner.elts if isinstance(inner, ast.Tuple) else [inner])
        case ast.Subscript(value=value, slice=inner) if name_behind(value) != "Literal":
            return f"{normal(value)}[{normal(inner)}]"
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return ", ".join(normal(each) for each in elements)
        case _:
            return ast.unparse(annotation)


def surely_incompatible(
    declared: BoundName, written: BoundName, is_plain_class: Callable[[str], bool]
) -> bool:
    """Return whether two functions differ in a type for certain (see `surely_differ`).

    A parameter of a wider type than declared is not a difference, nor is a result of a narrower
    type.
    """
    one, other = declared.nodes[-1], written.nodes[-1]
    if not (isinstance(one, FunctionNode) and isinstance(other, FunctionNode)):
        return False
    accepted = {each.arg: each.annotation for each in _named_parameters(other.args)}
    pairs = [(each.annotation, accepted.get(each.arg)) for each in _named_parameters(one.args)]
    pairs.append((other.returns, one.returns))
    return any(
        given is not None
        and taken is not None
        and surely_differ(
            parse_type(normal(given)),
            parse_type(normal(taken)),
            lambda each: is_plain_class(each.head),
        )
        for given, taken in pairs
    )


def _named_parameters(args: ast.arguments) -> list[ast.arg]:
    return [*args.posonlyargs, *args.args, *args.kwonlyargs]


def quoted_type(text: str) -> ast.expr | None:
    """Return the expression in a quoted annotation; `None` if it has none or nests too deep."""
    tree = parse_code(text.strip())
    if isinstance(tree, CodeProblem) or len(tree.body) != 1 or depth_exceeds(tree, MAX_DEPTH):
        return None
    only = tree.body[0]
    return only.value if isinstance(only, ast.Expr) else None


def _union(members: Sequence[ast.expr]) -> str:
    parts = {part for each in members for part in normal(each).split(" | ")}
    return " | ".join(sorted(parts))


def shown(declaration: BoundName) -> str:
    node = declaration.nodes[-1]
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(each) for each in node.bases)
        head = f"class {node.name}({bases})" if bases else f"class {node.name}"
        return " ".join([*(f"@{ast.unparse(each)}" for each in node.decorator_list), head])
    if isinstance(node, FunctionNode):
        keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"{keyword} {node.name}({ast.unparse(node.args)}){returns}"
    return " ".join(ast.unparse(node).split())


_BUILTINS: Final = frozenset(dir(builtins)) | {"__file__", "__name__", "__path__", "__all__"}


def undefined_names(stub: Sequence[ast.stmt], known: frozenset[str]) -> tuple[tuple[str, int], ...]:
    """Return each undefined name that the stub uses, with its line, from 1.

    It is used in a type, a base class or a decorator.

    `known` are names that the module has from elsewhere: its source or earlier stubs. The result is
    empty if the stub has a star import, which may bring in any name.
    """
    nodes = (node for each in stub for node in ast.walk(each))
    if any(isinstance(each, ast.alias) and each.name == "*" for each in nodes):
        return ()
    scope = _BUILTINS | known | declarations(stub).keys()
    first: dict[str, int] = {}
    for name, line in _used(stub, scope):
        first.setdefault(name, line)
    return tuple(first.items())


def _used(body: Sequence[ast.stmt], scope: frozenset[str]) -> Iterator[tuple[str, int]]:
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = scope | type_parameters(statement)
                args = statement.args
                every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
                types = [each.annotation for each in every if each] + [statement.returns]
                # Bodies and defaults are not part of the contract.
                for part in (*statement.decorator_list, *types):
                    yield from _names_in(part, inner)
            case ast.ClassDef():
                inner = scope | type_parameters(statement)
                for part in (*statement.decorator_list, *statement.bases):
                    yield from _names_in(part, inner)
                members = frozenset(declarations(statement.body))
                yield from _used(statement.body, inner | members)
            case ast.AnnAssign(annotation=annotation):
                yield from _names_in(annotation, scope)
            case ast.If() | ast.Try():
                yield from _used([*statement.body, *statement.orelse], scope)
            case _:
                continue


def _names_in(node: ast.expr | None, scope: frozenset[str]) -> Iterator[tuple[str, int]]:
    if node is None:
        return
    match node:
        case ast.Name(id=name):
            if name not in scope:
                yield name, node.lineno
        case ast.Constant(value=str(text)):
            inner = quoted_type(text)
            for inside, _ in _names_in(inner, scope):
                yield inside, node.lineno
        case ast.Subscript(value=value, slice=inner):
            yield from _names_in(value, scope)
            # `Literal` lists values, and `Annotated` may hold any text after the type.
            if last_part(value) == "Annotated" and isinstance(inner, ast.Tuple):
                yield from _names_in(inner.elts[0], scope)
            elif last_part(value) != "Literal":
                yield from _names_in(inner, scope)
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return
        case ast.Call(func=function, args=args):
            yield from _names_in(function, scope)
            for each in args:
                if not isinstance(each, ast.Constant):
                    yield from _names_in(each, scope)
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield from _names_in(child, scope)
