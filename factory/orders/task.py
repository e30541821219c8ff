"""Defines the task that a worker gets, the result that it returns, and the caller's choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from factory.orders.documents import (
    AgentRecord,
    AttemptRecord,
    CommandFlag,
    FailureBrief,
    VerifiedBy,
)
from factory.orders.model_choice import ModelChoice
from factory.orders.order_commit import CommitTerms, OrderIdentity, describe_commit, identify
from factory.orders.read_orders import Exemption, LoadedOrder
from factory.preflight import BranchPolicy
from shared.errors import LlmchError
from shared.git.commits import CommitFacts
from shared.settings.settings import SandboxBackend, SandboxNet, SandboxSettings, Settings
from shared.work_order.work_order import WorkOrder


@dataclass(frozen=True, slots=True)
class Passed:
    """Hold a verified commit in the workspace, which is not on the branch yet.

    `summary` is what the model says of its change. `verified` is the key of the verification; it is
    empty if the commit did not pass all of it. `files` were written, and `removed` are gone.
    `stored` has the SHA-256 of those of `files` that git stores byte for byte as they were written.
    """

    commit: str
    tree: str
    files: tuple[str, ...]
    summary: str
    verified: str = ""
    removed: tuple[str, ...] = ()
    stored: Mapping[str, str] = field(default_factory=dict)

    @property
    def changed(self) -> tuple[str, ...]:
        """Return the paths that the commit touches, sorted."""
        return tuple(sorted((*self.files, *self.removed)))


@dataclass(frozen=True, slots=True)
class Failed:
    """Say that all attempts failed, or that one failed in a way that no other attempt can fix."""

    brief: FailureBrief


@dataclass(frozen=True, slots=True)
class Errored:
    """Say that the order could not be judged, because the harness or its environment failed."""

    cause: str
    error: LlmchError | None = None
    """The error that ends the whole run; `None` if the run goes on."""


Verdict = Passed | Failed | Errored


@dataclass(frozen=True, slots=True)
class OrderTask:
    """Hold an order to be made on the commit `base`, with everything its result depends on.

    Records go to `folder`.
    """

    loaded: LoadedOrder
    exemption: Exemption
    base: str
    terms: CommitTerms
    folder: Path

    @property
    def order(self) -> WorkOrder:
        return self.loaded.order

    @property
    def name(self) -> str:
        return self.order.id

    @property
    def identity(self) -> OrderIdentity:
        """Return the identity by which the order's commit is recognised later."""
        plan = self.loaded.plan
        return identify(self.order, plan.manifest_sha256 if plan else "")

    def commit_facts(self, summary: str) -> CommitFacts:
        """Return message, author and date of the order's commit; a model wrote `summary`."""
        return describe_commit(self.order, self.identity, self.terms, summary)


@dataclass(frozen=True, slots=True)
class OrderResult:
    """Hold how the attempts ended. A commit that passed is on the task's base, on no branch yet."""

    verdict: Verdict
    records: tuple[AttemptRecord, ...]
    flags: tuple[CommandFlag, ...] = ()
    verified_by: VerifiedBy | None = None
    """The commands that passed on the commit, if there is one."""

    @property
    def proof(self) -> str:
        """Return the evidence for the commit in one line; "" if there is no commit."""
        return self.verified_by.describe() if self.verified_by else ""


