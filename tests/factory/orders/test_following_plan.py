"""The orders of a plan that follows another one, as the factory reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.orders.read_orders import read_workdir
from shared.errors import InvalidInput
from shared.work_order.parse_order import manifest_sha256
from tests.harness import Json, hashed, manifest, order, write_plan


def following(*lineage: str) -> Json:
    """Return a plan with an exempt order of another plan, which it says it follows."""
    before = manifest([order(1, verify_exempt=True)])
    kept = before["work_orders"][0]
    document = manifest([kept | {}, order(2)])
    document["work_orders"][0] = kept | {"provenance": dict(before["provenance"], bootstrap=True)}
    if lineage:
        latest = {"manifest_sha256": lineage[-1], "earlier": list(lineage[:-1]), "title": "Hello"}
        document["supersedes"] = latest
    document["provenance"]["manifest_sha256"] = manifest_sha256(document)
    return document


def test_a_number_may_be_missing_only_where_its_order_was_withdrawn(tmp_path: Path) -> None:
    withdrawn = [{"id": "WO-02", "reason": "Nobody needs it."}]
    good = manifest([order(1), order(3)]) | {"withdrawn": withdrawn}
    loaded = read_workdir(write_plan(tmp_path / "good", hashed(good)))
    assert [each.order.id for each in loaded] == ["WO-01", "WO-03"]
    gap = manifest([order(1), order(4)]) | {"withdrawn": withdrawn}
    with pytest.raises(InvalidInput, match="expected WO-03, found WO-04"):
        read_workdir(write_plan(tmp_path / "gap", hashed(gap)))


@pytest.mark.parametrize("withdrawn", ["WO-02", [3], [{"id": 2}], [{"id": "two"}], {"id": "WO-02"}])
def test_what_is_not_a_list_of_withdrawn_orders_explains_no_gap(
    tmp_path: Path, withdrawn: object
) -> None:
    document = hashed(manifest([order(1), order(3)]) | {"withdrawn": withdrawn})
    with pytest.raises(InvalidInput, match="expected WO-02, found WO-03"):
        read_workdir(write_plan(tmp_path / "plan", document))
