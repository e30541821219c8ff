"""Reads issues and comments of GitHub and GitLab, and writes comments, by `gh` and `glab`.

Everything that comes back is text of strangers until somebody's rights say otherwise. It goes into
no argument, no shell and no path; what is sent goes over standard input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from llmch.ci.pull_requests import (
    GITHUB,
    GITLAB,
    HOST,
    Forge,
    Refused,
    Remote,
    asked,
    forges_of,
    usable,
)
from llmch.console.line import clean, one_line
from shared.errors import InvalidInput, LlmchError, PreflightRefused
from shared.files.text_sources import read_text_input
from shared.work_order.parse_order import sha256_bytes

_PAGE: Final = 100
_MOST_PAGES: Final = 100
"""GitHub lets an issue have 2,500 comments, GitLab 5,000 and notes of its own beside them."""
_ISSUE_PATH: Final = re.compile(r"/(.+?)(?:/-)?/(?:issues|work_items)/([1-9][0-9]{0,9})/?")
_MOST_BYTES: Final = 8_000_000
_PICTURE: Final = r"(!\[[^\[\]\n]*\]\()"

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Issue:
    """Hold an issue as it was read; its text is believed in no way."""

    number: int
    title: str
    body: str
    url: str = ""
    labels: tuple[str, ...] = ()
    comments: int = 0
    confidential: bool = False

    @property
    def named(self) -> str:
        return f"issue {self.number}" if self.number else "the issue"

    @property
    def sha256(self) -> str:
        return text_sha256(self.title, self.body)


@dataclass(frozen=True, slots=True)
class Comment:
    """Hold a comment, or a review, as it was read; `path` and `line` are where it stands.

    `association` is what GitHub says of its author, and `state` what a review comes to. `thread` is
    GitLab's name of the discussion.
    """

    id: int
    body: str
    author: str = ""
    author_id: int = 0
    is_bot: bool = False
    association: str = ""
    created: str = ""
    updated: str = ""
    path: str = ""
    line: int = 0
    replies_to: int = 0
    review: int = 0
    thread: str = ""
    state: str = ""
    is_internal: bool = False
    """Whether only some see it, as GitLab's internal notes."""

    @property
    def sha256(self) -> str:
        return text_sha256(self.body)


def text_sha256(*texts: str) -> str:
    """Return the hash of texts of a forge; how their lines end does not count."""
    joined = "\0".join(each.replace("\r\n", "\n") for each in texts)
    return sha256_bytes(joined.encode("utf-8", "surrogatepass"))


def parse_issue_url(url: str) -> tuple[Remote, int]:
    """Return the repository and the number that the URL of an issue names.

    Raises `InvalidInput` for any other URL.
    """
    try:
        parts = urlsplit(url) if url.isprintable() else urlsplit("")
        host = parts.netloc.rpartition("@")[2].lower()
    except ValueError:
        parts, host = urlsplit(""), ""
    found = _ISSUE_PATH.fullmatch(parts.path)
    if parts.scheme not in ("http", "https") or found is None or not HOST.fullmatch(host):
        raise InvalidInput(
            f"{clean(url)[:200]!r} is not the address of an issue",
            "it is like https://github.com/OWNER/REPO/issues/12",
        )
    return Remote(host, found[1]), int(found[2])


def read_document(path: Path, what: str) -> Json:
    """Return the JSON object in a file. Raises `InvalidInput` for anything else."""
    text = read_text_input(path, what, _MOST_BYTES).text
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{what} {path} is not JSON", "give the payload as the forge sends it"
        ) from error
    if not isinstance(document, dict):
        raise InvalidInput(f"{what} {path} is not one JSON object", "give the whole payload")
    return document


def parse_issue(document: Json) -> Issue:
    """Return the issue in a document of either forge. Raises `InvalidInput` where there is none."""
    title = document.get("title")
    number = whole(document, "number") or whole(document, "iid")
    if not isinstance(title, str) or not number:
        raise InvalidInput(
            "the document has no issue with a number and a title",
            "give what `gh api repos/OWNER/REPO/issues/12` prints, or the payload of an event",
        )
    labels = document.get("labels")
    names = (each.get("name") or each.get("title") if isinstance(each, dict) else each
             for each in (labels if isinstance(labels, list) else ()))  # fmt: skip
    return Issue(
        number,
        title,
        words(document, "body") or words(document, "description"),
        words(document, "html_url") or words(document, "web_url") or words(document, "url"),
        tuple(each for each in names if isinstance(each, str)),
        whole(document, "comments") or whole(document, "user_notes_count"),
        document.get("confidential") is True,
    )