@dataclass(frozen=True, slots=True)
class Given:
    """Hold what somebody proposes for an order, as a reply in JSON, or why it is refused.

    `by` names where it was read from.
    """

    by: AgentRecord
    reply: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Name the commit that landed an order before, its parent, and what its statement says.

    `replies` are the hashes of the replies that the commit was made from.
    """

    commit: str
    parent: str
    summary: str = ""
    replies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Onto:
    """Hold the branch that landed orders are carried onto, and where they landed before, by id.

    `from_branch` is where they landed. Where no model is asked, an order that conflicts fails.
    """

    branch: str
    from_branch: str
    origins: Mapping[str, Origin]
    asks_model: bool = True


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Hold where to work, the models, the settings and the other choices of the caller."""

    repo: Path
    settings: Settings
    models: ModelChoice
    python: Path
    model_flags: str = field(default="", kw_only=True)
    """The options that chose the model, each after a space, for the commands that follow."""
    python_why: str = field(default="", kw_only=True)
    """Why commands get this interpreter, in a few words for the first lines of a run."""
    branch: str | None = None
    policy: BranchPolicy = BranchPolicy.EITHER
    start: str | None = None
    retry_flaky: int = 0
    install_dependencies: bool = False
    jobs: int = 1
    keep_going: bool = False
    allow_verify_exempt: bool = False
    allow_red: bool = False
    """Whether orders may begin on a base whose verification fails; then none may make more fail."""
    to_pass: tuple[str, ...] = ()
    """Tests that the orders are to make pass. A base that fails by nothing else is not refused."""
    allow_dirty: bool = False
    """Whether a run may begin from HEAD beside uncommitted changes, which it does not see."""
    allow_changed: bool = False
    """Whether orders are made though files that the plan was made for have changed since."""
    allow_lost: bool = False
    """Whether orders are made again whose commits the branch once had and then lost."""
    patience_seconds: float = 10.0
    """How long to wait, once a model's reply has arrived, for trials started beside the call.
    The default is about the time that a model takes itself; a replay must not wait longer."""
    allow_repo_filters: bool = False
    push: bool = False
    date: str = ""
    """The date of all commits, in git's form; the time at which the run begins where it is ""."""
    out: Path | None = None
    given: tuple[Given, ...] = ()
    """What is judged on the attempts, one on each, where no one is asked to propose."""
    onto: Onto | None = None
    """The branch that the orders are carried onto, where a run replays them there."""

    def carries(self, order: str) -> bool:
        """Return whether what an order did elsewhere is carried over."""
        return self.onto is not None and order in self.onto.origins

    def attempts_of(self, order: str) -> int:
        """Return how many attempts an order has: what is carried over is one more."""
        if self.onto is None:
            return self.settings.factory_attempts
        asked = self.settings.factory_attempts if self.onto.asks_model else 0
        return max(1, asked + self.carries(order))


MAX_HINT_CHARACTERS: Final = 4000
"""The limit of a hint. Every prompt of the order contains the hint, so each one pays for it."""

MAX_REASON_CHARACTERS: Final = 1000


class CommandSettings(BaseModel):
    """Hold the choices that decide how commands run: interpreter, sandbox, time, folders."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    python: Path
    install_dependencies: bool
    allow_repo_filters: bool
    timeout_seconds: float
    link: tuple[str, ...] | Literal["auto"]
    backend: SandboxBackend
    net: SandboxNet
    read: tuple[Path, ...]
    write: tuple[Path, ...]
    env: tuple[str, ...]
    path: tuple[Path, ...] = ()

    def applied_to(self, options: RunOptions) -> RunOptions:
        """Return `options` with these choices."""
        sandbox = SandboxSettings(
            backend=self.backend,
            net=self.net,
            read=self.read,
            write=self.write,
            path=self.path,
            env=self.env,
        )
        settings = replace(
            options.settings, timeout_seconds=self.timeout_seconds, link=self.link, sandbox=sandbox
        )
        return replace(
            options,
            settings=settings,
            python=self.python,
            install_dependencies=self.install_dependencies,
            allow_repo_filters=self.allow_repo_filters,
        )


def command_settings(options: RunOptions) -> CommandSettings:
    """Return how the commands of a run with these options are run."""
    settings, sandbox = options.settings, options.settings.sandbox
    return CommandSettings(
        python=options.python,
        install_dependencies=options.install_dependencies,
        allow_repo_filters=options.allow_repo_filters,
        timeout_seconds=settings.timeout_seconds,
        link=settings.link,
        backend=sandbox.backend,
        net=sandbox.net,
        read=sandbox.read,
        write=sandbox.write,
        env=sandbox.env,
        path=sandbox.path,
    )
