"""Says how a declared class is called."""

from __future__ import annotations

import ast
from typing import Final

from shared.languages.python.node_names import base_names, decorator_names, name_behind
from shared.languages.python.stubs.declarations import Declaration

# A class with one of these bases is not called, or its body does not say how to call it.
_SPECIAL_BASES: Final = frozenset(
    {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "Protocol", "TypedDict", "ABC"}
)


def constructor_of(declaration: Declaration) -> ast.FunctionDef | None:
    """Return the signature of a class's constructor, as a method; `None` where it is unknown."""
    node = declaration.nodes[-1]
    if not isinstance(node, ast.ClassDef) or base_names(node) & _SPECIAL_BASES:
        return None
    init = declaration.members.get("__init__")
    if init is not None and len(init.nodes) == 1 and isinstance(init.nodes[0], ast.FunctionDef):
        args = init.nodes[0].args
    elif _made_of_fields(node):
        args = _fields(node)
    else:
        return None
    return ast.FunctionDef("__init__", args, [], [], ast.Name(node.name), None)


def is_abstract(declaration: Declaration) -> bool:
    """Return whether a method of the class is abstract, so that nothing can call the class."""
    return any(
        "abstractmethod" in decorator_names(node)
        for member in declaration.members.values()
        for node in member.nodes
    )


def _made_of_fields(node: ast.ClassDef) -> bool:
    """Return whether the constructor of a class takes the class's own fields in order."""
    if "NamedTuple" in base_names(node):
        return base_names(node) == {"NamedTuple"}
    plain = [each for each in node.decorator_list if name_behind(each) == "dataclass"]
    options = {
        option.arg for each in plain if isinstance(each, ast.Call) for option in each.keywords
    }
    special = any(isinstance(each.value, ast.Call) for each in node.body if _is_field(each))  # type: ignore[attr-defined]
    return (
        bool(plain) and not base_names(node) and not options & {"init", "kw_only"} and not special
    )


def _fields(node: ast.ClassDef) -> ast.arguments:
    """Return the parameters that a dataclass or a named tuple takes for its fields."""
    fields = [each for each in node.body if _is_field(each)]
    given = [ast.arg("self"), *(ast.arg(each.target.id, each.annotation) for each in fields)]  # type: ignore[attr-defined]
    defaults = [each.value for each in fields if each.value is not None]  # type: ignore[attr-defined]
    return ast.arguments([], given, None, [], [], None, defaults)


def _is_field(node: ast.stmt) -> bool:
    if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
        return False
    return name_behind(node.annotation) != "ClassVar"
