"""Describes how a pull request is opened on GitHub, or a merge request on GitLab. Pure.

Both are asked over the API commands of the person's own programs, `gh` and `glab`, which know how
to sign in. Everything but names of branches goes to them over standard input, as JSON.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

MOST_BODY: Final = 60_000
"""As many characters of a report as a body has; GitHub refuses over 65,536."""
_BEGIN: Final = "<!-- llmch: this part is written anew by each run -->"
_END: Final = "<!-- llmch: end -->"
_HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?")
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

    @property
    def body(self) -> str:
        """Return the report between marks, so that the next run finds it again."""
        text = self.report
        if len(text) > MOST_BODY:
            text = f"{text[:MOST_BODY]}\n\nThe report goes on: `llmch report` prints all of it.\n"
        return f"{_BEGIN}\n\n{text.strip()}\n\n{_END}\n"

    def body_after(self, before: str) -> str:
        """Return the body that a request should have now: what a person wrote in it stays."""
        head, begin, rest = before.partition(_BEGIN)
        _, end, tail = rest.partition(_END)
        if begin and end:
            return f"{head}{self.body.rstrip()}{tail}"
        return f"{before.rstrip()}\n\n{self.body}" if before.strip() else self.body


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
        return self._api(remote, "GET", self._repo(remote))

    def find_call(self, remote: Remote, branch: str) -> Call:
        """Return the call that lists the open requests for a branch."""
        name = quote(branch, safe="")
        if self is GITHUB:
            owner = quote(remote.path.partition("/")[0], safe="")
            return self._api(
                remote, "GET", f"{self._repo(remote)}/pulls?state=open&head={owner}:{name}"
            )
        path = f"{self._repo(remote)}/merge_requests?state=opened&source_branch={name}"
        return self._api(remote, "GET", path)

    def open_call(self, remote: Remote, request: Request) -> Call:
        """Return the call that opens a request; its base must be known."""
        kind, head, base = (
            ("pulls", "head", "base")
            if self is GITHUB
            else ("merge_requests", "source_branch", "target_branch")
        )
        document = {
            "title": request.title,
            self.body_key: request.body,
            head: request.branch,
            base: request.base,
        }
        return self._api(remote, "POST", f"{self._repo(remote)}/{kind}", document)

    def update_call(self, remote: Remote, opened: Opened, request: Request) -> Call:
        """Return the call that puts the report into a request that is open."""
        method, kind = ("PATCH", "pulls") if self is GITHUB else ("PUT", "merge_requests")
        document = {self.body_key: request.body_after(opened.body)}
        path = f"{self._repo(remote)}/{kind}/{opened.number}"
        return self._api(remote, method, path, document)

    def read_request(self, answer: object) -> Opened | None:
        """Return the request in an answer, or the first one of a list; `None` for none."""
        found = answer[0] if isinstance(answer, list) and answer else answer
        if not isinstance(found, dict):
            return None
        number, url = found.get(self.number_key), found.get(self.url_key)
        body = found.get(self.body_key)
        if not isinstance(number, int) or not isinstance(url, str):
            return None
        return Opened(number, url, body if isinstance(body, str) else "")

    def command(self, remote: Remote, request: Request, run_id: str) -> str:
        """Return the command that a person can type to open the request."""
        report = f"llmch report {shlex.quote(run_id)} --markdown"
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

    def _repo(self, remote: Remote) -> str:
        if self is GITHUB:
            return f"repos/{quote(remote.path)}"
        return f"projects/{quote(remote.path, safe='')}"

    def _api(
        self, remote: Remote, method: str, path: str, document: Mapping[str, Any] | None = None
    ) -> Call:
        argv = (self.program, "api", "--hostname", remote.host, "--method", method)
        if document is None:
            return Call((*argv, path))
        return Call((*argv, *_JSON, "--input", "-", path), json.dumps(document).encode())


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
    if not _HOST.fullmatch(host) or "/" not in path:
        return None
    return Remote(host.lower(), path)


def forges_of(remote: Remote) -> tuple[Forge, ...]:
    """Return what the host of a repository can be by its name: one of the two, or either."""
    if "github" in remote.host:
        return (GITHUB,)
    return (GITLAB,) if "gitlab" in remote.host else (GITHUB, GITLAB)
