"""Has a file what is declared of it, and of the same kind? Told by its syntax tree alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from shared.languages.base import ContractViolation
from shared.languages.python.conformance.probe import base_names, type_variables
from shared.languages.python.conformance.subject import Subject
from shared.languages.python.stubs.declarations import Declaration
from shared.languages.python.stubs.signatures import shown

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# Bases that bring no names which an interface would declare.
_PLAIN_BASES: Final = frozenset(
    {"object", "ABC", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "Generic"}
)
# What a stub says of itself rather than of the code.
_OF_THE_STUB: Final = frozenset({"__all__", "__slots__", "__match_args__", "__hash__"})
# A class that makes attributes as it runs.
_DYNAMIC: Final = frozenset({"setattr", "__getattr__", "__dict__", "__slots__", "vars"})


def missing_names(subject: Subject) -> Iterator[ContractViolation]:
    """Yield a violation for each declared name that is not there, or is another kind of thing."""
    for name, declared in subject.stub.items():
        if name in _OF_THE_STUB:
            continue
        had = subject.had.get(name)
        if had is None:
            is_helper = name.startswith("_") or name in type_variables(subject.stub)
            if declared.kind != "import" and not is_helper and not subject.is_open:
                yield ContractViolation(
                    subject.path, name, f"`{shown(declared)}` is declared and missing"
                )
        elif declared.kind == "class" and had.kind == "function":
            yield _unlike(subject, name, declared, had)
        elif declared.kind == had.kind == "function":
            yield from _asynchrony(subject, name, declared, had)
        elif declared.kind == had.kind == "class":
            yield from _members(subject, name, declared, had)


def _members(
    subject: Subject, name: str, declared: Declaration, had: Declaration
) -> Iterator[ContractViolation]:
    node = had.nodes[-1]
    assert isinstance(node, ast.ClassDef), "the kind says so"
    is_whole = base_names(node) <= _PLAIN_BASES and not node.keywords and not _is_dynamic(node)
    own = {*had.members, *_set_on_self(node)}
    for member, told in declared.members.items():
        here = had.members.get(member)
        if member in _OF_THE_STUB:
            continue
        if here is None:
            missing = is_whole and member not in own and not _is_made(member, node)
            if missing and told.kind in ("function", "variable"):
                message = f"`{shown(told)}` is declared and missing"
                yield ContractViolation(subject.path, f"{name}.{member}", message)
        elif told.kind == here.kind == "function":
            yield from _asynchrony(subject, f"{name}.{member}", told, here)


def _is_made(member: str, node: ast.ClassDef) -> bool:
    """Say whether a decorator may make the member: dataclasses make `__init__`, `__eq__`, ..."""
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


def _asynchrony(
    subject: Subject, name: str, declared: Declaration, had: Declaration
) -> Iterator[ContractViolation]:
    """Tell a coroutine from a function, which only differ by the word `async`."""
    told, here = declared.nodes[-1], had.nodes[-1]
    if isinstance(told, ast.FunctionDef) and isinstance(here, ast.AsyncFunctionDef):
        awaited = ast.unparse(told.returns) if told.returns else ""
        if told.returns is not None and not re.search("Await|Corout|Async|Any", awaited):
            yield _unlike(subject, name, declared, had)
    elif isinstance(told, ast.AsyncFunctionDef) and isinstance(here, ast.FunctionDef):
        returns = any(isinstance(each, ast.Return) and each.value for each in ast.walk(here))
        if not here.decorator_list and not returns:
            yield _unlike(subject, name, declared, had)


def _unlike(
    subject: Subject, name: str, declared: Declaration, had: Declaration
) -> ContractViolation:
    message = f"is declared as `{shown(declared)}` and written as `{shown(had)}`"
    return ContractViolation(subject.path, name, message)
