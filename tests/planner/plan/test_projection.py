from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.plan.file_projection import exempted_orders, project
from planner.plan.parse_plan import Plan, parse_plan
from shared.work_order.work_order import Condition
from tests.planner.plans import absent, creating, exists, order, plan, requiring

PATHS = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "./a", "d//a"])
ORDERS = st.lists(st.lists(PATHS, min_size=1, max_size=3), min_size=1, max_size=6)
REPO = st.sets(st.sampled_from(["a", "d/b", "x", "d/e/f/g"]))


def chain(promises: list[list[str]]) -> Plan:
    return parse_plan(plan(*(creating(n, *paths) for n, paths in enumerate(promises, 1))))


def states(plan: Plan, repo: set[str]) -> list[set[str]]:
    """Return the set of files before the first order and after each: the plain way to fold."""
    files = [set(repo)]
    for draft in plan.drafts:
        assert draft.order is not None
        files.append(files[-1] | {each.path for each in draft.order.postconditions})
    return files


@given(ORDERS, REPO)
def test_the_table_says_what_copied_sets_would(promises: list[list[str]], repo: set[str]) -> None:
    subject = chain(promises)
    projection = project(subject.drafts, repo)
    for position, files in enumerate(states(subject, repo)):
        for path in {"a", "b", "x", "d/a", "d/b", "d/e/a", "d/e/f/g", "d"}:
            assert projection.exists(path, position) is (path in files)
            within = any(each.startswith(f"{path}/") for each in files)
            assert projection.may_be_folder(path, position) is within


@given(ORDERS, REPO, st.lists(st.tuples(st.booleans(), PATHS), max_size=3))
def test_an_order_is_exempt_until_the_contract_is_met(
    promises: list[list[str]], repo: set[str], required: list[tuple[bool, str]]
) -> None:
    conditions = [
        {"kind": "file_exists" if there else "file_absent", "path": path}
        for there, path in required
    ]
    orders = [creating(n, *paths) for n, paths in enumerate(promises, 1)]
    subject = parse_plan(plan(*orders, verify_contract={"requires": conditions}))
    assert subject.contract is not None
    met = [
        all(
            (each.path in files) is (each.kind == "file_exists")
            for each in subject.contract.requires
        )
        for files in states(subject, repo)[1:]
    ]
    assert [each.verify_exempt for each in exempted_orders(subject, repo)] == [not m for m in met]


def exemptions(document: dict[str, Any]) -> list[bool]:
    return [each.verify_exempt for each in exempted_orders(parse_plan(document), ())]


def test_what_a_model_writes_of_exemption_is_overwritten() -> None:
    orders = [order(1, verify_exempt=True), creating(2, "v.sh"), order(3, verify_exempt=True)]
    assert exemptions(plan(*orders, verify_contract=requiring("v.sh"))) == [True, False, False]


def test_without_a_contract_or_requirements_no_order_is_exempt() -> None:
    contracts: tuple[object, ...] = (None, {}, {"requires": []}, "bash scripts/verify.sh")
    for contract in contracts:
        document = plan(order(1, verify_exempt=True), verify_contract=contract)
        assert exemptions(document) == [False]


def test_a_condition_holds_by_kind() -> None:
    projection = project(chain([["a"]]).drafts, ())
    there = Condition.model_validate(exists("a")[0])
    gone = Condition.model_validate(absent("a")[0])
    assert [projection.holds(there, 0), projection.holds(there, 1)] == [False, True]
    assert [projection.holds(gone, 0), projection.holds(gone, 1)] == [True, False]


@settings(max_examples=50)
@given(ORDERS)
def test_a_repo_listing_in_any_order_gives_the_same(promises: list[list[str]]) -> None:
    drafts = chain(promises).drafts
    assert project(drafts, ["a", "d/b"]).first == project(drafts, {"d/b", "a"}).first


def test_no_order_is_exempt_where_the_repo_is_verified_by_known_commands() -> None:
    document = plan(order(1), creating(2, "z"), verify_contract=requiring("z", "never"))
    assert exemptions(document) == [True, True]
    known = exempted_orders(parse_plan(document), (), verified=True)
    assert [each.verify_exempt for each in known] == [False, False]


REMOVALS = st.lists(st.lists(PATHS, max_size=2), min_size=6, max_size=6)


@given(ORDERS, REMOVALS, REPO)
def test_the_table_says_what_copied_sets_would_where_orders_remove_files(
    promises: list[list[str]], removals: list[list[str]], repo: set[str]
) -> None:
    orders = [
        creating(n, *paths, removed_files=removed)
        for n, (paths, removed) in enumerate(zip(promises, removals, strict=False), 1)
    ]
    subject = parse_plan(plan(*orders))
    projection = project(subject.drafts, repo)
    for position, files in enumerate(states_with_removals(subject, repo)):
        for path in {"a", "b", "x", "d/a", "d/b", "d/e/a", "d/e/f/g", "d", "d/e", "d/e/f"}:
            assert projection.exists(path, position) is (path in files)
            assert projection.may_exist(path, position) is (path in files)
            within = any(each.startswith(f"{path}/") for each in files)
            assert projection.may_be_folder(path, position) is within


def states_with_removals(subject: Plan, repo: set[str]) -> list[set[str]]:
    """Return the files before the first order and after each.

    A path that the same order or a later one provides is not removed: that is a fault.
    """
    orders = [draft.order for draft in subject.drafts if draft.order is not None]
    provided = [{path.path for path in each.postconditions} for each in orders]
    files = [set(repo)]
    for position, each in enumerate(orders):
        kept = set[str]().union(*provided[position:])
        files.append((files[-1] - ({*each.removed_files} - kept)) | provided[position])
    return files


def test_a_folder_ends_with_its_last_file_and_may_begin_again() -> None:
    orders = [
        order(1, removed_files=["pkg/a"]),
        order(2, removed_files=["pkg/b"]),
        creating(3, "pkg/c"),
    ]
    projection = project(parse_plan(plan(*orders)).drafts, ["pkg/a", "pkg/b", "z"])
    assert [projection.may_be_folder("pkg", at) for at in range(4)] == [True, True, False, True]
    assert projection.removing == (1, 2)


def test_an_order_that_breaks_the_schema_removes_what_can_be_read() -> None:
    broken = order(1, title=7, removed_files=["a", 3, "../b", "c*"])
    projection = project(parse_plan(plan(broken)).drafts, ["a", "b", "c1"])
    assert [projection.exists(path, 1) for path in ("a", "b", "c1")] == [False, True, True]
    assert projection.blind_from is None


def test_what_only_may_exist_does_not_once_it_is_removed() -> None:
    orders = [order(1, allowed_files=["a"]), order(2, removed_files=["a"])]
    projection = project(parse_plan(plan(*orders)).drafts, ())
    assert [projection.may_exist("a", at) for at in range(3)] == [False, True, False]
