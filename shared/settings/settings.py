"""Every setting, declared once.

The flags of the verbs, the `LLMCH_*` variables and the table in `docs/settings.md` come from these
declarations. A new setting is one field here and its use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from shared.git.repos import Identity
from shared.llm.model_client import Provider
from shared.llm.usage import KNOWN_PRICES, KNOWN_WINDOWS, Prices, Windows
from shared.settings.declaration import (
    PACKAGE_FOLDERS,
    Flag,
    FlagGroup,
    FlagKind,
    Keys,
    keys_of,
    setting,
    table,
)
from shared.settings.setting_values import (
    MODEL,
    TOOLS,
    Choice,
    Clamped,
    DatabaseUrl,
    Links,
    Number,
    Proposer,
    WholeNumber,
    read_associations,
    read_author,
    read_branches,
    read_commands,
    read_database,
    read_dollars,
    read_effort,
    read_key_variable,
    read_ladder,
    read_links,
    read_model,
    read_packages,
    read_path,
    read_paths,
    read_prices,
    read_programs,
    read_proposer,
    read_proposers,
    read_share,
    read_subject,
    read_switch,
    read_text,
    read_url,
    read_variables,
    read_windows,
)


@dataclass(frozen=True, slots=True)
class CommitSettings:
    """Say how commits are written. `author` is `None` for the identity that git has."""

    author: Identity | None = setting(
        read_author,
        None,
        "author of commits, as `Name <mail>`",
        default_words="your git identity",
        guarded=True,
    )
    subject: str = setting(
        read_subject,
        "repository",
        "first line of commits: `repository` (as its last 20 commits have it), `conventional`, or "
        "a text with `{order}`, `{title}` or `{id}` (the digits in the branch's name)",
        default_words="`repository`",
    )


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """Say where the fleet is. The database has no flag: other users can read flags."""

    db: DatabaseUrl | None = setting(
        read_database,
        None,
        "the fleet's PostgreSQL database, as a URL; in a file of yours or the variable alone",
        default_words="none",
        guarded=True,
    )
    remote: str = setting(
        read_text,
        "origin",
        "the git remote that all of the fleet reaches, by its name in the repo",
        guarded=True,
    )
    lease_seconds: float = setting(
        Number(1, 3600),
        30.0,
        "how long a worker may be silent before others take over its work",
        guarded=True,
    )
    train: int = setting(
        WholeNumber(1, 100), 8, "orders of one plan that the fleet works on at a time", guarded=True
    )


_OUTPUT_TOKENS = WholeNumber(1, 10_000_000)
_TEMPERATURE = Number(0, 2)

# The settings of all roles mean the same.
_AN_EFFORT = "a word that the server knows"
_WHOSE_KEY = "the name of the variable that holds the server's key"
_WHOSE_WIRE = "whose wire the server speaks; `auto` follows the server, the model's name, the keys"
_HOW_RANDOM = "how random replies are; not sent to a model that refuses it"


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """Say which model answers for a role, on which server, and how it is asked.

    `None` means the server's default. Only the factory's ladder may have more than one model:
    later models answer later attempts.
    """

    ladder: tuple[str, ...]
    base_url: str | None
    reasoning_effort: str | None
    max_output_tokens: int | None
    temperature: float | None
    provider: Provider
    key_variable: str | None

    @property
    def model(self) -> str:
        return self.ladder[0]

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names of the models, without the attempts from which they are asked."""
        return tuple(re.sub(r"@\d+$", "", each.strip()) for each in self.ladder)


@dataclass(frozen=True, slots=True)
class PlannerSettings(RoleSettings):
    """Say how the model that plans is asked."""

    ladder: tuple[str, ...] = setting(
        read_model,
        ("gpt-5.2-codex",),
        "the model that plans",
        name="planner.model",
        flag=Flag("--planner-model", FlagGroup.PLANNER, "M"),
        general="model",
        costs=True,
    )
    base_url: str | None = setting(
        read_url, None, "the planner's server", default_words="the provider's", guarded=True
    )
    provider: Provider = setting(Choice(Provider), Provider.AUTO, _WHOSE_WIRE, guarded=True)
    key_variable: str | None = setting(
        read_key_variable, None, _WHOSE_KEY, default_words="the provider's", guarded=True
    )
    reasoning_effort: str | None = setting(
        read_effort,
        "medium",
        _AN_EFFORT,
        general="reasoning_effort",
        costs=True,
    )
    max_output_tokens: int | None = setting(
        _OUTPUT_TOKENS,
        64_000,
        "room for the reply, reasoning included",
        flag=Flag("--max-output-tokens", FlagGroup.PLAN_ALONE, "N"),
        costs=True,
    )
    temperature: float | None = setting(_TEMPERATURE, 0.0, _HOW_RANDOM)
    hints_tokens: int = setting(
        WholeNumber(0, 1_000_000),
        8_000,
        "how much of the repository the model is shown, in tokens of four characters",
        costs=True,
    )
    look_rounds: int = setting(
        WholeNumber(0, 20), 3, "replies that may ask to see more of a repo with code", costs=True
    )
    look_tokens: int = setting(
        WholeNumber(0, 1_000_000), 12_000, "how much the model is shown then, in all", costs=True
    )


