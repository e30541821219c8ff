"""The next plan, from a changed specification to a folder; only the model is scripted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.replan.read import read_predecessor
from planner.run import PlanResult
from shared.errors import InvalidInput
from shared.plan_folder.read import StoredManifest
from shared.work_order.hashing import manifest_sha256
from tests.harness import commit_all, git
from tests.planner.planning import Planner
from tests.planner.replanning import spec_file, stored_plan, writing

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

    def replan(self, texts: dict[str, str], *replies: Any, **options: Any) -> PlanResult:
        follows = read_predecessor(self.folder, ["WO-01"])
        spec = spec_file(self.planner.scratch, texts)
        return self.planner.plan(*replies, spec=spec, repo=self.repo, follows=follows, **options)


@pytest.fixture
def story(planner: Planner) -> Story:
    return Story(planner)


def manifest_of(result: PlanResult) -> Any:
    assert result.output_dir is not None, result.report.render()
    return json.loads((result.output_dir / "WORK_ORDERS_MANIFEST.json").read_text())


def test_one_change_asks_for_one_order_and_leaves_the_others_as_they_are(story: Story) -> None:
    after = BEFORE | {"R1": "Words have six letters."}
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


def test_landed_orders_without_their_repo_are_refused(story: Story, tmp_path: Path) -> None:
    follows = read_predecessor(story.folder, ["WO-01"])
    spec = spec_file(tmp_path, {"R1": "New."})
    with pytest.raises(InvalidInput, match="no repo was named"):
        story.planner.plan(spec=spec, follows=follows)