def parse_comment(document: Json) -> Comment:
    """Return the comment, note or review in a document of either forge, as far as it can be read.

    Raises `InvalidInput` where there is none.
    """
    number = whole(document, "id")
    if not number:
        raise InvalidInput("the document has no comment with an id", "give the whole payload")
    author = part(document, "user") or part(document, "author")
    position = part(document, "position")
    return Comment(
        number,
        words(document, "body") or words(document, "note"),
        words(author, "login") or words(author, "username"),
        whole(author, "id") or whole(document, "author_id"),
        _is_program(author),
        words(document, "author_association").lower(),
        words(document, "created_at") or words(document, "submitted_at"),
        words(document, "updated_at") or words(document, "submitted_at"),
        words(document, "path") or words(position, "new_path"),
        whole(document, "line") or whole(document, "original_line") or whole(position, "new_line"),
        whole(document, "in_reply_to_id"),
        whole(document, "pull_request_review_id"),
        words(document, "discussion_id"),
        words(document, "state").lower(),
        document.get("internal") is True or document.get("confidential") is True,
    )


_TOKEN: Final = re.compile(r"(project|group)_[0-9]+_bot(_[0-9a-z]+|[0-9]*)")
"""The users that GitLab makes for access tokens; it does not say that they are programs."""


def _is_program(author: Json) -> bool:
    if words(author, "type") == "Bot" or author.get("bot") is True:
        return True
    return _TOKEN.fullmatch(words(author, "username")) is not None


