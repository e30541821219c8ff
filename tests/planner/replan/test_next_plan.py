"""The next plan, from a changed specification to a folder; only the model is scripted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from planner.plan.plan_edits import read_plan_folder
from planner.replan.predecessor import read_predecessor
from planner.rules.judge_plan import judge
from planner.run_plan import PlanResult, plan_document
from shared.errors import InvalidInput
from shared.events.events import Noted, PlanReviewed, Warned
from shared.llm.model_client import Role
from shared.work_order.parse_order import manifest_sha256
from shared.work_order.plan_folder import StoredManifest
from tests.harness import commit_all, git
from tests.planner.planning import Planner
from tests.planner.plans import exists, requiring
from tests.planner.replanning import spec_file, stored_plan, writing

SIX = {"R1": "Words have six letters."}
BEFORE = {"R1": "Words have five letters.", "R2": "A guess scores.", "R3": "A score is kept."}
ORDERS = (writing(1, "R1"), writing(2, "R2"), writing(3, "R3"))


class Story:
    """A plan of three orders, of which the first has landed on the repo."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.repo = planner.scratch / "repo"
        self.repo.mkdir()
        git(self.repo, "init", "--quiet")
        commit_all(self.repo, {"part_01.txt": "done\n", "scripts/verify.sh": "true\n"})
        self.folder = stored_plan(planner.scratch / "before", BEFORE, *ORDERS)
        self.before = json.loads((self.folder / "WORK_ORDERS_MANIFEST.json").read_text())

    def replan(
        self,
        texts: dict[str, str],
        *replies: Any,
        landed: Sequence[str] = ("WO-01",),
        **options: Any,
    ) -> PlanResult:
        follows = read_predecessor(self.folder, landed)
        spec = spec_file(self.planner.scratch, texts)
        return self.planner.plan(*replies, spec=spec, repo=self.repo, follows=follows, **options)


@pytest.fixture
def story(planner: Planner) -> Story:
    return Story(planner)


def manifest_of(result: PlanResult) -> Any:
    assert result.output_dir is not None, result.report.render()
    return json.loads((result.output_dir / "WORK_ORDERS_MANIFEST.json").read_text())


def warnings(story: Story) -> list[str]:
    return [each.message for each in story.planner.seen(Warned)]


def test_one_change_asks_for_one_order_and_leaves_the_others_as_they_are(story: Story) -> None:
    after = BEFORE | SIX
    result = story.replan(after, {"work_orders": [writing(4, "R1")]})
    document = manifest_of(result)
    assert document["work_orders"][:3] == story.before["work_orders"]
    assert [each["id"] for each in document["work_orders"]] == ["WO-01", "WO-02", "WO-03", "WO-04"]
    assert document["supersedes"] == {
        "manifest_sha256": story.before["provenance"]["manifest_sha256"],
        "earlier": [],
        "title": "Part 1",
    }
    assert [each["text"] for each in document["requirements"]] == list(after.values())
    assert document["provenance"]["manifest_sha256"] == manifest_sha256(document)
    made_by = document["work_orders"][3]["provenance"]["manifest_sha256"]
    assert made_by == document["provenance"]["manifest_sha256"]
    assert StoredManifest(document).facts is not None
    assert len(story.planner.prompts) == 1


def test_nothing_that_changed_takes_no_call_and_no_plan(story: Story) -> None:
    result = story.replan(dict(reversed(BEFORE.items())))
    assert (result.ok, result.unchanged, result.attempts) == (True, True, 0)
    assert result.output_dir == story.folder
    assert story.planner.prompts == []


def test_the_folder_asked_for_has_the_plan_also_where_nothing_changed(story: Story) -> None:
    copy = story.planner.scratch / "copy"
    result = story.replan(BEFORE, outdir=copy)
    assert (result.unchanged, result.output_dir) == (True, copy)
    assert manifest_of(result) == story.before
    assert StoredManifest(manifest_of(result)).facts is not None
    (said,) = story.planner.seen(Noted)
    assert said.message.endswith(f"no model was asked; {copy} is a copy of it")
    with pytest.raises(InvalidInput, match="already holds a plan"):
        story.replan(BEFORE, outdir=story.folder)


