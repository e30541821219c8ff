"""Finds the verb of a command line, reads its options, and finds the repo, plan, order and
attempt that it means.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, Protocol, cast

from factory import preflight
from factory.batch import decide
from factory.fleet import database
from factory.orders import read_orders, task
from factory.record import runs_on_record
from factory.run import reproduce
from llmch.console import Console, Format
from llmch.console.document import Outcome
from llmch.console.plain_printer import Stream
from llmch.entry.verb_table import EXAMPLES, VERBS, module_of
from shared.errors import FleetUnavailable, InvalidInput
from shared.events.events import Emit, Noted
from shared.git import client, repos
from shared.settings.declaration import FlagGroup
from shared.settings.loading import add_setting_flags, flag_words, flags_given
from shared.settings.setting_values import DatabaseUrl
from shared.settings.settings import KEYS, Settings
from shared.work_order import plan_folder, work_order

if TYPE_CHECKING:
    from factory.batch.decide import PlanOnBranch
    from factory.orders.task import RunOptions
    from factory.preflight import RepoPlace
    from factory.record.runs_on_record import AttemptOnRecord


class Verb(Protocol):
    """Describe the functions that the module of a verb defines."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's own options."""

    def execute(self, args: argparse.Namespace, console: Console) -> Outcome:
        """Do the work and return the answer. Raises `LlmchError` if the verb cannot go on."""


class UsageError(InvalidInput):
    """Report that the command line itself is wrong."""


class VerbParser(argparse.ArgumentParser):
    """Parse arguments; raise on an error instead of exiting, so `--json` covers usage errors."""

    _typed: Sequence[str] = ()

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the options in `words`. Raises `UsageError`, which names what may be meant."""
        self._typed = words
        if any(each.nargs == "*" and not each.option_strings for each in self._actions):
            return self.parse_intermixed_args(words)  # options may come between the words
        return self.parse_args(words)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self._meant() or f"`{self.prog} --help` lists the options")

    def _meant(self) -> str:
        """Return what the first unknown option that was typed may be a slip of."""
        known = {each: action.help for action in self._actions for each in action.option_strings}
        listed = [each for each, text in known.items() if text is not argparse.SUPPRESS]
        typed = (each.partition("=")[0] for each in self._typed if each.startswith("--"))
        unknown = next((each for each in typed if each not in ("--", *known)), "--")
        near = [each for each in listed if unknown != "--" and each.endswith(unknown[1:])]
        names = [each.removeprefix("--") for each in listed]
        near += [f"--{each}" for each in difflib.get_close_matches(unknown[2:], names, n=1)]
        return f"did you mean {near[0]} in place of {unknown}?" if near else ""

    def words_for(
        self, target: VerbParser, args: argparse.Namespace, without: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Return the options in `args` that `target` knows as well, as words of a command line.

        Options with their defaults are left out, and so are those that `without` names, as in
        `--json`. Each word holds an option with its value, so no value can become an option.
        """
        known = {option for each in target._actions for option in each.option_strings}
        return tuple(
            word
            for action in self._actions
            if known.issuperset(action.option_strings)
            and action.help is not argparse.SUPPRESS
            and not set(without).intersection(action.option_strings)
            for word in _words(action, getattr(args, action.dest, action.default))
        )

    def format_help(self) -> str:
        # Each option is listed below with its meaning, so the usage line leaves them out.
        self.usage = f"%(prog)s {self._needed()}"
        return super().format_help()

    def _needed(self) -> str:
        """Return the arguments that a command line must have."""
        parts = []
        for group in self._mutually_exclusive_groups:
            if group.required:
                ways = (
                    e.option_strings[0] if e.nargs == 0 else f"{e.option_strings[0]} {e.metavar}"
                    for e in group._group_actions
                )  # fmt: skip
                parts.append(f"({' | '.join(ways)})")
        for each in self._actions:
            value = each.metavar or each.dest.upper()
            if not each.option_strings:
                # Where options may come between the words, argparse has changed `nargs` meanwhile.
                nargs = getattr(each, "save_nargs", each.nargs)
                dots = "..." if nargs == "*" and " " not in value else ""
                parts.append(f"[{value}{dots}]" if nargs in ("?", "*") else str(value))
            elif each.required:
                parts.append(f"{each.option_strings[0]} {value}")
        return " ".join([*parts, "[OPTIONS]"])

    def print_help(self, file: object = None) -> None:
        # Our own stream does not raise where the reader has gone away.
        stream = Stream(sys.stdout)
        stream.write(self.format_help())
        stream.check_printed()


