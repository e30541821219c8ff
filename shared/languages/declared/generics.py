"""Reads the type parameters in the key of a declaration, whose names mean nothing by themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.languages.declared.model import Declared

# `func [ T any ](`, `fn < T : Ord >(`, `type_spec[ T any ] struct`, `impl<T: Ord> Stack<T>`
_OPENED: Final = re.compile(r"^[\w ]*?(?:\*)?[\[<] ?")
_BLOCK: Final = re.compile(r"(?:unsafe )?impl ?(?=<)")
_WORD: Final = re.compile(r"'?[A-Za-z_]\w*")
_SPLIT: Final = frozenset({"const"})  # words before the name of a parameter


@dataclass(frozen=True, slots=True)
class TypeParameters:
    """Hold type parameters: `text` with their constraints, and their `names` in order."""

    text: str = ""
    names: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    """Every parameter with its constraint."""
    rest: str = ""
    """The text behind the parameters."""

    @property
    def types(self) -> tuple[str, ...]:
        """Return the names without those of lifetimes."""
        return tuple(each for each in self.names if not each.startswith("'"))


def type_parameters(key: str) -> TypeParameters:
    """Return the type parameters in a key; none where the declaration is not generic."""
    found = _OPENED.match(key)
    if found is None:
        return TypeParameters()
    start, text, rest = found.end(), "", ""
    depth, part = 1, ""
    parts: list[str] = []
    for at in range(start, len(key)):
        each = key[at]
        is_arrow = each == ">" and key[at - 1 : at] in ("-", "=")
        depth += (each in "[<({") - (each in "])}" or (each == ">" and not is_arrow))
        if not depth:
            text, rest = key[start:at].strip(), key[at + 1 :]
            break
        if each == "," and depth == 1:
            parts.append(part)
            part = ""
        else:
            part += each
    if not text:
        return TypeParameters()
    parts = [each.strip() for each in (*parts, part) if _WORD.search(each)]
    words = (_WORD.findall(each) for each in parts)
    names = (next((w for w in found if w not in _SPLIT), "") for found in words)
    return TypeParameters(text, tuple(each for each in names if each), tuple(parts), rest)


def block_parameters(head: str) -> TypeParameters:
    """Return the type parameters of a block of methods, `impl<T: Ord> Stack<T>`, by its head."""
    return type_parameters(head) if _BLOCK.match(head) else TypeParameters()


def renamed(key: str, names: Mapping[str, str]) -> str:
    """Return a key with other names for its type parameters."""
    return _WORD.sub(lambda found: names.get(found[0], found[0]), key) if names else key


def same_names(item: Declared, other: Declared) -> Mapping[str, str]:
    """Return how the type parameters of `item`, and of its block, are called in `other`."""
    pairs = (
        (block_parameters(item.around).names, block_parameters(other.around).names),
        (type_parameters(item.key).names, type_parameters(other.key).names),
    )
    alike = (zip(*pair, strict=True) for pair in pairs if len(pair[0]) == len(pair[1]))
    return {own: theirs for each in alike for own, theirs in each if own != theirs}
