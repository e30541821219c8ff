"""Contracts as declarations: what a plan declares at each point, and whether code keeps it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from shared.files.strict_documents import at
from shared.languages.capabilities import ContractViolation
from shared.languages.declared.declarations import (
    MAX_BYTES,
    Declarations,
    Declared,
    Imported,
    Member,
    exactly_meant,
    is_meant,
    normal_changes,
    renamed,
    same_names,
)
from shared.languages.declared.declarations import Fault as StubFault
from shared.languages.declared.declared_edits import code_problem
from shared.languages.planned_code import (
    DOES_NOT_PARSE,
    Chain,
    DeclaredStub,
    Fault,
    OrderCode,
    has_no_interface,
    stub_contradicts,
    stub_does_not_parse,
    stub_uses_undefined,
)
from shared.work_order.work_order import Interface, WorkOrder

if TYPE_CHECKING:
    from shared.languages.language_tools import Tools


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


StubsOfOrder = tuple[tuple[DeclaredStub, Declarations], ...]
Undefined = Callable[[str, Declarations, int], Iterator[tuple[str, int]]]


class PlannedCode:
    """Answer what is declared where and when, for the files with one suffix."""

    def __init__(
        self,
        chain: Chain,
        suffix: str,
        read: Callable[[str], Declarations],
        has_names_to_declare: Callable[[str], bool],
    ) -> None:
        self.chain = chain
        self.suffix = suffix
        self.read = read
        self.has_names_to_declare = has_names_to_declare

    @cached_property
    def stubs(self) -> tuple[StubsOfOrder, ...]:
        """Return the contracts of each order, parsed."""
        return tuple(tuple(self._stubs_of(each)) for each in self.chain.orders)

    @cached_property
    def states(self) -> list[dict[str, Contract]]:
        """Return the contracts by path that hold after each order; index 0 is before the first."""
        found = fold(tuple(map(self._delta, self.chain.orders, self.stubs)))
        if not self.chain.files.removed:
            return found
        return [
            {path: each for path, each in state.items() if not self.chain.is_gone(path, position)}
            for position, state in enumerate(found)
        ]

    def text_at(self, path: str, position: int) -> str | None:
        """Return the text of a file after an order; `None` if an order may have written it."""
        text = self.texts(position).get(path)
        is_open = text is None and path in self.open_paths(position)
        return self.chain.sources.get(path) if text is None and not is_open else text

    def _stubs_of(self, order: OrderCode) -> Iterator[tuple[DeclaredStub, Declarations]]:
        for each in order.interfaces:
            if not each.path.endswith(self.suffix):
                continue
            read = Declarations(each.text)
            if each.problem or len(each.text.encode("utf-8", "replace")) > MAX_BYTES:
                problem = each.problem or f"it is over {MAX_BYTES} bytes"
                read = replace(read, fault=StubFault(problem))
            else:
                read = self.read(without_fence(each.text))
            yield each, read

    def _delta(self, order: OrderCode, stubs: StubsOfOrder) -> Delta:
        merged = joined((each.path, read) for each, read in stubs if read.fault is None)
        writes = frozenset((*order.writes, *order.may_write))
        return Delta(writes, merged, normal_changes(order.changes))

    def stub_faults(self, undefined: Undefined) -> Iterator[Fault]:
        """Yield E201, E203, E204 and W223.

        `undefined` yields the names that a stub uses and nobody defines, with their lines. It is
        given the path, the stub and the position of the order.
        """
        for order, stubs in zip(self.chain.orders, self.stubs, strict=True):
            if not order.valid:
                continue
            for each, read in stubs:
                field = at("interfaces", each.index, "stub")
                if read.fault is not None:
                    fault = read.fault
                    message = stub_does_not_parse(
                        each.path, fault.message, fault.line, fault.excerpt
                    )
                    yield Fault("E201", order.position, field, message)
                    continue
                for name, line in dict.fromkeys(undefined(each.path, read, order.position)):
                    message = stub_uses_undefined(each.path, name, line)
                    yield Fault("E203", order.position, field, message)
            yield from self._contradictions(order, stubs)
            yield from self._undeclared(order, stubs)

    def _contradictions(self, order: OrderCode, stubs: StubsOfOrder) -> Iterator[Fault]:
        known = dict(self.states[order.position - 1])
        changed = normal_changes(order.changes)
        for each, read in stubs:
            if read.fault is not None:
                continue
            earlier = known.get(each.path, Contract())
            for found in conflicts(earlier.items, read.items, each.path, changed):
                by = self.declared_by(each.path, found.name, order.position - 1)
                source = self.chain.source(by) if by else "this order"
                message = stub_contradicts(
                    each.path, found.name, found.line, source, found.before, found.after
                )
                field = at("interfaces", each.index, "stub")
                yield Fault("E204", order.position, field, message)
            known[each.path] = Contract(merge(earlier.items, read.items))

    def _undeclared(self, order: OrderCode, stubs: StubsOfOrder) -> Iterator[Fault]:
        settled = {each.path for each in order.interfaces}
        settled |= {each.path for each in order.acceptance_files}
        for index, path in enumerate(order.allowed_files):
            if path in settled or not self.has_names_to_declare(path):
                continue
            settled.add(path)
            if not self.is_known(path, order.position - 1):
                message = has_no_interface(path)
                yield Fault("W223", order.position, at("allowed_files", index), message)

    def is_known(self, path: str, position: int) -> bool:
        """Return whether the declarations of a file are known after the order at `position`."""
        if path in self.states[position]:
            return True
        text = None if self.chain.is_gone(path, position) else self.chain.sources.get(path)
        return text is not None and self.read(text).fault is None

    def declared_by(self, path: str, name: str, position: int) -> int | None:
        """Return the last order up to `position` whose contract declares a name; else `None`."""
        for earlier in range(position, 0, -1):
            for each, read in self.stubs[earlier - 1]:
                if each.path == path and read.fault is None and has_name(read, name):
                    return earlier
        return None

    def declared_later(self, paths: Collection[str], name: str, position: int) -> int | None:
        """Return the first order after `position` that declares a name in one of `paths`."""
        for later, stubs in enumerate(self.stubs[position:], position + 1):
            for each, read in stubs:
                if each.path in paths and read.fault is None and has_name(read, name):
                    return later
        return None

    def texts(self, position: int) -> Mapping[str, str]:
        """Return the texts of the plan's own test files after the order at `position`."""
        return {
            each.path: each.text
            for order in self.chain.orders[:position]
            for each in order.acceptance_files
            if each.path.endswith(self.suffix) and not self.chain.is_gone(each.path, position)
        }

    def open_paths(self, position: int) -> frozenset[str]:
        """Return the files whose content is unknown after the order at `position`.

        These are the files that orders write without declaring what is in them.
        """
        known = self.states[position].keys() | self.texts(position).keys()
        return frozenset(
            path
            for order in self.chain.orders[:position]
            for path in (*order.writes, *order.may_write)
            if path.endswith(self.suffix)
            and path not in known
            and not self.chain.is_gone(path, position)
        )

    def paths(self, position: int) -> frozenset[str]:
        """Return the files of the language that may be there after the order at `position`."""
        files = self.chain.files
        return frozenset(
            path
            for table in (files.first, files.possible)
            for path, since in table.items()
            if since <= position
            and path.endswith(self.suffix)
            and not self.chain.is_gone(path, position)
        ) | frozenset(self.texts(position))

    def is_blind(self, position: int) -> bool:
        """Return whether an order up to `position` may write files of unknown names."""
        blind = self.chain.files.blind_from
        return blind is not None and blind <= position


