"""Checks the tests that a plan brings along, and which files its commands run.

The answer is generous: a file that a command may run counts as run.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from planner.rules.rule_model import Finding, PlanView, Rule, Step, each_order, reader_of
from planner.rules.structure import weakness
from shared.errors import quoted
from shared.files.paths import VERIFY_SCRIPT, fold_path, glob_characters
from shared.files.strict_documents import at
from shared.languages.acceptance_commands import SHELLS, analyse_command, runs_tests
from shared.languages.appended_tests import CannotAppend, append_test, tests_beside_code
from shared.languages.read_commands import Command, ProgramRun, ScriptRun, ShellCodeRun
from shared.languages.registry import language_named, language_of
from shared.projects.build_tools import PACKAGE_TOOLS

if TYPE_CHECKING:
    from planner.plan.file_projection import TargetRepo
    from planner.plan.parse_plan import Draft, Plan
    from shared.files.strict_documents import FieldPath
    from shared.projects.manifests import VerifyCommand
    from shared.work_order.work_order import WorkOrder

_WORD = re.compile(r"[\w./-]+")
_DOTTED = re.compile(r"(?<![\w./-])\w+(?:\.\w+)+(?![\w/])")
# Programs that do nothing but what their arguments say; any other may run what it finds.
_PLAIN: Final = frozenset(
    {"test", "grep", "diff", "cmp", "cat", "ls", "head", "tail", "wc", "sort", "true", "false"}
)
_SNAPSHOTS: Final = frozenset({"__snapshots__", "snapshots"})
_MAX_DOTS: Final = 12  # in the name of a module


@dataclass(frozen=True, slots=True)
class _Reach:
    """Hold what a command runs: `everything`, all in `folders`, and what its words name."""

    everything: bool = False
    folders: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    arguments: frozenset[str] = frozenset()

    def has(self, path: str) -> bool:
        """Say whether the command may run the file at `path`."""
        return (
            self.everything
            or _stem(path) in self.arguments
            or _names_it(self.words, path)
            or _names_what_is_built(self.words, path)
            or path.startswith(self.folders)
        )


def run_files(commands: Sequence[Command], texts: Mapping[str, str]) -> frozenset[str]:
    """Return those of the files in `texts` that the commands run, or that such a file uses.

    `texts` has the texts of the files by path.
    """
    reaches = [_reach_of(each) for each in commands] if texts else []
    found = {path for path in texts if any(each.has(path) for each in reaches)}
    pending = list(found)
    while pending:
        user = pending.pop()
        words = _words(texts[user])
        used = {path for path in texts.keys() - found if _uses(user, words, path)}
        found |= used
        pending += used
    return frozenset(found)


def _reach_of(command: Command) -> _Reach:
    if command.problem or command.operator:
        return _Reach(everything=True)  # it will be another command, which another rule asks for
    whole = runs_tests(command.text)
    if whole is False or weakness(command) is not None or _only_checks_syntax(command):
        return _Reach()
    unknown = isinstance(command.run, ProgramRun) and command.program not in _PLAIN
    named = [each for each in _paths_in(command) if each != "."] if whole else []
    # `gradle test --tests a.GameTest` names a class, which has the name of its file.
    dotted = _DOTTED.findall(command.text) if whole else []
    classes = (part for each in dotted for part in each.split("."))
    return _Reach(
        everything=not named if whole else unknown,
        folders=tuple(f"{each}/" for each in named),
        words=_words(command.text),
        arguments=frozenset((*map(posixpath.normpath, filter(None, command.argv[1:])), *classes)),
    )


def _only_checks_syntax(command: Command) -> bool:
    run = command.run
    return isinstance(run, ScriptRun) and command.program in SHELLS and "-n" in run.flags


def _paths_in(command: Command) -> Iterator[str]:
    """Yield the words of a command that look like paths, after its program."""
    reader = reader_of(command)
    given = reader.needed_paths(command) if reader is not None else ()
    for word in given or command.argv[1:]:
        if given or (not word.startswith("-") and ("/" in word or "." in word)):
            yield posixpath.normpath(word.partition("::")[0].removesuffix("/..."))


def _uses(user: str, words: Set[str], path: str) -> bool:
    """Say whether the file `user`, which has these words, may import or read the one at `path`."""
    language = language_of(path)
    if language and language.commands and language.commands.is_loaded_unasked(path):
        folder = posixpath.dirname(path)
        return f"{user}/".startswith(f"{folder}/" if folder else "")
    is_named = _stem(path) in words or _names_it(words, path)
    return is_named or (language is None and _names_its_folder(user, words, path))


def _names_its_folder(user: str, words: Set[str], path: str) -> bool:
    """Say whether a test may read all files in the folder of a file of data, as with a glob.

    A runner reads the snapshots of a test unasked.
    """
    folder = posixpath.dirname(path)
    name = posixpath.basename(folder)
    if name in _SNAPSHOTS:
        return user.startswith(posixpath.dirname(folder))
    from_user = posixpath.relpath(f"/{folder}", f"/{posixpath.dirname(user)}")
    return bool(folder) and not words.isdisjoint({folder, name, from_user})


def _names_it(words: Set[str], path: str) -> bool:
    """Say whether one of the words names the file: as a path, by its name, or as a module."""
    name, module = _names_of(path)
    # A name without a dot may mean anything.
    return path in words or name in words or ("." in module and module in words)


def _names_what_is_built(words: Set[str], path: str) -> bool:
    """Say whether a word is a path that differs from the file in its folder and its suffix.

    A compiler may have made it: `build/test/score.test.js` of `test/score.test.ts`.
    """
    stem, suffix = posixpath.splitext(posixpath.basename(path))
    paths = (posixpath.splitext(posixpath.basename(each)) for each in words if "/" in each)
    return any(made == stem and other not in ("", suffix) for made, other in paths)


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    """Return the words of a text as normal paths, and each module that a dotted name is in."""
    found: set[str] = set()
    for word in _WORD.findall(text):
        found.add(posixpath.normpath(word))
        if "/" not in word:
            parts = word.split(".", _MAX_DOTS)[:_MAX_DOTS]
            found.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return frozenset(found)


# Each order of a plan asks about the files of all orders before it.
@lru_cache(maxsize=4096)
def _names_of(path: str) -> tuple[str, str]:
    """Return the name of the file at `path`, and the module that it would be."""
    return posixpath.basename(path), posixpath.splitext(path)[0].replace("/", ".")


@lru_cache(maxsize=4096)
def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


# An order as the rules below want it; what breaks them is shown as a change of it.
_TESTED: Final = r"""{"allowed_files": ["score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_files": [{"path": "tests/test_score.py",
   "content": "from score import score\n\ndef test_score():\n    assert score('a') == 1\n"}],
 "acceptance_commands": ["python -m pytest -q tests/test_score.py"]}"""
_ADDED: Final = _TESTED.replace('"content"', '"append"')
_BESIDE: Final = r"""{"repo": {"tests/test_score.py": "def test_old():\n    assert 1 + 1 == 2\n"},
 """


def _paths(order: WorkOrder) -> Iterator[tuple[FieldPath, str]]:
    """Yield the field and the path of each acceptance file; E004 speaks of one with globs."""
    for index, each in enumerate(order.acceptance_files):
        if not glob_characters(each.path):
            yield at("acceptance_files", index, "path"), each.path


def writable_tests(view: PlanView) -> Iterator[Finding]:
    """Yield each order that may write an acceptance file, its own or an earlier order's.

    An order may write a file that its own test is added to: the harness adds it to what it writes.
    """
    owners: dict[str, str] = {}
    for step, order in view.orders:
        own = {fold_path(path): field for field, path in _paths(order)}
        shared = tests_beside_code(order)
        reported: set[str] = set()
        for index, path in enumerate(order.allowed_files):
            folded = fold_path(path)
            if folded in reported:
                continue
            reported.add(folded)
            if folded in own:
                if path in shared:
                    continue
                message = f"{quoted(path)} is in allowed_files too: the executor could change it"
                yield step.finding("E107", own[folded], message)
            elif folded in owners:
                message = f"{quoted(path)} is an acceptance file of {owners[folded]}"
                yield step.finding("E107", at("allowed_files", index), message)
        for path in order.removed_files:
            owners.pop(fold_path(path), None)  # an order that writes it again is E112
        owners.update(dict.fromkeys(own, step.draft.label))


E107 = Rule(
    "E107",
    "acceptance file that an order may write",
    why="A test proves something only where the executor that it judges cannot change it.",
    bad=r"""{"allowed_files": ["score.py", "tests/test_score.py"],
 "postconditions": [{"kind": "file_exists", "path": "score.py"},
                    {"kind": "file_exists", "path": "tests/test_score.py"}],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_files": [{"path": "tests/test_score.py",
   "content": "from score import score\n\ndef test_score():\n    assert score('a') == 1\n"}],
 "acceptance_commands": ["python -m pytest -q tests/test_score.py"]}""",
    good=_TESTED,
    remedy=(
        "Drop the path from allowed_files and postconditions. A later order that needs another "
        "test lists the file in its own acceptance_files, with its new content. Only a file "
        "of code that holds its unit tests may be written by the order whose `append` adds to it."
    ),
    check=writable_tests,
)


def tests_in_the_way(view: PlanView) -> Iterator[Finding]:
    """Yield each acceptance file that would replace something else than an acceptance file."""
    earlier: set[str] = set()
    for step, order in view.orders:
        writable = {fold_path(each) for each in order.allowed_files}
        own: set[str] = set()
        adding = {each.path for each in order.acceptance_files if each.append is not None}
        for field, path in _paths(order):
            folded = fold_path(path)
            if folded in own:
                yield step.finding("E108", field, f"{quoted(path)} stands twice in this order")
            elif path in adding or folded in earlier | writable:
                pass
            elif message := _in_the_way(step, path):
                yield step.finding("E108", field, message)
            own.add(folded)
        earlier |= own


def _in_the_way(step: Step, path: str) -> str:
    """Return why another file than the acceptance file is there before the order, or ""."""
    before = step.draft.position - 1
    if not step.chain.may_exist(path, before):
        return ""
    provider = step.chain.first.get(path, step.chain.possible.get(path, 0))
    return f"{quoted(path)} is there already: {step.source(provider)} has it"


E108 = Rule(
    "E108",
    "acceptance file in the place of another file",
    why="The file would be replaced, and what was there before would be lost.",
    bad=_BESIDE + _TESTED[1:],
    good=_BESIDE + _TESTED[1:].replace("test_score.py", "test_score_of_guess.py"),
    remedy=(
        "Give the test a path of its own, or add it to the file that is there: `append` instead of "
        "`content`. Only an acceptance file of an earlier order may be replaced, by another one."
    ),
    check=tests_in_the_way,
)


def tests_that_nothing_runs(step: Step, order: WorkOrder) -> Iterator[Finding]:
    texts = {each.path: each.content for each in order.acceptance_files}
    if not texts:
        return
    run = run_files([command for _, command in step.commands], texts)
    for field, path in _paths(order):
        if path not in run:
            message = f"no acceptance command of the order runs {quoted(path)}"
            yield step.finding("E109", field, message)


def with_whole_tests(plan: Plan, target: TargetRepo) -> Plan:
    """Return the plan with the tests that are added to a file as this file will be.

    A test that cannot be added stays as it is, without any content.
    """
    added = {(each.position, index): text for each, index, text, _ in _appended(plan, target)}
    if not added:
        return plan
    drafts = []
    for draft in plan.drafts:
        if (order := draft.order) is not None:
            files = (
                each.model_copy(update={"content": added.get((draft.position, index), "")})
                if each.append is not None
                else each
                for index, each in enumerate(order.acceptance_files)
            )
            order = order.model_copy(update={"acceptance_files": tuple(files)})
        drafts.append(replace(draft, order=order))
    return replace(plan, drafts=tuple(drafts))


def _appended(plan: Plan, target: TargetRepo) -> Iterator[tuple[Draft, int, str, str]]:
    """Yield each test that is added to a file: its order and index, and the file as it will be.

    The last text says why that cannot be, else it is empty. A file that an earlier order may write
    is not known before it is written.
    """
    texts: dict[str, str] = {}
    writers: dict[str, str] = {}
    for draft in plan.drafts:
        order = draft.order
        if order is None or draft.landed:
            continue
        for index, file in enumerate(order.acceptance_files):
            if file.append is None:
                texts[file.path] = file.content
                continue
            text, reason = texts.get(file.path), ""
            if text is None and file.path in target.files:
                text = target.sources.get(file.path)
            try:
                if file.path in writers:
                    raise CannotAppend(f"is in allowed_files of {writers[file.path]}")
                text = append_test(file.path, text, file.append, file.table)
                texts[file.path] = text
            except CannotAppend as refused:
                text, reason = "", str(refused)
            yield draft, index, text, reason
        for path in order.removed_files:
            texts.pop(path, None)
        writers |= dict.fromkeys(order.allowed_files, draft.label)


def tests_not_appended(view: PlanView) -> Iterator[Finding]:
    for draft, index, _, reason in _appended(view.plan, view.target):
        order = draft.order
        if reason and order is not None:
            field = at("acceptance_files", index, "append")
            message = f"{quoted(order.acceptance_files[index].path)} {reason}"
            yield Finding("E113", draft.position, draft.label, field, message)


E113 = Rule(
    "E113",
    "test that cannot be added to its file",
    why=(
        "The harness adds the test to the file as it is before the order. It has to be able to "
        "read it, and the test must not take a name that the file has."
    ),
    bad=_BESIDE + _ADDED[1:].replace("def test_score", "def test_old"),
    good=_BESIDE + _ADDED[1:],
    remedy=(
        "Give the test another name, or a new file: `content` instead of `append`, and a path that "
        "is free. `table` names a test or a variable with one list of cases."
    ),
    check=tests_not_appended,
)

E109 = Rule(
    "E109",
    "acceptance file that no command runs",
    why="A test that nothing runs proves nothing.",
    bad=_TESTED.replace(
        "python -m pytest -q tests/test_score.py",
        r"python -c \"from score import score; assert score('b') == 0\"",
    ),
    good=_TESTED,
    remedy="Add a command that runs it with the project's test runner, or drop the file.",
    check=each_order(tests_that_nothing_runs),
)


def forbidden_tests(step: Step, order: WorkOrder) -> Iterator[Finding]:
    writable = {fold_path(each) for each in order.allowed_files}
    for field, path in _paths(order):
        folded = fold_path(path)
        if folded in writable:
            continue  # E107 wants it out of there first, or the order writes it itself
        if by := forbidding(order, folded):
            message = f"{quoted(path)} is forbidden by {quoted(by)} of the same order"
            yield step.finding("E110", field, message)


def forbidding(order: WorkOrder, folded: str) -> str:
    """Return the entry of `forbidden` that covers a folded path, or a folder of it; "" for none."""
    if not order.forbidden:
        return ""
    parts = folded.split("/")
    places = {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    for each in order.forbidden:
        pattern = posixpath.normpath(fold_path(each))
        if any(place == pattern or fnmatchcase(place, pattern) for place in places):
            return each
    return ""


E110 = Rule(
    "E110",
    "acceptance file that its order forbids",
    why="The order commits the file, so it cannot say that the file stays untouched.",
    bad=_TESTED.replace(",\n", ', "forbidden": ["tests/*"],\n', 1),
    good=_TESTED,
    remedy=(
        "Drop the entry from forbidden: no executor can write an acceptance file anyway, because "
        "it is not in allowed_files."
    ),
    check=each_order(forbidden_tests),
)


def unparsable_tests(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for index, each in enumerate(order.acceptance_files):
        if not each.content:
            continue  # E113
        language = language_of(each.path)
        notes = language.notes if language is not None else None
        note = notes.note_syntax(each.path, each.content) if notes is not None else ""
        if note:
            field = at("acceptance_files", index, "content")
            yield step.finding("E206", field, note.removesuffix("."))


E206 = Rule(
    "E206",
    "acceptance file does not compile",
    why="A test that does not compile fails whatever the order's code does.",
    remedy="Correct the line. In the JSON string, lines are separated by \\n.",
)


_BETWEEN_COMMANDS = re.compile(r"[;&|\n]+")
_FILE_NAME = posixpath.basename(VERIFY_SCRIPT)
_MAX_PIECES = 100
_SOURCING = frozenset({".", "source"})


def runs_verify_script(command: Command) -> bool:
    """Say whether `command` runs `scripts/verify.sh`: itself, by a shell, or within `-c` text.

    A shell that only reads the script (`bash -n`) does not run it.
    """
    match command.run:
        case ScriptRun(path, flags):
            direct = command.program not in SHELLS and not command.language
            by_shell = command.program in SHELLS and not any(map(_is_noexec, flags))
            return (direct or by_shell) and _is_verify_script(path)
        case ShellCodeRun(text):
            pieces = _BETWEEN_COMMANDS.split(text, _MAX_PIECES) if _FILE_NAME in text else []
            return any(runs_verify_script(analyse_command(piece)) for piece in pieces)
        case ProgramRun(arguments) if command.program in _SOURCING:
            return bool(arguments) and _is_verify_script(arguments[0])
        case _:
            return False


def runs_all_of(command: Command, verification: Sequence[VerifyCommand]) -> str:
    """Return the verifying command that `command` is, word for word; "" if it is none."""
    return next((each.text for each in verification if command.argv in _spellings(each)), "")


@cache
def _spellings(command: VerifyCommand) -> tuple[tuple[str, ...], ...]:
    words = [analyse_command(each).argv for each in (command.text, command.defined) if each]
    tool, *script = words[0] or ("",)
    if tool in PACKAGE_TOOLS and script == ["test"]:
        words += [(tool, "t"), (tool, "run", "test")]  # the same script by its other names
    return tuple(each for each in words if each)


def _is_verify_script(path: str) -> bool:
    return posixpath.normpath(path) == VERIFY_SCRIPT


def _is_noexec(flag: str) -> bool:
    short = flag.startswith("-") and not flag.startswith("--")
    return (short and "n" in flag) or flag == "noexec"


def tests_by_chance(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for index, each in enumerate(order.acceptance_files):
        language = language_of(each.path)
        for mark in language.chance if language is not None else ():
            if mark.is_in(each.text):
                yield step.finding("W237", at("acceptance_files", index, "content"), mark.fault)
    for index, command in step.commands:
        language = language_named(command.language)
        for mark in language.chance if language is not None else ():
            if mark.is_in(command.text):
                yield step.finding("W237", at("acceptance_commands", index), mark.fault)


W237 = Rule(
    "W237",
    "test whose inputs nothing fixes or bounds",
    why=(
        "A test that draws other inputs on each run passes and fails on the same code, so that a "
        "retry, a replay and the audit of a commit come to another end than the run did. One that "
        "tries thousands of inputs takes the time of all others."
    ),
    bad=_TESTED.replace(
        r"def test_score():\n    assert score('a') == 1",
        r"import random\n\ndef test_score():\n    word = random.choice('abc') * 5\n"
        r"    assert 0 <= score(word) <= 5",
    ),
    good=_TESTED.replace(
        r"def test_score():\n    assert score('a') == 1",
        r"import random\n\ndef test_score():\n    draw = random.Random(1)\n"
        r"    for _ in range(200):\n        word = draw.choice('abc') * 5\n"
        r"        assert 0 <= score(word) <= 5",
    ),
    remedy=(
        "Draw from a generator with a fixed seed (`random.Random(1)`; `derandomize=True`; "
        "`{ seed: 1 }`; `Rand: rand.New(rand.NewSource(1))`), some 200 inputs at most."
    ),
    check=each_order(tests_by_chance),
)


RULES: Final = (E107, E108, E109, E110, E113, E206, W237)
