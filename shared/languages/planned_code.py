"""Defines the capability to judge a plan's code before it exists, and words its faults.

A planner shows a language the whole chain of orders as a `Chain`, which is plain data. The language
answers with a `ChainCode`, and that reports each fault with the code of the rule that it breaks.
The codes mean the same in every language (`llmch explain`), and the words come from
`shared.languages.planned_code`, so that the same fault reads the same everywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol

from shared.errors import quoted
from shared.files import strict_documents

if TYPE_CHECKING:
    from shared.files.strict_documents import FieldPath
    from shared.languages.language_tools import ToolResult, Tools
    from shared.languages.read_commands import Command, Weakness

DOES_NOT_PARSE: Final = "does not parse"
"""The first words of the message about a file whose syntax the language's reader refuses."""
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

    @property
    def at(self) -> FieldPath:
        return strict_documents.at("interfaces", self.index, "stub")


@dataclass(frozen=True, slots=True)
class AcceptanceText:
    """Hold one of the test files that a plan brings itself, at `index` in `acceptance_files`."""

    index: int
    path: str
    text: str

    @property
    def at(self) -> FieldPath:
        return strict_documents.at("acceptance_files", self.index, "content")


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
        """Return the first order whose files could not be read; `None` if all could be."""

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

    def is_blind(self, after: int) -> bool:
        """Say whether an order up to `after` may write files of unknown names."""
        return self.files.blind_from is not None and self.files.blind_from <= after

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

    def unmet(self, after: int, holds: Callable[[int], bool], verb: str, missing: Need) -> Need:
        """Return `missing`; or E217, if `holds` is true behind a later order."""
        later = self.first_with(after, holds)
        return provided_later(verb, missing.name, self.source(later)) if later else missing


def first_with(
    positions: range, holds: Callable[[int], bool], removing: Sequence[int]
) -> int | None:
    """Return the first of `positions` at which `holds` is true; `None` if none is found.

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
class TextFault:
    """Say why a text cannot be read; `line` counts from 1, and is 0 for the whole text."""

    message: str
    line: int = 0
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Represent a name that two contracts declare differently.

    `before` and `after` are the two declarations, on one line each. `line` is that of the later
    declaration, from 1.
    """

    name: str
    line: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold the code of a finding, and the text that its message adds to the checker's."""

    code: str
    addition: str = ""


DOUBT: Final = Verdict("W222")


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


@dataclass(frozen=True, slots=True)
class PlannedFiles:
    """Hold the files that a command of a plan will find, before any of its code exists.

    `tests` are the texts of the plan's test files, and `written` the paths of what its orders may
    write. `repo` has the texts of the repository's files, whose paths are `listing`. The user
    allows the packages `dependencies` besides those that the repository declares. `installs` says
    that what manifests declare is installed, also what an order adds to one.
    """

    tests: Mapping[str, str] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    repo: Mapping[str, str] = field(default_factory=dict)
    listing: frozenset[str] = frozenset()
    dependencies: tuple[str, ...] = ()
    installs: bool = False

    def may_write(self, name: str) -> bool:
        """Return whether an order may write a file of this name, in whatever folder."""
        return any(path.rpartition("/")[2] == name for path in self.written)

    def has(self, path: str) -> bool:
        return path in self.tests or path in self.written or path in self.listing


@dataclass(frozen=True, slots=True)
class CannotRun:
    """Say why a command cannot run here, in the runner's words where there are any.

    The code is that of a rule: E401 for its program, E402 for its words, E403 for a test.
    """

    code: Literal["E401", "E402", "E403"]
    words: str


REHEARSED: Final = "llmchnothing"
"""The folder of what rehearsals write beside the files of a plan; no repo has one of that name."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Hold how to see whether a command can run here although its code does not exist.

    `argv` is run with `files` in the tree, texts by path, and `with_code` with code besides that
    keeps the plan's interfaces and does nothing. `refusal` reads how that ended. `named` are the
    last words of `argv` where one run may be made for several commands: a run that succeeds, and
    prints the names of all their files, answers for each.
    """

    argv: tuple[str, ...]
    files: Mapping[str, str]
    refusal: Callable[[ToolResult], CannotRun | None]
    with_code: bool = False
    named: tuple[str, ...] = ()


class Rehearsals(Protocol):
    """Say how to see what commands find here, and whether they can run before their code exists."""

    def version_argv(self, packages: Sequence[str], *, sees: bool = True) -> tuple[str, ...]:
        """Return a command that says in one line what is here: versions, and what they run.

        It also says which of these `packages`, which manifests declare, commands do not find. It
        does not where it `sees` no file of the repo; no word of it is then the repo's.
        """

    def rehearsal(self, command: Command, planned: PlannedFiles) -> Rehearsal | None:
        """Return how to try a command; `None` if nothing can be learnt. Never raises."""


class Plans(Protocol):
    """Judge the code of plans."""

    def has_names_to_declare(self, path: str) -> bool:
        """Return whether other files use the file at `path`, of this language, by its names."""

    def is_test_file(self, path: str) -> bool:
        """Return whether a file of this language holds tests, or code that only tests use."""

    def asserting_text(self, path: str, text: str, product: Collection[str]) -> str:
        """Return what in a test file can fail, with all that it names. Never raises.

        Comments, docstrings, and tests that are skipped or assert nothing are left out. Empty where
        nothing is left that can fail, or the file does not parse. `product` are the paths of code
        that the tests are for; a function of any other file that is no test may assert for them.
        """

    def module_name(self, path: str) -> str:
        """Return the word by which other texts mention the file at `path`."""

    def read_chain(self, chain: Chain) -> ChainCode:
        """Return what answers for this language on `chain`. Reading is cheap; answers may not be.

        It is only called where an order or a command of the chain concerns the language.
        """


