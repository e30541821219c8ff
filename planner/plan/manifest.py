"""Turns a valid plan into its manifest: exemptions, origin, hash. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from planner.plan.file_projection import exempted_orders
from planner.plan.parse_plan import Plan, parse_succession
from shared.work_order.parse_order import (
    canonical_json,
    manifest_sha256,
    parse_document,
    sha256_bytes,
)
from shared.work_order.work_order import (
    MAX_ASSUMPTIONS,
    Assumption,
    BaseFile,
    Manifest,
    Provenance,
    RequirementEntry,
    WorkOrder,
    question_id,
)

if TYPE_CHECKING:
    from planner.spec.compose_spec import OpenPoint
    from planner.spec.requirements import Requirement
    from shared.files.strict_documents import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class PlanOrigin:
    """Hold the id of the run that made a plan, and the hash of the plan's inputs."""

    planner_run_id: str
    compile_hash: str


def compile_hash(
    *,
    spec: str,
    template: str,
    model: str,
    reasoning_effort: str | None,
    follows: str | None = None,
    machine: str = "",
) -> str:
    """Return the hash that identifies a compilation: equal inputs give an equal hash.

    `spec` and `template` are the hashes of their texts, and `follows` is that of the plan that the
    new one follows. `machine` describes where commands will run.
    """
    inputs = {
        "spec": spec,
        "template": template,
        "model": model,
        "reasoning_effort": reasoning_effort,
        **({"follows": follows} if follows else {}),
        **({"machine": machine} if machine else {}),
    }
    return sha256_bytes(canonical_json(inputs))


_SAID: Final = "\n\nThe specification says:\n"


def no_base(orders: Sequence[WorkOrder]) -> tuple[BaseFile, ...]:
    """Return no files: the plan is for no repo."""
    return ()


def build_manifest(
    plan: Plan,
    repo_files: Collection[str],
    origin: PlanOrigin,
    *,
    verified: bool = False,
    own: Collection[int] | None = None,
    base: Callable[[Sequence[WorkOrder]], tuple[BaseFile, ...]] = no_base,
    name: str = "",
) -> Manifest:
    """Return a valid plan's manifest, with a hash that recomputes from the manifest's file.

    The manifest lists the requirements that the orders are traced to, where there are any. An
    order is exempt from verification where a repo that holds `repo_files` cannot be verified yet
    after it; such an order is marked as bootstrap. No order is exempt where the repo is `verified`
    by known commands. `base` returns the files of the repo that the orders touch or read. In a plan
    that follows another one, `own` has the positions of the orders that are new or changed; the
    others stay as they are, with the provenance that they have. `name` is the specification's.
    """
    orders = exempted_orders(plan, repo_files, verified=verified, own=own)
    bootstrap = any(order.verify_exempt for order in orders)
    succession = plan.succession
    manifest = Manifest(
        name=name,
        system_overview=plan.overview,
        verify_contract=plan.contract,
        work_orders=tuple(
            _own(order, origin, plan.requirements) if own is None or position in own else order
            for position, order in enumerate(orders, 1)
        ),
        requirements=tuple(
            RequirementEntry(id=each.id, text=each.text, line=each.line, file=each.file)
            for each in plan.requirements
        ),
        require_coverage=plan.require_coverage,
        assumptions=plan.assumptions,
        base_files=base(orders),
        supersedes=succession.supersedes,
        withdrawn=succession.withdrawn,
        not_removed=succession.not_removed,
        provenance=_provenance(origin, bootstrap=bootstrap),
    )
    return parse_document(Manifest, _sealed(manifest.model_dump(mode="json")))


_UNREAD: Final = "It is left to whoever carries this out."


def with_open_points(plan: Plan, points: Iterable[OpenPoint]) -> Plan:
    """Return a plan whose questions include those that the specification asks itself.

    One that no order rests on is left out, as is one that is answered.
    """
    stated, known = {e.id for e in plan.assumptions}, {e.id for e in plan.requirements}
    asked = list(plan.assumptions)
    for point in points:
        about = tuple(each for each in point.requirements if each in known)
        resting = tuple(
            each.label
            for each in plan.drafts
            if each.order and not {*each.order.covers}.isdisjoint(about)
        )
        if resting and question_id(point.text) not in stated and len(asked) < MAX_ASSUMPTIONS:
            asked.append(
                Assumption(
                    kind="question",
                    text=point.text,
                    reading=_UNREAD,
                    requirements=about,
                    work_orders=resting,
                )
            )
    return replace(plan, assumptions=tuple(asked))


def reseal(document: JsonObject, exempt: Sequence[bool]) -> JsonObject:
    """Return a manifest with new exemptions and a hash that recomputes.

    `exempt` has one entry for each order. All other keys stay as they are in `document`. An order
    or manifest without provenance gets none.
    """
    orders = document["work_orders"]
    assert isinstance(orders, list), "a manifest has orders"
    marked = [_marked(*each) for each in zip(orders, exempt, strict=True)]
    whole = {**document, "work_orders": marked}
    return _sealed(_attesting(whole, bootstrap=any(exempt)))


def own_notes(notes: str) -> str:
    """Return the notes of an order without what the specification says."""
    return notes.partition(_SAID)[0]


def _own(order: WorkOrder, origin: PlanOrigin, stated: Sequence[Requirement]) -> WorkOrder:
    """Return an order with its provenance, and with what it covers in its notes.

    The executor sees no specification, so the words of a requirement come to it with the order.
    """
    notes = own_notes(order.notes or "")
    texts = [" ".join(each.text.split()) for each in stated if each.id in order.covers]
    if said := [f"- {text}" for text in texts if text not in notes]:
        notes += "\n".join((_SAID, "", *said))
    provenance = _provenance(origin, bootstrap=order.verify_exempt)
    return order.model_copy(update={"notes": notes or order.notes, "provenance": provenance})


def _provenance(origin: PlanOrigin, *, bootstrap: bool) -> Provenance:
    return Provenance(
        planner_run_id=origin.planner_run_id,
        compile_hash=origin.compile_hash,
        manifest_sha256="",
        bootstrap=bootstrap,
    )


def _marked(order: JsonValue, exempt: bool) -> JsonValue:
    if not isinstance(order, dict):
        return order
    if exempt or "verify_exempt" in order:
        order = {**order, "verify_exempt": exempt}
    return _attesting(order, bootstrap=exempt)


def _sealed(document: JsonObject) -> JsonObject:
    """Return the document with its hash in every provenance; the hash does not cover itself.

    The orders of earlier plans keep the provenance that those gave them.
    """
    digest = manifest_sha256(document)
    orders = document["work_orders"]
    assert isinstance(orders, list), "a manifest has orders"
    succession, _ = parse_succession(document)
    lineage = {*succession.lineage}
    sealed = [
        _attesting(each, manifest_sha256=digest)
        if isinstance(each, dict) and _made_by(each) not in lineage
        else each
        for each in orders
    ]
    return _attesting({**document, "work_orders": sealed}, manifest_sha256=digest)


def _made_by(order: JsonObject) -> JsonValue:
    match order:
        case {"provenance": {"manifest_sha256": str(digest)}}:
            return digest
        case _:
            return None


def _attesting(document: JsonObject, **attested: JsonValue) -> JsonObject:
    """Return an order or a manifest with `attested` added to its provenance, if it has one."""
    provenance = document.get("provenance")
    if not isinstance(provenance, dict):
        return document
    return {**document, "provenance": {**provenance, **attested}}
