"""Opens a pull request on GitHub or a merge request on GitLab, and says what became of it.

Both are asked over the API commands of the person's own programs, `gh` and `glab`, which know how
to sign in. Everything but names of branches goes to them over standard input, as JSON.

The person's own `gh` or `glab` does it, with the person's environment but without the model's key.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from factory import preflight
from factory.run.run_request import place_option
from llmch.ci import run_reports
from llmch.console import Console
from llmch.console.document import Paragraph, Shape
from llmch.console.line import clean, one_line, shorten
from llmch.runs import read_run, run_report
from shared.errors import InvalidInput, LlmchError
from shared.events.events import Noted, Warned
from shared.files.secret_values import for_others
from shared.git import refs
from shared.processes import process

if TYPE_CHECKING:
    from factory.orders.documents import BatchSummary, RunSummary
    from factory.orders.task import RunOptions


MOST_BODY: Final = 60_000
"""As many characters of a report as a body has; GitHub refuses over 65,536."""
_MOST_BESIDE: Final = 65_000
"""As many characters as a report and a person's words have together; the marks need some, too."""
_MARKS: Final = "<!-- llmch:"
_BEGIN: Final = f"{_MARKS} this part is written anew by each run -->"
_END: Final = f"{_MARKS} end -->"
HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?")
_BY_SSH: Final = re.compile(r"(?:[^@/\s]+@)?([^:/\s]+):(?!//)(.+)")
_JSON: Final = ("--header", "Content-Type: application/json")


@dataclass(frozen=True, slots=True)
class Remote:
    """Name a repository on a host, as in `github.com` and `ada/shop`."""

    host: str
    path: str


@dataclass(frozen=True, slots=True)
class Call:
    """Hold one call of a program: its arguments, and what it reads."""

    argv: tuple[str, ...]
    stdin: bytes = b""


@dataclass(frozen=True, slots=True)
class Request:
    """Hold what a pull request is to say. `base` is "" for the repository's default branch."""

    branch: str
    base: str
    title: str
    report: str
    """The report of the run, as Markdown."""
    closes: int = 0
    """The issue that the request carries out; 0 for none."""

    @property
    def body(self) -> str:
        """Return the report between marks, so that the next run finds it again."""
        return self._body_beside(0)

    def _body_beside(self, length: int) -> str:
        """Return the body, as long as may stand beside so many characters of a person."""
        # A mark in what the report shows would end this part, or begin another.
        text = self.report.replace(_MARKS, f"{_MARKS[:2]}\u2060{_MARKS[2:]}")
        most = max(0, min(MOST_BODY, _MOST_BESIDE - length))
        if len(text) > most:
            text = f"{text[:most]}\n\nThe report goes on: `llmch report` prints all of it.\n"
        return f"{_BEGIN}\n\n{text.strip()}\n\n{_END}\n"

    def body_after(self, before: str) -> str:
        """Return the body that a request should have now: what a person wrote in it stays."""
        head, begin, rest = before.partition(_BEGIN)
        _, end, tail = rest.partition(_END)
        if begin and end:
            return f"{head}{self._body_beside(len(head + tail)).rstrip()}{tail}"
        if not before.strip():
            return self.body
        return f"{before.rstrip()}\n\n{self._body_beside(len(before))}"


@dataclass(frozen=True, slots=True)
class Opened:
    """Hold a request that is open: its number, its address, and its body."""

    number: int
    url: str
    body: str


