"""Declares the tools: what a client may ask for, and the words of the verb that answers.

A client's parameters are never options that open the sandbox, lower a demand, raise a cap or name
a server: those are the person's alone. A value of a client stands in one word with its option, or
behind `--`, so it cannot become an option itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from llmch.verbs.mcp.grant import Grant
from llmch.verbs.mcp.tool import Asked, PathText, Place, Text, Tool, Words
from llmch.verbs.verify import CLAIMS
from shared.errors import InvalidInput

_OrderId = Annotated[str, Field(pattern=r"^WO-[0-9]{2,6}$")]
_RunId = Annotated[str, Field(pattern=r"^(latest|[0-9A-Za-z]{1,26})$")]

_PLAN = "the folder of the plan, absolute or relative to the repo"
_BRANCH = "the branch that the orders land on (default: the one that run_all chooses)"


class CheckAsked(Asked):
    """Hold the parameters of `check`."""

    plan: PathText = Field(description=_PLAN)
    branch: Text | None = Field(None, description="judge the plan for the files of this branch")


class ShowAsked(Asked):
    """Hold the parameters of `show`."""

    plan: PathText = Field(description=_PLAN)
    branch: Text | None = Field(None, description=_BRANCH)
    check: bool = Field(False, description="judge the plan by all rules too")


class PlanAsked(Asked):
    """Hold the parameters of `plan`."""

    spec: PathText = Field(
        description="the specification: a file, absolute or relative to the repo"
    )
    follows: PathText | None = Field(
        None, description="a plan (its folder) of which only what the spec changes is planned anew"
    )
    branch: Text | None = Field(None, description="begin with the files of this branch")
    require_coverage: bool = Field(False, description="demand an order for each requirement")
    save_to: PathText | None = Field(
        None, description="a new folder that gets a copy of the plan; only where one is allowed"
    )


class RunAllAsked(Asked):
    """Hold the parameters of `run_all`."""

    plan: PathText = Field(description=_PLAN)
    branch: Text | None = Field(
        None, description="where commits go (default: factory/..., the same for the same plan)"
    )
    keep_going: bool = Field(
        False, description="after a failure, continue with the orders that do not need it"
    )


class StatusAsked(Asked):
    """Hold the parameters of `status`."""


class DiffAsked(Asked):
    """Hold the parameters of `diff`: an attempt at an order, or two plans."""

    order: _OrderId | None = Field(None, description="the order, as WO-01")
    attempt: int | None = Field(None, ge=1, le=999, description="its attempt (default: the last)")
    run: _RunId | None = Field(
        None, description="the run, by its id (default: the newest that made the order)"
    )
    plans: Annotated[list[PathText], Field(min_length=2, max_length=2)] | None = Field(
        None, description="the folders of two plans that are compared, in place of an order"
    )


class VerifyAsked(Asked):
    """Hold the parameters of `verify`."""

    commits: Text = Field("HEAD", description="a commit, or a range FROM..TO")
    plan: PathText | None = Field(
        None, description="the plan of the orders, where it is not on record"
    )
    rerun: bool = Field(
        False, description="run verification and acceptance again, in the sandbox, for each commit"
    )
    require: list[Literal[CLAIMS]] = Field(  # type: ignore[valid-type]  # the tuple of all claims
        default_factory=list, description="fail where one of these claims is not proven"
    )
    strict: bool = Field(False, description="require all claims")


def _check(asked: CheckAsked, at: Place) -> Words:
    yield from _valued("--branch", asked.branch)
    yield from ("--", at.plan(asked.plan))


def _show(asked: ShowAsked, at: Place) -> Words:
    yield from _valued("--branch", asked.branch)
    yield from _switched("--check", asked.check)
    yield from ("--", at.plan(asked.plan))


def _plan(asked: PlanAsked, at: Place) -> Words:
    yield f"--spec={at.spec(asked.spec)}"
    yield from _valued("--from", asked.follows and at.plan(asked.follows))
    yield from _valued("--branch", asked.branch)
    yield from _switched("--require-coverage", asked.require_coverage)
    yield from _valued("--outdir", asked.save_to and at.new_plan(asked.save_to))


def _run_all(asked: RunAllAsked, at: Place) -> Words:
    yield f"--workdir={at.plan(asked.plan)}"
    yield from _valued("--branch", asked.branch)
    yield from _switched("--keep-going", asked.keep_going)


def _status(asked: StatusAsked, at: Place) -> Words:
    yield from ()


def _diff(asked: DiffAsked, at: Place) -> Words:
    of_attempt = (asked.order, asked.attempt, asked.run)
    if asked.plans is not None:
        if any(each is not None for each in of_attempt):
            raise InvalidInput(
                "`plans` stands beside an order, attempt or run", "give either of the two"
            )
        yield from ("--", *map(at.plan, asked.plans))
        return
    if asked.order is None:
        raise InvalidInput("neither `order` nor `plans` is given", "give one of the two")
    yield "--"
    yield from (str(each) for each in (asked.run, asked.order, asked.attempt) if each is not None)


def _verify(asked: VerifyAsked, at: Place) -> Words:
    yield from _valued("--plan", asked.plan and at.plan(asked.plan))
    yield from _switched("--rerun", asked.rerun)
    yield from (f"--require={each}" for each in asked.require)
    yield from _switched("--strict", asked.strict)
    yield from ("--", asked.commits)


def _valued(option: str, value: str | None) -> Words:
    if value is not None:
        yield f"{option}={value}"


def _switched(option: str, on: bool) -> Words:
    if on:
        yield option


TOOLS = (
    Tool(
        "check",
        "Judge a plan",
        "Judge a plan by all rules, without a model. `ok` is false where an error is left; each "
        "finding has a remedy.",
        CheckAsked,
        _check,
        keys=("ok", "errors", "warnings", "findings"),
    ),
    Tool(
        "show",
        "Show what a plan will do",
        "Show what run_all would do with a plan: files, commands, requirements, costs, and what "
        "has landed. Asks no model.",
        ShowAsked,
        _show,
        keys=("plan", "branch", "orders", "counts", "problems", "refusal"),
    ),
    Tool(
        "plan",
        "Make a plan of a specification",
        "Compile a specification into a plan of work orders, with a model. Takes minutes. "
        "`output_dir` is the folder of the plan, for show, check and run_all; where `ok` is false, "
        "`findings` say what is left.",
        PlanAsked,
        _plan,
        keys=("ok", "attempts", "work_orders", "run_id", "run_dir", "findings", "usage"),
        pays=True,
        writes=True,
    ),
    Tool(
        "run-all",
        "Execute a plan",
        "Execute the work orders of a plan on one branch, with a model: every commit is verified "
        "in a sandbox before it lands. The checkout is not switched. Takes minutes to hours; after "
        "a failure, an interruption or a cancelled call, the same call goes on where it stopped.",
        RunAllAsked,
        _run_all,
        keys=("verdict", "branch", "base", "tip", "orders", "usage"),
        pays=True,
        writes=True,
    ),
    Tool(
        "status",
        "Show where the latest run stands",
        "Show where the latest run of a repo stands, also while it goes on: its orders, their "
        "attempts, failures, tokens and cost.",
        StatusAsked,
        _status,
        keys=("run_id", "state", "orders"),
    ),
    Tool(
        "diff",
        "Show what an attempt changed, or how plans differ",
        "Show the patch of an attempt at an order, also of a rejected one (`order`, `attempt`, "
        "`run`), or how two plans differ (`plans`).",
        DiffAsked,
        _diff,
        keys=(),
    ),
    Tool(
        "verify",
        "Say what of commits can be proven",
        "Say what of the claims of commits that llmch made is proven, contradicted or not provable "
        "here. Asks no model.",
        VerifyAsked,
        _verify,
        keys=("verdict", "commits", "chain", "required_and_not_proven"),
    ),
)


def tools_for(grant: Grant) -> Mapping[str, Tool]:
    """Return the tools that a client may call, by name."""
    return {each.name: each for each in TOOLS if not (grant.read_only and each.writes)}
