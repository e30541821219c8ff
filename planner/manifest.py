"""Turns a valid plan into its manifest: exemptions, origin, hash. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planner.requirements import Requirement
from shared.hashing import canonical_json, manifest_sha256, sha256_bytes
from shared.schemas import SCHEMA_VERSION, VerifyContract, WorkOrder
from shared.strict_json import JsonValue

Entry = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Origin:
    """Which run made a plan, and the hash of what it was made from."""

    planner_run_id: str
    compile_hash: str


def compile_hash(*, spec: str, template: str, model: str, reasoning_effort: str | None) -> str:
    """Return the hash that names a compilation: equal inputs, equal hash.

    `spec` and `template` are the hashes of their texts.
    """
    inputs = {
        "spec": spec,
        "template": template,
        "model": model,
        "reasoning_effort": reasoning_effort,
    }
    return sha256_bytes(canonical_json(inputs))


def build_manifest(
    overview: Sequence[str],
    contract: VerifyContract | None,
    orders: Sequence[WorkOrder],
    origin: Origin,
    requirements: Sequence[Requirement] = (),
    *,
    require_coverage: bool = False,
) -> dict[str, Any]:
    """Return the manifest document, whose hash recomputes from the file it is written to.

    It lists the `requirements` that the orders are traced to, where there are any. `orders` say
    which of them are exempt from verification; those are marked as bootstrap.
    """
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "system_overview": list(overview),
        "verify_contract": contract.model_dump(mode="json") if contract else None,
        "work_orders": [_order_document(order, origin) for order in orders],
        "provenance": _provenance(origin, bootstrap=any(order.verify_exempt for order in orders)),
    }
    if requirements:
        document["requirements"] = [asdict(each) for each in requirements]
    if require_coverage:
        document["require_coverage"] = True
    return _sealed(document)


def reseal(document: Entry, exempt: Sequence[bool]) -> Entry:
    """Return a manifest as it was read, with other exemptions and with a hash that recomputes.

    `exempt` says it order by order. All else stays as it is written there; what has no provenance
    gets none.
    """
    orders = document["work_orders"]
    assert isinstance(orders, list), "`exempt` has one entry for each"
    marked = [_marked(*each) for each in zip(orders, exempt, strict=True)]
    whole = {**document, "work_orders": marked}
    return _sealed(_attesting(whole, bootstrap=any(exempt)))


def _order_document(order: WorkOrder, origin: Origin) -> dict[str, Any]:
    document = order.model_dump(mode="json", exclude={"provenance"})
    document["provenance"] = _provenance(origin, bootstrap=order.verify_exempt)
    return document


def _provenance(origin: Origin, *, bootstrap: bool) -> dict[str, Any]:
    return {
        "planner_run_id": origin.planner_run_id,
        "compile_hash": origin.compile_hash,
        "manifest_sha256": "",
        "bootstrap": bootstrap,
    }


def _marked(order: JsonValue, exempt: bool) -> JsonValue:
    if not isinstance(order, dict):
        return order
    if exempt or "verify_exempt" in order:
        order = {**order, "verify_exempt": exempt}
    return _attesting(order, bootstrap=exempt)


def _sealed(document: Entry) -> Entry:
    """Return the document with its hash in every provenance; the hash does not cover itself."""
    digest = manifest_sha256(document)
    orders = document["work_orders"]
    assert isinstance(orders, list), "a manifest has orders"
    sealed = [
        _attesting(each, manifest_sha256=digest) if isinstance(each, dict) else each
        for each in orders
    ]
    return _attesting({**document, "work_orders": sealed}, manifest_sha256=digest)


def _attesting(document: Entry, **attested: JsonValue) -> Entry:
    """Return an order or a manifest whose provenance, if it has one, says this as well."""
    provenance = document.get("provenance")
    if not isinstance(provenance, dict):
        return document
    return {**document, "provenance": {**provenance, **attested}}
