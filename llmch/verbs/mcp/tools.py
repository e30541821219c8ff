"""Declares the tools: what a client may ask, within its grant, and how it becomes a verb's
words.

A client's parameters are never options that open the sandbox, lower a demand, raise a cap or name
a server: those are the person's alone. A value of a client is one word with its option, or
behind `--`, so it cannot become an option itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llmch.console.line import as_unicode
from llmch.verbs.verify import CLAIMS
from shared.errors import InvalidInput
from shared.files.paths import is_git_path
from shared.llm.budget import Budget


@dataclass(frozen=True, slots=True)
class Grant:
    """Hold what the person allowed when the server was started. All paths are absolute and real.

    `budget` is for all calls together. `options` are the person's, for each verb.
    """

    repos: tuple[Path, ...]
    folders: tuple[Path, ...]
    artifacts: Path
    budget: Budget
    options: Mapping[str, tuple[str, ...]]
    read_only: bool
    cwd: Path
    environ: Mapping[str, str]

    def repo(self, name: str | None) -> Path:
        """Return the repo that a client names; without a name, the first.

        Raises `InvalidInput` for a folder that is not one of the repos.
        """
        if name is None:
            return self.repos[0]
        for each in self.repos:
            if name == as_unicode(str(each)):
                return each
        raise InvalidInput(f"repo {name!r} is not served here", f"the repos are {self._names()}")

    def readable(self, repo: Path, what: str, name: str) -> Path:
        """Return the path of a file or folder that a client names, links resolved.

        A relative path starts at `repo`. Raises `InvalidInput` for one outside of all repos,
        folders and records, or in a git folder.
        """
        path = _real(repo, name)
        root = _root_of(path, (*self.repos, *self.folders, self.artifacts))
        if root is None or is_git_path(str(path.relative_to(root))):
            raise InvalidInput(
                f"{what} {name!r} is not within what is served here",
                f"it may lie in {self._names(*self.folders, self.artifacts)}",
            )
        return path

    def writable(self, repo: Path, what: str, name: str) -> Path:
        """Return the path of a folder that a client wants written, links resolved.

        Raises `InvalidInput` for one outside of the folders, or inside a repo.
        """
        path = _real(repo, name)
        root = _root_of(path, self.folders)
        inside = _root_of(path, (*self.repos, self.artifacts))
        if root is None or inside is not None or is_git_path(str(path.relative_to(root))):
            places = ", ".join(map(str, self.folders))
            raise InvalidInput(
                f"{what} {name!r} is not in a folder where plans may be saved",
                f"it may lie in {places}, outside of the repos"
                if places
                else "leave it out: the plan is kept with the run's record, and the answer says "
                "where; `llmch mcp --folder DIR` allows a folder",
            )
        return path

    def _names(self, *more: Path) -> str:
        return ", ".join(map(str, (*self.repos, *more)))


def _real(start: Path, name: str) -> Path:
    try:
        return Path(os.path.realpath(start / name))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{name!r} cannot be a path: {error}", "give another path") from error


def _root_of(path: Path, roots: Iterable[Path]) -> Path | None:
    return next((each for each in roots if path.is_relative_to(each)), None)


_MOST_FAULTS = 5
_MOST_SHOWN = 80  # characters of a name that a client made up


# No name of a file, a branch or a commit has a control character.
Text = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]+$")]
PathText = Annotated[str, Field(min_length=1, max_length=4000, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Parameters(BaseModel):
    """Hold what is common to all tools: unknown parameters and other types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    repo: PathText | None = Field(None, description="the git repo (default: the first)")


Words = Iterator[str]


@dataclass(frozen=True, slots=True)
class CalledRepo:
    """Hold the repo of a call, and find the files that the client names."""

    grant: Grant
    repo: Path

    def plan(self, name: str) -> str:
        return str(self.grant.readable(self.repo, "plan", name))

    def spec(self, name: str) -> str:
        return str(self.grant.readable(self.repo, "spec", name))

    def new_plan(self, name: str) -> str:
        """Return a folder that a plan may be saved to."""
        return str(self.grant.writable(self.repo, "save_to", name))


