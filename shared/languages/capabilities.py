"""Defines what a language is to planner and factory: its name, and the capabilities that it has.

A language is one folder beside this file, and one entry of `registry.LANGUAGES`. It has at least
outlines. Each further capability is a protocol, and a field here that stays `None` if the
language does not have it. Mostly a module implements a capability. It loads when it is first
asked (`shared/__init__.py`), so that a program that meets no file of the language loads nothing of
it. Facts that every language is asked for, such as its suffixes, are a value or a small class.
All paths are relative to the repository and use slashes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from shared.errors import Example

if TYPE_CHECKING:
    from shared.languages.language_tools import Dependencies, Packages, Reports, Tools
    from shared.languages.planned_code import Plans, Rehearsals
    from shared.languages.property_tests import ChanceMark
    from shared.languages.read_commands import Command, CommandReader
    from shared.work_order.work_order import Interface, WorkOrder


NESTED: Final = "*/"
"""Begins the names of telling files (`Language.telling`) that count below the root alone."""
INSTALLED: Final = "and packages that a manifest declares are installed"
"""Says in the machine's description that orders may bring packages."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Say where a language's rules for plans are, and which words ask for them.

    `package` has the `file`, and one on tests on generated inputs, which has PROPERTIES in its name
    for PLANNING. A specification asks for the language by one of `words`, which are
    matched whole and with their letters as they are, suffixes also at the end of a file's name.
    By `hints` it does so only where nothing else asks for a language. Each of `adapted` holds a
    pattern in the machine's description (`Rehearsals.version_argv`), a text of the rules, and what
    replaces it there.
    """

    package: str
    words: tuple[str, ...]
    file: str = "PLANNING.md"
    adapted: tuple[tuple[str, str, str], ...] = ()
    hints: tuple[str, ...] = ()

    def is_asked_for(self, text: str, *, by_hint: bool = False) -> bool:
        """Return whether a specification names the language, or hints at it."""
        if not by_hint:
            text = re.sub("|".join(map(re.escape, self.hints)) or "$", " ", text)
        for word in self.hints if by_hint else self.words:
            begin = "" if word[0] == "." else r"(?<!\w)"
            if re.search(rf"{begin}{re.escape(word)}(?!\w)", text):
                return True
        return False

    def read(self, machine: str = "") -> PlanningRules:
        """Return the rules and the example, as they hold on the machine."""
        return read_rules(self._text(self.file, machine))

    def read_properties(self, manifests: str, machine: str = "") -> str:
        """Return how a test on generated inputs is written, as it holds on the machine.

        The text has a part for the standard library, and a heading of the first level for a
        library: where the texts of the `manifests` name that and commands find it, its part counts.
        """
        text = self._text(self.file.replace("PLANNING", "PROPERTIES"), machine)
        usual, _, rest = text.partition("\n# ")
        library, _, with_it = rest.partition("\n")
        named = library and re.search(rf"(?<![\w-]){re.escape(library)}(?![\w-])", manifests)
        missed = re.search(rf"not installed: .*(?<![\w-]){re.escape(library)}(?![\w-])", machine)
        return (with_it if named and not missed else usual).strip()

    def _text(self, name: str, machine: str) -> str:
        from importlib import resources

        text = resources.files(self.package).joinpath(name).read_text("utf-8")
        for words, usual, here in self.adapted:
            if re.search(words, machine):
                text = text.replace(usual, here)
        return text


@dataclass(frozen=True, slots=True)
class PlanningRules:
    """Hold rules for plans, as Markdown that begins with a heading of the second level.

    `example` is a whole plan of two orders, with a sentence on what it is made from.
    """

    text: str
    example: str


def read_rules(text: str) -> PlanningRules:
    """Return the rules of a text that has the heading `# Example` once."""
    rules, _, example = text.partition("\n# Example\n")
    return PlanningRules(rules.strip(), example.strip())


@dataclass(frozen=True, slots=True)
class Examples:
    """Say where a language's examples of rules are: in a `file` of `package`."""

    package: str
    file: str = "EXAMPLES.toml"

    def read(self) -> Mapping[str, Example]:
        """Return the language's example of each rule that it decides, by the rule's code."""
        import tomllib
        from importlib import resources

        text = resources.files(self.package).joinpath(self.file).read_text("utf-8")
        return {
            code: Example(each["bad"].strip(), each["good"].strip())
            for code, each in tomllib.loads(text).items()
        }


# Bounded, or a long line of such words would be scanned again from each of them.
DEFINITION: Final = re.compile(
    r"\b(?:function|class|interface|enum|struct|trait|type|const|fn|func)\b"
    r"[ \t*]{1,10}(?:\([^()\n]{0,80}\)[ \t]{0,4})?(\w{1,80})"
)
"""Matches a definition in most languages whose declarations begin with a word."""