@dataclass(frozen=True, slots=True)
class ReviewerSettings(RoleSettings):
    """Say how the model that reviews a valid plan is asked."""

    ladder: tuple[str, ...] = setting(
        read_model,
        (),
        "the model that reviews",
        name="reviewer.model",
        flag=Flag("--reviewer-model", FlagGroup.REVIEW, "M"),
        costs=True,
        like="planner.model",
        general="model",
    )
    base_url: str | None = setting(
        read_url, None, "the reviewer's server", guarded=True, like="planner.base_url"
    )
    provider: Provider = setting(
        Choice(Provider), Provider.AUTO, _WHOSE_WIRE, guarded=True, like="planner.provider"
    )
    key_variable: str | None = setting(
        read_key_variable,
        None,
        _WHOSE_KEY,
        guarded=True,
        like="planner.key_variable",
        unless=("reviewer.base_url", "reviewer.provider"),
    )
    reasoning_effort: str | None = setting(
        read_effort,
        None,
        _AN_EFFORT,
        like="planner.reasoning_effort",
        general="reasoning_effort",
        costs=True,
    )
    max_output_tokens: int | None = setting(
        _OUTPUT_TOKENS, None, "room for the review", like="planner.max_output_tokens", costs=True
    )
    temperature: float | None = setting(_TEMPERATURE, None, _HOW_RANDOM, like="planner.temperature")


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Bound what an agent, or the loop with tools, may take in one attempt."""

    minutes: float = setting(
        Number(0.1, 1440), 20.0, "how long an agent may work on one attempt", guarded=True
    )
    calls: int = setting(
        WholeNumber(1, 1000), 50, "model calls that an agent may make in one attempt", guarded=True
    )
    tokens: int = setting(
        WholeNumber(1000, 10**9),
        2_000_000,
        "tokens, input and output together, that an agent may take in one attempt",
        guarded=True,
    )


@dataclass(frozen=True, slots=True)
class FactorySettings(RoleSettings):
    """Say how the model that writes code is asked."""

    # The default differs from the planner's. The planner's model answers on the Responses API
    # only, and the factory uses Chat Completions, which every compatible server has.
    ladder: tuple[str, ...] = setting(
        read_ladder,
        ("gpt-5.2",),
        "the model that writes code; a list (`small,large`) escalates",
        name="factory.model",
        flag=Flag("--factory-model", FlagGroup.ATTEMPTS, "M", old="--llm-model"),
        general="model",
        costs=True,
    )
    base_url: str | None = setting(
        read_url, None, "the factory's server", default_words="the provider's", guarded=True
    )
    provider: Provider = setting(Choice(Provider), Provider.AUTO, _WHOSE_WIRE, guarded=True)
    key_variable: str | None = setting(
        read_key_variable, None, _WHOSE_KEY, default_words="the provider's", guarded=True
    )
    reasoning_effort: str | None = setting(
        read_effort,
        None,
        _AN_EFFORT,
        default_words="the server's",
        general="reasoning_effort",
        costs=True,
    )
    # A proposal's largest single file, 200 KB of code, is about 50,000 tokens; an order that needs
    # half of that is already too large. Reasoning counts too.
    max_output_tokens: int | None = setting(
        _OUTPUT_TOKENS, 32_000, "room for a proposal, reasoning included", costs=True
    )
    temperature: float | None = setting(
        _TEMPERATURE,
        0.0,
        _HOW_RANDOM,
        flag=Flag("--factory-temperature", FlagGroup.ATTEMPTS, "T", old="--llm-temperature"),
    )
    proposer: tuple[Proposer, ...] = setting(
        read_proposer,
        ((MODEL,),),
        "who proposes: `model`, `tools`, an agent's name, or the words of its command",
        default_words="`model`",
        guarded=True,
        flag=Flag("--proposer", FlagGroup.ATTEMPTS, "WHO"),
    )
    proposers: tuple[Proposer, ...] = setting(
        read_proposers,
        (),
        "who proposes on each attempt, the last one on all that follow",
        name="factory.ladder",
        default_words="`factory.proposer` on all",
        guarded=True,
    )
    agent: AgentSettings = table(AgentSettings)

    @property
    def agents(self) -> tuple[Proposer, ...]:
        """Return the agents that may be asked to propose."""
        proposers = dict.fromkeys(self.proposers or self.proposer)
        return tuple(each for each in proposers if each not in ((MODEL,), (TOOLS,)))

    def proposer_of(self, attempt: int) -> Proposer:
        """Return who proposes on an attempt, counted from 1."""
        proposers = self.proposers or self.proposer
        return proposers[min(attempt, len(proposers)) - 1]


class FormatChoice(StrEnum):
    """Say whether the project's own formatter formats what an order writes."""

    AUTO = "auto"
    OFF = "off"


