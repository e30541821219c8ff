"""Reads events of issues and reviews, and records which have been dealt with.

A payload says only what may be looked at: who did what, and the text as it was then. What counts is
fetched afterwards, and compared with it.

Each event is another job on another machine, so what one leaves for the next is a commit: the
specification, the answers, the plan, and which events were dealt with. It moves only from where it
was read. So of two events at once, the second finds the first at work before anything is paid.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from llmch.ci.issue_calls import (
    Comment,
    Issue,
    Json,
    parse_comment,
    parse_issue,
    part,
    text_sha256,
    whole,
    words,
)
from llmch.ci.pull_requests import GITHUB, GITLAB, Forge, Remote, parse_remote
from planner.spec.answers import answers_path
from planner.spec.issue_text import shown_text
from shared.errors import Busy, CommandFailed, InvalidInput, PreflightRefused
from shared.files.atomic_io import make_folder, render_json, write_bytes
from shared.files.paths import PathProblem, check_path
from shared.git import refs, trees
from shared.git.client import Git
from shared.work_order.plan_folder import list_plan_files, plan_file_names

OWN_MARK: Final = "<!-- llmch: written by llmch -->"
"""Begins every comment of llmch. Whoever copies it has a comment that nobody reads."""
BRANCH: Final = "llmch/issue-"
_NUMBER: Final = re.compile(re.escape(BRANCH) + r"([1-9][0-9]{0,9})")


class Wish(StrEnum):
    """Name what an event asks for."""

    PLAN = "plan"
    ANSWER = "answer"
    BUILD = "build"
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class Event:
    """Hold what a payload says; without a `wish`, `why` says why it asks for nothing.

    `number` is that of the issue, and `request` that of a pull request. `comment` is as the payload
    has it, `review` is the review that it belongs to, and `sender` is who set a label.
    """

    forge: Forge
    remote: Remote
    number: int
    wish: Wish | None = None
    why: str = ""
    issue: Issue | None = None
    comment: Comment | None = None
    sender: Comment | None = None
    request: int = 0
    review: int = 0
    moment: str = ""

    @property
    def key(self) -> str:
        """Return the name of the event; a payload that is sent again has the same."""
        comment = self.comment
        if self.review:
            return f"review-{self.review}"
        if comment is not None:
            return f"comment-{comment.id}-{comment.sha256[:16]}"
        text = self.issue.sha256 if self.issue else ""
        return f"label-{text_sha256(text, self.moment)[:16]}"


def parse_event(document: Json, label: str) -> Event:
    """Return the event that a payload is of. Raises `InvalidInput` where it is of none."""
    if words(document, "object_kind"):
        return _of_gitlab(document, label)
    if "action" not in document or not part(document, "repository"):
        raise InvalidInput(
            "the event is none of an issue, a comment or a review",
            "give the file that GITHUB_EVENT_PATH or TRIGGER_PAYLOAD names",
        )
    return _of_github(document, label)


def _of_github(document: Json, label: str) -> Event:
    remote = _remote(words(part(document, "repository"), "html_url"))
    action, sender = words(document, "action"), _person(part(document, "sender"))
    event = Event(GITHUB, remote, 0, sender=sender)
    if request := part(document, "pull_request"):
        event = replace(event, request=whole(request, "number"), number=_issue_of(
            words(part(request, "head"), "ref"),
            words(part(part(request, "head"), "repo"), "full_name"),
            words(part(part(request, "base"), "repo"), "full_name"),
        ))  # fmt: skip
        return _of_review(document, event, action)
    issue = parse_issue(part(document, "issue"))
    event = replace(event, number=issue.number, issue=issue)
    if part(part(document, "issue"), "pull_request"):
        return replace(event, why="a pull request is changed by a review of it")
    if part(document, "comment"):
        event = replace(event, comment=parse_comment(part(document, "comment")))
        return _of_comment(event, new=action == "created")
    event = replace(event, moment=words(part(document, "issue"), "updated_at"))
    named = words(part(document, "label"), "name")
    return _of_issue(event, label, is_set=action == "labeled" and named == label, action=action)


def _of_gitlab(document: Json, label: str) -> Event:
    project, user = part(document, "project"), _person(part(document, "user"))
    kind, attributes = words(document, "object_kind"), part(document, "object_attributes")
    event = Event(GITLAB, _remote(words(project, "web_url")), 0, sender=user)
    action = words(attributes, "action")
    if kind == "issue":
        issue = parse_issue({"labels": document.get("labels"), **attributes})
        event = replace(event, number=issue.number, issue=issue)
        event = replace(event, moment=words(attributes, "updated_at"))
        changed = part(part(document, "changes"), "labels")
        was, now = (
            {words(each, "title") for each in changed.get(when) or () if isinstance(each, dict)}
            for when in ("previous", "current")
        )
        return _of_issue(event, label, is_set=label in now - was, action=action)
    if kind != "note":
        raise InvalidInput(f"an event of the kind {kind[:50]!r} is none of an issue", "")
    comment = parse_comment(attributes)
    comment = replace(
        comment,
        author=user.author,
        author_id=user.author_id,
        is_bot=user.is_bot,
        is_internal=comment.is_internal or words(document, "event_type") == "confidential_note",
    )
    event = replace(event, comment=comment)
    if request := part(document, "merge_request"):
        own, onto = (str(whole(request, f"{each}_project_id")) for each in ("source", "target"))
        number = _issue_of(words(request, "source_branch"), own, onto)
        event = replace(event, number=number, request=whole(request, "iid"))
        return _of_line(event, new=action in ("", "create"))
    if not part(document, "issue"):
        return replace(event, why="the comment is not on an issue")
    issue = parse_issue(part(document, "issue"))
    event = replace(event, number=issue.number, issue=issue)
    return _of_comment(event, new=action in ("", "create"))


def _remote(url: str) -> Remote:
    remote = parse_remote(url)
    if remote is None:
        raise InvalidInput("the event does not say of which repository it is", "give it whole")
    return remote


def _person(document: Json) -> Comment:
    return parse_comment({"id": 1, "user": document})


def _issue_of(branch: str, head: str, base: str) -> int:
    """Return the issue that a request carries out by its branch; 0 for one from elsewhere."""
    found = _NUMBER.fullmatch(branch)
    return int(found[1]) if found and head and head == base else 0


def _of_issue(event: Event, label: str, *, is_set: bool, action: str) -> Event:
    """Return the event of an issue that somebody opened or labelled."""
    labels = event.issue.labels if event.issue else ()
    if is_set or (action in ("opened", "open") and label in labels):
        return replace(event, wish=Wish.PLAN)
    return replace(event, why=f"the issue was not given the label {label!r}")


def _of_comment(event: Event, *, new: bool) -> Event:
    assert event.comment is not None, "it is the event of one"
    if why := _unheard(event.comment, new=new):
        return replace(event, why=why)
    wish = parse_wish(event.comment.body)
    return replace(
        event, wish=wish, why="" if wish else f"its first line is none of {', '.join(_WISHES)}"
    )


_ASKING: Final = ("commented", "changes_requested")


def _of_review(document: Json, event: Event, action: str) -> Event:
    """Return the event of a review, or of a comment in one: they ask for the same."""
    if review := part(document, "review"):
        comment = parse_comment(review)
        event = replace(event, comment=comment, review=comment.id)
        if action != "submitted" or comment.state not in _ASKING:
            return replace(event, why="the review asks for no change")
        return _of_line(event, new=True)
    comment = parse_comment(part(document, "comment"))
    return _of_line(replace(event, comment=comment, review=comment.review), new=action == "created")


def _of_line(event: Event, *, new: bool) -> Event:
    assert event.comment is not None, "it is the event of one"
    why = _unheard(event.comment, new=new)
    if not event.number:
        why = "the pull request is none that llmch made for an issue here"
    elif event.comment.replies_to:
        why = IN_THREAD
    elif not event.review and not event.comment.path:
        why = "only a comment on a line asks for a change"
    return replace(event, wish=None if why else Wish.REVIEW, why=why)


IN_THREAD: Final = "an answer in a thread asks for no change"
INTERNAL: Final = "it is an internal note, and what comes of it is for everybody"


def _unheard(comment: Comment, *, new: bool) -> str:
    """Return why nobody reads a comment, whatever it says; "" for one that is read."""
    if comment.is_bot or OWN_MARK in comment.body:
        return "a program wrote the comment"
    if comment.is_internal:
        return INTERNAL
    return "" if new else "an edited comment starts nothing: write a new one"


_ANSWER: Final = re.compile(r"[-*]?[ \t]*`?(A-[0-9a-f]{6})`?:[ \t]*(\S.*)")
_WISHES: Final = {"/llmch plan": Wish.PLAN, "/llmch answer": Wish.ANSWER,
                  "/llmch build": Wish.BUILD, "llmch: go": Wish.BUILD}  # fmt: skip


def parse_wish(body: str) -> Wish | None:
    """Return what a comment asks for: by its first line, or by answers to questions."""
    lines = [each.strip() for each in _lines(body) if each.strip()]
    first = " ".join(lines[0].lower().split()) if lines else ""
    if wish := _WISHES.get(first):
        return wish
    return Wish.ANSWER if parse_given(body) else None


def _lines(body: str) -> list[str]:
    """Return the lines that a reader sees; most comments are told apart without reading them."""
    if "llmch" not in body.lower() and "A-" not in body:
        return []
    return shown_text(body[:_MOST_READ]).text.split("\n")


_MOST_READ: Final = 65_536  # characters; GitHub takes no more


def parse_given(body: str) -> Mapping[str, str]:
    """Return the answers in a comment by the ids of the questions; a quoted line is none."""
    found = (_ANSWER.fullmatch(each.strip()) for each in _lines(body))
    return {each[1]: each[2].strip() for each in found if each}


def place_of(comment: Comment) -> str:
    """Return where a comment stands, as words; "" for a path that no repository can have."""
    try:
        path = check_path(comment.path) if comment.path else ""
    except (PathProblem, ValueError):
        return ""
    if not path or not path.isprintable() or "`" in path:
        return ""
    return f"{path}:{comment.line}" if comment.line else path


_REMOTE: Final = "origin"
_REFS: Final = "refs/llmch-issues/"
_STATE: Final = "state.json"
_SPEC: Final = "issue.md"
_ANSWERS: Final = "answers.yaml"
_PLAN: Final = "plan-"
_MOST_BYTES: Final = 20_000_000
_MESSAGE: Final = b"llmch: what was done for an issue\n"
_ABANDONED: Final = timedelta(hours=6)
"""GitHub ends a job after so long."""
_WHO: Final = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "llmch"), ("EMAIL", "llmch@localhost"))}  # fmt: skip


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KeptRemark(_Kept):
    """Hold a remark of a review that became a requirement, with the comment that it is from."""

    id: str
    text: str
    place: str = ""
    sha256: str = ""
    thread: str = ""
    on_line: bool = False


class Claim(_Kept):
    """Say which event is being dealt with, by which job, since when."""

    event: str
    job: str
    since: str


class IssueState(_Kept):
    """Hold how far an issue is.

    `issue_sha256` is the text that the plan was made from, and `left_out` what is not in it.
    `comment` is llmch's own, that shows the plan, if it is `shown`. `due` are the remarks that were
    planned and are not carried out yet. `done` says of each event what came of it, `told`
    which errors were told already.
    """

    schema_version: Literal[1] = 1
    number: int
    issue_sha256: str = ""
    left_out: tuple[str, ...] = ()
    comment: int = 0
    shown: bool = True
    request: str = ""
    remarks: tuple[KeptRemark, ...] = ()
    due: tuple[str, ...] = ()
    answered: Mapping[str, str] = {}
    done: Mapping[str, str] = {}
    told: tuple[str, ...] = ()
    claim: Claim | None = None


@dataclass(frozen=True, slots=True)
class IssueRecord:
    """Hold what the remote has of an issue, and move it on."""

    git: Git
    number: int
    tip: str
    state: IssueState
    files: Mapping[str, bytes] = field(default_factory=dict)
    blobs: Mapping[str, str] = field(default_factory=dict)
    """Where git has the files already."""

    @property
    def ref(self) -> str:
        return f"{_REFS}{self.number}"

    def restore(self, folder: Path) -> Path | None:
        """Write the specification, the answers and the plan; return the folder of the plan."""
        make_folder(folder)
        spec = folder / _SPEC
        answers_path(spec).unlink(missing_ok=True)
        for name, path in ((_SPEC, spec), (_ANSWERS, answers_path(spec))):
            if name in self.files:
                write_bytes(path, self.files[name], sync=False)
        names = _plan_names(self.files)
        plan = folder / f"plan-{self.tip[:12]}"
        for name in names:
            make_folder(plan)
            write_bytes(plan / name, self.files[_PLAN + name], sync=False)
        return plan if names else None

    def moved(
        self, state: IssueState, spec: Path | None = None, plan: Path | None = None
    ) -> IssueRecord:
        """Move the record on, with a specification and a plan where there are new ones.

        Raises `Busy` where another job moved it meanwhile, and `PreflightRefused` where the remote
        does not let this job write.
        """
        files = dict(self.files)
        if spec is not None:
            files[_SPEC] = spec.read_bytes()
            files.pop(_ANSWERS, None)
            if answers_path(spec).is_file():
                files[_ANSWERS] = answers_path(spec).read_bytes()
        if plan is not None:
            files = {name: each for name, each in files.items() if not name.startswith(_PLAN)}
            files |= {_PLAN + name: (plan / name).read_bytes() for name in list_plan_files(plan)}
        files[_STATE] = render_json(state.model_dump(mode="json")).encode()
        kept = {
            name: each for name, each in self.blobs.items() if files.get(name) == self.files[name]
        }
        blobs = kept | {
            name: self.git.run("hash-object", "-w", "--stdin", stdin=data or b"\n")
            for name, data in files.items()
            if name not in kept
        }
        commit = _commit(self.git, blobs)
        try:
            refs.move_ref(self.git, _REMOTE, self.ref, commit, self.tip)
        except CommandFailed as failed:
            raise self._refused(failed) from failed
        return replace(self, tip=commit, state=state, files=files, blobs=blobs)

    def _refused(self, failed: CommandFailed) -> Busy | PreflightRefused:
        if refs.list_refs(self.git, _REMOTE, self.ref).get(self.ref, "") != self.tip:
            return Busy(
                f"another job has moved {self.ref} on meanwhile",
                "have this event delivered again when that job is over",
            )
        return PreflightRefused(
            f"the remote does not let this job write {self.ref}: {failed.message}",
            "give the job the right to push (`contents: write`, or a token that may)",
        )


def read_record(git: Git, number: int) -> IssueRecord:
    """Return what the remote has of an issue; nothing was done for one that it does not know.

    Raises `Busy` where what it has cannot be read.
    """
    ref = f"{_REFS}{number}"
    tip = refs.list_refs(git, _REMOTE, ref).get(ref, "")
    if not tip:
        return IssueRecord(git, number, "", IssueState(number=number))
    refs.fetch_refs(git, _REMOTE, [ref])
    try:
        found = trees.plain_files_of(git, tip)
        known = {_STATE, _SPEC, _ANSWERS, *(_PLAN + each for each in _plan_names(found))}
        if sum(size for _, size in found.values()) > _MOST_BYTES:
            raise ValueError("it is too large")
        ids = {name: id_ for name, (id_, _) in found.items() if name in known}
        contents = trees.blobs(git, [*ids.values()])
        files = {name: contents[id_] for name, id_ in ids.items()}
        state = IssueState.model_validate_json(files[_STATE])
        if state.number != number:
            raise ValueError(f"it is of issue {state.number}")
    except (KeyError, ValueError, ValidationError, CommandFailed) as error:
        raise Busy(
            f"{ref} of the remote cannot be read: {str(error).splitlines()[0][:200]}",
            f"`git push {_REMOTE} :{ref}` begins anew with the issue",
        ) from error
    return IssueRecord(git, number, tip, state, files, ids)


def _plan_names(names: Iterable[str]) -> tuple[str, ...]:
    return plan_file_names(each.removeprefix(_PLAN) for each in names if each.startswith(_PLAN))


def _commit(git: Git, blobs: Mapping[str, str]) -> str:
    """Return a new commit of flat files, without a parent: what was before is of no use."""
    lines = (f"100644 blob {blob}\t{name}\n" for name, blob in sorted(blobs.items()))
    tree = git.run("mktree", stdin="".join(lines).encode())
    return git.run("commit-tree", tree, stdin=_MESSAGE, environment=_WHO)


def this_job(environ: Mapping[str, str] = os.environ) -> str:
    """Return the name of the job that this process is in; a job that is run again has the same.

    GitLab gives a job that is run again another id, and keeps that of its pipeline.
    """
    for name in ("GITHUB_RUN_ID", "CI_PIPELINE_ID"):
        if environ.get(name):
            return f"{name} {environ[name]}"[:100]
    return f"{os.uname().nodename} {os.getpid()}"[:100]


def claimed(record: IssueRecord, event: str, now: datetime | None = None) -> IssueRecord:
    """Return the record with the claim of this job on it.

    Raises `Busy` while another job is at work.
    """
    now = now or datetime.now(UTC)
    held, job = record.state.claim, this_job()
    if held is not None and held.job != job and _age(held, now) < _ABANDONED:
        raise Busy(
            f"the event {held.event} of issue {record.number} is being dealt with since "
            f"{held.since} by {held.job}",
            "have this event delivered again when that job is over; if it was killed, `git push "
            f"{_REMOTE} :{record.ref}` forgets the issue",
        )
    claim = Claim(event=event, job=job, since=now.isoformat(timespec="seconds"))
    return record.moved(record.state.model_copy(update={"claim": claim}))


def _age(claim: Claim, now: datetime) -> timedelta:
    try:
        return now - datetime.fromisoformat(claim.since)
    except (ValueError, TypeError):
        return _ABANDONED
