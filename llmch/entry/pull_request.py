"""Opens a pull request for a branch that was pushed, or puts the run's report into the open one.

The person's own `gh` or `glab` does it, with the person's environment but without the model's key.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.clean import clean, one_line, shorten
from llmch.console.document import Paragraph
from shared.errors import InvalidInput, LlmchError
from shared.events.messages import Noted, Warned

if TYPE_CHECKING:
    from factory.orders.documents import BatchSummary, RunSummary
    from factory.orders.options import RunOptions
    from llmch.answers.pull_request import PullRequestAnswer
    from llmch.ci.forges import Call, Forge, Remote, Request

_REMOTE = "origin"
_CALL_SECONDS = 60.0
_LONGEST_TITLE = 200  # characters; GitHub takes 256
_LONGEST_PROBLEM = 500  # characters
_SETTINGS = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}
_NOT_THEIRS = ("OPENAI_", "LLMCH_", "GIT_", "GH_FORCE_TTY", "CLICOLOR_FORCE")


def add_pull_request_argument(group: argparse._ArgumentGroup) -> None:
    """Add the flag that asks for a pull request."""
    group.add_argument(
        "--pr", action="store_true",
        help="push the branch, and open a pull request or merge request for it with the report of "
        "the run, by gh or glab; an open one gets the new report",
    )  # fmt: skip


def pushing(options: RunOptions, args: argparse.Namespace) -> RunOptions:
    """Return the options with what `--pr` implies. Raises `InvalidInput` with `--no-push`."""
    if not args.pr:
        return options
    if args.push is False:
        raise InvalidInput(
            "--pr needs the branch on the remote, and --no-push keeps it here",
            "leave out one of the two",
        )
    return replace(options, push=True)


def request_pull(
    summary: RunSummary | BatchSummary, options: RunOptions, console: Console
) -> PullRequestAnswer:
    """Open or update the request for the branch of a run, and say what came of it.

    Nothing that goes wrong here changes the outcome of the run: it is a warning. Where neither
    program can do it, the commands that would are shown.
    """
    from llmch.answers.pull_request import PullRequestAnswer

    if not summary.pushed:
        why = "the branch was not pushed"
        if summary.pushed is None:
            why = "nothing has landed on the branch, or HEAD has all of it"
        console(Warned(f"no pull request was opened: {why}"))
        return PullRequestAnswer(problem=why)
    try:
        answer = _Requesting(summary.branch, summary.run_id, options).answer()
    except (LlmchError, _Refused) as refused:
        answer = PullRequestAnswer(problem=str(refused))
    if answer.url:
        console(Noted(f"{answer.action} {answer.url}"))
    else:
        console(Warned(f"no pull request was opened: {answer.problem}"))
        if answer.commands:
            console.say(Paragraph(("to open it:", *(f"  {each}" for each in answer.commands))))
    return answer


class _Refused(Exception):
    """Say in the words of a program why it did not do what it was asked for."""


@dataclass(frozen=True, slots=True)
class _Requesting:
    """Ask for the request of one run."""

    branch: str
    run_id: str
    options: RunOptions

    def answer(self) -> PullRequestAnswer:
        from factory.repo.preflight import find_repo
        from llmch.answers.pull_request import PullRequestAnswer
        from llmch.ci.forges import forges_of, parse_remote
        from shared.git.remote_refs import url_of

        git = find_repo(self.options.repo).git
        remote = parse_remote(url_of(git, _REMOTE))
        if remote is None:
            return PullRequestAnswer(problem=f"{_REMOTE} is not on a host that has any")
        request = self._request()
        forges = forges_of(remote)
        commands = tuple(each.command(remote, request, self.run_id) for each in forges)
        forge = _usable(forges, remote)
        if forge is None:
            names = " and ".join(each.program for each in forges)
            are = "is" if len(forges) == 1 else "are"
            problem = f"{names} {are} not installed, or not signed in at {remote.host}"
            return PullRequestAnswer(problem=problem, commands=commands)
        try:
            return _requested(forge, remote, request)
        except _Refused as refused:
            return PullRequestAnswer(problem=str(refused), commands=commands)

    def _request(self) -> Request:
        """Return what the request says."""
        from llmch.answers.run_report import RunReportDocument
        from llmch.ci.forges import Request
        from llmch.entry.reports import mask_secrets
        from llmch.entry.step_summary import markdown_of
        from llmch.run_view.reading import read_report

        run = read_report(self.run_id, self.options.repo, self.options.settings.artifacts_dir)
        title = shorten(one_line(clean(mask_secrets(run.title))), _LONGEST_TITLE) or self.branch
        report = markdown_of(RunReportDocument(run))
        return Request(self.branch, self._base(), title, report)

    def _base(self) -> str:
        """Return the branch that the checkout is on, if the remote has it; else ""."""
        from factory.repo.preflight import find_repo
        from shared.git import refs

        git = find_repo(self.options.repo).git
        done = git.try_run("symbolic-ref", "--quiet", "--short", "HEAD")
        name = done.stdout.decode("utf-8", "replace").strip()
        if done.exit_code or name == self.branch:
            return ""
        return name if refs.commit_of(git, f"refs/remotes/{_REMOTE}/{name}") else ""


def _usable(forges: tuple[Forge, ...], remote: Remote) -> Forge | None:
    """Return the one whose program is installed; of two, one that can sign in at the host."""
    there = [each for each in forges if shutil.which(each.program)]
    if len(forges) == 1:
        return there[0] if there else None
    for each in there:
        try:
            _run(each.auth_call(remote))
        except _Refused:
            continue
        return each
    return None


def _requested(forge: Forge, remote: Remote, request: Request) -> PullRequestAnswer:
    from llmch.answers.pull_request import OPENED, UPDATED, PullRequestAnswer

    there = forge.read_request(_asked(forge.find_call(remote, request.branch)))
    if there is not None:
        _asked(forge.update_call(remote, there, request))
        return PullRequestAnswer(there.url, UPDATED)
    if not request.base:
        repo = _asked(forge.repo_call(remote))
        base = repo.get("default_branch") if isinstance(repo, dict) else None
        request = replace(request, base=base if isinstance(base, str) else "")
    opened = forge.read_request(_asked(forge.open_call(remote, request)))
    if opened is None:
        raise _Refused(f"{forge.program} did not say which {forge.noun} it opened")
    return PullRequestAnswer(opened.url, OPENED)


def _asked(call: Call) -> object:
    """Return the JSON that a program answers with. Raises `_Refused`."""
    try:
        answer: object = json.loads(_run(call))
    except (ValueError, RecursionError):
        raise _Refused(f"{call.argv[0]} answered with something that is not JSON") from None
    return answer


def _run(call: Call) -> bytes:
    """Return what a program prints. Raises `_Refused` where it fails."""
    from llmch.entry.reports import mask_secrets
    from shared.process import ToolFailed, ToolMissing, run_tool

    # Not in the repo: its config could have git, which the programs ask, run something.
    with tempfile.TemporaryDirectory(prefix="llmch-") as nowhere:
        try:
            done = run_tool(
                call.argv, cwd=Path(nowhere), env=_environment(os.environ), stdin=call.stdin,
                timeout_seconds=_CALL_SECONDS,
            )  # fmt: skip
        except (ToolMissing, ToolFailed) as missing:
            raise _Refused(str(missing)) from missing
    if done.exit_code or done.timed_out:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        why = "gave no answer in time" if done.timed_out else said or f"exit {done.exit_code}"
        text = one_line(clean(mask_secrets(why)))
        raise _Refused(f"{call.argv[0]}: {shorten(text, _LONGEST_PROBLEM)}")
    return done.stdout


def _environment(environ: Mapping[str, str]) -> Mapping[str, str]:
    kept = {name: value for name, value in environ.items() if not name.startswith(_NOT_THEIRS)}
    return kept | _SETTINGS
