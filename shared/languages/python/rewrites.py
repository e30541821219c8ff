"""Checks whether a rewrite of an existing file loses more than anybody asked for."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from shared.languages.capabilities import ContractViolation, check_shrinking
from shared.languages.python.merge_stubs import is_meant, normal_changes
from shared.languages.python.module_views import Source
from shared.languages.python.python_code import is_test_file
from shared.languages.python.stubs import BINDING_BLOCKS, Declaration, bindings, declarations, flat


def check_rewrite(
    path: str, before: str, after: str, changes: Sequence[str] = ()
) -> tuple[ContractViolation, ...]:
    """Return a violation for each loss of the file at `path` that `changes` do not name.

    A loss is a public name of a Python file that is not a test, or more than half of the text of
    any file of at least twenty lines. Names that moved to another file and are imported from there
    are not lost, and their text does not count. Where `changes` name the file itself, nothing is
    lost.
    """
    changed = normal_changes(changes)
    is_python = path.endswith((".py", ".pyi"))
    if path in changed:
        return ()
    old = Source(before).parsed if is_python else None
    new = Source(after).parsed if is_python else None
    if not (isinstance(old, ast.Module) and isinstance(new, ast.Module)):
        return tuple(check_shrinking(path, before, after))
    had, has = declarations(old.body), declarations(new.body)
    lost = () if is_test_file(path) else tuple(_lost(path, old, new, changed))
    rest = _without_text(
        before, [had[name] for name in had if _may_be_lost(name, path, has, changed)]
    )
    return (*lost, *check_shrinking(path, rest, after))


def _may_be_lost(
    name: str, path: str, has: dict[str, Declaration], changed: Collection[str]
) -> bool:
    moved = name in has and has[name].kind == "import"
    return moved or is_meant(name, path, changed)


def _without_text(text: str, declared: Sequence[Declaration]) -> str:
    lines: list[str | None] = list(text.splitlines())
    for each in declared:
        for node in each.nodes:
            if each.kind in ("function", "class"):
                last = node.end_lineno or node.lineno
                lines[node.lineno - 1 : last] = [None] * (last - node.lineno + 1)
    return "\n".join(line for line in lines if line is not None)


def _lost(
    path: str, old: ast.Module, new: ast.Module, changed: Collection[str]
) -> Iterator[ContractViolation]:
    if any(_is_star(each) for each in ast.walk(new)):
        return  # a star import may bring back any name
    had, has = declarations(old.body), declarations(new.body)
    for name in _public(old, path):
        if is_meant(name, path, changed):
            continue
        owner, _, member = name.partition(".")
        kept = owner in has
        if member:  # the members of a class that is gone itself are not reported
            kept = not kept or _has_member(has[owner], member, had[owner])
        if not kept:
            yield ContractViolation(path, name, f"`{name}` is gone, and no interface says so")


def _is_star(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _public(tree: ast.Module, path: str) -> Iterator[str]:
    exported = _exported(tree)
    is_package = path.endswith(("/__init__.py", "/__init__.pyi")) or path == "__init__.py"
    seen = [each for each in tree.body if not _is_main_block(each)]
    incidental = _incidental_variables(seen)
    for name, declared in declarations(seen).items():
        if exported is not None:
            is_public = name in exported
        else:
            relative = is_package and any(_is_relative(each) for each in declared.nodes)
            is_public = (
                name[0] != "_"
                and (declared.kind != "import" or relative)
                and (declared.kind != "variable" or name not in incidental)
            )
        if is_public:
            yield name
            yield from (
                f"{name}.{member}"
                for member, each in declared.members.items()
                if member[0] != "_" and each.kind == "function"
            )


def _is_main_block(statement: ast.stmt) -> bool:
    """Return whether this is `if __name__ == "__main__":`, which an import never runs."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()]), orelse=[]):
            return True
        case _:
            return False


def _incidental_variables(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Return the variables that nobody imports.

    These are the variables of loops and `with`, the substitutes for an absolute import that failed,
    and the variables of a script. A script is a module that declares no function or class and ends
    with a statement that does something. Its upper-case names are not among them.
    """
    declared = declarations(body)
    imported = {
        name
        for each in flat(body)
        if isinstance(each, ast.Import | ast.ImportFrom) and not _is_relative(each)
        for name, _ in bindings(each)
    }
    defines = any(each.kind in ("function", "class") for each in declared.values())
    is_script = not defines and any(map(_does_something, body[-1:]))
    return frozenset(
        name
        for name, each in declared.items()
        if name in imported
        or all(isinstance(node, BINDING_BLOCKS) for node in each.nodes)
        or (is_script and not name.isupper())
    )


def _does_something(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.While | ast.For | ast.With)


def _is_relative(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.level > 0


def _exported(tree: ast.Module) -> frozenset[str] | None:
    """Return the names in `__all__`; `None` where there is no plain list of them."""
    found: frozenset[str] | None = None
    for statement in tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id="__all__")], value=ast.List(elts=names) | ast.Tuple(elts=names)
            ) if all(isinstance(each, ast.Constant) for each in names):
                found = frozenset(
                    each.value
                    for each in names
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )
            case ast.AugAssign(target=ast.Name(id="__all__")):
                return None
            case _:
                pass
    return found


def _has_member(now: Declaration, member: str, before: Declaration) -> bool:
    """Return whether a class still has a member, or may have it from other bases than before."""
    new, old = now.nodes[-1], before.nodes[-1]
    if not (isinstance(new, ast.ClassDef) and isinstance(old, ast.ClassDef)):
        return True
    same_bases = [ast.dump(each) for each in new.bases] == [ast.dump(each) for each in old.bases]
    return member in now.members or not same_bases
