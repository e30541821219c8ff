"""Compares the declarations of two contracts, and merges them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shared.languages.declared.generics import renamed, same_names
from shared.languages.declared.meant import exactly_meant, is_meant
from shared.languages.declared.model import Declarations, Declared, Imported, Member


@dataclass(frozen=True, slots=True)
class Conflict:
    """Represent a name that two contracts declare differently; `line` is that of the later one."""

    name: str
    line: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Contract:
    """Hold what is declared of one file: later declarations are merged over earlier ones."""

    items: tuple[Declared, ...] = ()
    imports: tuple[Imported, ...] = ()
    package: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """Hold what one order does to the files of a language.

    `writes` are the files that it may write, `stubs` its contracts by path, and `changed` the
    normal form of the names that it changes.
    """

    writes: frozenset[str] = frozenset()
    stubs: Mapping[str, Declarations] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()


def conflicts(
    known: Iterable[Declared], new: Iterable[Declared], path: str, changed: Collection[str]
) -> Iterator[Conflict]:
    """Yield each name of `new` that `known` declares differently, unless `changed` names it."""
    before = {each.name: each for each in known}
    for item in new:
        earlier = before.get(item.name)
        if earlier is None or is_meant(item.name, path, changed):
            continue
        names = same_names(item, earlier)
        if (earlier.kind, earlier.key) != (item.kind, renamed(item.key, names)):
            yield Conflict(item.name, item.line, earlier.head, item.head)
            continue
        for name in item.members.keys() & earlier.members.keys():
            old, member = earlier.members[name], item.members[name]
            qualified = f"{item.name}.{name}"
            if old.key != renamed(member.key, names) and not is_meant(qualified, path, changed):
                yield Conflict(qualified, item.line, old.text, member.text)


def merge(
    known: Sequence[Declared], new: Sequence[Declared], changed: Collection[str] = ()
) -> tuple[Declared, ...]:
    """Return the declarations of both; `new` ones stand in the place of those with their name.

    A type keeps the members that its new declaration leaves out, unless `changed` names it.
    """
    merged = {_key(each): each for each in known}
    for item in new:
        earlier = merged.get(_key(item))
        extends = earlier is not None and earlier.members and item.name not in changed
        whole = _with_members(item, earlier, changed) if earlier and extends else item
        merged[_key(item)] = whole
    return tuple(merged.values())


def joined(stubs: Iterable[tuple[str, Declarations]]) -> dict[str, Declarations]:
    """Return the stubs of one order by path; several of a file are merged, later ones last."""
    found: dict[str, Declarations] = {}
    for path, stub in stubs:
        old = found.get(path, Declarations(""))
        items, imports = merge(old.items, stub.items), (*old.imports, *stub.imports)
        found[path] = replace(stub, items=items, imports=imports)
    return found


def fold(deltas: Sequence[Delta]) -> list[dict[str, Contract]]:
    """Return the contracts by path: at index 0 before the first order, then after each.

    A name in an order's `changes` that the order does not declare is removed from the files that
    it may write.
    """
    states: list[dict[str, Contract]] = [{}]
    for delta in deltas:
        state = dict(states[-1])
        declared = {each.name for stub in delta.stubs.values() for each in stub.items}
        for path, stub in delta.stubs.items():
            old = state.get(path, Contract())
            state[path] = Contract(
                merge(old.items, stub.items, delta.changed),
                (*old.imports, *stub.imports),
                stub.package or old.package,
            )
        for path in delta.writes & state.keys() if delta.changed else ():
            kept = tuple(
                each
                for each in state[path].items
                if each.name in declared or not exactly_meant(each.name, path, delta.changed)
            )
            state[path] = replace(state[path], items=kept)
        states.append(state)
    return states


def _key(item: Declared) -> tuple[str, str]:
    # Two traits may give one type methods of the same name.
    return (item.name, item.around if " for " in item.around else "")


def _with_members(item: Declared, earlier: Declared, changed: Collection[str]) -> Declared:
    left_out: dict[str, Member] = {
        name: each
        for name, each in earlier.members.items()
        if name not in item.members and f"{item.name}.{name}" not in changed
    }
    before, brace, _ = item.text.rpartition("}")
    if not left_out or not brace:
        return item
    before = before.rstrip()
    if not before.endswith(("{", ",", ";")) and item.separator == ", ":
        before += ","
    joined = item.separator.join(each.text for each in left_out.values())
    text = f"{before}\n{joined}\n}}"
    return replace(item, text=text, members={**item.members, **left_out})


def differs(name: str, declared: str, written: str) -> str:
    """Return the message about a declaration that the code does not keep."""
    return f"`{name}` is declared as `{declared}` and written as `{written}`"
