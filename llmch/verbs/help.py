"""Implements `llmch help`: explains a topic, or lists the options of a verb.

In names and places, `<id>` is the id of a run, `N` a number, and `*` any text. A test compares the
list with what runs leave.
"""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from factory.orders.stages import ATTEMPT_STAGE_TEXTS, STAGE_TEXTS, StageText
from factory.sandbox.policy import MEANINGS
from llmch.console import Console
from llmch.console.document import Block, Definition, Document, Outcome, Paragraph, Shape, Verbatim
from llmch.entry.command_line import find_verb, parser_of
from llmch.entry.verb_table import TOPICS, VERBS, render_help
from shared.errors import EXIT_CODE_MEANINGS, ExitCode, InvalidInput
from shared.settings.declaration import VARIABLES, FlagKind, Key
from shared.settings.settings import KEYS

_CODE = re.compile(r"[EW]\d{3}")


@dataclass(frozen=True, slots=True)
class HelpText(Document):
    """Represent the answer of `help` that is the text of `--help`; of all verbs or of one."""

    verb: str | None
    text: str

    def to_json(self) -> object:
        if self.verb is None:
            return {"verbs": VERBS, "topics": TOPICS}
        return {"verb": self.verb, "purpose": VERBS[self.verb], "text": self.text}

    def blocks(self) -> Iterator[Block]:
        yield Verbatim(self.text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    topics = ", ".join(TOPICS)
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help=f"{topics}; or a verb")


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Explain a topic. The exit code is 2 if the name is unknown."""
    return Outcome(_answer(args.topic))


def _answer(name: str | None) -> Document:
    if name is None:
        return HelpText(None, render_help())
    if name in VERBS:
        return HelpText(name, parser_of(name, find_verb(name)).format_help())
    match name.lower().replace("_", "-"):
        case "exit-codes":
            return explain_exit_codes()
        case "stages":
            return explain_stages()
        case "settings":
            return explain_settings()
        case "environment":
            return explain_environment()
        case "sandbox":
            return explain_sandbox()
        case "files":
            return explain_files()
        case _:
            raise InvalidInput(f"{name!r} is neither a topic nor a verb", _hint(name))


def _hint(name: str) -> str:
    if _CODE.fullmatch(name.upper()):
        return f"`llmch explain {name.upper()}` explains rules"
    near = difflib.get_close_matches(name.lower(), (*TOPICS, *VERBS), n=2)
    if near:
        return f"did you mean {' or '.join(f'`llmch help {each}`' for each in near)}?"
    return "`llmch help` lists the topics and the verbs; `llmch explain` explains rules and stages"


@dataclass(frozen=True, slots=True)
class Term:
    """Hold a term that a topic explains, and one or more sentences that explain it."""

    name: str
    meaning: tuple[str, ...]
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Hold the terms of a topic that belong together; the title may be empty."""

    title: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Topic(Document):
    """Represent the answer of `help TOPIC`. `more` says where more can be learned."""

    shape = Shape(
        "topic=name",
        "text",
        "parts",
        "more",
        parts=Shape("title", "terms", terms=Shape("name", "about=aside", "meaning")),
    )

    name: str
    text: tuple[str, ...]
    parts: tuple[Part, ...]
    more: str = ""

    def blocks(self) -> Iterator[Block]:
        yield Paragraph((*self.text, ""))
        for part in self.parts:
            if part.title:
                yield Paragraph((f"{part.title}:", ""))
            yield from (Definition(each.name, each.meaning, each.aside) for each in part.terms)
            yield Paragraph(("",))
        if self.more:
            yield Paragraph((self.more,))


def explain_environment() -> Topic:
    """Return the variables, those of the settings last."""
    own = tuple(Term(name, (meaning,)) for name, meaning in VARIABLES.items())
    settings = tuple(Term(key.variable, (key.help,)) for key in KEYS.values())
    return Topic(
        "environment",
        (
            "A variable that begins with LLMCH_ and is not known is refused, except for "
            "LLMCH_TEST_.",
        ),
        (Part("", own), Part("Settings", settings)),
        "`llmch help settings` says what values they take.",
    )