@dataclass(frozen=True, slots=True)
class Outliner:
    """Say what the files of one language are called, and how a definition in them begins.

    `name` is the name of the language as people write it, and `outlined` are the suffixes of the
    files that have an outline, dots included. `fence` marks a code block of the language in
    Markdown, and `comment` begins a comment of one line. `definition` has the name in a definition,
    anywhere in a line, as its first group.
    """

    name: str
    outlined: tuple[str, ...]
    fence: str
    comment: str = "//"
    definition: re.Pattern[str] = DEFINITION
    noun: str = "file"

    @property
    def file_noun(self) -> str:
        """Return what a file of the language is called, in the singular."""
        return f"{self.name} {self.noun}"


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Represent a function that has nothing in it; `message` is a sentence that says so.

    `was_so` is true where the same was said of the file before. Where `is_certain` is false, the
    author may have meant it: such a function returns nothing, or always the same.
    """

    name: str
    message: str
    was_so: bool
    is_certain: bool


class Notes(Protocol):
    """Look at code, and at what a failed command printed."""

    def find_unwritten(self, path: str, before: str, after: str) -> tuple[Unwritten, ...]:
        """Return the functions of a file that have nothing in them.

        `before` and `after` are the texts of the file at `path`.
        """

    def names_in(self, source: str) -> Collection[str] | None:
        """Return the names that a source declares; `None` if they cannot all be known.

        Members of classes are qualified: `Game.play`.
        """

    def note_syntax(self, path: str, source: str) -> str:
        """Return a sentence that names the line that does not parse; empty if all does."""

    def note_errors(
        self, output: str, sources: Mapping[str, str], files: Iterable[str]
    ) -> tuple[str, ...]:
        """Return a sentence for each error in `output` about a name that does not exist.

        `sources` has the texts of files by path, and `files` all paths of the repository.
        """


@dataclass(frozen=True, slots=True)
class ContractViolation:
    """Represent a declared name that the code does not have as declared.

    `name` is qualified (`Game.play`), and empty if the whole file is meant. `message` tells the
    author of the code how it differs.
    """

    path: str
    name: str
    message: str


class Conformance(Protocol):
    """Read contracts, and compare code with them."""

    def reads(self, path: str) -> bool:
        """Return whether `check_conformance` needs the file: code, or what says how it is built."""

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        """Return one stub for each file of the language that holds after the last of `orders`.

        Later declarations are merged over earlier ones. A name in an order's `changes` that the
        order does not declare is gone. Stubs that do not parse declare nothing.
        """

    def warm_up(self, tools: Tools) -> None:
        """Start what answers questions, without waiting, so that the first one is quick.

        Raises `CheckerFailed` once the tools are closed.
        """

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
    ) -> tuple[ContractViolation, ...]:
        """Return what in `sources` contradicts `interfaces`, sorted by file and name.

        `sources` has the texts of the files that `reads` wants, by path. The look-up of a file that
        is not text fails with `KeyError`. Raises `CheckerFailed` if the sources cannot be judged.
        """

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return code by path that keeps `interfaces` and does nothing.

        `sources` has the texts of existing files by path.
        """


@dataclass(frozen=True, slots=True)
class NamedCode:
    """Hold the code that the definition `name` is to have.

    The name is qualified (`Game.play`) if the author of the code qualified it.
    """

    name: str
    code: str


@dataclass(frozen=True, slots=True)
class Splice:
    """Replace the characters of a text from `start` up to `end`, which is excluded, by `text`.

    If several insertions are at one place, the one with the greatest `depth` comes first: an
    addition to an inner class comes before an addition to the class around it.
    """

    start: int
    end: int
    text: str
    depth: int = 0


@dataclass(frozen=True, slots=True)
class DefinitionEdit:
    """Hold the splices that bring a definition into a file.

    `repairs` describes each place where the code or its name was read leniently.
    """

    splices: tuple[Splice, ...]
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditRefused:
    """Say why code cannot be brought into a file.

    `lines` are the lines of the file that the reason is about; they count from 1.
    """

    reason: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """Hold a definition's qualified name (`Game.play`), and its lines, counted from 1."""

    name: str
    first: int
    last: int


class OwnImports(Protocol):
    """Find imports that a file makes of itself."""

    def without_own_imports(self, path: str, text: str) -> str:
        """Return a file without imports of what it defines itself, which never succeed."""