def test_landed_orders_without_their_repo_are_refused(story: Story, tmp_path: Path) -> None:
    follows = read_predecessor(story.folder, ["WO-01"])
    spec = spec_file(tmp_path, {"R1": "New."})
    with pytest.raises(InvalidInput, match="no repo was named"):
        story.planner.plan(spec=spec, follows=follows)


def test_a_changed_text_with_the_same_requirements_is_no_new_plan(story: Story) -> None:
    spaced = {name: f"  {text}\n" for name, text in BEFORE.items()}
    assert story.replan(spaced).unchanged
    (said,) = story.planner.seen(Noted)
    assert "no requirement of the specification has changed" in said.message


def test_a_refused_reply_goes_back_alone_with_its_findings(story: Story) -> None:
    wrong = {"work_orders": [writing(7, "R1", title="Six letters")]}
    result = story.replan(BEFORE | SIX, wrong, {"work_orders": [writing(4, "R1")]})
    assert (result.ok, result.attempts) == (True, 2)
    first, second = story.planner.prompts
    assert second.startswith(first.strip())
    revision = second.removeprefix(first.strip())
    assert "[E314] WO-07 id" in revision
    assert json.dumps(wrong["work_orders"][0]) in revision
    assert "Part 2" not in revision


def test_a_fault_with_one_remedy_is_repaired_in_the_new_order_alone(story: Story) -> None:
    new = writing(4, "R1", allowed_files=["part_04.txt", "more.txt"])
    result = story.replan(BEFORE | SIX, {"work_orders": [new]})
    orders = manifest_of(result)["work_orders"]
    assert orders[:3] == story.before["work_orders"]
    assert [each["path"] for each in orders[3]["postconditions"]] == ["part_04.txt", "more.txt"]


def test_a_repaired_reply_that_is_still_refused_is_shown_as_it_was_judged(story: Story) -> None:
    new = writing(7, "R1", allowed_files=["part_04.txt", "more.txt"])
    good = {"work_orders": [writing(4, "R1")]}
    assert story.replan(BEFORE | SIX, {"work_orders": [new]}, good).ok
    shown = story.planner.prompts[1].removeprefix(story.planner.prompts[0].strip())
    assert '"path": "more.txt"' in shown
    assert "WO-02" not in shown


def test_the_reviewer_sees_the_change_and_the_new_orders(story: Story) -> None:
    claims = [
        {"work_order": "WO-02", "command": None, "claim": "old", "evidence": "grep -q done part"},
        {"work_order": "WO-04", "command": None, "claim": "new", "evidence": "grep -q done part"},
    ]
    better = {"work_orders": [writing(4, "R1", title="Better")]}
    result = story.replan(
        BEFORE | SIX,
        {"work_orders": [writing(4, "R1")]},
        better,
        reviews=[{"findings": claims}, {"findings": []}],
    )
    assert manifest_of(result)["work_orders"][3]["title"] == "Better"
    requests = story.planner.model.requests
    prompts = [each.prompt for each in requests if each.place.role is Role.REVIEWER]
    assert "six letters" in prompts[0]
    assert prompts[0].count('"acceptance_commands"') == 1
    (first, _) = story.planner.seen(PlanReviewed)
    assert (len(first.claims), first.dismissed) == (1, 1)


