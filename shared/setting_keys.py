"""Every setting there is: what it is called, how its value is read, and who may set it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from shared import config_values as read
from shared.config_layers import Key
from shared.config_values import Reader

MAX_TIMEOUT_SECONDS = 86_400  # a day

# What a project may have linked into its workspaces by its own config: folders of installed
# packages. Any other could show the commands of a stranger's repo what the user keeps there.
PACKAGE_FOLDERS = frozenset({".venv", "venv", "node_modules"})


class SandboxBackend(StrEnum):
    """Which sandbox holds untrusted commands; `AUTO` takes the first that works."""

    AUTO = "auto"
    BWRAP = "bwrap"
    LANDLOCK = "landlock"
    OFF = "off"


class SandboxNet(StrEnum):
    """Which network a command sees: its own loopback, or the machine's."""

    NONE = "none"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class RoleKeys:
    """The settings that each of planner, reviewer and factory has."""

    ladder: Key[tuple[str, ...]]
    base_url: Key[str]
    reasoning_effort: Key[str]
    max_output_tokens: Key[int]
    temperature: Key[float]

    def __iter__(self) -> Iterator[Key[object]]:
        yield from (self.ladder, self.base_url, self.reasoning_effort)
        yield from (self.max_output_tokens, self.temperature)


def _role_keys(role: str, ladder: Reader[tuple[str, ...]], flags: str) -> RoleKeys:
    return RoleKeys(
        ladder=Key(f"{role}.model", ladder, option=f"{flags}model"),
        base_url=Key(f"{role}.base_url", read.read_url, guarded=True),
        reasoning_effort=Key(
            f"{role}.reasoning_effort", read.read_effort, option=f"{flags}reasoning-effort"
        ),
        max_output_tokens=Key(
            f"{role}.max_output_tokens",
            read.read_whole(1, 10_000_000),
            option=f"{flags}max-output-tokens",
        ),
        temperature=Key(
            f"{role}.temperature", read.read_number(0, 2), option=f"{flags}temperature"
        ),
    )


PLANNER = _role_keys("planner", read.read_model, "--")
REVIEWER = _role_keys("reviewer", read.read_model, "--reviewer-")
FACTORY = _role_keys("factory", read.read_ladder, "--llm-")
PLANNER_ATTEMPTS = Key("planner.attempts", read.read_any_whole, option="--max-attempts")
FACTORY_ATTEMPTS = Key("factory.attempts", read.read_any_whole, option="--max-attempts")
TIMEOUT = Key("timeout_seconds", read.read_number(1, MAX_TIMEOUT_SECONDS))
MAX_COST = Key("max_cost", read.read_dollars)
MAX_TOKENS = Key("max_tokens", read.read_whole(0, 10**12))
PRICES = Key("prices", read.read_prices, guarded=True)
PYTHON = Key("python", read.read_text, guarded=True)
ARTIFACTS = Key("artifacts_dir", read.read_path, guarded=True)
BACKEND = Key("sandbox.backend", read.read_choice(SandboxBackend), guarded=True, option="--sandbox")
NET = Key("sandbox.net", read.read_choice(SandboxNet), guarded=True)
READ = Key("sandbox.read", read.read_paths, guarded=True)
WRITE = Key("sandbox.write", read.read_paths, guarded=True)
ENV = Key("sandbox.env", read.read_variables, guarded=True)
PROTECTED = Key("protected_branches", read.read_branches)
STRICT_ACCEPTANCE = Key("strict_acceptance", read.read_switch)
LINK = Key("link", read.read_folders, guarded=True, harmless=PACKAGE_FOLDERS)
PROGRAMS = Key("programs", read.read_programs)
DEPENDENCIES = Key("dependencies", read.read_packages)

KEYS: Mapping[str, Key[object]] = {
    key.name: key
    for key in (
        *PLANNER, *REVIEWER, *FACTORY, PLANNER_ATTEMPTS, FACTORY_ATTEMPTS,
        TIMEOUT, MAX_COST, MAX_TOKENS, PRICES, PYTHON, ARTIFACTS,
        BACKEND, NET, READ, WRITE, ENV, PROTECTED, STRICT_ACCEPTANCE, LINK, PROGRAMS, DEPENDENCIES,
    )
}  # fmt: skip