class DocumentedExamples(Protocol):
    """Make tests of the examples that documentation has."""

    def test_of_examples(self, source: str, asked: str, module: str) -> str:
        """Return a test file of the examples of definitions that are to be written.

        These are those of `source` that `asked` names. Empty where the examples do not show all of
        them. `module` is what the file imports.
        """


@dataclass(frozen=True, slots=True)
class NewTest:
    """Say how a source file gets a new test file: its path, its command, and how it is asked for.

    All have places for parts of the source's path: `{stem}`, `{folder}` (with a slash at its end),
    `{module}` (dotted); the last two also for `{path}`, and `asked` for `{names}` that it defines.

    `examples` makes the file of the examples in a source's documentation. `code` is what it made.
    """

    path: str
    command: str
    asked: str
    names: tuple[str, ...] = ()
    """What the source defines, where there is one."""
    folder_stem: str = ""
    """The stem of a file that is imported by the name of its folder."""
    examples: DocumentedExamples | None = None
    code: str = ""


@dataclass(frozen=True, slots=True)
class PlaceForTests:
    """Say where a test goes into a file: the character, its indentation, the blank lines above.

    `around` is set where tests live in a file of code: all of it that belongs to the tests, and
    what decides whether they are compiled.
    """

    at: int
    indent: str = ""
    blanks: int = 1
    around: str = ""


@dataclass(frozen=True, slots=True)
class CaseTable:
    """Represent a list of cases in a file of tests.

    `names` are those of the tests that take their cases from it, and of the variable that holds it.
    `start` and `end` are the characters between its brackets. `places` are those of its cases, and
    `cases` are equal for cases that differ in layout alone.
    """

    names: frozenset[str]
    start: int
    end: int
    places: tuple[tuple[int, int], ...]
    cases: tuple[str, ...]


class Edits(Protocol):
    """Find and replace the definitions of a file."""

    def find_tables(self, path: str, text: str) -> tuple[CaseTable, ...]:
        """Return the tables of cases in the file at `path`; none if it does not parse."""

    def place_for_tests(self, path: str, text: str) -> PlaceForTests:
        """Return where a test is added to the file at `path`. Raises `Refused` if nowhere."""

    def outline(self, text: str) -> tuple[OutlineEntry, ...]:
        """Return the definitions of a file in their order; none if it does not parse."""

    def edit_definitions(
        self, path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
    ) -> tuple[DefinitionEdit | EditRefused, ...]:
        """Return, for each edit, the splices of `text` that make it, or why it cannot be made.

        `text` is that of the file at `path`. A definition is replaced where it is, and added where
        it is not. A name that is replaced by another one has to be among `changes`.
        """

    def defined_names(self, fragment: str) -> tuple[str, ...]:
        """Return the last names of the definitions that begin in some lines of a file.

        The lines need not parse. Definitions within a function of these lines are left out.
        """

    def check_rewrite(
        self, path: str, before: str, after: str, changes: Sequence[str]
    ) -> tuple[ContractViolation, ...]:
        """Return a violation for each loss by a rewrite that `changes` do not name.

        `before` and `after` are the texts of the file at `path`.
        """


@dataclass(frozen=True, slots=True)
class Installable:
    """Hold what a project has declared in one language before a command failed.

    `declared` are the packages of its manifests, in normal form, and `allowed` those that the user
    allows besides, as they were written. `environments` are interpreters of the checkout that may
    have packages. `brought` says whether the code that is judged adds a word by itself.
    """

    declared: frozenset[str]
    allowed: tuple[str, ...]
    environments: tuple[str, ...]
    brought: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Lack:
    """Say in a sentence what is not installed, and how a person can get it.

    Each of `ways` completes "To fix it, ...".
    """

    what: str
    ways: tuple[str, ...]


class Failures(Protocol):
    """Read what a command printed that failed. Nothing in it is trusted, and no method raises."""

    def find_lack(self, output: str, project: Installable) -> Lack | None:
        """Return a package that the project declares and the output misses; else `None`.

        A package that the judged code itself brought along is that code's own fault.
        """

    def ways_to_program(self, program: str, *, is_command: bool) -> tuple[str, ...]:
        """Return the ways to `program`, which a package of the project may have.

        `is_command` is true where a command starts the program, and false where a script does. It
        is only asked where the project declares packages.
        """


class MutationKind(StrEnum):
    """Name what a mutation does to the code."""

    OPERATOR = "operator"
    BOUNDARY = "boundary"
    CONSTANT = "constant"
    RETURN = "return"
    STATEMENT = "statement"
    CONDITION = "condition"


