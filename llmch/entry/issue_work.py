"""Does what an event of an issue asks for, once, for those who may ask: plan, answers, run, review.

The texts of an issue are data: they reach a specification, a prompt and comments, quoted. What is
to be done follows from the event, the rights of who caused it, and the record on the remote.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from factory import preflight
from llmch.ci import issue_calls, issue_events
from llmch.ci.issue_calls import Board, Comment, Issue, text_sha256
from llmch.ci.issue_events import (
    IN_THREAD,
    INTERNAL,
    OWN_MARK,
    Event,
    IssueRecord,
    KeptRemark,
    Wish,
    parse_given,
    place_of,
)
from llmch.ci.pull_requests import GITLAB, REMOTE, parse_remote
from llmch.console import Console
from llmch.console.document import (
    Block,
    Document,
    Outcome,
    Paragraph,
)
from llmch.entry import issue_specs, wiring
from llmch.entry.answers import BatchDocument, PlanDocument
from llmch.entry.issue_specs import (
    ErrorComment,
    PlanComment,
    ReplyComment,
    RunComment,
    comment_text,
)
from llmch.previews import preview_document
from planner.spec.answers import SpecAnswer, answers_path, read_answers, write_answers
from planner.spec.issue_text import Remark, remark_line, with_remarks
from shared.errors import ExitCode, InvalidInput, LlmchError, PreflightRefused
from shared.events.events import Warned
from shared.files.atomic_io import write_text
from shared.git import commits, refs
from shared.work_order.plan_folder import read_manifest
from shared.work_order.work_order import MAX_SAID, Assumption

if TYPE_CHECKING:
    from planner.run_plan import PlanResult
    from shared.git.client import Git
    from shared.settings.settings import Settings


class Maker(Protocol):
    """Plan and run for an event; both take from one purse."""

    def plan(self, spec: Path, before: Path | None, branch: str) -> PlanResult:
        """Plan a specification, after the plan in the folder `before` where there is one."""

    def run(self, plan: Path, branch: str, issue: int) -> Outcome:
        """Run the orders of a plan, push the branch, and open or update its request."""


@dataclass(frozen=True, slots=True)
class EventDocument(Document):
    """Represent the answer of `build --event`: what was done, or why nothing was."""

    event: str
    did: str
    why: str
    issue: int
    comment: int = 0
    made: Document | None = None

    def to_json(self) -> object:
        own = {
            "event": self.event, "did": self.did, "why": self.why or None,
            "issue": self.issue or None, "comment": self.comment or None,
        }  # fmt: skip
        made: Any = self.made.to_json() if self.made is not None else {"verdict": "NONE"}
        return {"verdict": "NONE", **made, **own}

    def blocks(self) -> Iterator[Block]:
        if self.made is not None:
            yield from self.made.blocks()
        about = f"issue {self.issue}: " if self.issue else ""
        yield Paragraph((f"{about}{self.did}{f': {self.why}' if self.why else ''}",))


def work_on_event(args: argparse.Namespace, console: Console, maker: Maker) -> Outcome:
    """Do what the event in a file asks for.

    The exit code is 0 where nothing is asked for, and else that of the plan or the run.
    """
    if args.branch is not None or args.push is False:
        raise InvalidInput(
            "--event names the branch itself, and pushes it", "leave out --branch and --no-push"
        )
    settings = wiring.settings_for(args, console, repo=args.repo)
    document = issue_calls.read_document(args.event, "event")
    event = issue_events.parse_event(document, settings.issue.label)
    if event.wish is None:
        return _idle(event, "nothing to do", event.why)
    place = preflight.find_repo(args.repo, allow_repo_filters=args.allow_repo_filters)
    own = parse_remote(refs.url_of(place.git, REMOTE))
    if own is None or (own.host, own.path.lower()) != (
        event.remote.host,
        event.remote.path.lower(),
    ):
        raise PreflightRefused(
            f"the event is of {event.remote.host}/{event.remote.path}, and {REMOTE} of {args.repo} "
            "is another repository",
            "check out the repository that the event is of",
        )
    record = issue_events.read_record(place.git, event.number)
    if event.key in record.state.done:
        return _idle(event, "dealt with already", record.state.done[event.key])
    board = issue_calls.open_board(event.remote, event.forge)
    work = _Work(event, board, settings, console, maker, place.git, record)
    if why := work.refusal():
        return _idle(event, "nothing to do", why)
    return work.done_once()


def _idle(event: Event, did: str, why: str) -> Outcome:
    return Outcome(EventDocument(event.key, did, why, event.number))


@dataclass(slots=True)
class _Work:
    """Hold what one event is dealt with; `record` is replaced as it moves on."""

    event: Event
    board: Board
    settings: Settings
    console: Console
    maker: Maker
    git: Git
    record: IssueRecord
    heard: Comment | None = None
    rights: dict[str, bool] = field(default_factory=dict)
    pending: dict[str, object] = field(default_factory=dict)
    """What the state gains with the next plan: without that, the same event begins again."""
    plan: Path | None = None
    is_ours: bool = False
    """Whether the claim on the record is this job's."""

    @property
    def number(self) -> int:
        return self.event.number

    @property
    def branch(self) -> str:
        return f"{issue_events.BRANCH}{self.number}"

    @property
    def folder(self) -> Path:
        return issue_specs.issue_folder(self.settings.artifacts_dir, self.event.remote, self.number)

    @property
    def spec(self) -> Path:
        return self.folder / issue_specs.SPEC_NAME

    def refusal(self) -> str:
        """Return why whoever caused the event may not; "" where they may.

        Raises `PreflightRefused` where the text is another one than the event says, or gone.
        """
        event, said = self.event, self.event.comment
        if said is None:
            assert event.sender is not None, "the event of an issue says who caused it"
            return "" if self._may(event.sender) else f"{event.sender.author} may not ask for it"
        if event.wish is Wish.REVIEW:
            is_review = event.review == said.id
            read = self.board.review if is_review else self.board.review_comment
            # GitLab's answer for a comment does not say its thread.
            self.heard = replace(read(event.request, said.id), thread=said.thread)
            self._refuse_foreign()
        else:
            self.heard = self.board.comment(self.number, said.id)
        if self.heard.sha256 != said.sha256:
            raise PreflightRefused(
                f"comment {said.id} was edited after it was written", "write a new one"
            )
        if self.heard.is_internal:
            return INTERNAL
        if not self._may(self.heard):
            return f"comment {said.id} is by somebody who may not"
        # GitHub's payload says so itself.
        asks = event.wish is Wish.REVIEW and self.board.forge is GITLAB
        is_first = not asks or self.board.begins_thread(event.request, self.heard)
        return "" if is_first else IN_THREAD

    def _may(self, who: Comment) -> bool:
        """Say whether somebody may have work done: as GitHub calls them, or by their rights."""
        if who.is_bot or not who.author:
            return False
        if who.association in self.settings.issue.allowed:
            return True
        if who.author not in self.rights:
            found = self.board.rights_of(who.author, who.author_id)
            self.rights[who.author] = found in self.settings.issue.allowed
        return self.rights[who.author]

    def _refuse_foreign(self) -> None:
        """Raise `PreflightRefused` for a pull request that is not from this branch of this repo."""
        request = self.board.request(self.event.request)
        head, base = issue_calls.part(request, "head"), issue_calls.part(request, "base")
        names = {issue_calls.words(issue_calls.part(e, "repo"), "full_name") for e in (head, base)}
        projects = {request.get("source_project_id"), request.get("target_project_id")}
        branch = issue_calls.words(head, "ref") or issue_calls.words(request, "source_branch")
        if branch != self.branch or len(names) != 1 or len(projects) != 1:
            raise PreflightRefused(
                f"pull request {self.event.request} is not from {self.branch} of this repository",
                "only what llmch made for an issue here is changed by a review",
            )

    def done_once(self) -> Outcome:
        """Deal with the event while no other job deals with the issue, and record that it is.

        An error that ends it is told in a comment, once.
        """
        try:
            self.record = issue_events.claimed(self.record, self.event.key)
            self.is_ours = True
            self.plan = self.record.restore(self.folder)
            self._fetch_branch()
            outcome = self._done()
        except LlmchError as error:
            with contextlib.suppress(LlmchError):
                self._tell_error(error)
            raise
        except BaseException:
            with contextlib.suppress(LlmchError):
                self._let_go()
            raise
        return outcome

    def _done(self) -> Outcome:
        match self.event.wish:
            case Wish.PLAN:
                return self._planned(self._issue())
            case Wish.ANSWER:
                return self._answered()
            case Wish.BUILD:
                return self._built()
            case _:
                return self._reviewed()

    def _issue(self) -> Issue:
        """Return the issue as it is now. Raises where that is not what the event speaks of."""
        issue = self.board.issue(self.number)
        if issue.confidential:
            raise PreflightRefused(
                f"{issue.named} is confidential, and a branch and its record are not",
                "build it with --issue, where nothing is pushed",
            )
        sent = self.event.issue
        if sent is not None and not self.board.is_same_text(sent, issue):
            raise PreflightRefused(
                f"{issue.named} was edited after it was asked for",
                "read it again, and ask for it again",
            )
        return issue

    def _planned(self, issue: Issue) -> Outcome:
        """Plan the issue as it is now, after its plan so far; show the plan and its questions."""
        if self.plan is not None and self.record.state.issue_sha256 == issue.sha256:
            if not self._take_answers():
                if not (self.record.state.comment and self.record.state.shown):
                    return self._shown("planned")  # it could not be shown when it was made
                return self._end("planned already", "the plan is of the issue as it is")
        else:
            self._take_issue(issue)
            self._take_answers()
        return self._replanned(shown=False) or self._shown("planned")

    def _take_issue(self, issue: Issue) -> None:
        self.pending["left_out"] = issue_specs.write_spec(self.folder, issue, self.console)
        self.pending["issue_sha256"] = issue.sha256

    def _answered(self) -> Outcome:
        if self.plan is None:
            return self._end("nothing to do", "there is no plan yet that asks anything")
        if not self._take_answers():
            if not self.record.state.shown:
                return self._shown("answered")
            return self._end("nothing to do", "no answer is new")
        return self._replanned(shown=False) or self._shown("answered")

    def _built(self) -> Outcome:
        issue = self._issue()
        if self.plan is not None and self.record.state.issue_sha256 != issue.sha256:
            raise PreflightRefused(
                f"{issue.named} was edited after its plan was shown",
                "`/llmch plan` plans it as it is now; then build that",
            )
        if not self.record.state.shown:
            raise PreflightRefused(
                f"the plan of {issue.named} could not be shown when it was made",
                "`/llmch plan` shows it; then build that",
            )
        if self.plan is None:
            self._take_issue(issue)
        if (self._take_answers() or self.plan is None) and (failed := self._replanned()):
            return failed
        outcome = self._run()
        self._post(RunComment(outcome.document))
        return self._end("built", "", outcome)

    def _reviewed(self) -> Outcome:
        remarks = [each for each in self._remarks() if each.text]
        if self.plan is None:
            raise PreflightRefused(
                f"nothing is on record of issue {self.number}", "its plan is made by `/llmch plan`"
            )
        known, due = {each.id for each in self.record.state.remarks}, self.record.state.due
        new = [each for each in remarks if each.id not in known]
        wanted = [each for each in remarks if each in new or each.id in due]
        if not wanted:
            return self._end("nothing to do", "the review asks for nothing that is new")
        if new:
            self.pending["remarks"] = (*self.record.state.remarks, *new)
            self.pending["due"] = (*due, *(each.id for each in new))
            if failed := self._replanned():
                return failed
        outcome = self._run()
        self._reply(wanted, outcome.document)
        self.pending["due"] = ()
        return self._end("carried out the review", "", outcome)

    def _remarks(self) -> Iterator[KeptRemark]:
        """Yield what a review asks for: its own words, and those on lines, of people who may."""
        heard = self.heard
        assert heard is not None, "a review was read"
        request, review = self.event.request, self.event.review
        said, sent = [heard], ""
        if review and self.board.forge is not GITLAB:
            of_lines = [*self.board.comments_of_review(request, review)]
            is_whole = heard.id == review
            sent = (heard if is_whole else self.board.review(request, review)).created
            # The review's own words ask for something only where it says so itself.
            is_own = is_whole and heard.state == "changes_requested"
            is_alone = not is_whole and heard.id not in {each.id for each in of_lines}
            said = [heard, *of_lines] if is_own or is_alone else of_lines
        for each in said:
            if each.replies_to or each.is_bot or OWN_MARK in each.body:
                continue
            if not self._may(each):
                self.console(Warned(f"comment {each.id} is left out: its author may not ask"))
                continue
            if each.id != heard.id and _is_after(each.updated, sent):
                self.console(Warned(f"comment {each.id} is left out: it was edited since"))
                continue
            text = remark_line(each.body)
            if len(text) > _LONGEST_REMARK:
                self.console(Warned(f"comment {each.id} is cut at {_LONGEST_REMARK:,} characters"))
            yield KeptRemark(
                id=f"RC-{each.id}", text=text[:_LONGEST_REMARK], place=place_of(each),
                sha256=each.sha256, thread=each.thread, on_line=bool(each.path),
            )  # fmt: skip

    def _take_answers(self) -> bool:
        """Write down the answers in comments of people who may; say whether they are others now.

        A comment that was edited or deleted after it was taken counts no more. Raises
        `PreflightRefused` where a build would find that out: nobody has seen the plan without it.
        """
        asked = {each.id: each.text for each in self._assumptions() if each.kind != "assumption"}
        before = {each.id: each for each in read_answers(self.spec)[0]}
        known = self.record.state.answered
        if not asked and not known:
            return False
        asked = {each.id: each.question for each in before.values()} | asked
        given: dict[str, SpecAnswer] = {}
        answered: dict[str, str] = {}
        for each in self._comments():
            is_known = known.get(str(each.id)) == each.sha256
            found = {name: text for name, text in parse_given(each.body).items() if name in asked}
            if not found or each.is_bot or OWN_MARK in each.body:
                continue
            if not is_known and (why := self._why_not(each)):
                self.console(Warned(f"comment {each.id} is left out: {why}"))
                continue
            if not is_known and any(len(text) > MAX_SAID for text in found.values()):
                self.console(Warned(f"an answer in comment {each.id} is cut at {MAX_SAID}"))
            answered[str(each.id)] = each.sha256
            given |= {
                name: SpecAnswer(asked[name], text[:MAX_SAID]) for name, text in found.items()
            }
        lost = known.keys() - answered.keys()
        if lost:
            self._leave_out(lost)
            answers_path(self.spec).unlink(missing_ok=True)
        else:
            given = {name: each for name, each in given.items() if each != before.get(name)}
        if not given and not lost:
            return False
        if given:
            write_answers(self.spec, given.values())
        self.pending["answered"] = answered
        return True

    def _comments(self) -> Iterator[Comment]:
        """Yield the comments of the issue, and that of the event, which a list may not have yet."""
        heard = self.heard if self.event.wish is not Wish.REVIEW else None
        for each in self.board.comments(self.number):
            heard = None if heard is not None and heard.id == each.id else heard
            yield each
        if heard is not None:
            yield heard

    def _leave_out(self, lost: Iterable[str]) -> None:
        named = ", ".join(sorted(lost, key=int))
        if self.event.wish is Wish.BUILD:
            raise PreflightRefused(
                f"an answer was edited or deleted after it was taken (comment {named})",
                "answer in a new comment, or plan without it by `/llmch plan`; then build that",
            )
        self.console(
            Warned(f"comment {named} is left out: it was edited or deleted after it was taken")
        )

    def _why_not(self, comment: Comment) -> str:
        if comment.updated != comment.created:
            return "it was edited after it was written"
        if comment.is_internal:
            return INTERNAL
        return "" if self._may(comment) else "its author may not answer"

    def _assumptions(self) -> Sequence[Assumption]:
        found = read_manifest(self.plan) if self.plan is not None else None
        return found.facts.assumptions if found is not None and found.facts is not None else ()

    def _replanned(self, *, shown: bool = True) -> Outcome | None:
        """Make the plan for the specification, answers and remarks as they are now.

        Return the outcome where there is no valid one. The plan so far then stays that of the issue
        as it was, but for remarks, which are in the next plan. A plan that has to be shown before
        anybody may build it is on record as not `shown`.
        """
        base = self.spec.read_text("utf-8")
        state = self.record.state.model_copy(update=self.pending)
        remarks = tuple(Remark(each.id, each.text, each.place) for each in state.remarks)
        write_text(self.spec, with_remarks(base, remarks))
        try:
            result = self.maker.plan(self.spec, self.plan, self.branch)
        finally:
            write_text(self.spec, base)
        if result.error is not None:
            raise result.error
        if result.output_dir is None:
            document = PlanDocument(result)
            self._post(document)
            self.pending = {k: each for k, each in self.pending.items() if k == "remarks"}
            return self._end("made no valid plan", "", Outcome(document, ExitCode.INVALID))
        self.plan = result.output_dir
        self._move({**self.pending, "shown": shown}, self.spec, self.plan)
        self.pending = {}
        return None

    def _run(self) -> Outcome:
        assert self.plan is not None, "there is one by now"
        outcome = self.maker.run(self.plan, self.branch, self.number)
        if isinstance(outcome.document, BatchDocument) and outcome.document.pull_request:
            self.pending["request"] = outcome.document.pull_request.url
        return outcome

    def _fetch_branch(self) -> None:
        """Have the branch here as the remote has it, unless this repository has more of it."""
        ref = f"refs/heads/{self.branch}"
        there = refs.list_refs(self.git, REMOTE, ref).get(ref, "")
        here = refs.tip_of_branch(self.git, self.branch)
        if not there or there == here:
            return
        refs.fetch_refs(self.git, REMOTE, [ref])
        if not here or commits.is_ancestor(self.git, here, there):
            refs.move(self.git, ref, there, here or refs.NO_COMMIT, "llmch: as the remote has it")

    def _move(
        self, changes: Mapping[str, object], spec: Path | None = None, plan: Path | None = None
    ) -> None:
        state = self.record.state.model_copy(update=changes)
        self.record = self.record.moved(state, spec, plan)

    def _end(self, did: str, why: str, outcome: Outcome | None = None) -> Outcome:
        """Record that the event was dealt with, and return the answer."""
        done = [*self.record.state.done.items(), (self.event.key, why or did)]
        self._move({**self.pending, "done": dict(done[-_MOST_DONE:]), "claim": None})
        made = outcome.document if outcome is not None else None
        document = EventDocument(
            self.event.key, did, why, self.number, self.record.state.comment, made
        )
        return Outcome(document, outcome.exit_code if outcome is not None else ExitCode.OK)

    def _let_go(self) -> None:
        if self.is_ours:
            self._move({"claim": None})

    def _tell_error(self, error: LlmchError) -> None:
        """Say in a comment why the event came to nothing, once, and give the issue free."""
        mark, told = text_sha256(self.event.key, error.message)[:16], self.record.state.told
        if mark not in told:
            # Whoever may not comment is told by the job; the issue is free for the next one.
            with contextlib.suppress(LlmchError):
                self._post(ErrorComment(error))
                told = (*told, mark)[-_MOST_DONE:]
        if self.is_ours:
            self._move({"claim": None, "told": told})

    def _shown(self, did: str) -> Outcome:
        """Show the plan in the one comment that does, and end."""
        assert self.plan is not None, "there is one by now"
        preview = preview_document.read_preview(
            self.plan, self.git.folder, self.branch, self.settings
        )
        text = comment_text(
            PlanComment(preview, tuple(self._open_questions()), self.record.state.left_out)
        )
        known = self.record.state.comment
        try:
            if known:
                self.board.edit(self.number, known, text)
        except issue_calls.Gone:
            known = 0
        if not known:
            self.pending["comment"] = self.board.post(self.number, text)
        self.pending["shown"] = True
        return self._end(did, "", Outcome(preview_document.PreviewDocument(preview)))

    def _open_questions(self) -> Iterator[Assumption]:
        known = {each.id for each in read_answers(self.spec)[0]}
        asked = (e for e in self._assumptions() if e.kind != "assumption" and e.id not in known)
        yield from sorted(asked, key=lambda each: each.kind)

    def _post(self, document: Document) -> None:
        number, on_request = self.number, self.event.wish is Wish.REVIEW
        number = self.event.request if on_request else number
        self.board.post(number, comment_text(document), on_request=on_request)

    def _reply(self, remarks: Sequence[KeptRemark], document: Document) -> None:
        """Answer each remark with the commits that were made for it."""
        text = comment_text(ReplyComment(document))
        for each in remarks:
            comment = Comment(int(each.id.removeprefix("RC-")), "", thread=each.thread)
            if each.on_line:
                self.board.reply(self.event.request, comment, text)
        if not any(each.on_line for each in remarks):
            self._post(ReplyComment(document))


_MOST_DONE: Final = 500
_LONGEST_REMARK: Final = 4_000
_WHILE_SENT: Final = timedelta(seconds=5)
"""Comments of a review begin as drafts: to send it changes them, in the same second or the next."""


def _is_after(changed: str, sent: str) -> bool:
    """Say whether a comment was changed after the review that it is in was sent."""
    try:
        return datetime.fromisoformat(changed) > datetime.fromisoformat(sent) + _WHILE_SENT
    except (ValueError, TypeError):
        return changed != sent