def explain_exit_codes() -> Topic:
    """Return what each exit code means."""
    terms = tuple(
        Term(f"{code.value} {code.name}", (EXIT_CODE_MEANINGS[code],)) for code in ExitCode
    )
    return Topic(
        "exit-codes",
        ("Every command ends with one of these codes. With --json, an error has them too.",),
        (Part("", terms),),
        "`llmch help stages` says at which stages an order can fail.",
    )


@dataclass(frozen=True, slots=True)
class Folder:
    """Say what each file of a folder holds; `place` and the names below it are patterns."""

    place: str
    files: Mapping[str, str]
    aside: str = ""


_EVERY_RUN: Final = {
    "run.json": "how the run was asked for, and how it ended: version, orders, settings, hashes",
    "events.jsonl": "what happened, and when",
    "transcript.jsonl": "every request to a model with its reply, so that none is paid for twice",
    "traceback.txt": "where llmch itself failed",
}

LAYOUT: Final = (
    Folder(
        "artifacts/planner/<id>/",
        {
            **_EVERY_RUN,
            "compile_summary.json": "how the plan came about: attempts, usage, findings",
            "transcript.machine.json": "what is installed, and what commands said, for a replay",
            "validation_errors.json": "the errors that are left where no plan is valid",
            "output/WO-NN.json": "the orders of the plan",
            "output/WORK_ORDERS_MANIFEST.json": "the plan as a whole, with its hash",
        },
    ),
    Folder(
        "artifacts/planner/<id>/compile/",
        {
            "prompt_attempt_N.txt": "what the model was asked",
            "llm_raw_response_attempt_N.txt": "its reply",
            "llm_reasoning_attempt_N.txt": "its reasoning, as far as the server shows it",
            "manifest_raw_attempt_N.json": "the plan in the reply",
            "validation_errors_attempt_N.json": "what the rules found in it",
            "reviewer_prompt*.txt": "what the reviewer was asked",
            "reviewer_response*.json": "its reply",
            "reviewer_errors*.json": "which of its claims count",
        },
    ),
    Folder(
        "artifacts/factory/<id>/",
        {
            **_EVERY_RUN,
            "run_summary.json": "the verdict, the commits, and what verified them",
            "base/*": "the verification before any order",
        },
    ),
    Folder(
        "artifacts/factory/<id>/WO-NN/",
        {
            "work_order.json": "the order",
            "run_summary.json": "its verdict",
            "baseline/*": "its acceptance commands on the commit that it began from",
            "hollow/*": "the same on code that keeps the interfaces and does nothing",
            "dropped_N/*": "a judgement that does not count, because another order did not land as "
            "it was expected",
        },
        "the same without WO-NN/ for `llmch run`",
    ),
    Folder(
        "artifacts/factory/<id>/WO-NN/attempt_N/",
        {
            "se_prompt*.txt": "what the model was asked; `again` where it was asked again",
            "raw_llm_response*.txt": "its reply",
            "proposed_writes.json": "the whole files that the reply comes to",
            "placed_files.json": "the tests of the plan that were written beside them",
            "write_result.json": "what was written, or why nothing was",
            "contract_result.json": "whether the files keep the declared interfaces",
            "verify_result.json": "the verification: commands, exit codes, tests",
            "acceptance_result.json": "postconditions and acceptance commands likewise",
            "failure_brief.json": "why the attempt failed, as the next one is shown it",
            "rejected.patch": "what a failed attempt changed, as git's own diff",
            "logs/*": "what each command printed",
        },
    ),
    Folder(
        ".git/llmch/",
        {
            "journal.jsonl": "each step of the latest run; the next start recovers from it",
            "state.json": "how far the latest run is, for `llmch status`",
            "plans.json": "the plans that `llmch build` and `llmch do` made",
            "asked/*": "the words of the latest 200 changes that `llmch do` was asked for",
            "decisions.json": "hints, accepted commits and orders that were left out",
            "verified.json": "trees that passed their verification",
            "lock": "one run at a time holds it",
            "*.lock": "one process at a time changes the file of this name",
            "beside/*": "which workspaces are left where a command beside a run was killed",
        },
    ),
)