def test_a_third_plan_names_both_before_it_and_keeps_their_orders(story: Story) -> None:
    gone = {name: text for name, text in BEFORE.items() if name != "R3"}
    withdrawn = [{"id": "WO-03", "reason": "The score is not kept."}]
    second = story.replan(gone | SIX, {"work_orders": [writing(4, "R1")], "withdrawn": withdrawn})
    assert second.output_dir is not None
    middle = manifest_of(second)
    assert [each["id"] for each in middle["work_orders"]] == ["WO-01", "WO-02", "WO-04"]
    story.folder = second.output_dir
    texts = gone | SIX | {"R2": "A guess scores twice."}
    changed = writing(2, "R2", title="Twice")
    third = manifest_of(story.replan(texts, {"work_orders": [changed, writing(5, "R2")]}))
    hashes = [each["provenance"]["manifest_sha256"] for each in (story.before, middle)]
    assert third["supersedes"]["earlier"] == hashes[:1]
    assert third["supersedes"]["manifest_sha256"] == hashes[1]
    assert third["withdrawn"] == withdrawn
    by_id = {each["id"]: each for each in third["work_orders"]}
    assert by_id["WO-01"] == story.before["work_orders"][0]
    assert by_id["WO-04"] == middle["work_orders"][2]
    assert by_id["WO-02"]["title"] == "Twice"
    own = third["provenance"]["manifest_sha256"]
    made_by = {name: each["provenance"]["manifest_sha256"] for name, each in by_id.items()}
    assert made_by == {"WO-01": hashes[0], "WO-02": own, "WO-04": hashes[1], "WO-05": own}


def test_a_plan_that_follows_another_one_is_valid_by_itself(story: Story) -> None:
    gone = {name: text for name, text in BEFORE.items() if name not in ("R1", "R3")}
    withdrawn = [{"id": "WO-03", "reason": "The score is not kept."}]
    result = story.replan(gone, {"work_orders": [writing(4, "R1")], "withdrawn": withdrawn})
    assert result.output_dir is not None, result.report.render()
    report = judge(read_plan_folder(result.output_dir), ["scripts/verify.sh"])
    assert report.errors == ()


def test_the_result_says_what_became_of_each_order(story: Story) -> None:
    texts = BEFORE | {"R2": "A guess scores twice."}
    result = story.replan(texts, {"work_orders": [writing(2, "R2", title="Twice")]})
    change = plan_document(result)["change"]
    assert change["orders"] == {
        "landed": ["WO-01"],
        "kept": ["WO-03"],
        "changed": ["WO-02"],
        "added": [],
        "withdrawn": [],
    }
    requirements = change["requirements"]
    assert [each["after"] for each in requirements["changed"]] == ["A guess scores twice."]
    assert (requirements["added"], requirements["removed"]) == ([], [])
    assert requirements["untouched"] == ["R1", "R3"]


def test_a_kept_order_that_does_not_fit_the_branch_is_reported_once(story: Story) -> None:
    orders = (ORDERS[0], writing(2, "R2", preconditions=exists("lost.txt")), ORDERS[2])
    story.folder = stored_plan(story.planner.scratch / "other", BEFORE, *orders)
    assert story.replan(BEFORE | SIX, {"work_orders": [writing(4, "R1")]}).ok
    assert [each for each in warnings(story) if each.startswith("WO-02 is kept and does not fit")]


def test_what_landed_is_exempt_as_it_was_and_new_orders_as_the_branch_says(story: Story) -> None:
    contract = requiring("scripts/verify.sh")
    story.folder = stored_plan(
        story.planner.scratch / "other", BEFORE, *ORDERS, verify_contract=contract
    )
    orders = manifest_of(story.replan(BEFORE | SIX, {"work_orders": [writing(4, "R1")]}))
    exempt = [each["verify_exempt"] for each in orders["work_orders"]]
    assert exempt == [True, True, True, False]


def test_the_plan_of_another_specification_is_doubted(story: Story) -> None:
    reasons = [{"id": each, "reason": "Removed."} for each in ("WO-02", "WO-03")]
    reply = {"work_orders": [writing(4, "R1", "N1")], "withdrawn": reasons}
    assert story.replan({"N1": "A clock."}, reply).ok
    (warning,) = warnings(story)
    assert f"no requirement of the plan in {story.folder}" in warning


