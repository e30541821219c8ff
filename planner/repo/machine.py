"""Asks the machine where commands will run, and describes it to the model that plans.

Whoever wires the planner gives what runs a question: in the sandbox, on the files that the plan
begins with. The answers are recorded beside the transcript. So a replay asks nothing, and its
prompts are those of the run that it repeats, whatever is installed by then.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.prompts.prompt_templates import fenced
from shared.errors import InvalidInput
from shared.files.atomic_io import write_json
from shared.files.strict_documents import JsonProblem, parse_json
from shared.files.text_sources import read_text_input
from shared.languages.capabilities import INSTALLED, NESTED, Language
from shared.languages.language_tools import ToolMissing, ToolResult, ToolRunner
from shared.languages.registry import LANGUAGES, languages_at_hand

if TYPE_CHECKING:
    from shared.languages.planned_code import Rehearsals

# The tree is at another place in each run, and only what is said of its files counts.
FOLDERS: Final = re.compile(r"(?:file://)?(?<![\w.])/(?:[\w.+@~-]{1,255}/){1,40}(?=[\w.+@~-])")
_LOOK: Final = 'for each; do command -v -- "$each" >/dev/null || echo "$each"; done'
_MOST_SECONDS: Final = 10.0  # for one question: an empty test takes one or two


@dataclass(slots=True)
class Machine:
    """Answer by `runner`; without one, only what is `known` of an earlier planning.

    `own` answers llmch's own questions where there is no `runner`: it sees no file of the plan or
    the repo, and needs no sandbox. No question is asked twice. `asked` counts those that were put,
    and `left` those for which no time was left. `problem` says why the last could not be put.
    """

    runner: ToolRunner | None
    known: dict[str, str] = field(default_factory=dict)
    own: ToolRunner | None = None
    asked: int = 0
    left: int = 0
    problem: str = ""

    def ask(
        self,
        argv: Sequence[str],
        files: Mapping[str, str],
        answer: Callable[[ToolResult], str],
        ends: float | None = None,
        seconds: float = _MOST_SECONDS,
        *,
        is_own: bool = False,
    ) -> str:
        """Return the `answer` to how `argv` ended on `files`; "" where that cannot be tried.

        `ends` is the time of the monotonic clock after which nothing is begun. `is_own` says that
        no word of `argv` comes from a plan or a repo.
        """
        content = json.dumps([[*argv], {**files}], sort_keys=True)
        key = hashlib.sha256(content.encode(errors="replace")).hexdigest()
        runner = self.runner or (self.own if is_own else None)
        if key in self.known or runner is None:
            return self.known.get(key, "")
        seconds = seconds if ends is None else min(seconds, ends - time.monotonic())
        if seconds <= 0:
            self.left += 1
            return ""
        try:
            done = runner.run(files, argv, seconds=seconds)
        except ToolMissing as error:
            self.problem = str(error)
            return ""
        self.asked += 1
        self.known[key] = answer(done)
        return self.known[key]

    def missing(
        self, programs: Sequence[str], ends: float | None = None, *, is_own: bool = False
    ) -> list[str]:
        """Return those of the programs that commands do not find, as far as that can be seen."""
        argv = ("sh", "-c", _LOOK, "sh", *programs)
        return self.ask(argv, {}, lambda done: done.stdout, ends, is_own=is_own).split()


NO_MACHINE: Final = Machine(None)


@dataclass(frozen=True, slots=True)
class OwnQuestions:
    """Say that only llmch's own questions are answered, by `runner`: there is no sandbox."""

    runner: ToolRunner

    def close(self) -> None:
        self.runner.close()


@contextlib.contextmanager
def recorded(machine: Machine, transcript: Path) -> Iterator[None]:
    """Record the answers beside the transcript when the block ends."""
    try:
        yield
    finally:
        if machine.known and (machine.runner or machine.own):
            write_json(_record_of(transcript), dict(sorted(machine.known.items())))


def _record_of(transcript: Path) -> Path:
    return transcript.with_name(f"{transcript.stem}.machine.json")


def known_answers(transcript: Path) -> dict[str, str]:
    """Return what was recorded beside a transcript; nothing where it is not usable."""
    path = _record_of(transcript)
    if not path.is_file():
        return {}
    try:
        document = parse_json(read_text_input(path, "record").text)
    except (InvalidInput, JsonProblem):
        return {}
    found = document if isinstance(document, dict) else {}
    return {key: each for key, each in found.items() if isinstance(each, str)}


_NAME: Final = re.compile(r"@?[A-Za-z0-9][\w./-]{0,80}")
_MOST_NAMES: Final = 300
_MOST_MANIFESTS: Final = 20
_MOST_WORDS: Final = 600
_MOST_LINE: Final = 160
_NOTHING_ELSE: Final = "and nothing else can be had"


