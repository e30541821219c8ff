"""Defines the capability to judge a plan's code before it exists.

A planner shows a language the whole chain of orders as a `Chain`, which is plain data. The language
answers with a `ChainCode`, and that reports each fault with the code of the rule that it breaks.
The codes mean the same in every language (`llmch explain`), and the words come from
`shared.languages.fault_words`, so that the same fault reads the same everywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from shared.languages.capabilities.commands import Command, Weakness
from shared.languages.capabilities.tools import Tools
from shared.work_order.field_path import FieldPath

# An honest plan removes files in one order or two; each further one would cost a search more.
_MAX_BREAKS: Final = 20


@dataclass(frozen=True, slots=True)
class DeclaredStub:
    """Hold one entry of an order's `interfaces`, at `index`.

    `problem` is empty, or says why the stub is not to be read whatever it holds.
    """

    index: int
    path: str
    text: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AcceptanceText:
    """Hold one of the test files that a plan brings itself, at `index` in `acceptance_files`."""

    index: int
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class OrderCode:
    """Hold what concerns languages in one order, at `position` (from 1) in the chain.

    `label` names the order in messages. An order that is not `valid` breaks the schema: its
    commands are read as far as possible, and nothing is demanded of its code. It surely writes the
    files `writes`, and possibly `may_write`; `allowed_files` are as the order lists them, and
    `changes` are the names that it says it changes. `commands` have the index of their field.
    `FilesInTime.removed` has the files that orders remove.
    """

    position: int
    label: str
    valid: bool = True
    writes: tuple[str, ...] = ()
    may_write: tuple[str, ...] = ()
    allowed_files: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    interfaces: tuple[DeclaredStub, ...] = ()
    commands: tuple[tuple[int, Command], ...] = ()
    acceptance_files: tuple[AcceptanceText, ...] = ()


class FilesInTime(Protocol):
    """Say which files exist after which order. Position 0 is the repository itself."""

    @property
    def first(self) -> Mapping[str, int]:
        """Return the position from which each path certainly exists."""

    @property
    def possible(self) -> Mapping[str, int]:
        """Return the position from which each path may exist."""

    @property
    def blind_from(self) -> int | None:
        """Return the first order whose files could not be read; `None` where all could be."""

    @property
    def removed(self) -> Mapping[str, int]:
        """Return the position from which each path that an order removes does not exist."""

    @property
    def removing(self) -> Sequence[int]:
        """Return the positions of the orders that remove files, sorted."""

    def may_exist(self, path: str, after: int) -> bool:
        """Say whether `path` exists, or may exist, once the order at `after` is done."""

    def is_unread(self, path: str, after: int) -> bool:
        """Say whether an unreadable order, or a path with globs, may be meant to provide `path`."""

    def may_be_folder(self, path: str, after: int) -> bool:
        """Say whether a file in the folder `path` exists or may exist."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Hold a plan as languages see it: its orders, and the repository that it is for.

    `listing` has the paths of the repository, and `sources` the texts of those that could be read;
    a text may be read from disk when it is looked up. `dependencies` are the packages that the user
    allows besides those that the repository declares.
    """

    orders: tuple[OrderCode, ...]
    files: FilesInTime
    listing: Collection[str] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()

    def source(self, position: int) -> str:
        """Return a name for `position`: the label of the order there, or "the repo" for 0."""
        return self.orders[position - 1].label if position else "the repo"

    def is_there(self, path: str, after: int) -> bool:
        """Say whether `path` may be there after the order at `after`, as far as is known."""
        return self.files.may_exist(path, after) or self.files.is_unread(path, after)

    def is_gone(self, path: str, after: int) -> bool:
        """Say whether an order up to `after` removes `path`."""
        return self.files.removed.get(path, after + 1) <= after

    def remover(self, path: str, after: int) -> str:
        """Return the name of the order up to `after` that removes `path`; "" if there is none."""
        return self.source(self.files.removed[path]) if self.is_gone(path, after) else ""

    def first_with(self, after: int, holds: Callable[[int], bool]) -> int | None:
        """Return the position of the first order behind `after` at which `holds` is true.

        `holds` is expected to stay true until an order removes a file.
        """
        return first_with(range(after + 1, len(self.orders) + 1), holds, self.files.removing)


def first_with(
    positions: range, holds: Callable[[int], bool], removing: Sequence[int]
) -> int | None:
    """Return the first of `positions` at which `holds` is true; `None` where none is found.

    Once true, `holds` has to stay true up to the next position in `removing`, which is sorted. Only
    the first 20 parts between these are searched.
    """
    begin, last = positions.start, positions.stop
    within = removing[bisect_left(removing, begin) : bisect_left(removing, last)]
    for end in (*within[:_MAX_BREAKS], last):
        part = range(begin, end)
        if part and holds(part[-1]):
            return part[bisect_left(part, True, key=holds)]
        begin = end
    return None


@dataclass(frozen=True, slots=True)
class Fault:
    """Represent a fault of a field of the order at `position`; 0 is the plan as a whole."""

    code: str
    position: int
    at: FieldPath
    message: str


@dataclass(frozen=True, slots=True)
class Need:
    """Represent something that code needs and nothing provides by then.

    `code` is E210, E217, E241 or E242 where that is certain, W221 for a package that nobody
    declares, and W101 otherwise. `name` tells needs apart: one name is reported once an order.
    `line` counts from 1 in the code that needs it; 0 means all of the code.
    """

    code: str
    name: str
    message: str
    line: int = 0


class ChainCode(Protocol):
    """Answer for one language what can be said of a chain of orders. No method raises."""

    def interface_faults(self) -> Iterator[Fault]:
        """Yield what is wrong with the stubs, and the files that have none.

        E201: does not parse. E203: uses an undefined name. E204: contradicts an earlier
        declaration. W223: a file that the order writes has no interface.
        """

    def needs_of_command(self, position: int, command: Command) -> Iterator[Need]:
        """Yield what a command needs and does not have, except the paths that it names.

        The order at `position` is valid. The planner itself looks for the files of `needed_paths`
        and of a `ScriptRun`.
        """

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        """Yield what a test file of the plan needs and does not have."""

    def use_faults(self, tools: Tools) -> Iterator[Fault]:
        """Yield how commands and test files use code otherwise than it is declared.

        E211 to E216 for certain faults, E217 for names that only a later order declares, W222 for
        doubts, W224 for files of the repository that cannot be read. E299 where a tool failed; a
        tool that is missing gives W224 once for the plan, and no error.
        """

    def weakness(self, position: int, command: Command) -> Weakness | None:
        """Return why a command can hardly fail with the files that are there by then.

        The reasons that the text alone shows are those of `CommandReader.weakness`.
        """


class Plans(Protocol):
    """Judge the code of plans."""

    @property
    def contracted(self) -> tuple[str, ...]:
        """Return the suffixes of the files that may have an interface, dots included."""

    def has_names_to_declare(self, path: str) -> bool:
        """Return whether other files use the file at `path`, of this language, by its names."""

    def is_test_file(self, path: str) -> bool:
        """Return whether a file of this language holds tests, or code that only tests use."""

    def module_name(self, path: str) -> str:
        """Return the word by which other texts mention the file at `path`."""

    def read_chain(self, chain: Chain) -> ChainCode:
        """Return what answers for this language on `chain`. Reading is cheap; answers may not be.

        It is only called where an order or a command of the chain concerns the language.
        """
