"""Turns a valid plan into its manifest: exemptions, origin, hash. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planner.requirements import Requirement
from shared.hashing import canonical_json, manifest_sha256, sha256_bytes
from shared.schemas import SCHEMA_VERSION, VerifyContract, WorkOrder


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
    digest = manifest_sha256(document)
    for provenance in _provenances(document):
        provenance["manifest_sha256"] = digest
    return document


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


def _provenances(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [document["provenance"], *(order["provenance"] for order in document["work_orders"])]