def _words(action: argparse.Action, value: object) -> Iterator[str]:
    if not action.option_strings or value == action.default:
        return
    option = action.option_strings[0]
    if isinstance(value, bool):
        yield option if value else action.option_strings[-1]
    elif isinstance(value, list):
        yield from (f"{option}={each}" for each in value)
    else:
        yield f"{option}={value}"


def find_verb(name: str) -> Verb:
    """Return the verb with this name. Raises `UsageError` if no verb has it."""
    if name.startswith("-"):
        raise UsageError(
            f"{name} comes before the verb", f"the verb comes first: `llmch VERB {name}`"
        )
    if name not in VERBS:
        near = difflib.get_close_matches(name, VERBS, n=1)
        hint = f"did you mean `llmch {near[0]}`?" if near else "`llmch --help` lists the verbs"
        raise UsageError(f"{name!r} is not a verb", hint)
    return cast(Verb, import_module(module_of(name)))


def parser_of(name: str, verb: Verb) -> VerbParser:
    """Return the parser of a verb's options; the parser also prints the verb's help."""
    parser = VerbParser(
        prog=f"llmch {name}",
        description=f"{VERBS[name][0].upper()}{VERBS[name][1:]}.",
        epilog=f"example:\n  {EXAMPLES[name]}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.add_arguments(parser)
    _add_output_arguments(parser)
    return parser


def output_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options that say how to print, whatever else is in the command line.

    These options are parsed before all others, because they say how a usage error is printed.
    `output_format` is then any text or `None`: the verb's own parser refuses what is not a format.
    """
    parser = VerbParser(add_help=False, allow_abbrev=False)
    _add_output_arguments(parser, strict=False)
    # But for the format, none of these options takes a value. An argument with a value belongs to
    # another option, or is an error that the verb's own parser reports.
    own = [each for each in arguments if not _VALUE_ATTACHED.match(each)]
    args, _ = parser.parse_known_args(own)
    return args


def _add_output_arguments(parser: argparse.ArgumentParser, *, strict: bool = True) -> None:
    """Add the options that say how to print; every verb has the same ones.

    Where this is not `strict`, a command line may name two formats, none, or an unknown one: the
    verb's own parser refuses that later.
    """
    group = parser.add_argument_group("output")
    form = group.add_mutually_exclusive_group() if strict else group
    form.add_argument(
        "--json", dest=_FORMAT, action="store_const", const="json",
        help="print one JSON document on stdout",
    )  # fmt: skip
    form.add_argument(
        "--markdown", dest=_FORMAT, action="store_const", const="markdown",
        help="print the answer as Markdown",
    )  # fmt: skip
    form.add_argument(
        "--output-format",
        dest=_FORMAT,
        nargs=None if strict else "?",
        choices=tuple(each.value for each in Format) if strict else None,
        metavar="FORMAT",
        help="the same, with the format as a value: text, json or markdown (text)",
    )
    group.add_argument("--quiet", action="store_true", help="print the verdict and nothing else")
    group.add_argument("--verbose", action="store_true", help="print more of everything")
    group.add_argument("--no-color", action="store_true", help="no colours (NO_COLOR works too)")


_FORMAT = "output_format"
_VALUE_ATTACHED = re.compile("--(?!output-format=)[^=]+=", re.DOTALL)


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say where replies come from and what they may cost."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--llm", choices=("live", "replay"), default="live",
        help="ask a model, or answer from --transcript alone (default: live)",
    )  # fmt: skip
    group.add_argument(
        "--transcript", type=Path, metavar="FILE",
        help="the record to replay from, or to continue and record to",
    )  # fmt: skip
    add_setting_flags(group, FlagGroup.MODEL)


def add_record_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flag that says where the run's record goes."""
    add_setting_flags(parser, FlagGroup.RECORD)


def add_optional_repo(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add `--repo`, described by `purpose`, and `--no-repo`, of which at most one may be given."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--repo", type=Path, metavar="DIR", help=f"{purpose} (.)")
    either.add_argument("--no-repo", action="store_true", help="go without a repo")


def repo_meant(args: argparse.Namespace, emit: Emit, without: str) -> Path | None:
    """Return the folder of the repo that the command line means, or `None` for no repo.

    Without either option, that is the current folder where it lies in a git repo. Elsewhere, one
    line says that no repo is used, and `without` says in it what that means to the verb. Raises
    `GitFailed` if git refuses to look, and `PreflightRefused` in a bare repo.
    """
    if args.no_repo:
        return None
    if args.repo is not None:
        return Path(args.repo)
    here = Path()
    if lies_in_repo(here):
        return here
    if repos.is_bare(client.Git(here.resolve())):
        preflight.find_repo(here)  # it refuses a bare repo, and says what helps
    emit(Noted(f"{here.resolve()} is not in a git repo: {without}"))
    return None


def lies_in_repo(folder: Path) -> bool:
    """Return whether `folder` lies in the working tree of a git repo. Raises `GitFailed`."""
    return repos.layout(client.Git(folder.resolve())) is not None


_MOST_DIGITS = 4


@dataclass(frozen=True, slots=True)
class AttemptWords:
    """Hold the words of a command line that name an attempt; `None` means the latest."""

    run: str | None
    order: str | None
    attempt: int | None


def add_attempt_arguments(parser: argparse.ArgumentParser, or_else: str) -> None:
    """Declare the words that name an attempt, and the options that say where records are.

    `or_else` says in the help what else the words may name, and what is meant without any.
    """
    parser.add_argument(
        "attempt", nargs="*", metavar="[RUN] ORDER [ATTEMPT]",
        help="an order, as in WO-01; its run, by id, the beginning of an id, or `latest` (default: "
        "the newest run that made the order); the number of its attempt (default: the last)"
        + or_else,
    )  # fmt: skip
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the git repo (.)")
    add_record_arguments(parser)


def parse_attempt_words(words: list[str]) -> AttemptWords:
    """Return what the words name. Raises `InvalidInput` if they cannot name an attempt."""
    match words:
        case []:
            return AttemptWords(None, None, None)
        case [order]:
            return AttemptWords(None, order, None)
        case [order, number] if _is_number(number):
            return AttemptWords(None, order, int(number))
        case [run, order]:
            return AttemptWords(run, order, None)
        case [run, order, number] if _is_number(number):
            return AttemptWords(run, order, int(number))
        case [_, _, wrong]:
            raise InvalidInput(
                f"{wrong!r} is not the number of an attempt", "attempts are counted from 1"
            )
        case _:
            raise InvalidInput(
                f"there are {len(words)} words, and at most three name an attempt",
                "give them as [RUN] ORDER [ATTEMPT]",
            )


def attempt_asked_for(
    args: argparse.Namespace, settings: Settings, place: RepoPlace, *, failed: bool = False
) -> AttemptOnRecord:
    """Return the attempt that the command line means; without words the last, or that `failed`.

    Raises `InvalidInput` as `find_attempt`.
    """
    words = parse_attempt_words(args.attempt)
    run = getattr(args, "run", None)
    if run is not None and words.run is not None:
        raise InvalidInput(
            f"both {words.run!r} and --run {run} name the run", "leave one of them out"
        )
    return runs_on_record.find_attempt(
        settings.artifacts_dir,
        place.common_dir,
        place.tree,
        run if run is not None else words.run,
        words.order,
        words.attempt,
        failed=failed,
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def two_plans(words: Sequence[str]) -> tuple[Path, Path] | None:
    """Return the folders of two plans that the words name, or `None` if they name an attempt.

    The words that name an attempt hold the id of an order, such as `WO-01`, so two words without
    one name two folders where either is a path or the folder of a plan. `./WO-01` is a path.
    """
    if len(words) != 2 or any(work_order.order_number(each) is not None for each in words):
        return None
    if any("/" in each or plan_folder.holds_plan(Path(each)) for each in words):
        return Path(words[0]), Path(words[1])
    return None


_OF_COMMANDS = frozenset({FlagGroup.COMMANDS, FlagGroup.SANDBOX})


def add_order_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the order, and the plan that it belongs to."""
    parser.add_argument("order", metavar="ORDER", help="the order, as in WO-02, or 2")
    parser.add_argument(
        "--workdir", type=Path, metavar="DIR",
        help="the folder of the plan (default: the plan of the latest run)",
    )  # fmt: skip


def add_branch_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the branch, for verbs that do not declare all flags of a run."""
    parser.add_argument(
        "--branch", metavar="B",
        help="the branch of the plan (default: the branch of its latest run)",
    )  # fmt: skip


def order_asked_for(args: argparse.Namespace, place: RepoPlace) -> tuple[PlanOnBranch, str]:
    """Return the plan that the command line means, and the id of the order.

    Raises `InvalidInput` if the plan or the order is missing.
    """
    name = read_orders.parse_order_word(args.order)
    plan = decide.plan_on_branch(place, args.workdir, args.branch)
    plan.named(name)
    return plan, name


_FLAG_OF: Final = {
    "python": "python",
    "timeout_seconds": "timeout_seconds",
    "link": "link",
    "backend": "sandbox.backend",
    "net": "sandbox.net",
    "read": "sandbox.read",
    "write": "sandbox.write",
    "path": "sandbox.path",
}
"""The settings whose flags say what a record has of how commands ran."""


def as_in_the_latest_run(
    args: argparse.Namespace, plan: PlanOnBranch, options: RunOptions, place: RepoPlace, emit: Emit
) -> tuple[PlanOnBranch, RunOptions]:
    """Return `options` with the sandbox and interpreter of the plan's latest run.

    A value on the command line counts before that of the run. The plan is returned with the flags
    that mean the same in the commands that follow.
    """
    given = {
        flag.option: value
        for name, value in flags_given(args).items()
        if (flag := KEYS[name].flag) and flag.group in _OF_COMMANDS and value is not None
    }
    if plan.latest is None or given or args.deps == "auto":
        return replace(plan, flags=flag_words(given)), options
    latest, before = plan.latest, task.command_settings(options)
    options = reproduce.options_of_run(latest.head, latest.folder, options, place, emit)
    now = task.command_settings(options)
    others = {
        flag.option: getattr(now, name)
        for name, key in _FLAG_OF.items()
        if (flag := KEYS[key].flag) and getattr(now, name) != getattr(before, name)
    }
    if isinstance(now.link, tuple) and "--link" in others:
        others["--link"] = ",".join(now.link)
    return replace(plan, flags=flag_words(others)), options


def fleet_of(settings: Settings) -> DatabaseUrl:
    """Return the database that the settings name, and drop it from the environment.

    The processes that this process starts do not inherit the variable. Raises `FleetUnavailable`,
    and `InvalidInput` where the fleet's packages are not installed.
    """
    database.require_packages()
    variable = KEYS["fleet.db"].variable
    os.environ.pop(variable, None)
    if settings.fleet.db is None:
        raise FleetUnavailable(
            "no fleet is set up: nothing says where its database is",
            f"put `db` into the [fleet] table of your llmch.toml, or set {variable}",
        )
    return settings.fleet.db