def stub_does_not_parse(position: int, stub: DeclaredStub, fault: TextFault) -> Fault:
    """Return E201."""
    where = f" in line {fault.line}, {quoted(fault.excerpt)}" if fault.line else ""
    message = f"the stub of {quoted(stub.path)} does not parse: {fault.message}{where}"
    return Fault("E201", position, stub.at, message)


def file_does_not_parse(path: str, line: int = 0, excerpt: str = "", reason: str = "") -> str:
    """Return the sentence about a file with a fault of syntax, which is E206 for a test of a plan.

    `line` counts from 1, and is 0 where the whole file is meant.
    """
    if not line:
        return f"{path} {DOES_NOT_PARSE}."
    shown = f": `{excerpt}`" if excerpt else ""
    why = f" ({reason})" if reason else ""
    return f"{path} {DOES_NOT_PARSE} at line {line}{shown}{why}."


def stub_uses_undefined(position: int, stub: DeclaredStub, name: str, line: int) -> Fault:
    """Return E203."""
    message = (
        f"the stub of {quoted(stub.path)} uses {quoted(name)} in line {line}, "
        "which it neither imports nor defines"
    )
    return Fault("E203", position, stub.at, message)


def stub_contradicts(position: int, stub: DeclaredStub, found: Conflict, source: str) -> Fault:
    """Return E204; `source` declares what was before, and this order what is after."""
    message = (
        f"{quoted(found.name)} in line {found.line} of the stub of {quoted(stub.path)}: "
        f"{source} declares `{found.before}`, here it is `{found.after}`"
    )
    return Fault("E204", position, stub.at, message)


def files_without_interface(
    order: OrderCode, should_have_one: Callable[[str], bool]
) -> Iterator[Fault]:
    """Yield W223 for each file that an order allows, and that should have an interface."""
    settled = {each.path for each in order.interfaces}
    for index, path in enumerate(order.allowed_files):
        if path not in settled and should_have_one(path):
            settled.add(path)
            message = f"{quoted(path)} has no interface: commands that use it cannot be judged"
            field = strict_documents.at("allowed_files", index)
            yield Fault("W223", order.position, field, message)


def code_cannot_be_judged(reason: str, option: str = "-c") -> str:
    """Return the message of E215 about a command's code, which follows `option`."""
    return f"the code after `{option}` cannot be judged: {reason}"


def file_cannot_be_read(path: str, reason: str) -> Fault:
    """Return W224 about a file of the repository."""
    message = f"{quoted(path)} cannot be read: {reason}"
    return Fault("W224", 0, strict_documents.at(), message)


def not_defined(name: str, line: int, column: int) -> str:
    """Return the message of E216, with its place in the code."""
    return at_place(has_no_definition(name), line, column)


def has_no_definition(name: str) -> str:
    """Return the message of E216 without a place."""
    return f"{quoted(name)} is not defined"


def at_place(message: str, line: int, column: int, addition: str = "") -> str:
    """Return a checker's `message` with its place in the code, as E211 to E216 and W222 have it.

    `line` and `column` count from 1. The line is left out if the code has only one, or if the
    place is in the first. `addition` says where a name is declared, or by whom.
    """
    place = f"line {line}, column {column}" if line > 1 else f"column {column}"
    return f"{place}: {message}" + (f" ({addition})" if addition else "")


def declared_only_by(source: str) -> str:
    """Return the addition of E217, where only a later order declares a name."""
    return f"declared only by {source}"


def declared_by(source: str, path: str) -> str:
    """Return the addition that says which order declares a name in which file."""
    return f"declared by {source} in {path}"


def provided_later(verb: str, name: str, source: str, key: str = "") -> Need:
    """Return E217: only the later order `source` provides what a command imports, runs or names."""
    return Need("E217", key or name, f"{verb} {quoted(name)}, which only {source} provides")


def missing_module(name: str, remover: str = "") -> Need:
    """Return E210: a module of the project that is missing, or that `remover` removes."""
    why = f"{remover} removes" if remover else "no order provides and the repo does not have"
    return Need("E210", name, f"imports {quoted(name)}, a module of this project that {why}")


def missing_path(verb: str, path: str, remover: str = "") -> Need:
    """Return E241: a script or test file that does not exist by then, or that `remover` removes."""
    why = f"{remover} removes" if remover else "does not exist by then"
    return Need("E241", path, f"{verb} {quoted(path)}, which {why}")


def undeclared_package(verb: str, module: str, package: str) -> Need:
    """Return W221: the module of an undeclared package."""
    message = f"{verb} {quoted(module)}, a third-party module that the repo does not declare"
    return Need("W221", package, message)


def unprovided(verb: str, name: str) -> Need:
    """Return W101: the need of something that is perhaps provided where we cannot see it."""
    message = f"{verb} {quoted(name)}, which neither the repo nor an order up to here has"
    return Need("W101", name, message)
