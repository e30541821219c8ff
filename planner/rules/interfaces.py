"""Checks what orders declare and refer to: interfaces, files, other orders."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from planner.rules.rule_model import Finding, PlanView, Rule, Step, each_order
from shared.errors import quoted
from shared.files.paths import PathProblem, check_path, glob_characters
from shared.files.strict_documents import at
from shared.languages.registry import LANGUAGES, language_of

if TYPE_CHECKING:
    from shared.languages.planned_code import Plans
    from shared.work_order.work_order import WorkOrder

E201 = Rule(
    "E201",
    "interface does not parse",
    why="A contract that cannot be read binds nobody: no command is judged by it.",
    remedy=(
        "Correct the stub: declarations without bodies, as interfaces of the file's language are "
        "written, with lines separated by \\n in the JSON string."
    ),
)


def misplaced_interfaces(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for each in step.code.interfaces:
        if fault := _path_fault(each.path, order):
            message = f"{quoted(each.path)} {fault}"
            yield step.finding("E202", at("interfaces", each.index, "path"), message)


def _path_fault(path: str, order: WorkOrder) -> str | None:
    if glob_characters(path):
        return None if path in order.allowed_files else "is a pattern: name one file"
    try:
        check_path(path)
    except PathProblem as problem:
        return str(problem)
    language = language_of(path)
    if language is None or language.plans is None or not path.endswith(language.contracted):
        return f"is no {_contracted()} file: a stub can only declare one"
    if path not in order.allowed_files:
        return "is not in allowed_files: only what the order may write can change"
    return None


def _contracted() -> str:
    *most, last = [each.name for each in LANGUAGES if each.contracted]
    return f"{', '.join(most)} or {last}" if most else last


E202 = Rule(
    "E202",
    "interface of a file that the order does not write",
    why="An interface says what its order creates or changes in a file of its own.",
    bad=r"""{"allowed_files": ["game.py"],
 "postconditions": [{"kind": "file_exists", "path": "game.py"}],
 "interfaces": [{"path": "game.py", "stub": "def play() -> None: ..."},
                {"path": "words.py", "stub": "WORDS: list[str]"}],
 "acceptance_commands": ["python -c \"from game import play; assert play() is None\""]}""",
    good=r"""{"allowed_files": ["game.py", "words.py"],
 "postconditions": [{"kind": "file_exists", "path": "game.py"},
                    {"kind": "file_exists", "path": "words.py"}],
 "interfaces": [{"path": "game.py", "stub": "def play() -> None: ..."},
                {"path": "words.py", "stub": "WORDS: list[str]"}],
 "acceptance_commands": ["python -c \"from game import play; assert play() is None\""]}""",
    remedy=(
        "Correct the path, add it to allowed_files where the order writes the file, or move the "
        "interface to the order that does. A file in any other language has none."
    ),
    check=each_order(misplaced_interfaces),
)


E203 = Rule(
    "E203",
    "interface uses an undefined name",
    why="A type that nobody defines means nothing: the meaning of the declaration is lost.",
    remedy="Import the name in the stub, as the file itself would, define it there, or correct it.",
)


E204 = Rule(
    "E204",
    "interface contradicts an earlier one",
    why=(
        "Earlier orders and their commands were made for the first declaration; a silent second "
        "one breaks them."
    ),
    remedy=(
        "Declare the name as before, or leave it out where it stays as it is. To change it on "
        "purpose, name it in the order's `changes` (`play`, or `Game.play` for a member)."
    ),
)


W223 = Rule(
    "W223",
    "file without interface",
    why="A name that is declared nowhere can be called wrongly, and later orders have to guess.",
    remedy=(
        "Add {path, stub} to the order's `interfaces`: the signatures of all public names, as "
        "interfaces of the file's language are written; an empty stub for a file without any."
    ),
)


_TEST_FOLDERS: Final = frozenset({"test", "tests"})
_WORD = re.compile(r"\w+")


def unreadable_context(step: Step, order: WorkOrder) -> Iterator[Finding]:
    before = step.draft.position - 1
    # An allowed file may be listed before it exists: it is shown as empty. An acceptance file is
    # shown as it will be.
    settled = {*order.allowed_files, *(each.path for each in order.acceptance_files)}
    # What a glob in place of a file would cover is not known; the glob itself is E004.
    globs = [each for each in order.allowed_files if glob_characters(each)]
    for index, path in enumerate(order.context_files):
        if path in settled or glob_characters(path):
            continue
        if any(fnmatchcase(path, each) for each in globs):
            continue
        settled.add(path)
        if step.chain.may_exist(path, before) or step.chain.is_unread(path, before):
            continue
        provider, remover = step.chain.provider(path), step.chain.remover(path, before)
        reason = f"only {step.source(provider)} provides it" if provider else "nobody provides it"
        if remover:
            reason = f"{step.source(remover)} removes it"
        message = f"{quoted(path)} does not exist by then: {reason}"
        yield step.finding("E243", at("context_files", index), message)


E243 = Rule(
    "E243",
    "context file read before it exists",
    why="The executor sees the context files as they are when its order starts.",
    bad='{"context_files": ["docs/format.md"]}',
    good="""{"work_orders": [
  {"id": "WO-01", "allowed_files": ["docs/format.md"],
   "postconditions": [{"kind": "file_exists", "path": "docs/format.md"}]},
  {"id": "WO-02", "context_files": ["docs/format.md"]}
]}""",
    remedy="Let an earlier order create the file, correct the path, or leave it out.",
    check=each_order(unreadable_context),
)


def unknown_dependencies(view: PlanView) -> Iterator[Finding]:
    ids = (draft.raw.get("id") for draft in view.plan.drafts)
    known = {each for each in ids if isinstance(each, str)}
    for step, order in view.orders:
        for index, needed in enumerate(order.depends_on):
            if needed in order.depends_on[:index]:
                continue  # it has its finding already
            if needed == order.id or needed not in known:
                fault = "is the order itself" if needed == order.id else "is no order of this plan"
                yield step.finding("E246", at("depends_on", index), f"{quoted(needed)} {fault}")


E246 = Rule(
    "E246",
    "unknown order in depends_on",
    why="An order that waits for an order which does not exist can never start.",
    bad='{"depends_on": ["WO-07"]}',
    good="""{"work_orders": [{"id": "WO-01"}, {"id": "WO-02", "depends_on": ["WO-01"]}]}""",
    remedy="Name the id of an order of this plan, or leave the entry out: order by number is kept.",
    check=unknown_dependencies,
)


def unused_modules(view: PlanView) -> Iterator[Finding]:
    orders = [step.draft.order for step in view.steps]
    if None in orders:
        return  # an order that cannot be read may use anything
    uses = _uses(view)
    for step in view.steps:
        order = step.draft.order
        assert order is not None, "checked above"
        mine = [
            (index, path)
            for index, path in enumerate(order.allowed_files)
            if _has_names(path) and _creates(step, path)
        ]
        if mine and not any(
            uses.of(path, step.draft.position) or _passes_on(order, path, step) for _, path in mine
        ):
            # Where one file of an order is used, that file may use the others.
            for index, path in mine:
                message = f"{quoted(path)} is created here and used by no command and no order"
                yield step.finding("W245", at("allowed_files", index), message)


def _passes_on(order: WorkOrder, path: str, step: Step) -> bool:
    """Say whether the order declares that a file which is there already names the module.

    So does `pub use words::Word` in `src/lib.rs`: who uses the crate then uses the module.
    """
    name = _module_name(path)
    stubs = (each.stub for each in order.interfaces if not _creates(step, each.path))
    return any(name in _WORD.findall(stub) for stub in stubs)


def _plans_of(path: str) -> Plans | None:
    language = language_of(path)
    return language.plans if language is not None else None


def _has_names(path: str) -> bool:
    """Say whether the file is code that other files use by its names."""
    plans = _plans_of(path)
    return plans is not None and plans.has_names_to_declare(path)


def _module_name(path: str) -> str:
    """Return the word by which other texts mention the file."""
    plans = _plans_of(path)
    return plans.module_name(path) if plans is not None else posixpath.basename(path)


def _is_test(path: str) -> bool:
    """Say whether the file holds tests, or what only tests use."""
    if (plans := _plans_of(path)) is not None:
        return plans.is_test_file(path)
    folder, name = posixpath.split(path)
    return name.startswith("test_") or not _TEST_FOLDERS.isdisjoint(folder.split("/"))


def _creates(step: Step, path: str) -> bool:
    first = step.chain.first.get(path, step.chain.possible.get(path))
    return first == step.draft.position


@dataclass(frozen=True, slots=True)
class _Uses:
    """Hold, for each word, the position of the last order that mentions it in a use.

    `own` has the words of an order's commands and tests, which may use the order's own files.
    `others` has the words of its other fields, which only use files of earlier orders. `required`
    has the paths that the verify contract requires.
    """

    own: Mapping[str, int]
    others: Mapping[str, int]
    required: frozenset[str]

    def of(self, path: str, position: int) -> bool:
        """Say whether a module that the order at `position` creates is used."""
        name = _module_name(path)
        return (
            path in self.required
            or self.own.get(name, 0) >= position
            or self.others.get(name, 0) > position
        )


def _uses(view: PlanView) -> _Uses:
    own: dict[str, int] = {}
    others: dict[str, int] = {}
    for step in view.steps:  # later orders overwrite earlier ones
        order = step.draft.order
        assert order is not None, "the caller has checked this"
        tests = [path for path in order.allowed_files if _is_test(path)]
        placed = (each.text for each in order.acceptance_files)
        own.update(_at(step.draft.position, (*order.acceptance_commands, *tests, *placed)))
        prose = (order.title, order.intent, order.notes or "")
        needed = (each.path for each in order.preconditions)
        stubs = (each.stub for each in order.interfaces)
        texts = (*prose, *order.context_files, *order.allowed_files, *needed, *stubs)
        others.update(_at(step.draft.position, texts))
    contract = view.plan.contract
    required = frozenset(each.path for each in contract.requires) if contract else frozenset()
    return _Uses(own, others, required)


def _at(position: int, texts: Iterable[str]) -> dict[str, int]:
    """Return `position` for each word of the texts, and for the module that a test is named for."""
    words = set(_WORD.findall("\n".join(texts)))  # no word crosses the end of a line
    tests = (each for each in words if "test" in each)
    tested = {each.removeprefix("test_").removesuffix("_test") for each in tests}
    return dict.fromkeys(words | tested, position)


W245 = Rule(
    "W245",
    "created and never used",
    why="A module that no command and no later order uses proves nothing and may be wrong.",
    bad=r"""{"allowed_files": ["words.py"],
 "postconditions": [{"kind": "file_exists", "path": "words.py"}],
 "interfaces": [{"path": "words.py", "stub": "WORDS: list[str]"}]}""",
    good=r"""{"allowed_files": ["words.py"],
 "postconditions": [{"kind": "file_exists", "path": "words.py"}],
 "interfaces": [{"path": "words.py", "stub": "WORDS: list[str]"}],
 "acceptance_commands": ["python -c \"from words import WORDS; assert WORDS == ['crane']\""]}""",
    remedy="Call what it provides in an acceptance command, let a later order use it, or drop it.",
    check=unused_modules,
)


RULES: Final = (E201, E202, E203, E204, E243, E246, W223, W245)
