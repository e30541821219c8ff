"""Declares every setting, each once: type, name, reader, default, meaning, flag.

The flags of the verbs, the `LLMCH_*` variables and the table in `docs/settings.md` come from these
declarations. A new setting is one field here and its use.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from shared.llm.cost.prices import KNOWN_PRICES, Prices, extend_prices
from shared.llm.cost.windows import KNOWN_WINDOWS, Windows, extend_windows
from shared.settings import values
from shared.settings.declaration import Flag, FlagGroup, FlagKind, Keys, keys_of, setting, table
from shared.settings.package_folders import PACKAGE_FOLDERS
from shared.settings.values import Choice, Clamped, Links, Number, WholeNumber


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


ALWAYS_PROTECTED = frozenset({"main", "master"})
ATTEMPTS = Clamped(1, 50)
_OUTPUT_TOKENS = WholeNumber(1, 10_000_000)
_TEMPERATURE = Number(0, 2)
_A_DAY = 86_400
# A project's own config may link folders of installed packages only. Any other folder could show
# the user's files to the commands of a stranger's repo.
_PACKAGE_FOLDERS = frozenset(each.name for each in PACKAGE_FOLDERS)


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """Say which model answers for a role, on which server, and how it is asked.

    `None` stands for the server's default. Only the factory's ladder may have more than one model:
    later models answer later attempts.
    """

    ladder: tuple[str, ...]
    base_url: str | None
    reasoning_effort: str | None
    max_output_tokens: int | None
    temperature: float | None

    @property
    def model(self) -> str:
        """Return the model that is asked first."""
        return self.ladder[0]


@dataclass(frozen=True, slots=True)
class PlannerSettings(RoleSettings):
    """Say how the model that plans is asked."""

    ladder: tuple[str, ...] = setting(
        values.read_model,
        ("gpt-5.2-codex",),
        "the model that plans",
        name="planner.model",
        flag=Flag("--model", FlagGroup.PLANNER, "M"),
    )
    base_url: str | None = setting(
        values.read_url,
        None,
        "the planner's server",
        name="planner.base_url",
        default_words="`OPENAI_BASE_URL`",
        guarded=True,
    )
    reasoning_effort: str | None = setting(
        values.read_effort,
        "medium",
        "a word that the server knows, such as low or high",
        name="planner.reasoning_effort",
        flag=Flag("--reasoning-effort", FlagGroup.PLANNER, "E"),
    )
    max_output_tokens: int | None = setting(
        _OUTPUT_TOKENS,
        64_000,
        "room for the reply, reasoning included",
        name="planner.max_output_tokens",
        flag=Flag("--max-output-tokens", FlagGroup.PLAN_ALONE, "N"),
    )
    temperature: float | None = setting(
        _TEMPERATURE,
        0.0,
        "how random replies are; not sent to a model that refuses it",
        name="planner.temperature",
    )


@dataclass(frozen=True, slots=True)
class ReviewerSettings(RoleSettings):
    """Say how the model that reviews a valid plan is asked."""

    ladder: tuple[str, ...] = setting(
        values.read_model,
        (),
        "the model that reviews",
        name="reviewer.model",
        flag=Flag("--reviewer-model", FlagGroup.REVIEW, "M"),
        like="planner.model",
    )
    base_url: str | None = setting(
        values.read_url,
        None,
        "the reviewer's server",
        name="reviewer.base_url",
        guarded=True,
        like="planner.base_url",
    )
    reasoning_effort: str | None = setting(
        values.read_effort,
        None,
        "a word that the server knows",
        name="reviewer.reasoning_effort",
        like="planner.reasoning_effort",
    )
    max_output_tokens: int | None = setting(
        _OUTPUT_TOKENS,
        None,
        "room for the review",
        name="reviewer.max_output_tokens",
        like="planner.max_output_tokens",
    )
    temperature: float | None = setting(
        _TEMPERATURE,
        None,
        "how random replies are; not sent to a model that refuses it",
        name="reviewer.temperature",
        like="planner.temperature",
    )


@dataclass(frozen=True, slots=True)
class FactorySettings(RoleSettings):
    """Say how the model that writes code is asked."""

    # The default differs from the planner's. The planner's model answers on the Responses API
    # only, and the factory uses Chat Completions, which every compatible server has.
    ladder: tuple[str, ...] = setting(
        values.read_ladder,
        ("gpt-5.2",),
        "the model that writes code; a list (`small,large`) escalates",
        name="factory.model",
        flag=Flag("--llm-model", FlagGroup.ATTEMPTS, "M"),
    )
    base_url: str | None = setting(
        values.read_url,
        None,
        "the factory's server",
        name="factory.base_url",
        default_words="`OPENAI_BASE_URL`",
        guarded=True,
    )
    reasoning_effort: str | None = setting(
        values.read_effort,
        None,
        "a word that the server knows",
        name="factory.reasoning_effort",
        default_words="the server's",
    )
    # A proposal's largest single file, 200 KB of code, is about 50,000 tokens; an order that needs
    # half of that is already too large. Reasoning counts too.
    max_output_tokens: int | None = setting(
        _OUTPUT_TOKENS,
        32_000,
        "room for a proposal, reasoning included",
        name="factory.max_output_tokens",
    )
    temperature: float | None = setting(
        _TEMPERATURE,
        0.0,
        "how random replies are; not sent to a model that refuses it",
        name="factory.temperature",
        flag=Flag("--llm-temperature", FlagGroup.ATTEMPTS, "T"),
    )


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """Say what untrusted commands may reach beyond the workspace. Paths are absolute."""

    backend: SandboxBackend = setting(
        Choice(SandboxBackend),
        SandboxBackend.AUTO,
        "what contains commands",
        name="sandbox.backend",
        guarded=True,
        flag=Flag("--sandbox", FlagGroup.SANDBOX, choices=tuple(SandboxBackend)),
    )
    net: SandboxNet = setting(
        Choice(SandboxNet),
        SandboxNet.NONE,
        "the network that commands see: their own, or the machine's",
        name="sandbox.net",
        guarded=True,
        flag=Flag("--sandbox-net", FlagGroup.SANDBOX, choices=tuple(SandboxNet)),
    )
    read: tuple[Path, ...] = setting(
        values.read_paths,
        (),
        "paths that commands may read",
        name="sandbox.read",
        default_words="none",
        guarded=True,
        flag=Flag("--sandbox-read", FlagGroup.SANDBOX, "PATH", FlagKind.LIST),
    )
    write: tuple[Path, ...] = setting(
        values.read_paths,
        (),
        "paths that commands may write",
        name="sandbox.write",
        default_words="none",
        guarded=True,
        flag=Flag("--sandbox-write", FlagGroup.SANDBOX, "PATH", FlagKind.LIST),
    )
    env: tuple[str, ...] = setting(
        values.read_variables,
        (),
        "names of variables passed on to commands; never one whose name speaks of a secret",
        name="sandbox.env",
        default_words="none",
        guarded=True,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """Hold every setting. Money is in US dollars, time in seconds."""

    artifacts_dir: Path = setting(
        values.read_path,
        Path("artifacts"),
        "root of run records",
        name="artifacts_dir",
        default_words="`./artifacts`",
        guarded=True,
        flag=Flag("--artifacts-dir", FlagGroup.RECORD, "DIR"),
    )
    max_cost: Decimal | None = setting(
        values.read_dollars,
        None,
        "stop before model calls could cost more US dollars",
        name="max_cost",
        default_words="none",
        flag=Flag("--max-cost", FlagGroup.BUDGET, "USD"),
    )
    max_tokens: int | None = setting(
        WholeNumber(0, 10**12),
        None,
        "stop before model calls take more tokens, input and output together",
        name="max_tokens",
        default_words="none",
        flag=Flag("--max-tokens", FlagGroup.BUDGET, "N"),
    )
    prices: Prices = setting(
        values.read_prices,
        KNOWN_PRICES,
        "US dollars per million tokens, by model; only in files",
        name="prices",
        default_words="a built-in table",
        guarded=True,
        merge=lambda known, more: extend_prices(more, known),
    )
    windows: Windows = setting(
        values.read_windows,
        KNOWN_WINDOWS,
        "tokens of prompt and reply together that a call can take, by model; only in files",
        name="windows",
        default_words="a built-in table",
        guarded=True,
        merge=lambda known, more: extend_windows(more, known),
    )
    timeout_seconds: float = setting(
        Number(1, _A_DAY),
        600.0,
        "how long each command of a repo may take",
        name="timeout_seconds",
        flag=Flag("--timeout-seconds", FlagGroup.COMMANDS, "S"),
    )
    python: str | None = setting(
        values.read_text,
        None,
        "the interpreter that `python` means to commands",
        name="python",
        default_words="the one that runs llmch",
        guarded=True,
        flag=Flag("--python", FlagGroup.COMMANDS, "EXE"),
    )
    link: Links = setting(
        values.read_links,
        "auto",
        "folders of your checkout shown read-only to commands, `auto` or `none`",
        name="link",
        guarded=True,
        harmless=_PACKAGE_FOLDERS,
        harmless_words=frozenset({"auto", "none"}),
        flag=Flag("--link", FlagGroup.COMMANDS, "DIR,DIR"),
    )
    # A layer can protect more branches, never fewer.
    protected_branches: frozenset[str] = setting(
        values.read_branches,
        ALWAYS_PROTECTED,
        "branches that are never worked on; layers add up",
        name="protected_branches",
        default_words="`main`, `master`",
        merge=frozenset.union,
    )
    strict_acceptance: bool = setting(
        values.read_switch,
        False,
        "refuse an order whose commands pass on code that does nothing",
        name="strict_acceptance",
        default_words="no: they are reported",
        flag=Flag("--strict-acceptance", FlagGroup.ATTEMPTS, kind=FlagKind.SWITCH),
    )
    programs: tuple[str, ...] = setting(
        values.read_programs,
        (),
        "further programs that acceptance commands may use",
        name="programs",
        default_words="none",
    )
    dependencies: tuple[str, ...] = setting(
        values.read_packages,
        (),
        "packages that commands may import, beyond those that the repo declares",
        name="dependencies",
        default_words="none",
    )
    planner: PlannerSettings = table(PlannerSettings)
    planner_attempts: int = setting(
        ATTEMPTS,
        5,
        "replies that a plan may take",
        name="planner.attempts",
        flag=Flag("--max-attempts", FlagGroup.PLAN_ALONE, "N"),
    )
    reviewer: ReviewerSettings = table(ReviewerSettings)
    factory: FactorySettings = table(FactorySettings)
    factory_attempts: int = setting(
        ATTEMPTS,
        5,
        "attempts at each order",
        name="factory.attempts",
        flag=Flag("--max-attempts", FlagGroup.ATTEMPTS, "N"),
    )
    sandbox: SandboxSettings = table(SandboxSettings)


KEYS: Keys = {key.name: key for key in keys_of(Settings)}
