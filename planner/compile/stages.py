"""Says what the attempts of each stage ask for, and judges an outline. Pure but for the rules.

A plan is asked for whole, or as an outline first and then its details, in questions that begin
alike and can be asked side by side. What is refused is asked for alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from planner.compile.judge_reply import Judge, Judged, judge_reply
from planner.compile.patches import (
    NO_DETAILS,
    OUTLINED,
    SHORT,
    Ask,
    Made,
    in_short,
    is_outlined,
    orders_of,
)
from planner.plan.parse_plan import Plan, parse_plan
from planner.plan.plan_edits import completed
from planner.prompts.prompt_templates import (
    REVISION_FORM,
    WHOLE_FORM,
    Revision,
    have_room,
    render_details,
    render_outlined,
    render_revision,
)
from planner.rules.judge_plan import RULE_BY_CODE, Report
from planner.rules.rule_model import Finding
from shared.files.strict_documents import JsonObject, JsonValue, at

if TYPE_CHECKING:
    from planner.compile.inputs import CompileInputs
    from planner.compile.judge_reply import Claim
    from planner.replan.merge_plans import Answer
    from planner.repo.looks import Looks

# An order takes some 1,200 tokens of a strong model's reply, so these keep below 16,000 by half.
ORDERS_A_CALL: Final = 6
# Findings on files and interfaces that are known before any command is.
_OF_OUTLINES: Final = frozenset({"W223", "W302"})


class StageKind(Enum):
    """Say what an attempt asks for: a whole plan, an outline, or the details of an outline."""

    WHOLE = ""
    OUTLINE = "outline"
    DETAILS = "details"


@dataclass(frozen=True, slots=True)
class Stage:
    """Hold what the attempts of a stage have in common; all their prompts begin with `first`.

    Those of an outline begin with `base`, with which those of the next stage begin as well.
    `again` makes the question after a refused reply from its findings, where it has a form of its
    own.
    """

    kind: StageKind
    prompt: str
    looks: Looks
    base: str = ""
    again: Callable[[Sequence[str]], str] | None = None

    @property
    def first(self) -> str:
        """Return the prompt of the stage, with what the model has looked at so far."""
        return self.looks.below(self.prompt)

    def shared(self, attempt: int) -> int:
        """Return how much of a prompt's beginning further calls are expected to repeat.

        They do where a look is offered, the plan is made in stages, or a reply was refused.
        """
        goes_on = attempt > 1 or self.kind is not StageKind.WHOLE or self.looks.left
        return len((self.base or self.prompt).strip("\n")) if goes_on else 0


def next_asks(stage: Stage, refused: Judged, latest: Judged | None = None) -> tuple[Ask, ...]:
    """Return the questions of the attempt after the one that was `refused`.

    `latest` is the latest reply, where that could not be read. Of an outline, the orders without
    details come first. Those of a reply that was lost are asked for by halves, since it may have
    been too long.
    """
    latest = latest or refused
    if stage.again is not None:
        return (Ask(stage.again([each.message for each in latest.report.errors])),)
    orders = orders_of(refused.reply)
    if stage.kind is not StageKind.DETAILS or orders is None:
        return (Ask(_refused_prompt(stage.first, refused, latest)),)
    errors = refused.report.errors
    astray = {each.order for each in errors if each.at.parts[:1] != ("acceptance_commands",)}
    lacking = [name for name in orders if is_outlined(orders[name]) and name not in astray]
    prefix = _outlined(stage, orders)
    details = (
        Ask(render_details(prefix, part), tuple(part), is_detail=True)
        for part in _parts(lacking, latest.lost)
    )
    faulty = [name for name in dict.fromkeys(each.order for each in errors) if name not in lacking]
    named = [*_parts([each for each in faulty if each in orders], latest.lost)]
    if any(each not in orders for each in faulty):
        named.append([])
    found = refused.report.findings
    revisions = (
        _part(
            *(stage, refused, orders, part),
            [_with_remedy(each) for each in found if each.order in (part or [""])],
        )
        for part in named
    )
    return (*details, *revisions)


def _outlined(stage: Stage, orders: Mapping[str, JsonObject]) -> str:
    """Return what all questions about the details of an outline begin with."""
    return render_outlined(stage.first, _shown(orders, (), OUTLINED))


def claim_asks(stage: Stage, valid: Judged, claims: Sequence[Claim]) -> tuple[Ask, ...]:
    """Return the questions that show the model its valid plan and the reviewer's claims."""
    orders = orders_of(valid.reply)
    names = [*dict.fromkeys(each.work_order for each in claims)]

    def texts(part: Collection[str]) -> list[str]:
        return [each.render() for each in claims if each.work_order in part]

    if stage.kind is not StageKind.DETAILS or orders is None:
        return (Ask(_prompt(stage.first, valid, names, texts(names), Revision.REVIEWED)),)
    return tuple(
        _part(stage, valid, orders, part, texts(part), Revision.REVIEWED) for part in _chunks(names)
    )


def _part(
    stage: Stage,
    judged: Judged,
    orders: Mapping[str, JsonObject],
    part: Sequence[str],
    texts: Sequence[str],
    kind: Revision = Revision.REFUSED,
) -> Ask:
    """Return the question for a revision of some orders; of none, for that of the plan itself."""
    shown = _shown({name: orders[name] for name in part if name in orders}, part)
    shown += _assumptions(judged) if not part else ""
    first = _outlined(stage, orders)
    prompt = render_revision(first, shown, texts, judged.attempt, kind, form=REVISION_FORM)
    return Ask(prompt, tuple(part))


