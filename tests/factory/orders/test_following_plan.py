"""The orders of a plan that follows another one, as the factory reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.orders.read_orders import decide_exempt, read_order, read_workdir
from shared.errors import InvalidInput, PreflightRefused
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


BEFORE = manifest([order(1, verify_exempt=True)])["provenance"]["manifest_sha256"]


@pytest.mark.parametrize("lineage", [(BEFORE,), (BEFORE, "b" * 64)], ids=["the last", "an older"])
def test_a_plan_vouches_for_the_orders_of_the_plans_that_it_follows(
    tmp_path: Path, lineage: tuple[str, ...]
) -> None:
    loaded = read_order(write_plan(tmp_path / "plan", following(*lineage)) / "WO-01.json")
    assert decide_exempt(loaded, allow=False)[0]


@pytest.mark.parametrize("lineage", [(), ("b" * 64,)], ids=["none", "another"])
def test_a_plan_does_not_vouch_for_the_orders_of_other_plans(
    tmp_path: Path, lineage: tuple[str, ...]
) -> None:
    loaded = read_order(write_plan(tmp_path / "plan", following(*lineage)) / "WO-01.json")
    assert loaded.plan is not None, "the hash is true"
    with pytest.raises(PreflightRefused, match="no manifest beside it vouches"):
        decide_exempt(loaded, allow=False)


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