class SandboxBackend(StrEnum):
    """Choose the sandbox that contains untrusted commands; `AUTO` takes the first that works."""

    AUTO = "auto"
    BWRAP = "bwrap"
    LANDLOCK = "landlock"
    OFF = "off"


class SandboxNet(StrEnum):
    """Choose the network that a command sees: its own loopback, or the machine's network."""

    NONE = "none"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """Say what untrusted commands may reach beyond the workspace. Paths are absolute."""

    backend: SandboxBackend = setting(
        Choice(SandboxBackend),
        SandboxBackend.AUTO,
        "what contains commands",
        guarded=True,
        flag=Flag("--sandbox", FlagGroup.SANDBOX),
    )
    net: SandboxNet = setting(
        Choice(SandboxNet),
        SandboxNet.NONE,
        "the network that commands see: their own, or the machine's",
        guarded=True,
        flag=Flag("--sandbox-net", FlagGroup.SANDBOX),
    )
    read: tuple[Path, ...] = setting(
        read_paths,
        (),
        "paths that commands may read",
        default_words="none",
        guarded=True,
        flag=Flag("--sandbox-read", FlagGroup.SANDBOX, "PATH", FlagKind.LIST),
    )
    write: tuple[Path, ...] = setting(
        read_paths,
        (),
        "paths that commands may write",
        default_words="none",
        guarded=True,
        flag=Flag("--sandbox-write", FlagGroup.SANDBOX, "PATH", FlagKind.LIST),
    )
    env: tuple[str, ...] = setting(
        read_variables,
        (),
        "names of variables passed on to commands; never one whose name speaks of a secret",
        default_words="none",
        guarded=True,
    )
    path: tuple[Path, ...] = setting(
        read_paths,
        (),
        "folders of programs that commands find, besides the toolchains on your PATH",
        default_words="none",
        guarded=True,
        flag=Flag("--sandbox-path", FlagGroup.SANDBOX, "DIR", FlagKind.LIST),
    )


@dataclass(frozen=True, slots=True)
class IssueSettings:
    """Say who may have an issue worked on by an event, by which label, and for how much."""

    allowed: tuple[str, ...] = setting(
        read_associations,
        ("owner", "member", "collaborator"),
        "what somebody must be to the repository",
        guarded=True,
    )
    label: str = setting(read_text, "llmch", "the label that has an issue planned", guarded=True)
    max_tokens: int = setting(
        WholeNumber(1, 10**12),
        2_000_000,
        "tokens that one event may take where neither `max_tokens` nor `max_cost` is set",
        guarded=True,
    )


@dataclass(frozen=True, slots=True)
class StrengthSettings:
    """Say how strong the tests of an order have to be, and how that is measured."""

    least: float = setting(
        read_share,
        0.0,
        "the share of small faults in an order's lines that its commands must notice (0.8, `80%`)",
        name="strength.min",
        default_words="0: nothing is measured",
        guarded=True,
    )
    mutants: int = setting(WholeNumber(1, 10_000), 100, "such faults that are tried", guarded=True)
    seed: int = setting(WholeNumber(0, 2**31), 0, "decides which faults are tried", guarded=True)


ALWAYS_PROTECTED = frozenset({"main", "master"})
ATTEMPTS = Clamped(1, 50)
_A_DAY = 86_400
# A project's own config may link folders of installed packages only. Any other folder could show
# the user's files to the commands of a stranger's repo.
_PACKAGE_FOLDERS = frozenset(each.name for each in PACKAGE_FOLDERS)


