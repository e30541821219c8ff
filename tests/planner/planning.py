"""Plans a spec with a scripted model: everything else is what `llmch plan` does."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.compile.inputs import PlannerModel, PlanOptions
from planner.plan.parse_plan import Plan, read_reply
from planner.rules.judge_plan import Report, judge
from planner.run_plan import PlanResult, run_plan
from shared.events.events import Event
from shared.languages.language_tools import ToolRunner
from shared.llm.stack import Mode, ModelSource
from tests.fakes import Reply, ScriptedModel

SPEC = "# Greeter\n\nSay hello to whoever is named.\n"


def judge_text(text: str, repo_files: Collection[str] = ()) -> tuple[Plan, Report]:
    """Return the plan in a model's reply, as far as there is one, and what the rules say of it."""
    plan = read_reply(text).plan
    return plan, judge(plan, repo_files)


@dataclass
class Planner:
    """A spec, a model to be scripted, and what came of the last plan.

    A plan that ends in an error leaves its events and its records here all the same.
    """

    scratch: Path
    events: list[Event] = field(default_factory=list)
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel({}))

    @property
    def spec(self) -> Path:
        return self.scratch / "spec.md"

    @property
    def artifacts(self) -> Path:
        return self.scratch / "artifacts"

    @property
    def run_folder(self) -> Path:
        """The records of the last run."""
        return max((self.artifacts / "planner").glob("*/"))

    @property
    def prompts(self) -> list[str]:
        """What the model was asked, call by call."""
        return [request.prompt for request in self.model.requests]

    def options(self, **changes: Any) -> PlanOptions:
        defaults = PlanOptions(
            spec=self.spec,
            artifacts=self.artifacts,
            model=PlannerModel("scripted", "medium", None),
            max_attempts=5,
        )
        return dataclasses.replace(defaults, **changes)

    def plan(
        self,
        *replies: Reply | dict[str, Any],
        reviews: Sequence[Reply | dict[str, Any]] = (),
        looks: Sequence[Reply | dict[str, Any]] = (),
        trial: ToolRunner | None = None,
        **options: Any,
    ) -> PlanResult:
        """Plan; `replies` are what the model says on each attempt, a document as its JSON.

        `reviews` are what a reviewer says, round by round; without any, nobody reviews. `looks` are
        what the model says once it was shown what it asked for.
        """
        if not self.spec.exists():
            self.spec.write_text(SPEC)
        if reviews:
            options = {"reviewer": PlannerModel("critic", None, None), **options}
        self.events = []
        said = {"planner": replies, "reviewer": reviews, "look": looks}
        self.model = ScriptedModel({role: _texts(each) for role, each in said.items()})
        source = ModelSource(Mode.LIVE, lambda emit: self.model)
        return run_plan(self.options(**options), source, self.events.append, None, trial)

    def text(self, path: str) -> str:
        """Return a text of the last run's records."""
        return (self.run_folder / path).read_text()

    def record(self, path: str) -> Any:
        """Return a JSON document of the last run's records."""
        return json.loads(self.text(path))

    def records(self) -> set[str]:
        """Return the names of everything the last run left."""
        root = self.run_folder
        return {str(each.relative_to(root)) for each in root.rglob("*") if each.is_file()}

    def seen(self, kind: type[Event]) -> list[Any]:
        """Return the events of one kind, in order."""
        return [each for each in self.events if isinstance(each, kind)]


def _texts(replies: Sequence[Reply | dict[str, Any]]) -> list[Reply]:
    return [json.dumps(each) if isinstance(each, dict) else each for each in replies]
