"""What is around an agent's work: the start of its sandbox, and what it left read back."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from benchmarks.measure import interleave, seconds_of
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.setting import Bench, git, make_repo, order_document
from factory.agents.agent_task import AgentTask, Collected, collect, prepare
from factory.agents.known_agents import Agent
from factory.agents.launch import Errand, agent_sandbox
from factory.orders.model_choice import AskedModel, ModelChoice, Rung
from factory.sandbox.detect import open_sandbox
from factory.sandbox.policy import Backend, Policy
from factory.workbench.leftovers import TreeWatch
from factory.workbench.pool import Workbench
from factory.workbench.supplies import Supplies
from factory.workbench.workspace import close_workspace, open_workspace
from shared.errors import SandboxUnavailable
from shared.events.events import ignore
from shared.git.client import Git
from shared.settings.settings import AgentSettings
from shared.work_order.work_order import WorkOrder

_START_MS = 50
_READ_MS = 100
_FILES = 10_000


def measure_agents(bench: Bench) -> Section:
    """Return the start over a command's, and the time until a large tree is read and put back."""
    files = 100 if bench.quick else _FILES
    repo = make_repo(bench.folder("repo") / "project", files)
    git_of = Git(repo)
    commit = git(repo, "rev-parse", "HEAD")
    root = bench.folder("workspaces") / "1" / "project"
    workspace = open_workspace(git_of, root, commit)
    policy = Policy(root, repo / ".git", workspace.private, Path(sys.executable))
    try:
        sandbox = open_sandbox(Backend.BWRAP, policy)
    except SandboxUnavailable as error:
        rows = (Row("an agent that does nothing", None, "ms", notes=error.message),)
        return Section("Agents: what is around their work", rows)
    workspace.watch = TreeWatch.of(root)
    workbench = Workbench(workspace, sandbox, policy, Supplies(()))
    task = _task(bench, workbench)
    taken = interleave(
        {
            "command": partial(seconds_of, partial(_run, workbench, task)),
            "agent": partial(seconds_of, partial(_start, task)),
            "read": partial(_read, task),
        },
        bench.rounds(11),
    )
    close_workspace(git_of, root)
    return Section(
        "Agents: what is around their work",
        (
            timed(
                "an agent that does nothing",
                taken["agent"],
                taken["command"],
                "`true` in the order's sandbox",
                Aim(factor=1, extra=_START_MS),
            ),
            timed(
                f"reading back and putting back, {files:,} files",
                taken["read"],
                aim=Aim(extra=_READ_MS),
            ),
        ),
    )


def _task(bench: Bench, workbench: Workbench) -> AgentTask:
    return AgentTask(
        order=WorkOrder.model_validate(order_document(1)),
        attempt=1,
        tree="",
        bench=workbench,
        folder=bench.folder("records"),
        shown=(),
        placed=(),
        verification=(),
        known=(),
        conventions=None,
        hint="",
        past=(),
        asked=AskedModel(0, "model", None),
        models=ModelChoice((Rung("model"),)),
        bounds=AgentSettings(),
        emit=ignore,
        is_cancelled=lambda: False,
    )


def _run(workbench: Workbench, task: AgentTask) -> None:
    ended = workbench.sandbox.run(["true"], timeout_seconds=30, log=task.folder / "true")
    assert ended.ok, ended


def _start(task: AgentTask) -> None:
    agent = Agent("true", ("true",))
    errand = Errand("", "model", (), (), 1.0, task.folder / "agent")
    beside = task.bench.workspace.private / "agent"
    with agent_sandbox(task.bench.policy, beside, agent, errand.minutes) as place:
        stay = place.run(agent, errand, lambda: "")
    assert stay.words == "ended with exit code 0", stay


def _read(task: AgentTask) -> float:
    prepare(task)
    tree = task.bench.workspace.tree
    tree.write(task.order.allowed_files[0], b"NUMBER = 1\n")
    tree.write("beside.txt", b"dropped\n")
    found: list[Collected] = []
    seconds = seconds_of(lambda: found.append(collect(task)))
    assert found.pop().dropped == ("beside.txt",)
    return seconds
