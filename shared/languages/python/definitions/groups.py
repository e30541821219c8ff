"""Tells what the definitions of one name are to each other: overloads, accessors of a property."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from shared.languages.python.definitions.module import Definition, Place
from shared.languages.python.definitions.refused import Refused

_ACCESSORS: Final = frozenset({"setter", "getter", "deleter"})
_OVERLOAD: Final = "overload"

Role = tuple[str, int]
"""What a definition is among those of its name; overloads are numbered."""


def group_places(places: Sequence[Place]) -> Mapping[Role, Place]:
    """Return the definitions of one qualified name by what each of them is.

    Raises `Refused` where they do not belong together: the name is defined twice.
    """
    roles = _roles([place.node for place in places])
    if len(set(roles)) < len(roles) or len({place.parent for place in places}) > 1:
        lines = [place.line for place in places]
        raise Refused(
            f"`{places[0].name}` is defined {len(places)} times, on lines "
            f"{' and '.join(map(str, lines))}: no name says which one is meant",
            *lines,
        )
    return dict(zip(roles, places, strict=True))


def group_nodes(nodes: Sequence[Definition]) -> Mapping[Role, Definition]:
    """Return the definitions of one name in a block by what each of them is.

    Raises `Refused` where the block defines the name twice.
    """
    roles = _roles(nodes)
    if len(set(roles)) < len(roles):
        raise Refused(f"the block defines `{nodes[0].name}` twice")
    return dict(zip(roles, nodes, strict=True))


def count_overloads(roles: Mapping[Role, object]) -> int:
    """Return how many of the definitions are overloads."""
    return sum(kind == _OVERLOAD for kind, _ in roles)


def _roles(nodes: Sequence[Definition]) -> list[Role]:
    roles: list[Role] = []
    for node in nodes:
        kind = _kind(node)
        roles.append((kind, sum(each[0] == kind for each in roles) if kind == _OVERLOAD else 0))
    return roles


def _kind(node: Definition) -> str:
    for decorator in node.decorator_list:
        match decorator:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name == _OVERLOAD:
                return _OVERLOAD
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (
                owner == node.name and name in _ACCESSORS
            ):
                return name
            case _:
                pass
    return ""
