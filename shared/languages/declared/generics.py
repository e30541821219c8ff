"""Reads the type parameters in the key of a declaration, whose names mean nothing by themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

# `func [ T any ](`, `fn < T : Ord >(`, `type_spec[ T any ] struct`, `struct_item < T >`
_OPENED: Final = re.compile(r"^[\w ]*?(?:\*)?[\[<] ")
_WORD: Final = re.compile(r"'?[A-Za-z_]\w*")
_SPLIT: Final = frozenset({"const"})  # words before the name of a parameter


@dataclass(frozen=True, slots=True)
class TypeParameters:
    """Hold type parameters: `text` with their constraints, and their `names` in order."""

    text: str = ""
    names: tuple[str, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """Return the names without those of lifetimes."""
        return tuple(each for each in self.names if not each.startswith("'"))


def type_parameters(key: str) -> TypeParameters:
    """Return the type parameters in a key; none where the declaration is not generic."""
    found = _OPENED.match(key)
    if found is None:
        return TypeParameters()
    start, text = found.end(), ""
    depth, part, parts = 1, "", []
    for at in range(start, len(key)):
        each = key[at]
        is_arrow = each == ">" and key[at - 1 : at] in ("-", "=")
        depth += (each in "[<({") - (each in "])}" or (each == ">" and not is_arrow))
        if not depth:
            text = key[start:at].strip()
            break
        if each == "," and depth == 1:
            parts.append(part)
            part = ""
        else:
            part += each
    if not text:
        return TypeParameters()
    words = (_WORD.findall(each) for each in (*parts, part))
    names = (next((w for w in found if w not in _SPLIT), "") for found in words)
    return TypeParameters(text, tuple(each for each in names if each))


def renamed(key: str, names: Mapping[str, str]) -> str:
    """Return a key with other names for its type parameters."""
    return _WORD.sub(lambda found: names.get(found[0], found[0]), key) if names else key


def same_names(key: str, other: str) -> Mapping[str, str]:
    """Return how the type parameters of `key` are called in `other`, in their order."""
    own, theirs = type_parameters(key).names, type_parameters(other).names
    if len(own) != len(theirs) or own == theirs:
        return {}
    return dict(zip(own, theirs, strict=True))
