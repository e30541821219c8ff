"""Finds where a stub declares a name otherwise than an earlier stub of the same file did."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from shared.languages.ecmascript.contracts.stub import Stub


@dataclass(frozen=True, slots=True)
class Conflict:
    """Represent a name that two stubs declare differently; `line` is that of the later one."""

    name: str
    line: int
    before: str
    after: str


def conflicts(earlier: Stub, later: Stub) -> Iterator[Conflict]:
    """Yield the names that both stubs declare, and not in the same way.

    Only members that both have are compared, because a later stub names what it adds or changes.
    Names of parameters mean nothing here, and a further overload contradicts nothing.
    """
    for name, after in later.declared.items():
        before = earlier.declared.get(name)
        if before is None or set(before.forms) <= set(after.forms):
            continue
        if later.classes.keys() & earlier.classes.keys() & {name} and _adds_no_heritage(
            earlier, later, name
        ):
            continue
        yield Conflict(name, after.line, before.shown, after.shown)


def _adds_no_heritage(earlier: Stub, later: Stub, name: str) -> bool:
    """Say whether the later stub repeats the class by its name alone."""
    return earlier.classes[name] and not later.classes[name]


def is_meant(name: str, path: str, changes: Collection[str]) -> bool:
    """Return whether an order's `changes` name a declaration, its class, or a member of it."""
    stem = path.rpartition("/")[2].partition(".")[0]
    for change in changes:
        plain = change.removeprefix(f"{path}:").removeprefix(f"{stem}.").removesuffix("()")
        for each in {change, plain, change.replace("#", ".").replace("::", ".")}:
            if each == name or name.startswith(f"{each}.") or each.startswith(f"{name}."):
                return True
    return False