def _chunks(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the names in parts of about the same size, none above `ORDERS_A_CALL`."""
    parts = -(-len(names) // ORDERS_A_CALL)
    for index in range(parts):
        yield [*names[index * len(names) // parts : (index + 1) * len(names) // parts]]


def _parts(names: Sequence[str], lost: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the names in parts: those that were `lost` together in halves, all others in chunks."""
    gone = [[each for each in part if each in names] for part in lost]
    for part in gone:
        middle = (len(part) + 1) // 2
        yield from (half for half in (part[:middle], part[middle:]) if half)
    yield from _chunks([each for each in names if not any(each in part for part in gone)])


def _refused_prompt(first: str, refused: Judged, latest: Judged) -> str:
    """Return the prompt that shows the model what is wrong with its refused plan.

    `latest` is the latest reply. Where that could not be read, its fault comes beside the findings
    on `refused`, the plan that is revised. Findings are sorted by order and code. If they do not
    all fit, every error comes first.
    """
    reports = [refused.report] if latest is refused else [refused.report, latest.report]
    found = [each for report in reports for each in report.findings]
    texts, needed = [*map(_with_remedy, found)], 0
    if not have_room(texts):
        errors = [each for report in reports for each in report.errors]
        found = [*errors, *(each for report in reports for each in report.warnings)]
        texts, needed = [*map(_with_remedy, found)], len(errors)
    named = {each.order for each in found}
    return _prompt(first, refused, named, texts, Revision.REFUSED, needed)


def _prompt(
    first: str,
    judged: Judged,
    named: Collection[str],
    texts: Sequence[str],
    kind: Revision,
    needed: int = 0,
) -> str:
    orders = orders_of(judged.reply)
    if orders is None:
        shown, form = judged.reply, WHOLE_FORM
    else:
        shown, form = _shown(orders, named) + _assumptions(judged), REVISION_FORM
    return render_revision(first, shown, texts, judged.attempt, kind, form=form, needed=needed)


def _assumptions(judged: Judged) -> str:
    """Return the plan's assumptions as a line of JSON where a finding is about one."""
    plan = judged.plan
    if plan is None or not isinstance(plan.document, dict):
        return ""
    if not any(each.at.parts[:1] == ("assumptions",) for each in judged.report.findings):
        return ""
    shown = {"assumptions": plan.document.get("assumptions")}
    return f"\n{json.dumps(shown, ensure_ascii=False)}"


def _with_remedy(finding: Finding) -> str:
    return f"{finding.render()} Remedy: {RULE_BY_CODE[finding.code].remedy}"


def _shown(
    orders: Mapping[str, JsonObject], named: Collection[str], keys: Collection[str] = SHORT
) -> str:
    """Return the orders as JSON, one a line: those `named` whole, of the others the `keys`."""
    shown = (
        order
        if name in named and not is_outlined(order)
        else in_short(order, OUTLINED if name in named else keys)
        for name, order in orders.items()
    )
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in shown)


def judge_outlined(
    attempt: int, made: Made, inputs: CompileInputs, judge: Judge, kind: StageKind
) -> Judged:
    """Return the outcome of an attempt at an outline, or at the details of its orders.

    An order without details is judged by what the outline has; where details were asked for, that
    it has none is a finding. Orders of an outline that are too small are joined before anybody is
    asked for the details of each.
    """
    plan = parse_plan(_with_command(completed(made.reply.plan).document))
    plan = replace(plan, problems=made.reply.plan.problems, is_json=made.reply.plan.is_json)
    text = json.dumps(plan.document, ensure_ascii=False) if plan.is_json else made.reply.source

    def judge_so_far(plan: Plan, answer: Answer | None) -> Report:
        found = judge(plan, answer).findings
        return Report(tuple(each for each in found if _counts(each, plan)))

    reply, joins = replace(made.reply, plan=plan), kind is StageKind.OUTLINE
    judged = judge_reply(attempt, text, reply, inputs, judge_so_far, joins=joins)
    if kind is StageKind.OUTLINE:
        lacks = judged.plan is None or any(is_outlined(each.raw) for each in judged.plan.drafts)
        return replace(judged, is_outline=lacks)  # a model may write a whole plan all the same
    assert judged.plan is not None, "it was parsed"
    found = [*judged.report.findings, *_missing(judged.plan, made.clashes)]
    return replace(judged, report=Report(tuple(sorted(found, key=lambda each: each.position))))


def _with_command(document: JsonValue) -> JsonValue:
    entries = document.get("work_orders") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(entries, list):
        return document
    filled = [
        {**each, "acceptance_commands": each.get("acceptance_commands", [NO_DETAILS])}
        if isinstance(each, dict)
        else each
        for each in entries
    ]
    return {**document, "work_orders": filled}


def _counts(finding: Finding, plan: Plan) -> bool:
    """Say whether a finding counts where its order may have no details yet."""
    if finding.position and not is_outlined(plan.drafts[finding.position - 1].raw):
        return True
    if finding.at.parts and finding.position and finding.at.parts[0] not in OUTLINED:
        return False
    return finding.severity == "error" or finding.code in _OF_OUTLINES


def _missing(plan: Plan, clashes: Mapping[str, str]) -> Iterator[Finding]:
    for draft in plan.drafts:
        if key := clashes.get(draft.label):
            said = "is not as the outline has it, so the order's details do not count"
            yield Finding("E005", draft.position, draft.label, at(key), said)
        if is_outlined(draft.raw):
            field, said = at("acceptance_commands"), "is missing: the order has no details yet"
            yield Finding("E005", draft.position, draft.label, field, said)
