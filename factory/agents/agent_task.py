"""Holds what an agent is given, and renders its task as a text of about a page.

The text contains nothing about the run or the machine, so that what came of it is found again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from factory.orders.documents import FileWrite, Offer, ReplyFormat
from factory.orders.model_choice import AskedModel, ModelChoice, PastAttempt
from factory.proposal.prompt import prompt_values, render_conventions
from factory.proposal.prompt_parts import render_hint, render_history
from factory.proposal.scope import FileKind
from factory.proposal.shown_code import ShownFile
from factory.workbench.pool import Workbench
from shared.events.events import Emit
from shared.files.text_sources import fill
from shared.languages.appended_tests import files_of_tests
from shared.projects.conventions import Conventions
from shared.settings.settings import AgentSettings
from shared.work_order.work_order import Interface, WorkOrder


@dataclass(frozen=True, slots=True)
class AgentTask:
    """Hold an order for an agent, on one attempt.

    The workspace of `bench` holds the baseline, whose tree is `tree`, without the files that the
    order removes. `shown` are the files as they are there, and `placed` the plan's tests. Records
    go to `folder`. `asked` is the model that its calls get.
    """

    order: WorkOrder
    attempt: int
    tree: str
    bench: Workbench
    folder: Path
    shown: tuple[ShownFile, ...]
    placed: tuple[FileWrite, ...]
    verification: tuple[str, ...]
    known: tuple[Interface, ...]
    conventions: Conventions | None
    hint: str
    past: tuple[PastAttempt, ...]
    asked: AskedModel
    models: ModelChoice
    bounds: AgentSettings
    emit: Emit
    is_cancelled: Callable[[], bool]

    @property
    def tests(self) -> tuple[FileWrite, ...]:
        """Return the tests that are in place while the agent works.

        A test in a file of code is not: it is added to what the agent makes of the file.
        """
        apart = files_of_tests(self.order)
        return tuple(each for each in self.placed if each.path in apart)

    @property
    def commands(self) -> tuple[str, ...]:
        return (*self.verification, *self.order.acceptance_commands)


CHECK: Final = "/run/llmch/check"
"""The program by which an agent runs the commands of its order as they are run afterwards."""

_TEMPLATE: Final = """\
You make one small change to the repository in the current folder. When you have ended, a program \
takes the files that you may write as you left them, runs the commands of the task on them, and \
commits them only if every command succeeds.

# Your task: {{TITLE}} ({{ID}})

{{INTENT}}
{{NOTES}}{{INTERFACES}}
After your change these commands run in the root of the repository, without a shell. Each must \
exit with 0:
{{COMMANDS}}

`sh {{CHECK}}` runs all of them as they are run then, one after the other up to the first that \
fails. There is no network. Git can be read and not written; do not commit.
{{FORBIDDEN}}
Write only {{WHICH}}; whatever else you change, make, remove or set the mode of is dropped:
{{ALLOWED}}
{{PAST}}
The repository is the tree {{TREE}} of git.
"""

_HISTORY_CHARACTERS: Final = 24_000


def render_task(task: AgentTask) -> str:
    """Return the text of a task, after the failed attempts before it."""
    order, shown = task.order, task.shown
    offer = Offer(ReplyFormat.EDITS)
    values = prompt_values(order, (), task.verification, offer, task.known)
    values |= {"ALLOWED": _allowed(task), "CHECK": CHECK, "TREE": task.tree}
    past = [f"\n{render_hint(task.hint)}\n"] if task.hint else []
    if said := render_conventions(task.conventions, ()):
        past.append(f"\n{said.rstrip()}\n")
    if task.past:
        history = render_history(task.past, shown, offer.format, _HISTORY_CHARACTERS)
        past.append("\n" + history.replace("the files above are", "the files are", 1))
    return fill(_TEMPLATE, values | {"PAST": "".join(past)})


def _allowed(task: AgentTask) -> str:
    there = {each.path for each in task.shown if each.state.kind is FileKind.FILE}
    paths = task.order.allowed_files
    return "\n".join(f"- {each}" + ("" if each in there else " (new)") for each in paths)
