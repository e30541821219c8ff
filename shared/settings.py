"""Settings in layers: defaults, the project's config, the user's, `LLMCH_*` variables, flags.

Two files may hold settings. `[tool.llmch]` in the `pyproject.toml` of the target repo (without
one, of the current folder) belongs to the project: it may be a stranger's, so what could weaken
the sandbox, send a key elsewhere or write outside is ignored there, with a warning. `llmch.toml`
beside the spec (without one, in the current folder), or the file that `LLMCH_CONFIG` names, belongs
to the user and may set everything, unless it lies inside the target repo (without one, inside any:
it may have come with a clone).

A variable is named by its key: `sandbox.net` is `LLMCH_SANDBOX_NET`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from shared import setting_keys as keys
from shared.config_layers import (
    Key,
    Layer,
    Layers,
    check_layer,
    file_layer,
    flag_layer,
    guard,
    variable_layer,
)
from shared.llm.prices import KNOWN_PRICES, Prices, extend_prices
from shared.setting_keys import RoleKeys, SandboxBackend, SandboxNet

T = TypeVar("T")

PLANNER_MODEL = "gpt-5.2-codex"
# Not the planner's: that one answers on the Responses API only, and the factory speaks Chat
# Completions, which every compatible server has.
FACTORY_MODEL = "gpt-5.2"

PLANNER_OUTPUT_TOKENS = 64_000
# A proposal's largest single file, 200 KB of code, is about 50,000 tokens; an order that needs
# half of that is too large already. Reasoning counts in.
FACTORY_OUTPUT_TOKENS = 32_000

DEFAULT_ATTEMPTS = 5
DEFAULT_TIMEOUT_SECONDS = 600.0
MIN_ATTEMPTS, MAX_ATTEMPTS = 1, 50
ALWAYS_PROTECTED = frozenset({"main", "master"})

USER_FILE = "llmch.toml"
PROJECT_FILE = "pyproject.toml"
PROJECT_TABLE = ("tool", "llmch")
CONFIG_VARIABLE = "LLMCH_CONFIG"
# Variables that are no settings: one is read elsewhere, and tests have a name space of their own.
OTHER_VARIABLES = frozenset({CONFIG_VARIABLE, "LLMCH_WORKSPACES", "LLMCH_DEBUG"})
TEST_PREFIX = "LLMCH_TEST_"


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """What untrusted commands may reach beyond the workspace. Paths are absolute."""

    backend: SandboxBackend = SandboxBackend.AUTO
    net: SandboxNet = SandboxNet.NONE
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """Which model answers for a role, where, and how it is asked; `None` is the server's default.

    Only the factory's ladder has more than one model: later ones answer on later attempts. What
    is not said for the reviewer is as for the planner.
    """

    ladder: tuple[str, ...]
    base_url: str | None = None
    reasoning_effort: str | None = None
    max_output_tokens: int | None = None
    temperature: float | None = 0.0

    @property
    def model(self) -> str:
        """The first model asked."""
        return self.ladder[0]


PLANNER = RoleSettings(
    ladder=(PLANNER_MODEL,), reasoning_effort="medium", max_output_tokens=PLANNER_OUTPUT_TOKENS
)
FACTORY = RoleSettings(ladder=(FACTORY_MODEL,), max_output_tokens=FACTORY_OUTPUT_TOKENS)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured. Money is US dollars, time is seconds."""

    planner: RoleSettings
    reviewer: RoleSettings
    factory: RoleSettings
    artifacts_dir: Path
    planner_attempts: int = DEFAULT_ATTEMPTS
    factory_attempts: int = DEFAULT_ATTEMPTS
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    prices: Prices = field(default_factory=lambda: KNOWN_PRICES)
    python: str | None = None
    sandbox: SandboxSettings = SandboxSettings()
    protected_branches: frozenset[str] = ALWAYS_PROTECTED
    strict_acceptance: bool = False
    link: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, what the user should know about them, and the files that had a say."""

    settings: Settings
    warnings: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


def load_settings(
    *,
    cwd: Path,
    repo: Path | None = None,
    spec: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
) -> LoadedSettings:
    """Return the settings for a command run in `cwd` on `repo` with `spec`.

    `flags` are by key, as in `{"max_cost": "2.50", "sandbox.backend": "off"}`; numbers may be text,
    and `None` is a flag that was not used. Raises `InvalidInput` naming source and key where a file
    cannot be read, a key is unknown, or a value is of the wrong type or out of range.
    """
    cwd = cwd.absolute()
    warnings: list[str] = []
    files: list[Path] = []
    layers: list[Layer] = []
    for path, table, trusted in _config_files(cwd, repo, spec, environ):
        layer = file_layer(path, table, keys.KEYS)
        if not trusted:
            layer, refused = guard(layer, keys.KEYS)
            warnings += refused
        if layer:
            layers.append(layer)
            files.append(path)
    others = {name for name in environ if name in OTHER_VARIABLES or name.startswith(TEST_PREFIX)}
    layers.append(variable_layer(environ, keys.KEYS, cwd, others))
    layers.append(flag_layer(flags or {}, keys.KEYS, cwd))
    checked = Layers(tuple(check_layer(each, keys.KEYS) for each in layers))
    settings = _settings(checked, cwd, warnings)
    return LoadedSettings(settings, tuple(warnings), tuple(files))


def clamp_attempts(number: int, name: str) -> tuple[int, str | None]:
    """Return `number` within its bounds, and a warning where it was not; `name` is what set it."""
    clamped = min(max(number, MIN_ATTEMPTS), MAX_ATTEMPTS)
    if clamped == number:
        return number, None
    return clamped, f"{name} is {number}: {clamped} attempts are made, the limits are " + (
        f"{MIN_ATTEMPTS} and {MAX_ATTEMPTS}"
    )


def _config_files(
    cwd: Path, repo: Path | None, spec: Path | None, environ: Mapping[str, str]
) -> Iterator[tuple[Path, tuple[str, ...], bool]]:
    """Yield each file that is there, the table to read of it, and whether it may set everything."""
    project = (cwd / repo if repo else cwd) / PROJECT_FILE
    if _is_there(project):
        yield project, PROJECT_TABLE, False
    if named := environ.get(CONFIG_VARIABLE):
        yield cwd / named, (), True
        return
    beside = (cwd / spec).parent if spec else cwd
    if _is_there(own := beside / USER_FILE):
        target = cwd / repo if repo else _working_tree(beside)
        yield own, (), target is None or not _is_within(own, target)


def _is_within(file: Path, repo: Path) -> bool:
    """Say whether `file` lies in the working tree that `repo` is in, or is reached through it."""
    tree = _working_tree(repo) or Path(os.path.realpath(repo))
    way = (file, *Path(os.path.normpath(file)).parents)
    return any(Path(os.path.realpath(each)).is_relative_to(tree) for each in way)


def _working_tree(folder: Path) -> Path | None:
    """Return the root of the git working tree that `folder` is in, if it is in one."""
    root = Path(os.path.realpath(folder))
    return next((each for each in (root, *root.parents) if _is_there(each / ".git")), None)


def _is_there(path: Path) -> bool:
    """Like `Path.exists`, which raises where a folder on the way may not be searched."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _settings(layers: Layers, cwd: Path, warnings: list[str]) -> Settings:
    planner = _role(layers, keys.PLANNER, PLANNER)
    return Settings(
        planner=planner,
        reviewer=_role(layers, keys.REVIEWER, planner),
        factory=_role(layers, keys.FACTORY, FACTORY),
        artifacts_dir=_or(layers.value(keys.ARTIFACTS), cwd / "artifacts"),
        planner_attempts=_attempts(layers, keys.PLANNER_ATTEMPTS, warnings),
        factory_attempts=_attempts(layers, keys.FACTORY_ATTEMPTS, warnings),
        timeout_seconds=_or(layers.value(keys.TIMEOUT), DEFAULT_TIMEOUT_SECONDS),
        max_cost=layers.value(keys.MAX_COST),
        max_tokens=layers.value(keys.MAX_TOKENS),
        prices=_prices(layers),
        python=layers.value(keys.PYTHON),
        sandbox=SandboxSettings(
            backend=_or(layers.value(keys.BACKEND), SandboxBackend.AUTO),
            net=_or(layers.value(keys.NET), SandboxNet.NONE),
            read=_or(layers.value(keys.READ), ()),
            write=_or(layers.value(keys.WRITE), ()),
            env=_or(layers.value(keys.ENV), ()),
        ),
        # A layer can protect more branches, never fewer.
        protected_branches=ALWAYS_PROTECTED.union(*layers.all_values(keys.PROTECTED)),
        strict_acceptance=_or(layers.value(keys.STRICT_ACCEPTANCE), False),
        link=_or(layers.value(keys.LINK), ()),
        programs=_or(layers.value(keys.PROGRAMS), ()),
        dependencies=_or(layers.value(keys.DEPENDENCIES), ()),
    )


def _role(layers: Layers, role: RoleKeys, default: RoleSettings) -> RoleSettings:
    return RoleSettings(
        ladder=_or(layers.value(role.ladder), default.ladder),
        base_url=_or(layers.value(role.base_url), default.base_url),
        reasoning_effort=_or(layers.value(role.reasoning_effort), default.reasoning_effort),
        max_output_tokens=_or(layers.value(role.max_output_tokens), default.max_output_tokens),
        temperature=_or(layers.value(role.temperature), default.temperature),
    )


def _attempts(layers: Layers, key: Key[int], warnings: list[str]) -> int:
    given = layers.given(key)
    if given is None:
        return DEFAULT_ATTEMPTS
    attempts, warning = clamp_attempts(key.read(given), f"{given.source}: {given.name}")
    if warning:
        warnings.append(warning)
    return attempts


def _prices(layers: Layers) -> Prices:
    prices = KNOWN_PRICES
    for more in layers.all_values(keys.PRICES):
        prices = extend_prices(more, prices)
    return prices


def _or(value: T | None, default: T) -> T:
    return default if value is None else value
