"""Implements `llmch mcp`: serves some of the verbs as tools, until the client goes away.

Each call of a tool runs its verb in a process of its own, so a call is cancelled, and ends, exactly
as the verb does on Ctrl-C. The client is not trusted: `tools` says what it may ask for.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from factory import preflight
from factory.run_flags import add_standing_arguments
from llmch.console import Console
from llmch.console.console import has_standard_streams
from llmch.console.document import Block, Document, Outcome
from llmch.entry.command_line import add_model_arguments, add_record_arguments, find_verb, parser_of
from llmch.verbs.mcp import tools
from planner.plan_flags import add_planner_flags, add_review_arguments
from shared.errors import CommandFailed, InvalidInput, how_to_install
from shared.llm import budget
from shared.settings.loading import CONFIG_VARIABLE, flags_given, load_settings, own_config

if TYPE_CHECKING:
    from shared.settings.settings import Settings


# The rest of each cap is worked out for each call, and an answer has one form here.
_NOT_PASSED_ON = frozenset(
    {
        *("--repo", "--max-cost", "--max-tokens"),
        *("--json", "--markdown", "--output-format", "--quiet", "--verbose"),
    }
)


@dataclass(frozen=True, slots=True)
class ServedDocument(Document):
    """Represent the answer of `mcp` once the client has gone; standard output was the client's."""

    def blocks(self) -> Iterator[Block]:
        yield from ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mcp`: all that a client may not decide."""
    parser.add_argument(
        "--repo", type=Path, action="append", metavar="DIR",
        help="a git repo that the client may work on; may be repeated (.)",
    )  # fmt: skip
    parser.add_argument(
        "--folder", type=Path, action="append", default=[], metavar="DIR",
        help="a further folder where the client may read specs and plans, and save plans; may be "
        "repeated",
    )  # fmt: skip
    parser.add_argument(
        "--read-only", action="store_true",
        help="offer only what asks no model and changes nothing",
    )  # fmt: skip
    parser.add_argument("--template", type=Path, metavar="FILE", help="a prompt of your own")
    add_planner_flags(parser)
    add_review_arguments(parser)
    add_standing_arguments(parser)
    add_record_arguments(parser)
    add_model_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Serve on standard input and output until the client ends it; the exit code is then 0."""
    if args.output_format is not None:
        raise InvalidInput(
            "standard output belongs to the protocol of `llmch mcp`",
            "leave out its format: every tool answers with its JSON document",
        )
    if not has_standard_streams():
        raise CommandFailed(
            "standard input or output is closed", "have an MCP client start this: it talks by them"
        )
    try:
        from llmch.verbs.mcp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("llmch", "planner", "factory", "shared")):
            raise
        raise CommandFailed(
            f"the package {error.name} is not installed, which `llmch mcp` needs",
            how_to_install("mcp"),
        ) from error

    grant = _grant(args)
    console.advise(f"serving {', '.join(map(str, grant.repos))} to an MCP client; Ctrl-C ends it")
    serve(grant)
    return Outcome(ServedDocument())


def _grant(args: argparse.Namespace) -> tools.Grant:
    """Return what the client may do. Raises as the verbs do where an option cannot be used."""
    cwd = Path.cwd()
    environ = _environment(cwd)
    repos = tuple(dict.fromkeys(preflight.find_repo(each).tree for each in args.repo or [Path()]))
    settings = _settings(args, cwd, environ)
    return tools.Grant(
        repos=repos,
        folders=tuple(_folder(each) for each in args.folder),
        artifacts=settings.artifacts_dir.resolve(),
        budget=budget.Budget(settings.max_tokens, settings.max_cost),
        options={verb: _options(verb, args) for verb in _VERBS},
        read_only=args.read_only,
        cwd=cwd,
        environ=environ,
    )


_VERBS = ("check", "show", "plan", "run-all", "status", "diff", "verify", "drift")


def _options(verb: str, args: argparse.Namespace) -> tuple[str, ...]:
    """Return those options of the person's that a verb knows, as words."""
    own = parser_of("mcp", find_verb("mcp"))
    return own.words_for(parser_of(verb, find_verb(verb)), args, _NOT_PASSED_ON)


def _environment(cwd: Path) -> Mapping[str, str]:
    """Return the environment of each call, which names the person's own settings.

    Without a name, they would be read beside the spec that a client chooses.
    """
    own = own_config(cwd)
    return {**os.environ, CONFIG_VARIABLE: str(own) if own else os.devnull}


def _settings(args: argparse.Namespace, cwd: Path, environ: Mapping[str, str]) -> Settings:
    # Each call reads the settings again, and reports what is ignored or changed in them.
    return load_settings(cwd=cwd, environ=environ, flags=flags_given(args)).settings


def _folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise InvalidInput(f"--folder {folder}: no such folder", "name a folder that is there")
    return folder.resolve()