def explain_files() -> Topic:
    """Return the files of runs and the state of a repository, folder by folder."""
    parts = tuple(
        Part(
            f"{folder.place} ({folder.aside})" if folder.aside else folder.place,
            tuple(Term(name, (holds,)) for name, holds in folder.files.items()),
        )
        for folder in LAYOUT
    )
    return Topic(
        "files",
        (
            "A run's folder is never overwritten. --artifacts-dir moves the root of records. The "
            "values of variables whose names speak of a secret are masked in every record.",
            "<id> is the id of a run, N a number, and * any text.",
        ),
        parts,
        "`llmch report` shows a run, and `llmch status` how far it is.",
    )


def explain_settings() -> Topic:
    """Return every setting, with the flag, the variable and the default of each."""
    tables: dict[str, list[Term]] = {}
    for key in KEYS.values():
        table = key.name.partition(".")[0] if "." in key.name else ""
        tables.setdefault(table, []).append(explain_setting(key))
    titles = {table: f"Table [{table}]" if table else "Without a table" for table in tables}
    return Topic(
        "settings",
        (
            "Settings are read from layers; each layer overrules the one before: defaults, "
            "[tool.llmch] in the repo's pyproject.toml, llmch.toml at its root, llmch.toml beside "
            "the specification or the file that LLMCH_CONFIG names, variables, flags.",
            "A repo's own files cannot set what is marked `yours alone`.",
        ),
        tuple(Part(titles[table], tuple(terms)) for table, terms in tables.items()),
        "`llmch init` writes an llmch.toml to begin with.",
    )


def explain_setting(key: Key) -> Term:
    """Return what a setting means, and how it is set."""
    meaning = f"{key.help}{f', {key.range}' if key.range else ''} ({key.default_words})"
    return Term(key.name, (meaning, ", ".join(_ways(key))), "yours alone" if key.guarded else "")


def _ways(key: Key) -> Iterator[str]:
    if key.flag is not None:
        yield _flag(key.flag.option, key.flag.metavar, key.flag.kind)
    yield key.variable


def _flag(option: str, metavar: str | None, kind: FlagKind) -> str:
    if kind is FlagKind.SWITCH:
        return f"{option} or --no-{option.removeprefix('--')}"
    return f"{option} {metavar}" if metavar else option


def explain_sandbox() -> Topic:
    """Return what a sandbox can hold, and the settings that open it."""
    held = tuple(Term(str(each), (f"{text}.",)) for each, text in MEANINGS.items())
    settings = tuple(
        explain_setting(key) for key in KEYS.values() if key.name.startswith("sandbox.")
    )
    return Topic(
        "sandbox",
        (
            "Every command that runs the code of a repository runs in a sandbox: bubblewrap "
            "(bwrap), or the kernel's Landlock with a seccomp filter. The first lines of a run "
            "with --verbose say which of these guarantees hold.",
        ),
        (Part("What can hold while a command runs", held), Part("Settings", settings)),
        "`llmch doctor` says which sandboxes work on this machine, and how to install one.",
    )


def explain_stages() -> Topic:
    """Return what happens at each stage of an attempt, and what each failure means."""
    passed = tuple(
        Term(str(stage), (f"{happens[0].upper()}{happens[1:]}.",))
        for stage, happens in ATTEMPT_STAGE_TEXTS.items()
    )
    return Topic(
        "stages",
        ("An attempt at an order goes through stages. One that fails names the stage.",),
        (
            Part("The stages of an attempt, in their sequence", passed),
            Part("The stages of a failure", tuple(map(_failure, STAGE_TEXTS))),
        ),
        "`llmch explain verify_failed` shows one of them.",
    )


def _failure(text: StageText) -> Term:
    again = "another attempt follows" if text.stage.retryable else "no other attempt follows"
    meaning = (text.happened, text.consequence, f"What you can do: {text.remedy}")
    return Term(str(text.stage), meaning, again)