def test_a_prompt_of_ones_own_is_not_for_changes(story: Story) -> None:
    template = story.planner.scratch / "prompt.md"
    template.write_text("Plan {{PRODUCT_SPEC}}")
    story.replan(BEFORE | SIX, {"work_orders": [writing(4, "R1")]}, template=template)
    assert warnings(story) == ["--template has no effect on a plan that follows another one"]
    assert "A product specification has changed" in story.planner.prompts[0]


def test_an_unusable_reply_is_recorded_and_the_plan_before_stays(story: Story) -> None:
    before = (story.folder / "WORK_ORDERS_MANIFEST.json").read_bytes()
    result = story.replan(BEFORE | SIX, "no JSON", max_attempts=1)
    assert (result.ok, result.output_dir, result.change) == (False, None, None)
    assert result.error is not None
    assert [each.code for each in result.report.errors] == ["E000"]
    assert (story.folder / "WORK_ORDERS_MANIFEST.json").read_bytes() == before


def test_the_next_plan_replaces_the_one_in_its_folder_where_that_is_asked_for(story: Story) -> None:
    reply = {"work_orders": [writing(4, "R1")]}
    result = story.replan(BEFORE | SIX, reply, outdir=story.folder, overwrite=True)
    assert result.output_dir == story.folder
    follows = read_predecessor(story.folder, ["WO-01"])
    assert [each.label for each in follows.plan.drafts] == ["WO-01", "WO-02", "WO-03", "WO-04"]


WHY = "one command wants `done`, and the other wants it gone"


def replan_impossible(story: Story, *replies: Any) -> PlanResult:
    follows = read_predecessor(story.folder, ["WO-01"], (), {"WO-02": WHY, "WO-01": "it landed"})
    spec = spec_file(story.planner.scratch, BEFORE)
    return story.planner.plan(*replies, spec=spec, repo=story.repo, follows=follows)


def test_an_order_that_cannot_be_done_is_planned_again_alone_with_the_reason(story: Story) -> None:
    new = writing(2, "R2", title="Part 2, without a contradiction")
    result = replan_impossible(story, {"work_orders": [new]})
    assert result.ok, result.report.render()
    assert not result.unchanged
    orders = manifest_of(result)["work_orders"]
    assert [each["title"] for each in orders] == ["Part 1", new["title"], "Part 3"]
    assert orders[0] == story.before["work_orders"][0]
    prompt = story.planner.model.requests[0].prompt
    assert f"- WO-02: {WHY}" in prompt
    assert "it landed" not in prompt
    assert "with the same id: WO-02." in prompt


def test_an_order_with_weak_tests_is_planned_again_with_the_faults_that_they_miss(
    story: Story,
) -> None:
    weak = {"WO-02": "part.py:3 `<` to `<=`\nstrength 1 of 9, and strength.min is 0.8"}
    follows = read_predecessor(story.folder, ["WO-01"], (), None, weak | {"WO-01": "it landed"})
    spec = spec_file(story.planner.scratch, BEFORE)
    new = writing(2, "R2", title="Part 2, with a test at its bound")
    result = story.planner.plan({"work_orders": [new]}, spec=spec, repo=story.repo, follows=follows)
    assert result.ok, result.report.render()
    titles = [each["title"] for each in manifest_of(result)["work_orders"]]
    assert titles == ["Part 1", new["title"], "Part 3"]
    prompt = story.planner.model.requests[0].prompt
    assert "has tests that fail on such faults" in prompt
    assert "- WO-02: part.py:3 `<` to `<=` strength 1 of 9" in prompt
    assert "it landed" not in prompt
    assert "as the executor says" not in prompt


@pytest.mark.parametrize("reply", [[], [ORDERS[1]]], ids=["nothing", "the same again"])
def test_a_reply_that_leaves_it_as_it_is_is_refused(story: Story, reply: list[Any]) -> None:
    new = writing(2, "R2", title="Part 2, without a contradiction")
    result = replan_impossible(story, {"work_orders": reply}, {"work_orders": [new]})
    assert (result.ok, result.attempts) == (True, 2)
    assert "E312" in story.planner.model.requests[1].prompt
