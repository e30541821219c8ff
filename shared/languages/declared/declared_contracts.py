"""Contracts as declarations: what a plan declares at each point, and whether code keeps it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from shared.languages.capabilities import ContractViolation
from shared.languages.declared.declarations import (
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
from shared.languages.declared.declared_edits import code_problem
from shared.languages.language_tools import (
    CheckerFailed,
    ToolMissing,
    ToolResult,
    ToolRunner,
    Tools,
    as_far_as_answered,
)
from shared.languages.planned_code import DOES_NOT_PARSE, Conflict
from shared.work_order.work_order import Interface, WorkOrder

# Go's first question compiles the standard library, which took 21 seconds on a loaded machine.
SECONDS: Final = 120.0
_NAMED: Final = 3  # the most files that a message names


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
    merged = {key_of(each): each for each in known}
    for item in new:
        earlier = merged.get(key_of(item))
        extends = earlier is not None and earlier.members and item.name not in changed
        whole = _with_members(item, earlier, changed) if earlier and extends else item
        merged[key_of(item)] = whole
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


def key_of(item: Declared) -> tuple[str, str]:
    """Return what tells a declaration from others: two traits may give a type the same names."""
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
        own = (each for each in interfaces if each.path.endswith(self.suffix))
        stubs = ((each.path, self.read(without_fence(each.stub))) for each in own)
        return joined((path, stub) for path, stub in stubs if stub.fault is None)

    def contracts(self, interfaces: Iterable[Interface]) -> dict[str, Contract]:
        """Return the same as contracts, which code can be made of."""
        merged = self.merged(interfaces)
        return {p: Contract(each.items, each.imports, each.package) for p, each in merged.items()}

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


Kept = Mapping[str, tuple[Declarations, Sequence[Declared]]]
"""What each file declares, with those declarations of its contract that it has."""


@dataclass(frozen=True, slots=True)
class DeclaredConformance:
    """Implement `Conformance`, but for what it reads and for skeletons.

    `differences` yields those that the text shows, by the path, its contract and what is written.
    `wrong_types` are asked for where there is a compiler, and no file is missing.
    """

    stubs: Stubs
    differences: Callable[[str, Declarations, Declarations], Iterator[ContractViolation]]
    wrong_types: Callable[
        [Kept, Sequence[Interface], Mapping[str, str], ToolRunner], Iterator[ContractViolation]
    ]

    def warm_up(self, tools: Tools) -> None:
        """Do nothing: what the compiler keeps is prepared with the sandbox."""

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        return self.stubs.in_force(orders)

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
    ) -> tuple[ContractViolation, ...]:
        """Return what in `sources` contradicts the contracts, sorted by file and name.

        Types are compared where there is a compiler. Raises `CheckerFailed` if it gave no answer
        and the text shows no difference.
        """
        found: list[ContractViolation] = []
        kept: dict[str, tuple[Declarations, Sequence[Declared]]] = {}
        for path, contract in self.stubs.merged(interfaces).items():
            written = self.stubs.read_written(path, sources)
            if isinstance(written, ContractViolation):
                found.append(written)
                continue
            found += self.differences(path, contract, written)
            kept[path] = written, [each for each in contract.items if _may_ask(each, written)]
        if tools.runner is not None and not any(each.name == "" for each in found):
            asked = self.wrong_types(kept, interfaces, sources, tools.runner)
            found += as_far_as_answered(found, asked)
        first: dict[tuple[str, str], ContractViolation] = {}
        for each in found:
            first.setdefault((each.path, each.name), each)
        return tuple(sorted(first.values(), key=lambda each: (each.path, each.name)))


def _may_ask(item: Declared, written: Declarations) -> bool:
    """Return whether a compiler can say something of a declaration that is there in some way."""
    return item.kind == "implementation" or bool(written.named(item.name))


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


def readable(sources: Mapping[str, str], wanted: tuple[str, ...]) -> dict[str, str]:
    """Return those of `sources` whose paths end in one of `wanted` and that are texts."""
    texts = ((path, sources.get(path)) for path in sources if path.endswith(wanted))
    return {path: text for path, text in texts if text is not None}


def run_compiler(
    runner: ToolRunner, files: Mapping[str, str], argv: Sequence[str], name: str
) -> ToolResult:
    """Return how the compiler ended. Raises `CheckerFailed` if it is missing or takes too long."""
    try:
        result = runner.run(files, argv, seconds=SECONDS)
    except ToolMissing as missing:
        raise CheckerFailed(str(missing)) from missing
    if result.exit_code is None:
        raise CheckerFailed(f"{name} did not answer within {SECONDS:.0f} seconds")
    return result


def require_judged(compiler: str, unjudged: Sequence[str], said: str) -> None:
    """Raise `CheckerFailed` if there are files that a compiler never came to; `said` says why.

    An error of the compiler's is another matter: code that has one is not taken in any case.
    """
    if unjudged:
        names = ", ".join(unjudged[:_NAMED]) + (" and others" if len(unjudged) > _NAMED else "")
        raise CheckerFailed(f"{compiler} did not compile {names}{f': {said}' if said else ''}")


@dataclass(frozen=True, slots=True)
class Complaint:
    """Hold one error of a compiler at its place in a file; `line` and `column` count from 1.

    `rule` is the compiler's own code, and "" if it gives none. `is_argument` says that the error
    is about an argument of a call.
    """

    path: str
    line: int
    column: int
    message: str
    rule: str = ""
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """Say what a complaint means: the code of a finding, and the name that it is about, if any.

    `package` is the name of the package before it: "" if the name has none. A `lacking` name is
    one that the code does not have, and that a later order may declare.
    """

    code: str
    name: str = ""
    package: str = ""
    lacking: bool = False