@dataclass(frozen=True, slots=True)
class Forge:
    """Describe one of the two; `noun` is what it calls a request."""

    program: str
    noun: str
    body_key: str
    number_key: str
    url_key: str

    def auth_call(self, remote: Remote) -> Call:
        """Return the call that succeeds where the program can sign in at the host."""
        return Call((self.program, "auth", "status", "--hostname", remote.host))

    def repo_call(self, remote: Remote) -> Call:
        """Return the call that answers with the repository, and so with its default branch."""
        return self.api_call(remote, "GET", self.repo_path(remote))

    def find_call(self, remote: Remote, branch: str) -> Call:
        """Return the call that lists the open requests for a branch."""
        name = quote(branch, safe="")
        if self is GITHUB:
            # gh replaces `:owner`, `:repo` and `:branch` in a path.
            owner = quote(remote.path.partition("/")[0], safe="")
            path = f"{self.repo_path(remote)}/pulls?state=open&head={owner}%3A{name}"
        else:
            path = f"{self.repo_path(remote)}/merge_requests?state=opened&source_branch={name}"
        return self.api_call(remote, "GET", f"{path}&per_page=100")

    def open_call(self, remote: Remote, request: Request) -> Call:
        """Return the call that opens a request; its base must be known."""
        kind, head, base = (
            ("pulls", "head", "base")
            if self is GITHUB
            else ("merge_requests", "source_branch", "target_branch")
        )
        document = {
            "title": request.title,
            self.body_key: f"Closes #{request.closes}\n\n" * bool(request.closes) + request.body,
            head: request.branch,
            base: request.base,
        }
        return self.api_call(remote, "POST", f"{self.repo_path(remote)}/{kind}", document)

    def update_call(self, remote: Remote, opened: Opened, request: Request) -> Call:
        """Return the call that puts the report into a request that is open."""
        method, kind = ("PATCH", "pulls") if self is GITHUB else ("PUT", "merge_requests")
        document = {self.body_key: request.body_after(opened.body)}
        path = f"{self.repo_path(remote)}/{kind}/{opened.number}"
        return self.api_call(remote, method, path, document)

    def read_request(self, answer: object) -> Opened | None:
        """Return the request in an answer; of a list, the first from the repository itself.

        The result is `None` for none. A fork can have a branch of any name.
        """
        found = answer
        if isinstance(answer, list):
            found = next(filter(self._is_own, answer), None)
        if not isinstance(found, dict):
            return None
        number, url = found.get(self.number_key), found.get(self.url_key)
        body = found.get(self.body_key)
        if not isinstance(number, int) or not isinstance(url, str):
            return None
        return Opened(number, url, body if isinstance(body, str) else "")

    def _is_own(self, found: object) -> bool:
        """Say whether a request is from a branch of the repository that it is of."""
        sides = ["head.repo.full_name", "base.repo.full_name"]
        if self is GITLAB:
            sides = ["source_project_id", "target_project_id"]
        own, onto = (_value(found, each) for each in sides)
        return own is not None and own == onto

    def command(self, remote: Remote, request: Request, run_id: str, place: str = "") -> str:
        """Return the command that a person can type to open the request.

        `place` is the option that names the repo.
        """
        report = f"llmch report {shlex.quote(run_id)}{place} --markdown"
        repo = shlex.quote(self._named(remote))
        branch, title = shlex.quote(request.branch), shlex.quote(request.title)
        base = shlex.quote(request.base)
        if self is GITHUB:
            onto = f" --base {base}" if request.base else ""
            rest = f"--head {branch}{onto} --title {title} --body-file -"
            return f"{report} | gh pr create --repo {repo} {rest}"
        onto = f" --target-branch {base}" if request.base else ""
        rest = f"--source-branch {branch}{onto} --title {title}"
        return f'glab mr create --repo {repo} {rest} --description "$({report})"'

    def _named(self, remote: Remote) -> str:
        """Return a repository as the program's `--repo` takes it, with a host of one's own."""
        if remote.host in ("github.com", "gitlab.com"):
            return remote.path
        named = f"{remote.host}/{remote.path}"
        return named if self is GITHUB else f"https://{named}"

    def repo_path(self, remote: Remote) -> str:
        """Return the path of a repository in the API."""
        if self is GITHUB:
            return f"repos/{quote(remote.path)}"
        return f"projects/{quote(remote.path, safe='')}"

    def api_call(
        self, remote: Remote, method: str, path: str, document: Mapping[str, Any] | None = None
    ) -> Call:
        """Return a call of the API; a document goes over standard input."""
        argv = (self.program, "api", "--hostname", remote.host, "--method", method)
        if document is None:
            return Call((*argv, path))
        return Call((*argv, *_JSON, "--input", "-", path), json.dumps(document).encode())