def words(document: Json, key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""


def whole(document: Json, key: str) -> int:
    value = document.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def part(document: Json, key: str) -> Json:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class Board:
    """Ask the issues and requests of one repository, each question one call of the program.

    All raise `PreflightRefused` where the program is missing or the host refuses.
    """

    forge: Forge
    remote: Remote

    def issue(self, number: int) -> Issue:
        return parse_issue(self._one("GET", f"issues/{number}"))

    def is_same_text(self, sent: Issue, there: Issue) -> bool:
        """Say whether the issue of an event is as it is there now.

        GitLab's webhooks write the addresses of pictures anew, with host and number of the project.
        """
        if self.forge is not GITLAB:
            return sent.sha256 == there.sha256
        host, path = re.escape(self.remote.host), re.escape(self.remote.path)
        moved = re.compile(rf"{_PICTURE}(?:https?://{host})?/?(?:(?:-/project/[0-9]+|{path})/)?")
        one, other = (text_sha256(e.title, moved.sub(r"\1", e.body)) for e in (sent, there))
        return one == other

    def comment(self, number: int, comment: int) -> Comment:
        path = f"issues/comments/{comment}"
        if self.forge is GITLAB:
            path = f"issues/{number}/notes/{comment}"
        return parse_comment(self._one("GET", path))

    def review_comment(self, number: int, comment: int) -> Comment:
        path = f"pulls/comments/{comment}"
        if self.forge is GITLAB:
            path = f"merge_requests/{number}/notes/{comment}"
        return parse_comment(self._one("GET", path))

    def review(self, number: int, review: int) -> Comment:
        return parse_comment(self._one("GET", f"pulls/{number}/reviews/{review}"))

    def begins_thread(self, number: int, comment: Comment) -> bool:
        """Say whether a comment on a merge request of GitLab is the first one of its thread."""
        thread = quote(comment.thread, safe="").replace(".", "") or "-"
        notes = self._one("GET", f"merge_requests/{number}/discussions/{thread}").get("notes")
        first = notes[0] if isinstance(notes, list) and notes else None
        return isinstance(first, dict) and whole(first, "id") == comment.id

    def comments_of_review(self, number: int, review: int) -> Iterator[Comment]:
        """Yield the comments of a review; GitHub's own list of these does not say their lines."""
        of_all = self._many(f"pulls/{number}/comments")
        return (each for each in of_all if each.review == review)

    def comments(self, number: int) -> Iterator[Comment]:
        """Yield the comments of an issue, the oldest first."""
        order = "?sort=asc&" if self.forge is GITLAB else "?"
        path = "notes" if self.forge is GITLAB else "comments"
        return self._many(f"issues/{number}/{path}{order}")

    def request(self, number: int) -> Json:
        kind = "pulls" if self.forge is GITHUB else "merge_requests"
        return self._one("GET", f"{kind}/{number}")

    def rights_of(self, author: str, author_id: int) -> str:
        """Return what somebody is to the repository, in GitHub's words; "" for a stranger."""
        try:
            if self.forge is GITLAB:
                level = whole(self._one("GET", f"members/all/{author_id}"), "access_level")
                names = (("owner", 50), ("member", 40), ("collaborator", 30))
                return next((name for name, least in names if level >= least), "")
            path = f"collaborators/{quote(author, safe='')}/permission"
            answer = self._one("GET", path)
        except Gone:
            return ""
        role, right = words(answer, "role_name"), words(answer, "permission")
        if right == "admin":
            return "owner"
        return "collaborator" if right == "write" or role == "triage" else ""

    def post(self, number: int, text: str, *, on_request: bool = False) -> int:
        """Write a comment and return its id."""
        kind = "merge_requests" if on_request and self.forge is GITLAB else "issues"
        path = "notes" if self.forge is GITLAB else "comments"
        return whole(self._one("POST", f"{kind}/{number}/{path}", {"body": text}), "id")

    def edit(self, number: int, comment: int, text: str) -> None:
        """Put another text into a comment. Raises `Gone` where somebody deleted it."""
        if self.forge is GITLAB:
            self._one("PUT", f"issues/{number}/notes/{comment}", {"body": text})
        else:
            self._one("PATCH", f"issues/comments/{comment}", {"body": text})

    def reply(self, number: int, comment: Comment, text: str) -> None:
        """Answer a comment on a line of a request, in its own thread."""
        path = f"pulls/{number}/comments/{comment.id}/replies"
        if self.forge is GITLAB:
            thread = quote(comment.thread, safe="")
            path = f"merge_requests/{number}/discussions/{thread}/notes"
        self._one("POST", path, {"body": text})

    def _many(self, path: str) -> Iterator[Comment]:
        joint = "" if path.endswith(("?", "&")) else "?"
        for page in range(1, _MOST_PAGES + 1):
            answer = self._ask("GET", f"{path}{joint}per_page={_PAGE}&page={page}")
            entries = answer if isinstance(answer, list) else []
            yield from (parse_comment(each) for each in entries if isinstance(each, dict))
            if len(entries) < _PAGE:
                return
        raise PreflightRefused(
            f"{path.partition('?')[0]} of {self.remote.path} are more than {_PAGE * _MOST_PAGES:,}",
            "so many are not read: go on in a new issue",
        )

    def _one(self, method: str, path: str, document: Json | None = None) -> Json:
        answer = self._ask(method, path, document)
        if not isinstance(answer, dict):
            raise PreflightRefused(
                f"{self.forge.program} answered for {path} with something else than an object",
                "see that it is the host of the repository that answers",
            )
        return answer

    def _ask(self, method: str, path: str, document: Json | None = None) -> object:
        whole_path = f"{self.forge.repo_path(self.remote)}/{path}"
        call = self.forge.api_call(self.remote, method, whole_path, document)
        try:
            return asked(call)
        except Refused as refused:
            raise _explained(str(refused), self.forge, self.remote, path) from refused


def open_board(remote: Remote, known: Forge | None = None) -> Board:
    """Return the board of a repository, asked by whichever program is signed in at its host.

    `known` says what the host is. Raises `PreflightRefused` where no program is there.
    """
    forges = (known,) if known is not None else forges_of(remote)
    forge = usable(forges, remote)
    if forge is not None:
        return Board(forge, remote)
    names = " nor ".join(each.program for each in forges)
    raise PreflightRefused(
        f"{names} is not installed, or not signed in at {remote.host}",
        f"install {forges[0].program}, and sign in ({forges[0].program} auth login, or its token "
        "in the environment); or give the issue as a file",
    )


class Gone(PreflightRefused):
    """Say that what was asked for is not there, or may not be seen."""


def _explained(said: str, forge: Forge, remote: Remote, path: str) -> LlmchError:
    """Return the error that says what to do about the refusal of a program."""
    low, name = said.lower(), forge.program
    token = "GH_TOKEN" if forge is GITHUB else "GITLAB_TOKEN"
    if "rate limit" in low or "http 429" in low or "429 too many" in low:
        return PreflightRefused(
            f"{remote.host} takes no more requests for now: {said}", "wait, then try again"
        )
    if "http 404" in low or "http 410" in low or "not found" in low:
        return Gone(
            f"{path} of {remote.path} is not there, or was deleted: {said}",
            f"see that it still exists, and that {token} may read it",
        )
    if re.search(r"auth login|\b401\b|not logged|authentication|(?:gh|gitlab)_token env", low):
        return PreflightRefused(
            f"{name} is not signed in at {remote.host}: {said}",
            f"set {token}, or sign in by `{name} auth login`",
        )
    if re.search(r"\b403\b|forbidden|not accessible", low):
        return PreflightRefused(
            f"the token of {name} has no right to {path}: {said}",
            "give it `contents`, `issues` and `pull-requests` to write (GitHub), or the role of a "
            "developer and the scope `api` (GitLab)",
        )
    if "unknown command" in low or "unknown flag" in low:
        return PreflightRefused(f"this {name} is too old: {said}", f"install a newer {name}")
    if "not json" in low:
        return PreflightRefused(
            said, "a page of a proxy or a login may have answered in place of the API"
        )
    return PreflightRefused(said, f"try `{name} api` by hand")


def issue_document(document: Json) -> Json:
    """Return the part of a payload that is the issue: of an event of either forge, or itself."""
    if inner := part(document, "issue"):
        return inner
    attributes = part(document, "object_attributes")
    return attributes if words(document, "object_kind") == "issue" else document


def shown_name(remote: Remote) -> str:
    """Return a repository as one word of a file's name: letters, digits, dots and dashes."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", one_line(f"{remote.host}-{remote.path}"))
    return name.strip(".-")[:120] or "repo"
