"""Computes hashes that name content: equal input has an equal hash, in every run and anywhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from shared.work_order.schemas import WorkOrder

EMPTY_SHA256: Final = hashlib.sha256(b"").hexdigest()

# These keys differ between two runs that compiled the same plan. `manifest_sha256` is one of them
# because a hash cannot cover itself.
_PROVENANCE_OF_THE_RUN = frozenset({"planner_run_id", "manifest_sha256"})

# These keys do not change the work: it is the same whoever planned it, and whether or not the rest
# of the plan exempts the order from verification.
_NOT_THE_WORK = {"provenance", "verify_exempt"}


def sha256_bytes(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: object) -> bytes:
    """Return the canonical text of a JSON value: sorted keys, no spaces, UTF-8, no NaN.

    Raises `ValueError` for a value that JSON cannot express (NaN, infinity, a lone surrogate).
    """
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def order_key(order: WorkOrder) -> str:
    """Return the hash of an order's work: all fields except `provenance` and `verify_exempt`."""
    return sha256_bytes(canonical_json(order.model_dump(mode="json", exclude=_NOT_THE_WORK)))


def manifest_sha256(document: Mapping[str, object]) -> str:
    """Return the hash of a manifest document as its file holds it.

    The run's id and the hash itself are left out of every `provenance` object. Two runs with equal
    content therefore have the same hash, and the hash can be computed from the file that holds it.
    """
    return sha256_bytes(canonical_json(_without_run(document)))


def _without_run(value: object, *, provenance: bool = False) -> object:
    match value:
        case Mapping():
            return {
                key: _without_run(each, provenance=key == "provenance")
                for key, each in value.items()
                if not (provenance and key in _PROVENANCE_OF_THE_RUN)
            }
        case list() | tuple():
            return [_without_run(each) for each in value]
        case _:
            return value