def has_name(read: Declarations, name: str) -> bool:
    """Return whether a file declares a name, which may be that of a member of a type."""
    owner, _, member = name.rpartition(".")
    return any(
        each.name == name or (each.name == owner and member in each.members) for each in read.items
    )


def without_fence(text: str) -> str:
    """Return a text without the code fence around it; its lines keep their numbers."""
    lines = text.split("\n")
    is_fenced = lines[0].lstrip().startswith("```") and any(
        each.strip() == "```" for each in lines[1:]
    )
    if not is_fenced:
        return text
    return "\n".join("" if each.lstrip().startswith("```") else each for each in lines)


def folder_of(path: str) -> str:
    return posixpath.dirname(path)


def read_stubs(
    interfaces: Iterable[Interface], suffix: str, read: Callable[[str], Declarations]
) -> dict[str, Declarations]:
    """Return the contract of each file with that suffix; a stub that does not parse is none."""
    own = (each for each in interfaces if each.path.endswith(suffix))
    stubs = ((each.path, read(without_fence(each.stub))) for each in own)
    return joined((path, stub) for path, stub in stubs if stub.fault is None)


@dataclass(frozen=True, slots=True)
class Stubs:
    """Say how a language reads and writes the contracts of its files, which end in `suffix`."""

    suffix: str
    read: Callable[[str], Declarations]
    write: Callable[[Contract], str]

    def in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        """Return one contract for each file of the language that holds after all `orders`."""
        deltas = [
            Delta(
                frozenset(order.allowed_files),
                self.merged(order.interfaces),
                normal_changes(order.changes),
            )
            for order in orders
        ]
        return tuple(
            Interface(path=path, stub=self.write(contract))
            for path, contract in fold(deltas)[-1].items()
        )

    def merged(self, interfaces: Iterable[Interface]) -> dict[str, Declarations]:
        """Return the contract of each file of the language; a stub that does not parse is none."""
        return read_stubs(interfaces, self.suffix, self.read)

    def read_written(
        self, path: str, sources: Mapping[str, str]
    ) -> Declarations | ContractViolation:
        """Return what the file of a contract declares, or that it is missing or does not parse."""
        text = sources.get(path)
        if text is None:
            return ContractViolation(path, "", "is declared but was not written")
        written = self.read(text)
        if written.fault is not None:
            problem = f"{DOES_NOT_PARSE}: {code_problem(written)}"
            return ContractViolation(path, "", problem)
        return written


