"""Declares every setting, each once: type, name, reader, default, meaning, flag.

The flags of the verbs, the `LLMCH_*` variables and the table in `docs/settings.md` come from these
declarations. A new setting is one field here and its use; `roles`, `sandbox`, `commit` and
`fleet` beside this file declare the tables of those names.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from shared.llm.cost.prices import KNOWN_PRICES, Prices, extend_prices
from shared.llm.cost.windows import KNOWN_WINDOWS, Windows, extend_windows
from shared.settings.commit import CommitSettings
from shared.settings.declaration import Flag, FlagGroup, FlagKind, Keys, keys_of, setting, table
from shared.settings.fleet import FleetSettings
from shared.settings.package_folders import PACKAGE_FOLDERS
from shared.settings.roles import FactorySettings, PlannerSettings, ReviewerSettings
from shared.settings.sandbox import SandboxSettings
from shared.settings.values.commands import read_commands
from shared.settings.values.model_tables import read_prices, read_windows
from shared.settings.values.names import read_branches, read_packages, read_programs
from shared.settings.values.numbers import Clamped, Number, WholeNumber, read_dollars
from shared.settings.values.paths import Links, read_links, read_path
from shared.settings.values.words import read_switch, read_text

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
        name="artifacts_dir",
        default_words="`./artifacts`",
        guarded=True,
        flag=Flag("--artifacts-dir", FlagGroup.RECORD, "DIR"),
    )
    max_cost: Decimal | None = setting(
        read_dollars,
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
        read_prices,
        KNOWN_PRICES,
        "US dollars per million tokens, by model; only in files",
        name="prices",
        default_words="a built-in table",
        guarded=True,
        merge=lambda known, more: extend_prices(more, known),
    )
    windows: Windows = setting(
        read_windows,
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
        read_text,
        None,
        "the interpreter that `python` means to commands",
        name="python",
        default_words="the repo's environment, else the one that runs llmch",
        guarded=True,
        flag=Flag("--python", FlagGroup.COMMANDS, "EXE"),
    )
    link: Links = setting(
        read_links,
        "auto",
        "folders of your checkout shown read-only to commands, `auto` or `none`",
        name="link",
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
        name="verify",
        default_words="what the repo's files say",
        flag=Flag("--verify", FlagGroup.COMMANDS, "CMD", FlagKind.LIST),
    )
    # A layer can protect more branches, never fewer.
    protected_branches: frozenset[str] = setting(
        read_branches,
        ALWAYS_PROTECTED,
        "branches that are never worked on; layers add up",
        name="protected_branches",
        default_words="`main`, `master`",
        merge=frozenset.union,
    )
    strict_acceptance: bool = setting(
        read_switch,
        False,
        "refuse an order whose commands pass on code that does nothing",
        name="strict_acceptance",
        default_words="no: they are reported",
        flag=Flag("--strict-acceptance", FlagGroup.ATTEMPTS, kind=FlagKind.SWITCH),
    )
    programs: tuple[str, ...] = setting(
        read_programs,
        (),
        "further programs that acceptance commands may use",
        name="programs",
        default_words="none",
    )
    dependencies: tuple[str, ...] = setting(
        read_packages,
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
    commit: CommitSettings = table(CommitSettings)
    fleet: FleetSettings = table(FleetSettings)


KEYS: Keys = {key.name: key for key in keys_of(Settings)}