@dataclass(frozen=True, slots=True)
class Mutation:
    """Replace the characters of a text from `start` up to `end`, which is excluded, by `text`."""

    kind: MutationKind
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Say what one command in the sandbox tries: commands on a file with each of some changes.

    Each of `changes` replaces characters of the file as `Mutation` does. A run may take `seconds`.
    `tests` are files that are tests whatever their names, `files` all of the tree, and `beside` the
    paths in the tree that do not belong to it. The exit code is `first_code` and a number that has
    a bit for each outcome, after a first bit that is set.
    """

    commands: tuple[tuple[str, ...], ...]
    path: str
    changes: tuple[tuple[int, int, str], ...]
    seconds: float
    first_code: int
    tests: tuple[str, ...] = ()
    files: Collection[str] = ()
    beside: tuple[str, ...] = ()


class Useless(StrEnum):
    """Say why nothing is learnt from a mutant: it does the same, or it is no code."""

    EQUIVALENT = "equivalent"
    INVALID = "invalid"


class Mutations(Protocol):
    """Find the mutations of a language, and say which of them can prove nothing."""

    def find_mutations(self, path: str, text: str) -> tuple[Mutation, ...] | None:
        """Return the mutations of a file in the order of the text; `None` if it cannot be read."""

    def why_useless(self, path: str, text: str, mutated: str) -> Useless | None:
        """Return why nothing is learnt from a mutant of a file; `None` if it has to be run."""

    def is_unbuilt(self, output: str) -> bool:
        """Return whether a failed command says that the code did not compile."""

    def batched(self, batch: Batch) -> tuple[str, ...]:
        """Return the command that tries several mutants in one start; empty if there is none."""


# A shorter file can lose half of itself by an honest change of a few lines.
_MIN_LINES: Final = 20


def check_shrinking(path: str, before: str, after: str) -> Iterator[ContractViolation]:
    """Yield a violation where a file of at least twenty lines loses over half of its text."""
    old, new = _size(before), _size(after)
    if new * 2 < old and len(before.splitlines()) >= _MIN_LINES:
        message = (
            f"shrinks to {100 * new // old}% of what it was: keep what the order does not change, "
            "and write the whole file"
        )
        yield ContractViolation(path, "", message)


def _size(text: str) -> int:
    """Return the number of characters that are not blank."""
    return len("".join(text.split()))


@dataclass(frozen=True, slots=True)
class Language:
    """Hold the capabilities of one language.

    `more_suffixes` are those of source files without an outline, dots included, and `contracted`
    those of files that may have an interface, for `plans` to judge. `commands` reads
    what the language's tools run, `plans` judges code that is only planned, and `rehearsals` try
    commands before it exists. `conformance`
    compares code with contracts, `edits` replaces definitions by their names, `notes` points out
    what a person would, `packages` knows what manifests declare, `dependencies` prepares it for
    commands, and `failures` knows which of it a failed command lacks. `mutations`
    finds small changes that tests should notice. `reports` reads what the language's tools print of
    faults. `advice` is for the model that plans; a language without it is
    not described. `examples` are for the person who looks up
    a rule that the language decides. `telling` has names of manifests, each with a pattern of the
    lines that decide what can run; after `NESTED`, of those in folders alone. `chance` has what
    makes the inputs of a test others on each run. `new_test` says how a source file gets a new test
    file. `own_imports` takes out what no file can import. `skips_none` says of a test command
    whether it runs tests of some given files alone, none of which may skip one, nor any of the
    files that are loaded with them: what is skipped then, the code under test skipped. A language
    whose code cannot do that has none. `shares_folder` says that the files of a folder have their
    names in common.
    """

    outliner: Outliner
    more_suffixes: tuple[str, ...] = ()
    contracted: tuple[str, ...] = ()
    commands: CommandReader | None = None
    plans: Plans | None = None
    rehearsals: Rehearsals | None = None
    conformance: Conformance | None = None
    edits: Edits | None = None
    notes: Notes | None = None
    packages: Packages | None = None
    dependencies: Dependencies | None = None
    failures: Failures | None = None
    mutations: Mutations | None = None
    reports: Reports | None = None
    advice: Advice | None = None
    examples: Examples | None = None
    telling: tuple[tuple[str, str], ...] = ()
    chance: tuple[ChanceMark, ...] = ()
    new_test: NewTest | None = None
    own_imports: OwnImports | None = None
    shares_folder: bool = False
    skips_none: Callable[[Command, Mapping[str, str], Mapping[str, str]], bool] | None = None

    @property
    def name(self) -> str:
        return self.outliner.name

    @property
    def suffixes(self) -> tuple[str, ...]:
        return (*self.outliner.outlined, *self.more_suffixes)
