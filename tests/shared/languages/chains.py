"""Chains of orders as languages see them, made from a few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shared.languages.acceptance_commands import analyse_command
from shared.languages.planned_code import AcceptanceText, Chain, DeclaredStub, Fault, OrderCode

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Files:
    """Say which files exist after which order."""

    first: dict[str, int]
    possible: dict[str, int] = field(default_factory=dict)
    blind_from: int | None = None
    removed: dict[str, int] = field(default_factory=dict)

    @property
    def removing(self) -> Sequence[int]:
        return sorted(set(self.removed.values()))

    def may_exist(self, path: str, after: int) -> bool:
        return self.first.get(path, after + 1) <= after < self.removed.get(path, after + 1)

    def is_unread(self, path: str, after: int) -> bool:
        return self.blind_from is not None and self.blind_from <= after

    def may_be_folder(self, path: str, after: int) -> bool:
        return any(
            each.startswith(f"{path}/") and self.may_exist(each, after) for each in self.first
        )


@dataclass(frozen=True, slots=True)
class Order:
    """Hold what an order of a test has; it writes the files that it declares, and `writes`."""

    stubs: Texts = field(default_factory=dict)
    tests: Texts = field(default_factory=dict)
    writes: Sequence[str] = ()
    changes: tuple[str, ...] = ()
    commands: Sequence[str] = ()
    removes: Sequence[str] = ()


def chain_of(*orders: Order, repo: Texts | None = None) -> Chain:
    """Return the chain of the orders on a repository with these files."""
    files = dict.fromkeys(repo or {}, 0)
    removed: dict[str, int] = {}
    codes: list[OrderCode] = []
    for position, order in enumerate(orders, 1):
        allowed = tuple(dict.fromkeys((*order.stubs, *order.writes)))
        for path in (*allowed, *order.tests):
            files.setdefault(path, position)
        removed.update(dict.fromkeys(order.removes, position))
        code = OrderCode(
            position=position,
            label=f"WO-{position:02}",
            writes=allowed,
            allowed_files=allowed,
            changes=order.changes,
            interfaces=tuple(
                DeclaredStub(index, path, text)
                for index, (path, text) in enumerate(order.stubs.items())
            ),
            commands=tuple((i, analyse_command(text)) for i, text in enumerate(order.commands)),
            acceptance_files=tuple(
                AcceptanceText(index, path, text)
                for index, (path, text) in enumerate(order.tests.items())
            ),
        )
        codes.append(code)
    return Chain(tuple(codes), Files(files, removed=removed), tuple(repo or {}), repo or {})


def codes(faults: Iterable[Fault]) -> list[str]:
    """Return the codes of faults, in their order."""
    return [each.code for each in faults]


@dataclass(frozen=True, slots=True)
class Case:
    """Hold one case of a corpus: the code that is expected, empty for a right case."""

    name: str
    code: str
    text: str


def read_corpus(text: str) -> list[Case]:
    """Return the cases of a corpus, each headed by `=== CODE name` or `=== right name`."""
    cases: list[Case] = []
    for part in text.split("\n=== ")[1:]:
        head, _, body = part.partition("\n")
        code, _, name = head.partition(" ")
        cases.append(Case(name.strip(), "" if code == "right" else code, body.rstrip() + "\n"))
    return cases
