"""Applies all rules to the plans of a compilation, for one repo and with warm tools."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.compile.inputs import CompileInputs
from planner.judging.follow_up import judge_answer
from planner.judging.validation import Report, judge
from planner.plan.plan import Plan
from planner.replan.answer import Answer
from planner.replan.follow_up import FollowUp
from shared.languages.capabilities.tools import Tools


@dataclass(slots=True)
class PlanJudge:
    """Judge plans for the repo of `inputs`; `tools` stay warm from plan to plan.

    The plan that a new one follows is judged once.
    """

    inputs: CompileInputs
    tools: Tools
    _before: Report | None = field(default=None, init=False)

    def __call__(self, plan: Plan, answer: Answer | None) -> Report:
        """Return the report on a plan; `answer` is what a reply changes in the plan before."""
        if answer is None:
            return self._judge(plan, None)
        before = self.before(answer.task)
        return judge_answer(plan, answer, lambda each: self._judge(each, answer), before)

    def before(self, task: FollowUp) -> Report:
        """Return the report on the orders of the plan before that have not landed."""
        if self._before is None:
            self._before = self._judge(task.predecessor.plan, None)
        return self._before

    def _judge(self, plan: Plan, answer: Answer | None) -> Report:
        repo, task = self.inputs.repo, self.inputs.task
        return judge(
            plan,
            repo.files,
            repo.sources,
            allowed=self.inputs.allowed,
            verification=repo.verification,
            tools=self.tools,
            history=task.predecessor.landed if task is not None else (),
            answer=answer,
        )