def is_missing(path: str, item: Declared) -> ContractViolation:
    """Return the violation by a declaration that the file does not have."""
    return ContractViolation(path, item.name, f"`{item.head}` is declared and missing")


def compare_members(path: str, item: Declared, has: Declared) -> Iterator[ContractViolation]:
    """Yield how the members of a written type differ from the declared ones."""
    if has.kind != "type":
        return
    for name, member in item.members.items():
        qualified = f"{item.name}.{name}"
        if name not in has.members:
            message = f"`{qualified}` is declared as `{member.text}` and missing"
            yield ContractViolation(path, qualified, message)
        elif has.members[name].key != member.key:
            message = differs(qualified, member.text, has.members[name].text)
            yield ContractViolation(path, qualified, message)


def first_of_each_name(found: Iterable[ContractViolation]) -> tuple[ContractViolation, ...]:
    """Return the first violation of each name in each file, sorted by file and name."""
    first: dict[tuple[str, str], ContractViolation] = {}
    for each in found:
        first.setdefault((each.path, each.name), each)
    return tuple(sorted(first.values(), key=lambda each: (each.path, each.name)))


def readable(sources: Mapping[str, str], wanted: tuple[str, ...]) -> dict[str, str]:
    """Return those of `sources` whose paths end in one of `wanted` and that are texts."""
    texts = ((path, sources.get(path)) for path in sources if path.endswith(wanted))
    return {path: text for path, text in texts if text is not None}


_MAX_REASON: Final = 200


_MAX_VIEW: Final = 8 * 1024 * 1024  # characters; a copy of a larger tree is not worth the answer
_MAX_QUESTIONS: Final = 100


def unaskable(tools: Tools, asked: int, view: Mapping[str, str], parts: str) -> str:
    """Return why the compiler is not asked about the files of a `view`; empty if it is.

    `asked` counts the questions so far, and `parts` is what a question is about, in the plural.
    """
    if tools.runner is None:
        return "no sandbox was given to the compiler"
    if asked > _MAX_QUESTIONS:
        return f"over {_MAX_QUESTIONS} {parts} and orders bring tests"
    return "the repository is too large" if sum(map(len, view.values())) > _MAX_VIEW else ""


def unjudged(language: str, reason: str) -> Fault:
    """Return the warning that the tests of a language were not compared with the contracts."""
    shown = " ".join(reason.split())[:_MAX_REASON]
    return Fault("W224", 0, at(), f"the {language} of the plan was not judged: {shown}")
