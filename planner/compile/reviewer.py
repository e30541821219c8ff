"""Asks a second model to review a valid plan, and decides which of its claims count.

A reviewer may be wrong or talk nonsense. So a claim counts only where it names an order, quotes
something that really stands in that order, and gives a command word for word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from planner.plan.plan import Draft, Plan
from planner.prompts.template import render_review
from planner.replan.answer import Answer
from planner.replan.prompt import render_difference, render_own
from shared.files.strict_json import JsonProblem, JsonValue, parse_json
from shared.llm.json_in_reply import ReplyMalformed, extract_json_array, extract_json_object

MAX_ROUNDS: Final = 2
# A plan with more contradictions than this shows the same misunderstanding over and over.
MAX_CLAIMS: Final = 30
MAX_CLAIM_CHARACTERS: Final = 600
# Nearly every order contains shorter quotes, so they prove nothing.
MIN_EVIDENCE_CHARACTERS: Final = 8


@dataclass(frozen=True, slots=True)
class Claim:
    """Represent a fault that a reviewer claims: the order, its command, and the evidence."""

    work_order: str
    command: str | None
    claim: str
    evidence: str

    def render(self) -> str:
        """Return the claim on one line."""
        where = f"{self.work_order}, command {self.command}" if self.command else self.work_order
        return " ".join(f"{where}: {self.claim} (evidence: {self.evidence})".split())


@dataclass(frozen=True, slots=True)
class Dismissed:
    """Represent a claim that does not count: the claim as given, and the reason."""

    claim: JsonValue
    reason: str


@dataclass(frozen=True, slots=True)
class Review:
    """Hold the outcome of one round of review.

    `failure` says why the reply could not be used; it is empty where the reply could be used.
    """

    claims: tuple[Claim, ...] = ()
    dismissed: tuple[Dismissed, ...] = ()
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document of `reviewer_errors.json`."""
        return {
            "failure": self.failure or None,
            "claims": [asdict(each) for each in self.claims],
            "dismissed": [asdict(each) for each in self.dismissed],
        }


def review_prompt(spec_text: str, plan: Plan, answer: Answer | None = None) -> str:
    """Return the reviewer's prompt: the spec, the plan, and the form of a claim.

    Where the plan follows another one, both are cut down to what the `answer` changes.
    """
    if answer is not None:
        return render_review(render_difference(answer.task), render_own(plan, answer))
    orders: list[JsonValue] = [dict(draft.raw) for draft in plan.drafts]
    shown = {"system_overview": list(plan.overview), "work_orders": orders}
    return render_review(spec_text, json.dumps(shown, indent=1, ensure_ascii=False))


def read_review(text: str, plan: Plan, answer: Answer | None = None) -> Review:
    """Return the review in a reviewer's reply: which claims count for `plan`. Never raises.

    Where the plan follows another one, only claims on orders of the `answer` count.

    The list of findings may be in an object, as the prompt asks, or may be the whole reply: the
    prompt says that `[]` is a good answer.
    """
    if answer is not None:
        own = answer.own
        drafts = (each for each in plan.drafts if each.position in own)
        plan = replace(plan, drafts=tuple(drafts))
    review = _read_object(text, plan)
    if not review.failure:
        return review
    return _read_array(text, plan) or review


def _read_object(text: str, plan: Plan) -> Review:
    try:
        document = parse_json(extract_json_object(text))
    except ReplyMalformed as problem:
        return Review(failure=problem.reason)
    except JsonProblem as problem:
        return Review(failure=str(problem))
    match document:
        case {"findings": [*found]}:
            return _sifted(found, plan)
        case _:
            return Review(failure="the reply has no list of findings")


def _read_array(text: str, plan: Plan) -> Review | None:
    """Return the review in a reply that is the list itself; `None` where the reply has no list."""
    try:
        document = parse_json(extract_json_array(text))
    except (ReplyMalformed, JsonProblem):
        return None
    return _sifted(document, plan) if isinstance(document, list) else None


def _sifted(found: list[JsonValue], plan: Plan) -> Review:
    counted: dict[Claim, None] = {}
    dismissed: list[Dismissed] = []
    for entry in found[:MAX_CLAIMS]:
        claim = parse_claim(entry)
        reason = "is not of the form asked for" if claim is None else dismissal(claim, plan)
        if claim is not None and reason is None:
            counted[claim] = None
        else:
            dismissed.append(Dismissed(entry, reason or ""))
    beyond = f"comes after the first {MAX_CLAIMS} claims"
    dismissed += [Dismissed(each, beyond) for each in found[MAX_CLAIMS:][:MAX_CLAIMS]]
    return Review(tuple(counted), tuple(dismissed))


def parse_claim(entry: JsonValue) -> Claim | None:
    """Return a reviewer's finding as a claim; `None` where it does not have the form of one."""
    match entry:
        case {
            "work_order": str(order),
            "claim": str(claim),
            "evidence": str(evidence),
            **rest,
        } if claim.strip():
            command = rest.get("command")
            if command is None or isinstance(command, str):
                return Claim(order, command or None, claim[:MAX_CLAIM_CHARACTERS], evidence)
    return None


def dismissal(claim: Claim, plan: Plan) -> str | None:
    """Return why a claim does not count; `None` where it does."""
    draft = next((each for each in plan.drafts if each.label == claim.work_order), None)
    if draft is None:
        return "names an order that the plan does not have"
    if claim.command is not None and claim.command not in dict(draft.commands()).values():
        return "names a command that the order does not have"
    quote = _one_line(claim.evidence)
    if len(quote) < MIN_EVIDENCE_CHARACTERS:
        return f"quotes fewer than {MIN_EVIDENCE_CHARACTERS} characters"
    if not any(quote in _one_line(text) for text in _texts(draft)):
        return "quotes a text that is not in the order"
    return None


def _texts(draft: Draft) -> Iterator[str]:
    """Yield the texts that can be quoted from an order: its JSON, and each text in it."""
    yield json.dumps(draft.raw, ensure_ascii=False)
    yield json.dumps(draft.raw, indent=1, ensure_ascii=False)
    pending: list[JsonValue] = [dict(draft.raw)]
    while pending:
        match pending.pop():
            case str(text):
                yield text
            case list(entries):
                pending.extend(entries)
            case dict(fields):
                pending.extend(fields.values())
            case _:
                pass


def _one_line(text: str) -> str:
    return " ".join(text.split())
