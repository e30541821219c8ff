from __future__ import annotations

from typing import Any

from planner.plan.parse_plan import Plan, parse_plan
from planner.plan.plan_edits import left_out, render_left_out, skip_bootstrap
from planner.rules.judge_plan import judge
from shared.files.paths import VERIFY_SCRIPT
from tests.planner.plans import creating, exists, order, plan, requiring

REPO = [VERIFY_SCRIPT]


def skipped(*orders: Any, repo: list[str] = REPO) -> Plan:
    return skip_bootstrap(parse_plan(plan(*orders)), repo)


def ids(subject: Plan) -> list[object]:
    return [draft.raw.get("id") for draft in subject.drafts]


def test_an_order_that_creates_what_is_there_is_dropped_and_the_rest_renumbered() -> None:
    subject = skipped(creating(1, VERIFY_SCRIPT), order(2), order(3))
    assert ids(subject) == ["WO-01", "WO-02"]
    assert [draft.order.id for draft in subject.drafts if draft.order] == ["WO-01", "WO-02"]
    assert [(draft.position, draft.label) for draft in subject.drafts] == [
        (1, "WO-01"),
        (2, "WO-02"),
    ]
    assert judge(subject, REPO).findings == ()


def test_without_the_script_in_the_repo_nothing_changes() -> None:
    assert ids(skipped(creating(1, VERIFY_SCRIPT), order(2), repo=["a"])) == ["WO-01", "WO-02"]


def test_a_plan_that_creates_no_script_is_left_alone() -> None:
    document = plan(order(1), order(3))
    assert skip_bootstrap(parse_plan(document), REPO) == parse_plan(document)


def test_an_order_that_changes_the_script_is_kept() -> None:
    changing = creating(1, VERIFY_SCRIPT, preconditions=exists(VERIFY_SCRIPT))
    assert ids(skipped(changing, order(2))) == ["WO-01", "WO-02"]


def test_an_order_that_is_shown_the_script_changes_it_and_is_kept() -> None:
    changing = creating(1, VERIFY_SCRIPT, context_files=[VERIFY_SCRIPT])
    assert ids(skipped(changing, order(2))) == ["WO-01", "WO-02"]


def test_what_is_left_out_is_told_with_the_files_that_go_with_it() -> None:
    both = creating(1, VERIFY_SCRIPT, "tests/test_a.py", title="Verification")
    (draft,) = left_out(parse_plan(plan(both, order(2))), REPO)
    assert render_left_out(draft) == (
        "WO-01 (Verification) is left out: it creates scripts/verify.sh, which the repo has; "
        "these files are not written either: tests/test_a.py"
    )


def test_ids_in_dependencies_move_along_and_those_of_dropped_orders_go() -> None:
    subject = skipped(
        order(1),
        creating(2, "./scripts/verify.sh"),
        order(3, depends_on=["WO-01", "WO-02"]),
        order(4, depends_on=["WO-03", "WO-99", "else", 7]),
    )
    assert ids(subject) == ["WO-01", "WO-02", "WO-03"]
    assert [draft.raw.get("depends_on") for draft in subject.drafts] == [
        None,
        ["WO-01"],
        ["WO-02", "WO-98", "else", 7],
    ]


def test_a_fault_in_the_numbering_stays_to_be_found() -> None:
    subject = skipped(creating(1, VERIFY_SCRIPT), order(2), order(4), order(id="WO-x"), 5, {})
    assert ids(subject) == ["WO-01", "WO-03", "WO-x", None, None]
    codes = [each.code for each in judge(subject, REPO).findings]
    assert codes.count("E001") == 2


def test_a_dropped_order_without_a_readable_id_counts_by_its_place() -> None:
    subject = skipped(creating(1, VERIFY_SCRIPT, id="first"), order(2), order(3))
    assert ids(subject) == ["WO-01", "WO-02"]


def test_the_document_is_the_one_that_is_judged() -> None:
    subject = skipped(creating(1, VERIFY_SCRIPT), order(2))
    assert parse_plan(subject.document) == subject


def test_a_plan_of_nothing_else_says_so() -> None:
    subject = skipped(creating(1, VERIFY_SCRIPT))
    [finding] = judge(subject, REPO).findings
    assert finding.code == "E000"
    assert "the repo already has scripts/verify.sh" in finding.message


# A repo that is verified without the script


def test_an_order_for_the_script_alone_is_left_out_with_its_contract() -> None:
    document = plan(creating(1, VERIFY_SCRIPT), order(2), verify_contract=requiring(VERIFY_SCRIPT))
    subject = skip_bootstrap(parse_plan(document), ["package.json"], verified=True)
    assert ids(subject) == ["WO-01"]
    assert subject.contract is None
    assert judge(subject, ["package.json"]).findings == ()


def test_an_order_that_writes_more_than_the_script_is_kept() -> None:
    document = plan(creating(1, VERIFY_SCRIPT, "a.py"), verify_contract=requiring(VERIFY_SCRIPT))
    subject = skip_bootstrap(parse_plan(document), ["package.json"], verified=True)
    assert ids(subject) == ["WO-01"]
    assert subject.contract is not None


def test_an_order_that_is_not_needed_is_named() -> None:
    (draft,) = left_out(parse_plan(plan(creating(1, VERIFY_SCRIPT))), [], verified=True)
    assert "scripts/verify.sh, the repo is verified without it" in render_left_out(
        draft, verified=True
    )


def test_a_plan_of_nothing_but_the_script_has_no_order_left() -> None:
    subject = skip_bootstrap(parse_plan(plan(creating(1, VERIFY_SCRIPT))), [], verified=True)
    [finding] = judge(subject).findings
    assert "the repo is verified without scripts/verify.sh" in finding.message
