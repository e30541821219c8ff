"""Declares the flags of `run` and `run-all`, and turns them into options of the factory."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Final

from factory.orders.documents import ReplyFormat
from factory.orders.model_choice import ModelChoice, parse_ladder
from factory.orders.task import RunOptions
from factory.preflight import BranchPolicy
from factory.workbench.dependencies import choose_python, is_remembered
from shared.llm.model_access import is_openai
from shared.settings.declaration import FlagGroup
from shared.settings.loading import add_setting_flags, flag_words, flags_given
from shared.settings.settings import KEYS, Settings

_AUTO = "auto"


class _RepoAction(argparse.Action):
    """Keep a repo as a path, and as it was typed: as a path, a URL loses one of its slashes."""

    def __call__(
        self,
        parser: object,
        namespace: argparse.Namespace,
        values: object,
        option_string: object = None,
    ) -> None:
        namespace.repo, namespace.repo_typed = Path(str(values)), values


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that `run` and `run-all` share."""
    parser.add_argument(
        "--repo", action=_RepoAction, default=Path(), metavar="DIR", help="the git repo (.)"
    )
    _add_branch_arguments(parser.add_argument_group("branch"))
    _add_attempt_arguments(parser.add_argument_group("attempts"))
    _add_sandbox_arguments(parser.add_argument_group("commands"))


def add_batch_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that make sense only for a whole plan."""
    group = parser.add_argument_group("plan")
    _add_jobs(group)
    group.add_argument(
        "--keep-going", action="store_true",
        help="after a failure, continue with the orders that do not need the failed order",
    )  # fmt: skip
    _add_allow_lost(group)


def add_standing_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `run-all` that hold for all runs which somebody else begins, as a client."""
    branch = parser.add_argument_group("branch")
    _add_allow_dirty(branch)
    _add_allow_changed(branch)
    _add_push(branch)
    plan = parser.add_argument_group("plan")
    _add_jobs(plan)
    _add_allow_lost(plan)
    _add_attempt_arguments(parser.add_argument_group("attempts"))
    _add_sandbox_arguments(parser.add_argument_group("commands"))


def _add_jobs(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--jobs", type=_count, default=1, metavar="N", help="work on up to N orders at a time (1)"
    )


def _add_allow_lost(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--allow-lost", action="store_true",
        help="make orders again whose commits the branch once had and then lost",
    )  # fmt: skip


def submission_options(args: argparse.Namespace, settings: Settings) -> RunOptions:
    """Return the options that a plan is submitted with; each worker adds those of its machine."""
    return RunOptions(
        repo=Path(),
        settings=settings,
        models=model_choice(settings, _forced(args)),
        python=Path(),
        branch=args.branch,
        retry_flaky=args.retry_flaky,
        install_dependencies=args.deps == _AUTO,
        keep_going=args.keep_going,
        allow_verify_exempt=args.allow_verify_exempt,
        allow_red=args.allow_red,
        allow_changed=args.allow_changed,
        allow_lost=args.allow_lost,
    )


def add_judging_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say how a commit is judged where no model is asked."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the git repo (.)")
    _add_exemptions(parser)
    _add_sandbox_arguments(parser.add_argument_group("commands"))


def judging_options(args: argparse.Namespace, settings: Settings) -> RunOptions:
    """Return the options for judging a commit. Raises as `run_options` does."""
    chosen = choose_python(settings.python, args.repo)
    return RunOptions(
        repo=args.repo,
        settings=settings,
        models=model_choice(settings),
        python=chosen.python,
        python_why=chosen.why,
        retry_flaky=args.retry_flaky,
        install_dependencies=installs(args, args.repo),
        allow_verify_exempt=args.allow_verify_exempt,
        allow_red=args.allow_red,
        allow_repo_filters=args.allow_repo_filters,
    )


def run_options(args: argparse.Namespace, settings: Settings) -> RunOptions:
    """Return the options of a run, from the settings and from the flags that are not settings.

    Raises `InvalidInput` if the interpreter for commands does not exist.
    """
    chosen = choose_python(settings.python, args.repo)
    return RunOptions(
        repo=args.repo,
        settings=settings,
        models=model_choice(settings, _forced(args)),
        python=chosen.python,
        python_why=chosen.why,
        model_flags=_model_flags(args),
        branch=args.branch,
        policy=_policy(args),
        start=args.commit_hash,
        retry_flaky=args.retry_flaky,
        install_dependencies=installs(args, args.repo),
        jobs=getattr(args, "jobs", 1),
        keep_going=getattr(args, "keep_going", False),
        allow_verify_exempt=args.allow_verify_exempt,
        allow_red=args.allow_red,
        allow_dirty=args.allow_dirty,
        allow_changed=args.allow_changed,
        allow_lost=getattr(args, "allow_lost", False),
        allow_repo_filters=args.allow_repo_filters,
        push=bool(args.push),
        out=args.out,
    )


