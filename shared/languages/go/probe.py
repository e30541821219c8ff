"""Writes code that only compiles where a declaration has its declared type. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shared.languages.declared.generics import TypeParameters, renamed, type_parameters
from shared.languages.declared.model import Declared


def generic_types(types: Iterable[Declared]) -> dict[str, TypeParameters]:
    """Return the parameters of each generic type by name; of two declarations the last counts."""
    found = {each.name: type_parameters(each.key) for each in types}
    return {name: each for name, each in found.items() if each.names}


def write_probe(item: Declared, generic: Mapping[str, TypeParameters]) -> str:
    """Return the code on one line; nothing for what is not compared by its type.

    `generic` has the parameters of the generic types of the package.
    """
    if item.kind == "type" and item.name in generic:
        own = generic[item.name]
        return f"func _[{own.text}]() {{ var _ {item.name}[{', '.join(own.names)}] }}"
    if item.kind == "function" and item.owner:
        return _of_method(item, generic.get(item.owner, TypeParameters()))
    if item.kind == "function":
        return _of_function(item, f"func({_parameters(item.key)}){_result(item)}")
    if item.kind == "value" and item.key.startswith("var "):
        kind = item.key.removeprefix("var ").strip()
        return f"var _ {kind} = {item.name}" if kind else ""
    return ""


def _result(item: Declared) -> str:
    return f" ({item.result})" if item.result else ""


def _of_method(item: Declared, generic: TypeParameters) -> str:
    """Return the assignment of a method; that of a generic type has the type's constraints."""
    names = type_parameters(item.key).names
    if len(names) != len(generic.names):
        return ""  # one of the two is not what it seems, and the compiler says so by itself
    own = {name: f"P{at}" for at, name in enumerate(generic.names)}  # the receiver may have `_`
    key = renamed(item.key, dict(zip(names, own.values(), strict=True)))
    result = renamed(_result(item), dict(zip(names, own.values(), strict=True)))
    given = f"[{', '.join(own.values())}]" if own else ""
    receiver = f"{'*' if key.startswith('func *') else ''}{item.owner}{given}"
    kinds = ", ".join(filter(None, (receiver, _parameters(key))))
    assigned = f"var _ func({kinds}){result} = ({receiver}).{item.last_name}"
    return f"func _[{renamed(generic.text, own)}]() {{ {assigned} }}" if own else assigned


def _of_function(item: Declared, kind: str) -> str:
    """Return the assignment of a function; a generic one is taken for types that fit its own."""
    generic = type_parameters(item.key)
    if not generic.names:
        return f"var _ {kind} = {item.name}"
    given = ", ".join(generic.names)
    return f"func _[{generic.text}]() {{ var _ {kind} = {item.name}[{given}] }}"


def _parameters(key: str) -> str:
    """Return the parameters' types of a function's key: `string, int` of `func (string, int) E`."""
    start = key.index("(") + 1
    depth = 1
    for at in range(start, len(key)):
        depth += {"(": 1, ")": -1}.get(key[at], 0)
        if not depth:
            return key[start:at]
    return key[start:]
