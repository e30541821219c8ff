"""Writes code that only compiles where a function or constant has its declared type. Pure."""

from __future__ import annotations

import re
from typing import Final

from shared.languages.declared.generics import block_parameters, type_parameters
from shared.languages.declared.model import Declared

_SIGNATURE: Final = re.compile(r"fn (?:<.*? >)?\((?P<kinds>.*)\) -> (?P<result>.*)", re.DOTALL)
_WHERE: Final = re.compile(r"\bwhere\b(?P<bounds>.*?)[,;{]?\s*$", re.DOTALL)
_IMPL: Final = re.compile(r"(?:unsafe )?impl ?")
_RECEIVER: Final = re.compile(r"(?P<before>(?:& )?(?:'\w+ )?(?:mut )?)self\b(?! :)")
_UNNAMED: Final = re.compile(r"'_(?!\w)")
_ELIDED: Final = re.compile(r"(& ?)(?!')|'_ ?")
_LIFETIME: Final = "'llmch"


def write_probe(item: Declared) -> str:
    """Return the code on one line; nothing for what is not compared by its type."""
    if item.kind == "value" and "static" not in item.head and not item.around and item.result:
        return f"const _: {item.result} = {item.name};"
    signature = _SIGNATURE.fullmatch(item.key)
    if (
        item.kind != "function"
        or signature is None
        or "impl " in item.key
        or " for " in item.around
    ):
        return ""
    inner, outer = type_parameters(item.key), block_parameters(item.around)
    own, unnamed = _own_type(outer.rest or _IMPL.sub("", item.around, count=1))
    kind = _pointer(signature["kinds"], signature["result"], own)
    if not kind:
        return ""
    path = f"<{own}>::{item.last_name}" if own else item.name
    parameters = (*unnamed, *outer.each, *inner.each)
    if not parameters:
        return f"const _: {kind} = {path};"
    lifetimes_first = sorted(parameters, key=lambda each: not each.startswith("'"))
    given = f"::<{', '.join(inner.types)}>" if inner.types else ""
    head = f"fn probe<{', '.join(lifetimes_first)}>(){_bounds(item)}"
    return f"const _: () = {{ {head} {{ let _: {kind} = {path}{given}; }} }};"


def _own_type(behind: str) -> tuple[str, tuple[str, ...]]:
    """Return the type of a block of methods, and names for the lifetimes that have none in it."""
    own = behind.partition(" where ")[0].strip()
    names = tuple(f"{_LIFETIME}_{at}" for at in range(len(_UNNAMED.findall(own))))
    left = iter(names)
    return _UNNAMED.sub(lambda _: next(left), own), names


def _bounds(item: Declared) -> str:
    found = [each["bounds"] for each in map(_WHERE.search, (item.around, item.head)) if each]
    return f" where {', '.join(each.strip() for each in found)}" if found else ""


def _pointer(kinds: str, result: str, own: str) -> str:
    """Return the type of a pointer to a function; `own` is the type that it is a method of.

    There is none for `self: Box<Self>` and the like.
    """
    receiver = _RECEIVER.match(kinds) if own else None
    if receiver is not None:
        before = receiver["before"]
        if before == "& " or before == "& mut ":
            # What a method borrows without saying from where, it borrows from `self`.
            before = before.replace("& ", f"& {_LIFETIME} ")
            result = _ELIDED.sub(rf"\g<1>{_LIFETIME} ", result)
        kinds = f"{before.removeprefix('mut ')}{own}{kinds[receiver.end() :]}"
    if own:
        kinds, result = (re.sub(r"\bSelf\b", own, each) for each in (kinds, result))
        if re.search(r"\bself\b", kinds.split(",")[0]):
            return ""
    named = f"for<{_LIFETIME}> " if _LIFETIME in kinds else ""
    return f"{named}fn({kinds})" if result == "( )" else f"{named}fn({kinds}) -> {result}"