def _add_branch_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--branch", metavar="B", help="where commits go (default: factory/...)")
    either = group.add_mutually_exclusive_group()
    either.add_argument("--create-branch", action="store_true", help="the branch must be new")
    either.add_argument("--reuse-branch", action="store_true", help="the branch must exist")
    group.add_argument("--commit-hash", metavar="C", help="start the branch here (default: HEAD)")
    _add_allow_dirty(group)
    _add_allow_changed(group)
    _add_push(group)
    group.add_argument("--out", type=Path, metavar="DIR", help="also write the summary here")


def _add_allow_dirty(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--allow-dirty", action="store_true",
        help="work from HEAD although tracked files have uncommitted changes",
    )  # fmt: skip


def _add_push(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--push", action=argparse.BooleanOptionalAction, default=None,
        help="push the branch to origin at the end (default: no)",
    )  # fmt: skip


def _add_allow_changed(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--allow-changed", action="store_true",
        help="go on although files that the plan was made for have changed since",
    )  # fmt: skip


def _add_attempt_arguments(group: argparse._ArgumentGroup) -> None:
    add_setting_flags(group, FlagGroup.ATTEMPTS)
    group.add_argument(
        "--reply-format",
        choices=(_AUTO, *(each.value for each in ReplyFormat)),
        default=_AUTO,
        help="how the model writes: whole files, edits of long files, or a JSON document "
        "(auto: by the server, the model and the files)",
    )
    _add_exemptions(group)


def _add_exemptions(group: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--allow-verify-exempt", action="store_true",
        help="exempt orders from verification whose plan expects it, whatever their trees say",
    )  # fmt: skip
    group.add_argument(
        "--allow-red", action="store_true",
        help="begin although verification fails on the base; no order may make more fail",
    )  # fmt: skip


def _add_sandbox_arguments(group: argparse._ArgumentGroup) -> None:
    add_setting_flags(group, FlagGroup.COMMANDS)
    _add_command_arguments(group)
    add_setting_flags(group, FlagGroup.SANDBOX)
    group.add_argument(
        "--allow-repo-filters", action="store_true",
        help="run filters (filter.*) that only the repo's own git config defines",
    )  # fmt: skip


def _add_command_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--retry-flaky", type=_whole, default=0, metavar="N",
        help="run a failing command up to N more times on the same tree (0)",
    )  # fmt: skip
    add_deps_argument(group)


def add_deps_argument(group: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the flag that says whether what manifests declare is installed for commands."""
    group.add_argument(
        "--deps", choices=("off", _AUTO),
        help="auto: install what the target's manifests and locks declare, without running any of "
        "its code, in a cached folder (off, or what you answered for this repo)",
    )  # fmt: skip


def installs(args: argparse.Namespace, repo: Path | None) -> bool:
    """Return whether what manifests declare is installed, by the flag or the person's answer."""
    return args.deps == _AUTO or bool(args.deps is None and repo and is_remembered(repo))


def add_trial_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of verbs that may verify HEAD once, as a run would."""
    parser.add_argument(
        "--base", action=argparse.BooleanOptionalAction,
        help="run the verification once on HEAD, as run-all would (asked in a terminal)",
    )  # fmt: skip
    add_deps_argument(parser)
    add_setting_flags(parser.add_argument_group("sandbox"), FlagGroup.SANDBOX)


def trial_options(args: argparse.Namespace, repo: Path, settings: Settings) -> RunOptions:
    """Return the options for verifying HEAD of a repo. Raises as `run_options` does."""
    chosen = choose_python(settings.python, repo)
    install = installs(args, repo)
    return RunOptions(
        repo, settings, model_choice(settings), chosen.python, install_dependencies=install
    )


_OF_THE_MODEL: Final = ("model", "reasoning_effort", "factory.model", "factory.proposer")


def _model_flags(args: argparse.Namespace) -> str:
    given = flags_given(args)
    return flag_words(
        {
            flag.option: value
            for name in _OF_THE_MODEL
            if (value := given.get(name)) is not None and (flag := KEYS[name].flag)
        }
    )


def _forced(args: argparse.Namespace) -> ReplyFormat | None:
    return None if args.reply_format == _AUTO else ReplyFormat(args.reply_format)


def _policy(args: argparse.Namespace) -> BranchPolicy:
    if args.create_branch:
        return BranchPolicy.CREATE
    return BranchPolicy.REUSE if args.reuse_branch else BranchPolicy.EITHER


def model_choice(settings: Settings, forced: ReplyFormat | None = None) -> ModelChoice:
    """Return which model is asked on which attempt, and how, according to the settings."""
    role = settings.factory
    return ModelChoice(
        ladder=parse_ladder(",".join(role.ladder)),
        attempts=settings.factory_attempts,
        temperature=role.temperature,
        max_output_tokens=role.max_output_tokens,
        reasoning_effort=role.reasoning_effort,
        trusted_schemas=is_openai(os.environ, role.base_url, role.model, role.provider),
        reply_format=forced,
    )


def _whole(text: str, least: int = 0) -> int:
    if text.isascii() and text.isdigit() and len(text) < 4 and int(text) >= least:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to 999")


def _count(text: str) -> int:
    return _whole(text, 1)