@dataclass(frozen=True, slots=True)
class Settings:
    """Hold every setting. Money is in US dollars, time in seconds."""

    artifacts_dir: Path = setting(
        read_path,
        Path("artifacts"),
        "root of run records",
        default_words="`./artifacts`",
        guarded=True,
        flag=Flag("--artifacts-dir", FlagGroup.RECORD, "DIR"),
    )
    model: tuple[str, ...] = setting(
        read_model,
        (),
        "the model of all roles; a role's own counts more, but not against this flag",
        default_words="each role's",
        flag=Flag("--model", FlagGroup.MODEL, "M"),
    )
    reasoning_effort: str | None = setting(
        read_effort,
        None,
        "the reasoning effort of all roles, such as low or high; as for `model`",
        default_words="each role's",
        flag=Flag("--reasoning-effort", FlagGroup.MODEL, "E"),
    )
    max_cost: Decimal | None = setting(
        read_dollars,
        None,
        "stop before model calls could cost more US dollars",
        default_words="none",
        flag=Flag("--max-cost", FlagGroup.MODEL, "USD"),
    )
    max_tokens: int | None = setting(
        WholeNumber(0, 10**12),
        None,
        "stop before model calls take more tokens, input and output together",
        default_words="none",
        flag=Flag("--max-tokens", FlagGroup.MODEL, "N"),
    )
    prices: Prices = setting(
        read_prices,
        KNOWN_PRICES,
        "US dollars per million tokens, by model; only in files",
        default_words="a built-in table",
        guarded=True,
        merge=lambda known, more: {**known, **more},
    )
    windows: Windows = setting(
        read_windows,
        KNOWN_WINDOWS,
        "tokens of prompt and reply together that a call can take, by model; only in files",
        default_words="a built-in table",
        guarded=True,
        merge=lambda known, more: {**known, **more},
    )
    timeout_seconds: float = setting(
        Number(1, _A_DAY),
        600.0,
        "how long each command of a repo may take",
        flag=Flag("--timeout-seconds", FlagGroup.COMMANDS, "S"),
    )
    python: str | None = setting(
        read_text,
        None,
        "the interpreter that `python` means to commands",
        default_words="the repo's environment, else the active one, else llmch's own",
        guarded=True,
        flag=Flag("--python", FlagGroup.COMMANDS, "EXE"),
    )
    link: Links = setting(
        read_links,
        "auto",
        "folders of your checkout shown read-only to commands, `auto` or `none`",
        guarded=True,
        harmless=_PACKAGE_FOLDERS,
        harmless_words=frozenset({"auto", "none"}),
        flag=Flag("--link", FlagGroup.COMMANDS, "DIR,DIR"),
    )
    # A project may say how it is verified, as its own `scripts/verify.sh` may. It is read before a
    # run from the user's checkout, so no order changes it for itself.
    verify: tuple[str, ...] = setting(
        read_commands,
        (),
        "the commands that verify every order, in place of those that the repo's files name",
        default_words="what the repo's files say",
        flag=Flag("--verify", FlagGroup.COMMANDS, "CMD", FlagKind.LIST),
    )
    # A layer can protect more branches, never fewer.
    protected_branches: frozenset[str] = setting(
        read_branches,
        ALWAYS_PROTECTED,
        "branches that are never worked on; layers add up",
        default_words="`main`, `master`",
        merge=frozenset.union,
    )
    strict_acceptance: bool = setting(
        read_switch,
        False,
        "refuse an order whose commands pass on code that does nothing",
        default_words="no: they are reported",
        flag=Flag("--strict-acceptance", FlagGroup.ATTEMPTS, kind=FlagKind.SWITCH),
    )
    programs: tuple[str, ...] = setting(
        read_programs, (), "further programs that acceptance commands may use", default_words="none"
    )
    dependencies: tuple[str, ...] = setting(
        read_packages,
        (),
        "packages that commands may import, beyond those that the repo declares",
        default_words="none",
    )
    planner: PlannerSettings = table(PlannerSettings)
    planner_attempts: int = setting(
        ATTEMPTS,
        5,
        "replies that a plan may take",
        name="planner.attempts",
        flag=Flag("--max-attempts", FlagGroup.PLAN_ALONE, "N"),
        costs=True,
    )
    reviewer: ReviewerSettings = table(ReviewerSettings)
    factory: FactorySettings = table(FactorySettings)
    factory_attempts: int = setting(
        ATTEMPTS,
        5,
        "attempts at each order",
        name="factory.attempts",
        flag=Flag("--max-attempts", FlagGroup.ATTEMPTS, "N"),
        costs=True,
    )
    format: FormatChoice = setting(
        Choice(FormatChoice),
        FormatChoice.AUTO,
        "whether the project's own formatter formats what an order writes",
        name="factory.format",
    )
    sandbox: SandboxSettings = table(SandboxSettings)
    strength: StrengthSettings = table(StrengthSettings)
    commit: CommitSettings = table(CommitSettings)
    fleet: FleetSettings = table(FleetSettings)
    issue: IssueSettings = table(IssueSettings)


KEYS: Keys = {key.name: key for key in keys_of(Settings)}
