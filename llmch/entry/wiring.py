"""Loads a verb's settings and builds the source of its model's replies."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from shared.errors import InvalidInput, ModelUnavailable
from shared.events.event import Emit
from shared.events.messages import Warned
from shared.languages.capabilities.tools import ToolRunner
from shared.llm.client import LlmClient, Role
from shared.llm.cost.bounds import Budget
from shared.llm.cost.budget import ModelTables
from shared.llm.record.transcript import Transcript
from shared.llm.role_client import ByRoleClient
from shared.llm.stack import Mode, ModelSource
from shared.llm.wire.access import check_access
from shared.llm.wire.pace import Pace
from shared.settings.flags import flags_given
from shared.settings.loading import load_settings
from shared.settings.roles import RoleSettings
from shared.settings.settings import Settings


def settings_for(
    args: argparse.Namespace,
    emit: Emit,
    *,
    repo: Path | None = None,
    spec: Path | None = None,
    fetched: bool = False,
) -> Settings:
    """Return the settings in force, and emit a warning for each one that was ignored or changed.

    `fetched` says that `repo` was fetched for its settings alone.
    Raises `InvalidInput`, which names the source, for a setting that cannot be used.
    """
    loaded = load_settings(
        cwd=Path.cwd(), repo=repo, spec=spec, fetched=fetched, flags=flags_given(args)
    )
    for warning in loaded.warnings:
        emit(Warned(warning))
    return loaded.settings


@contextlib.contextmanager
def inputs_first(*readings: Callable[[], object]) -> Iterator[None]:
    """Report a fault in an input before a missing key: a key would not help against the fault.

    The inputs are read here only where the key is missing. Otherwise the run itself reads them.
    """
    try:
        yield
    except ModelUnavailable:
        for read in readings:
            read()
        raise


def model_source(args: argparse.Namespace, settings: Settings, role: RoleSettings) -> ModelSource:
    """Return the source of replies that `--llm` and `--transcript` choose.

    Raises `ModelUnavailable` where a live model has no key, before anything else happens, and
    `InvalidInput` where a replay has no transcript.
    """
    if args.llm == Mode.LIVE:
        return live_source(settings, role, args.transcript)
    if args.transcript is None:
        raise InvalidInput(
            "--llm replay needs a transcript to answer from", "name it with --transcript FILE"
        )
    if not args.transcript.is_file():
        raise InvalidInput(
            f"--transcript {args.transcript} is not a file", "name the record of an earlier run"
        )
    return ModelSource(Mode.REPLAY, transcript=args.transcript)


def reviews_plan(args: argparse.Namespace) -> bool:
    """Return whether a valid plan is to be reviewed.

    `--review` and `--no-review` decide. Without either, a plan is reviewed where that is
    possible: always with a live model, and in a replay where the transcript holds a review.
    """
    if args.review is not None:
        return bool(args.review)
    if args.llm == Mode.LIVE:
        return True
    return args.transcript is not None and _holds_review(args.transcript)


def _holds_review(path: Path) -> bool:
    if not path.is_file():
        return False  # `model_source` reports that the file is missing
    with Transcript.read(path) as transcript:
        return Role.REVIEWER in transcript.roles


def planning_source(args: argparse.Namespace, settings: Settings, *, review: bool) -> ModelSource:
    """Return the source of the planner's and the reviewer's replies; see `model_source`.

    The reviewer is asked at a server of its own where one is configured.
    """
    source = model_source(args, settings, settings.planner)
    open_planner, reviewer = source.open_live, settings.reviewer
    if not review or open_planner is None or reviewer.base_url == settings.planner.base_url:
        return source
    reviewing = live_source(settings, reviewer)
    open_reviewer = reviewing.open_live
    assert open_reviewer is not None, "a live source can be opened"

    def open_both(emit: Emit) -> LlmClient:
        return ByRoleClient(open_planner(emit), {Role.REVIEWER: open_reviewer(emit)})

    return replace(source, open_live=open_both, reviewer_base_url=reviewing.base_url)


def live_source(
    settings: Settings,
    role: RoleSettings,
    transcript: Path | None = None,
    pace_at: Callable[[str], Pace] | None = None,
) -> ModelSource:
    """Return a source that asks a model. Raises `ModelUnavailable` where there is no key for it.

    `pace_at` gives the pace that others share who ask the server at a URL; without it, only the
    calls of one client share theirs.
    """
    access = check_access(os.environ, role.base_url)

    def open_live(emit: Emit) -> LlmClient:
        from shared.llm.wire.live_client import LiveClient  # not needed to replay

        return LiveClient(access, emit, pace=pace_at(access.display_url) if pace_at else None)

    return ModelSource(
        Mode.LIVE,
        open_live,
        transcript,
        base_url=access.display_url,
        budget=Budget(settings.max_tokens, settings.max_cost),
        tables=ModelTables(settings.prices, settings.windows),
    )


def tool_runner(settings: Settings, repo: Path | None) -> ToolRunner:
    """Return what runs the compilers that judge a plan, in the sandbox of the settings.

    Nothing is opened before the first question. `repo` is the checkout, from which no tool is
    taken.
    """
    from factory.workbench.tool_runner import SandboxRunner

    return SandboxRunner(settings.sandbox, repo)