def describe_machine(
    spec_text: str,
    paths: Collection[str],
    sources: Mapping[str, str],
    machine: Machine,
    *,
    installs: bool = False,
) -> str:
    """Return a paragraph on the toolchains that the spec and the files of a repo concern.

    Each is described by itself, with those of the packages that the repo declares and that commands
    do not find; one that is not here is named. `installs` says that a run installs what manifests
    declare. The result is empty where the machine says nothing.
    """
    # The first language is that of the interpreter which every sandbox has.
    meant = languages_at_hand(spec_text, paths) or LANGUAGES[:1]
    lines = []
    for tried in dict.fromkeys(each.rehearsals for each in LANGUAGES if each in meant):
        if tried is not None:
            family = [each for each in LANGUAGES if each.rehearsals is tried]
            packages = _declared(family, paths, sources)
            named = " and ".join(each.name for each in family if each in meant)
            lines.append(_toolchain(tried, packages, named, machine))
    said = [f"- {each}" for each in lines if each]
    if not said:
        return ""
    settings = "\n".join(_settings(spec_text, paths, sources))[:_MOST_SETTINGS]
    quoted = ("", _SETTINGS, "", fenced(settings)) if settings else ()
    introduction = f"Commands run here, {INSTALLED if installs else _NOTHING_ELSE}:"
    return "\n".join((introduction, "", *said, *quoted))


def _toolchain(tried: Rehearsals, packages: Sequence[str], named: str, machine: Machine) -> str:
    """Return a line on the toolchain of the languages `named`; "" where nothing is known of it."""
    argv = tried.version_argv(packages)
    program = argv[0]

    def answer(done: ToolResult) -> str:
        if done.exit_code in {0, None}:
            return _first_line(done.stdout)
        return f"`{program}` fails here: {_first_line(FOLDERS.sub('', done.stderr))}"

    # Packages are installed beside the files of the repo, which llmch's own questions do not see.
    found = machine.ask(argv, {}, answer) or machine.ask(
        tried.version_argv(packages, sees=False), {}, answer, is_own=True
    )
    if not found and machine.missing((program,), is_own=True):
        return _NOT_HERE.format(program, named)
    return found


_NOT_HERE: Final = (
    "`{0}` is not here: nothing in {1} can run. If the specification asks for it, say so in "
    "`assumptions`, as a contradiction, and plan with what is here."
)

_IGNORED: Final = ((".gitignore", r"^[^#\s].*"),)
_SETTINGS: Final = "Lines of the repository's settings, as data:"
_MOST_READ: Final = 20_000
_MOST_LINES: Final = 20  # of one file
_MOST_SETTINGS: Final = 2_000
_MOST_NESTED: Final = 5  # manifests of a monorepo


def _settings(spec_text: str, paths: Collection[str], sources: Mapping[str, str]) -> Iterator[str]:
    """Yield the telling lines of files, each with the path of its file.

    They are in the root folder, or in a folder that the spec names.
    """
    telling_lines = [each for language in LANGUAGES for each in language.telling]
    names = {name.removeprefix(NESTED) for name, _ in telling_lines}
    nested = [each for each in paths if "/" in each and each.rpartition("/")[2] in names]
    found = {each: _place_in(spec_text, each.rpartition("/")[0]) for each in nested}
    meant = sorted((found[each], each) for each in nested if found[each])[:_MOST_NESTED]
    for name, telling in (*telling_lines, *_IGNORED):
        inside = f"/{name.removeprefix(NESTED)}"
        for path in (name, *(each for _, each in meant if each.endswith(inside))):
            text = (sources.get(path) or "")[:_MOST_READ] if path in paths else ""
            for line in re.findall(telling, text, re.MULTILINE)[:_MOST_LINES]:
                shown = "".join(each if each.isprintable() else " " for each in line.strip())
                yield f"{path}: {shown[:_MOST_LINE]}"


def _place_in(spec_text: str, folder: str) -> int:
    """Return 1 where a spec has the path of a folder, 2 where it has its name, 0 otherwise."""
    name = folder.rpartition("/")[2]
    for place, words in enumerate((folder, name), 1):
        # Most folders are not named at all, which a plain search says in a fraction of the time.
        is_likely = len(words) > 2 and words in spec_text
        if is_likely and re.search(rf"(?<![\w/-]){re.escape(words)}(?![\w-])", spec_text):
            return place
    return 0


def _declared(
    family: Sequence[Language], paths: Collection[str], sources: Mapping[str, str]
) -> list[str]:
    """Return the packages that the manifests of a repo declare, in languages of one toolchain."""
    found: set[str] = set()
    for packages in filter(None, (each.packages for each in family)):
        manifests = sorted(each for each in paths if packages.declares(each))[:_MOST_MANIFESTS]
        for each in manifests:
            found |= packages.declared(sources.get(each) or "")
    return [each for each in sorted(found) if _NAME.fullmatch(each)][:_MOST_NAMES]


def _first_line(said: str) -> str:
    """Return a line on what was printed; some of it may come from the files of the repo."""
    line = said.strip().partition("\n")[0]
    return "".join(each if each.isprintable() else " " for each in line)[:_MOST_WORDS]