def _value(document: object, path: str) -> object:
    """Return what a document has at a path of keys with dots; `None` for nothing."""
    for key in path.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document


GITHUB: Final = Forge("gh", "pull request", "body", "number", "html_url")
GITLAB: Final = Forge("glab", "merge request", "description", "iid", "web_url")


def parse_remote(url: str) -> Remote | None:
    """Return the repository that a URL of git names; `None` for a path on this machine."""
    if not url.isprintable():
        return None
    if "://" in url:
        try:
            parts = urlsplit(url)
        except ValueError:  # brackets that are not an address
            return None
        host, path = parts.netloc.rpartition("@")[2], parts.path
        if parts.scheme not in ("http", "https"):  # the port is that of ssh
            host = host.partition(":")[0]
    elif found := _BY_SSH.fullmatch(url):
        host, path = found[1], found[2]
    else:
        return None
    path = path.strip("/").removesuffix(".git")
    host = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}.get(host, host)
    if not HOST.fullmatch(host) or "/" not in path:
        return None
    return Remote(host.lower(), path)


def forges_of(remote: Remote) -> tuple[Forge, ...]:
    """Return what the host of a repository can be by its name: one of the two, or either."""
    if "github" in remote.host:
        return (GITHUB,)
    return (GITLAB,) if "gitlab" in remote.host else (GITHUB, GITLAB)


REMOTE = "origin"
_CALL_SECONDS = 60.0
_LONGEST_TITLE = 200  # characters; GitHub takes 256
_LONGEST_PROBLEM = 500  # characters
_SETTINGS = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}
_NOT_THEIRS = ("LLMCH_", "GIT_", "GH_FORCE_TTY", "CLICOLOR_FORCE")


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
    summary: RunSummary | BatchSummary, options: RunOptions, console: Console, closes: int = 0
) -> PullRequestAnswer:
    """Open or update the request for the branch of a run, and say what came of it.

    Nothing that goes wrong here changes the outcome of the run: it is a warning. Where neither
    program can do it, the commands that would are shown.
    """

    if not summary.pushed:
        why = "the branch was not pushed"
        if summary.pushed is None:
            why = "nothing has landed on the branch, or HEAD has all of it"
        console(Warned(f"no pull request was opened: {why}"))
        return PullRequestAnswer(problem=why)
    try:
        answer = _Requesting(summary.branch, summary.run_id, options, closes).answer()
    except (LlmchError, Refused) as refused:
        answer = PullRequestAnswer(problem=str(refused))
    if answer.url:
        console(Noted(f"{answer.action} {answer.url}"))
    else:
        console(Warned(f"no pull request was opened: {answer.problem}"))
        if answer.commands:
            console.say(Paragraph(("to open it:", *(f"  {each}" for each in answer.commands))))
    return answer


class Refused(Exception):
    """Say in the words of a program why it did not do what it was asked for."""


