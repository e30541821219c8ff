"""Checks by its syntax tree whether a file has the declared names, each of the declared kind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from shared.languages.capabilities.conformance import ContractViolation
from shared.languages.python.conformance.plain_types import type_variables
from shared.languages.python.conformance.subject import Subject
from shared.languages.python.node_names import base_names
from shared.languages.python.stubs.declarations import Declaration
from shared.languages.python.stubs.signatures import shown

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# A class inherits no names from these bases that an interface would declare.
_PLAIN_BASES: Final = frozenset(
    {"object", "ABC", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "Generic"}
)
# These names are about the stub itself, and not about the code.
_ABOUT_THE_STUB: Final = frozenset({"__all__", "__slots__", "__match_args__", "__hash__"})
# A class that uses one of these names may make attributes when it runs.
_DYNAMIC: Final = frozenset({"setattr", "__getattr__", "__dict__", "__slots__", "vars"})


def missing_names(subject: Subject) -> Iterator[ContractViolation]:
    """Yield a violation for each declared name that is missing, or of another kind."""
    for name, declared in subject.stub.items():
        if name in _ABOUT_THE_STUB:
            continue
        had = subject.had.get(name)
        if had is None:
            is_helper = name.startswith("_") or name in type_variables(subject.stub)
            if declared.kind != "import" and not is_helper and not subject.is_open:
                yield ContractViolation(
                    subject.path, name, f"`{shown(declared)}` is declared and missing"
                )
        elif declared.kind == "class" and had.kind == "function":
            yield _kind_violation(subject, name, declared, had)
        elif declared.kind == had.kind == "function":
            yield from _check_coroutine(subject, name, declared, had)
        elif declared.kind == had.kind == "class":
            yield from _members(subject, name, declared, had)


def _members(
    subject: Subject, name: str, declared: Declaration, had: Declaration
) -> Iterator[ContractViolation]:
    node = had.nodes[-1]
    assert isinstance(node, ast.ClassDef), "the kind says so"
    is_whole = base_names(node) <= _PLAIN_BASES and not node.keywords and not _is_dynamic(node)
    own = {*had.members, *_set_on_self(node)}
    for member, promised in declared.members.items():
        here = had.members.get(member)
        if member in _ABOUT_THE_STUB:
            continue
        if here is None:
            missing = is_whole and member not in own and not _may_be_unwritten(member, node)
            if missing and promised.kind in ("function", "variable"):
                message = f"`{shown(promised)}` is declared and missing"
                yield ContractViolation(subject.path, f"{name}.{member}", message)
        elif promised.kind == here.kind == "function":
            yield from _check_coroutine(subject, f"{name}.{member}", promised, here)


def _may_be_unwritten(member: str, node: ast.ClassDef) -> bool:
    """Return whether a class may have the special method `member` without writing it.

    A decorator such as `dataclass` makes `__init__`, `__eq__` and others; `object` has some too.
    """
    is_special = member.startswith("__") and member.endswith("__")
    return is_special and (bool(node.decorator_list) or hasattr(object, member))


def _is_dynamic(node: ast.ClassDef) -> bool:
    names = {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute)
    }
    defined = {each.name for each in node.body if isinstance(each, _FunctionNode)}
    return not _DYNAMIC.isdisjoint(names | defined)


def _set_on_self(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            yield each.attr


def _check_coroutine(
    subject: Subject, name: str, declared: Declaration, had: Declaration
) -> Iterator[ContractViolation]:
    """Yield a violation where only one of declaration and code is a coroutine function."""
    node, here = declared.nodes[-1], had.nodes[-1]
    if isinstance(node, ast.FunctionDef) and isinstance(here, ast.AsyncFunctionDef):
        awaited = ast.unparse(node.returns) if node.returns else ""
        if node.returns is not None and not re.search("Await|Corout|Async|Any", awaited):
            yield _kind_violation(subject, name, declared, had)
    elif isinstance(node, ast.AsyncFunctionDef) and isinstance(here, ast.FunctionDef):
        returns = any(isinstance(each, ast.Return) and each.value for each in ast.walk(here))
        if not here.decorator_list and not returns:
            yield _kind_violation(subject, name, declared, had)


def _kind_violation(
    subject: Subject, name: str, declared: Declaration, had: Declaration
) -> ContractViolation:
    message = f"is declared as `{shown(declared)}` and written as `{shown(had)}`"
    return ContractViolation(subject.path, name, message)