@dataclass(frozen=True, slots=True)
class Tool:
    """Describe a tool: the verb that answers, its parameters, and what its document always has.

    One that `pays` may ask a model; one that `writes` may change a repo or make files.
    """

    verb: str
    title: str
    description: str
    asked: type[Parameters]
    words: Callable[[Any, CalledRepo], Words]
    keys: tuple[str, ...]
    pays: bool = False
    writes: bool = False

    @property
    def name(self) -> str:
        return self.verb.replace("-", "_")

    def input_schema(self, grant: Grant) -> dict[str, Any]:
        """Return the JSON schema of the parameters; it names the repos that there are."""
        schema = self.asked.model_json_schema()
        properties = {name: _plain(each) for name, each in schema["properties"].items()}
        properties["repo"] = {
            "type": "string",
            "enum": [as_unicode(str(each)) for each in grant.repos],
            "default": as_unicode(str(grant.repos[0])),
            "description": "the git repo",
        }
        return {
            "type": "object",
            "properties": properties,
            "required": schema.get("required", []),
            "additionalProperties": False,
        }

    def output_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the document: more keys may come, none of these goes.

        An error takes the place of the document. Many clients hold errors to the schema as well,
        and drop one that does not fit.
        """
        ways = [{"required": list(self.keys)}, {"required": ["error"]}]
        return {"type": "object", "anyOf": ways}

    def command(self, parameters: Mapping[str, Any], grant: Grant) -> tuple[Path, tuple[str, ...]]:
        """Return the repo and the verb's words. Raises `InvalidInput`, which names the faults."""
        asked = _parse(self.asked, self.name, parameters)
        place = CalledRepo(grant, grant.repo(asked.repo))
        own = tuple(self.words(asked, place))
        common = (self.verb, "--json", f"--repo={place.repo}", *grant.options[self.verb])
        return place.repo, (*common, *own)


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter as many clients need it: without a union with null."""
    described = {**schema, **schema.get("anyOf", [{}])[0]}
    left_out = {"anyOf", "title", *(["default"] if schema.get("default") is None else ())}
    return {key: value for key, value in described.items() if key not in left_out}


def _parse(kind: type[Parameters], tool: str, parameters: Mapping[str, Any]) -> Parameters:
    try:
        return kind.model_validate(parameters)
    except ValidationError as error:
        faults = [_fault(each["loc"], each["msg"], each["type"]) for each in error.errors()]
        more = "; ..." if len(faults) > _MOST_FAULTS else ""
        raise InvalidInput(
            f"{tool}: {'; '.join(faults[:_MOST_FAULTS])}{more}",
            f"its parameters are {', '.join(kind.model_fields)}",
        ) from None


def _fault(where: tuple[int | str, ...], message: str, kind: str) -> str:
    name = ".".join(str(each)[:_MOST_SHOWN] for each in where)
    return f"{name!r} is not a parameter" if kind == "extra_forbidden" else f"{name}: {message}"


_OrderId = Annotated[str, Field(pattern=r"^WO-[0-9]{2,6}$")]
_RunId = Annotated[str, Field(pattern=r"^(latest|[0-9A-Za-z]{1,26})$")]

_PLAN = "the folder of the plan, absolute or relative to the repo"
_BRANCH = "the branch that the orders land on (default: the one that run_all chooses)"


class CheckParameters(Parameters):
    plan: PathText = Field(description=_PLAN)
    branch: Text | None = Field(None, description="judge the plan for the files of this branch")


class ShowParameters(Parameters):
    plan: PathText = Field(description=_PLAN)
    branch: Text | None = Field(None, description=_BRANCH)
    check: bool = Field(False, description="judge the plan by all rules too")


class PlanParameters(Parameters):
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


class RunAllParameters(Parameters):
    plan: PathText = Field(description=_PLAN)
    branch: Text | None = Field(
        None, description="where commits go (default: factory/..., the same for the same plan)"
    )
    keep_going: bool = Field(
        False, description="after a failure, continue with the orders that do not need it"
    )


class StatusParameters(Parameters):
    """Hold the parameters of `status`."""


class DiffParameters(Parameters):
    """Hold the parameters of `diff`: an attempt at an order, or two plans."""

    order: _OrderId | None = Field(None, description="the order, as WO-01")
    attempt: int | None = Field(None, ge=1, le=999, description="its attempt (default: the last)")
    run: _RunId | None = Field(
        None, description="the run, by its id (default: the newest that made the order)"
    )
    plans: Annotated[list[PathText], Field(min_length=2, max_length=2)] | None = Field(
        None, description="the folders of two plans that are compared, in place of an order"
    )


class VerifyParameters(Parameters):
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


class DriftParameters(Parameters):
    rev: Text = Field("HEAD", description="the commit to look at")
    requirements: list[Text] = Field(
        default_factory=list, max_length=100, description="the requirements, by id (default: all)"
    )
    plan: PathText | None = Field(
        None, description="the plan of the orders, where no note has them"
    )
    strength: bool = Field(
        False, description="measure how many small faults in the landed lines the tests notice"
    )


def _check(asked: CheckParameters, at: CalledRepo) -> Words:
    yield from _valued("--branch", asked.branch)
    yield from ("--", at.plan(asked.plan))


def _show(asked: ShowParameters, at: CalledRepo) -> Words:
    yield from _valued("--branch", asked.branch)
    yield from _switched("--check", asked.check)
    yield from ("--", at.plan(asked.plan))


def _plan(asked: PlanParameters, at: CalledRepo) -> Words:
    yield f"--spec={at.spec(asked.spec)}"
    yield from _valued("--from", asked.follows and at.plan(asked.follows))
    yield from _valued("--branch", asked.branch)
    yield from _switched("--require-coverage", asked.require_coverage)
    yield from _valued("--outdir", asked.save_to and at.new_plan(asked.save_to))


def _run_all(asked: RunAllParameters, at: CalledRepo) -> Words:
    yield f"--workdir={at.plan(asked.plan)}"
    yield from _valued("--branch", asked.branch)
    yield from _switched("--keep-going", asked.keep_going)


def _status(asked: StatusParameters, at: CalledRepo) -> Words:
    yield from ()


def _diff(asked: DiffParameters, at: CalledRepo) -> Words:
    of_attempt = (asked.order, asked.attempt, asked.run)
    if asked.plans is not None:
        if any(each is not None for each in of_attempt):
            raise InvalidInput(
                "`plans` is given beside an order, attempt or run", "give either of the two"
            )
        yield from ("--", *map(at.plan, asked.plans))
        return
    if asked.order is None:
        raise InvalidInput("neither `order` nor `plans` is given", "give one of the two")
    yield "--"
    yield from (str(each) for each in (asked.run, asked.order, asked.attempt) if each is not None)


def _verify(asked: VerifyParameters, at: CalledRepo) -> Words:
    yield from _valued("--plan", asked.plan and at.plan(asked.plan))
    yield from _switched("--rerun", asked.rerun)
    yield from (f"--require={each}" for each in asked.require)
    yield from _switched("--strict", asked.strict)
    yield from ("--", asked.commits)


def _drift(asked: DriftParameters, at: CalledRepo) -> Words:
    yield from (f"--requirement={each}" for each in asked.requirements)
    yield from _valued("--plan", asked.plan and at.plan(asked.plan))
    yield from _switched("--strength", asked.strength)
    yield from ("--", asked.rev)


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
        CheckParameters,
        _check,
        keys=("ok", "errors", "warnings", "findings"),
    ),
    Tool(
        "show",
        "Show what a plan will do",
        "Show what run_all would do with a plan: files, commands, requirements, costs, and what "
        "has landed. Asks no model.",
        ShowParameters,
        _show,
        keys=("plan", "branch", "orders", "counts", "problems", "refusal"),
    ),
    Tool(
        "plan",
        "Make a plan of a specification",
        "Compile a specification into a plan of work orders, with a model. Takes minutes. "
        "`output_dir` is the folder of the plan, for show, check and run_all; where `ok` is false, "
        "`findings` say what is left.",
        PlanParameters,
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
        RunAllParameters,
        _run_all,
        keys=("verdict", "branch", "base", "tip", "orders", "usage"),
        pays=True,
        writes=True,
    ),
    Tool(
        "status",
        "Show how far the latest run is",
        "Show how far the latest run of a repo is, also while it goes on: its orders, their "
        "attempts, failures, tokens and cost.",
        StatusParameters,
        _status,
        keys=("run_id", "state", "orders"),
    ),
    Tool(
        "diff",
        "Show what an attempt changed, or how plans differ",
        "Show the patch of an attempt at an order, also of a rejected one (`order`, `attempt`, "
        "`run`), or how two plans differ (`plans`).",
        DiffParameters,
        _diff,
        keys=(),
    ),
    Tool(
        "verify",
        "Say what of commits can be proven",
        "Say what of the claims of commits that llmch made is proven, contradicted or not provable "
        "here. Asks no model.",
        VerifyParameters,
        _verify,
        keys=("verdict", "commits", "chain", "required_and_not_proven"),
    ),
    Tool(
        "drift",
        "Say which requirements still hold",
        "Say of each requirement that landed whether its tests are there, pass, and fail on code "
        "that does nothing: at any commit, whoever wrote it. Runs tests in the sandbox where "
        "something changed since the last answer. Asks no model.",
        DriftParameters,
        _drift,
        keys=("rev", "requirements", "verification", "gaps", "is_whole"),
    ),
)


def tools_for(grant: Grant) -> Mapping[str, Tool]:
    return {each.name: each for each in TOOLS if not (grant.read_only and each.writes)}