@dataclass(frozen=True, slots=True)
class _Requesting:
    branch: str
    run_id: str
    options: RunOptions
    closes: int

    def answer(self) -> PullRequestAnswer:
        git = preflight.find_repo(self.options.repo).git
        remote = parse_remote(refs.url_of(git, REMOTE))
        if remote is None:
            return PullRequestAnswer(problem=f"{REMOTE} is not on a host that has any")
        request = self._request()
        forges = forges_of(remote)
        place = place_option(self.options.repo)
        commands = tuple(each.command(remote, request, self.run_id, place) for each in forges)
        forge = usable(forges, remote)
        if forge is None:
            names = " and ".join(each.program for each in forges)
            are = "is" if len(forges) == 1 else "are"
            problem = f"{names} {are} not installed, or not signed in at {remote.host}"
            return PullRequestAnswer(problem=problem, commands=commands)
        try:
            return _requested(forge, remote, request)
        except Refused as refused:
            return PullRequestAnswer(problem=str(refused), commands=commands)

    def _request(self) -> Request:
        run = read_run.read_report(
            self.run_id, self.options.repo, self.options.settings.artifacts_dir
        )
        title = (
            shorten(one_line(clean(run_reports.mask_secrets(run.title))), _LONGEST_TITLE)
            or self.branch
        )
        report = run_reports.markdown_of(run_report.RunReportDocument(run))
        return Request(self.branch, self._base(), title, report, self.closes)

    def _base(self) -> str:
        """Return the branch that the commits are carried onto, else the one that is checked out.

        It is "" where the remote does not have it.
        """
        git = preflight.find_repo(self.options.repo).git
        onto = self.options.onto
        if onto is not None and refs.commit_of(git, f"refs/remotes/{REMOTE}/{onto.branch}"):
            return onto.branch
        done = git.try_run("symbolic-ref", "--quiet", "--short", "HEAD")
        name = done.stdout.decode("utf-8", "replace").strip()
        if done.exit_code or name == self.branch:
            return ""
        return name if refs.commit_of(git, f"refs/remotes/{REMOTE}/{name}") else ""


def usable(forges: tuple[Forge, ...], remote: Remote) -> Forge | None:
    """Return the one whose program is installed; of two, one that can sign in at the host."""
    there = [each for each in forges if shutil.which(each.program)]
    if len(forges) == 1:
        return there[0] if there else None
    for each in there:
        try:
            _run(each.auth_call(remote))
        except Refused:
            continue
        return each
    return None


def _requested(forge: Forge, remote: Remote, request: Request) -> PullRequestAnswer:

    there = forge.read_request(asked(forge.find_call(remote, request.branch)))
    if there is not None:
        asked(forge.update_call(remote, there, request))
        return PullRequestAnswer(there.url, UPDATED)
    if not request.base:
        repo = asked(forge.repo_call(remote))
        base = repo.get("default_branch") if isinstance(repo, dict) else None
        request = replace(request, base=base if isinstance(base, str) else "")
    opened = forge.read_request(asked(forge.open_call(remote, request)))
    if opened is None:
        raise Refused(f"{forge.program} did not say which {forge.noun} it opened")
    return PullRequestAnswer(opened.url, OPENED)


def asked(call: Call) -> object:
    """Return the JSON that a program answers with. Raises `Refused`."""
    try:
        answer: object = json.loads(_run(call))
    except (ValueError, RecursionError):
        raise Refused(f"{call.argv[0]} answered with something that is not JSON") from None
    return answer


def _run(call: Call) -> bytes:
    """Return what a program prints. Raises `Refused` if it fails."""
    # Not in the repo: its config could have git, which the programs ask, run something.
    with tempfile.TemporaryDirectory(prefix="llmch-") as nowhere:
        try:
            done = process.run_tool(
                call.argv, cwd=Path(nowhere), env=_environment(os.environ), stdin=call.stdin,
                timeout_seconds=_CALL_SECONDS,
            )  # fmt: skip
        except (process.ProgramMissing, process.ToolFailed) as missing:
            raise Refused(str(missing)) from missing
    if done.exit_code or done.timed_out:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        why = "gave no answer in time" if done.timed_out else said or f"exit {done.exit_code}"
        text = one_line(clean(run_reports.mask_secrets(why)))
        raise Refused(f"{call.argv[0]}: {shorten(text, _LONGEST_PROBLEM)}")
    return done.stdout


def _environment(environ: Mapping[str, str]) -> Mapping[str, str]:
    return for_others(environ, _NOT_THEIRS) | _SETTINGS


OPENED = "opened"
UPDATED = "updated"
_ANSWER = Shape("url?", "action?", "problem?", "commands")


@dataclass(frozen=True, slots=True)
class PullRequestAnswer:
    """Hold the address of the request, or why there is none and the commands that open it."""

    url: str = ""
    action: str = ""
    problem: str = ""
    commands: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        return _ANSWER(self)
