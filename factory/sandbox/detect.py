"""Which backend works here: tried for real, once per process."""

from __future__ import annotations

import functools
import os
import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from factory.sandbox.backends import landlock, seccomp
from factory.sandbox.backends.bare import Bare
from factory.sandbox.backends.bwrap import MINIMUM_VERSION, Bubblewrapped
from factory.sandbox.backends.landlock import Landlocked
from factory.sandbox.commands.runner import Runner
from factory.sandbox.guarantees import Guarantees
from factory.sandbox.outcome import Ended
from factory.sandbox.policy import Backend, Limits, Policy
from factory.sandbox.visible.layout import Layout, lay_out
from shared.errors import SandboxUnavailable
from shared.process import ToolFailed, ToolMissing, run_tool

_FIXED_PLACES = (Path("/usr/bin/bwrap"), Path("/bin/bwrap"), Path("/usr/local/bin/bwrap"))
_PROBE_SECONDS = 10.0


class Sandbox(Protocol):
    """The one way to run an untrusted command."""

    @property
    def backend(self) -> Backend:
        """Never `AUTO`."""

    @property
    def version(self) -> str:
        """The backend's own version; empty for `OFF`."""

    @property
    def guarantees(self) -> Guarantees:
        """What holds here, each True or False."""

    @property
    def limits(self) -> Limits:
        """What a command may use."""

    def describe(self) -> str:
        """One line: what holds and what does not."""

    def run(self, argv: Sequence[str], *, timeout_seconds: float, log: Path) -> Ended:
        """Run `argv` in the workspace and return within a second of the deadline.

        Whatever happens to the command is in the result. Its output goes to `<log>.stdout.log`
        and `<log>.stderr.log`, whose folder exists; only where they cannot be written is OSError
        raised, with nothing left running. Safe from several threads.
        """

    def end_commands(self) -> None:
        """Have the commands under way killed, as if their time was up; from any thread."""

    def clear(self) -> None:
        """Give the commands that follow an empty /tmp and HOME, as between two attempts.

        No command may be under way. Raises OSError where the disk refuses.
        """


@dataclass(frozen=True, slots=True)
class Found:
    """A backend that was tried: `problem` is empty where it works, `remedy` what would mend it."""

    backend: Backend
    version: str
    problem: str = ""
    remedy: str = ""


def open_sandbox(choice: Backend, policy: Policy) -> Sandbox:
    """The chosen sandbox, or the first that works for `AUTO`; only `OFF` runs bare.

    Raises `SandboxUnavailable` with the probe's own error and how to mend it, and `InvalidInput`
    for an interpreter, a path or a variable that a command cannot be given.
    """
    layout = lay_out(policy)
    tried: list[Found] = []
    for backend in _candidates(choice):
        try:
            return _opened(backend, layout, _in_words(tried))
        except _Unusable as error:
            tried.append(error.found)
    raise SandboxUnavailable(
        _in_words(tried),
        "\n".join((*(each.remedy for each in tried), "or run without a sandbox: --sandbox off")),
    )


def _in_words(tried: Sequence[Found]) -> str:
    return "; ".join(f"{each.backend} does not work here: {each.problem}" for each in tried)


def find_backends() -> tuple[Found, ...]:
    """Every backend with whether it works here, tried on an empty workspace."""
    with tempfile.TemporaryDirectory(prefix="llmch-probe-") as folder:
        workspace, private = Path(folder, "workspace"), Path(folder, "private")
        workspace.mkdir()
        private.mkdir()
        layout = lay_out(Policy(workspace, None, private, Path(sys.executable)))
        return tuple(_found(backend, layout) for backend in _candidates(Backend.AUTO))


def _found(backend: Backend, layout: Layout) -> Found:
    try:
        return Found(backend, _opened(backend, layout).version)
    except _Unusable as error:
        return error.found


def _candidates(choice: Backend) -> tuple[Backend, ...]:
    match choice:
        case Backend.AUTO:
            return (Backend.BWRAP, Backend.LANDLOCK)
        case Backend.BWRAP | Backend.LANDLOCK | Backend.OFF:
            return (choice,)


def _opened(backend: Backend, layout: Layout, instead: str = "") -> Sandbox:
    """The backend for this policy, probed unless it was already. Raises `_Unusable`."""
    match backend:
        case Backend.OFF:
            return Runner(layout, Bare(layout))
        case Backend.BWRAP:
            program = find_bwrap(layout.policy)
            runner = Runner(layout, Bubblewrapped(layout, program, _bwrap_version(program)))
        case Backend.LANDLOCK:
            _check_landlock()
            runner = Runner(layout, Landlocked(layout), instead)
        case Backend.AUTO:
            raise AssertionError("the candidates of AUTO are tried one by one")
    _probe(runner, layout.policy.private / "probe")
    return runner


class _Unusable(Exception):
    def __init__(self, found: Found) -> None:
        super().__init__(found.problem)
        self.found = found


def find_bwrap(policy: Policy) -> Path:
    """The system's bwrap: never one that the target repo put on the PATH. Raises `_Unusable`."""
    own = [policy.workspace, *([policy.git_dir.parent] if policy.git_dir else [])]
    folders = (Path(each) for each in os.environ.get("PATH", "").split(":"))
    on_path = (each / "bwrap" for each in folders if each.is_absolute())
    for place in (*_FIXED_PLACES, *on_path):
        if os.access(place, os.X_OK) and place.is_file():
            real = place.resolve()
            if not any(real.is_relative_to(each) for each in own):
                return real
    raise _Unusable(
        Found(
            Backend.BWRAP,
            "",
            "no bwrap in /usr/bin, /bin, /usr/local/bin or on the PATH outside the repo",
            "install bubblewrap: apt install bubblewrap, dnf install bubblewrap",
        )
    )


@functools.cache
def _bwrap_version(program: Path) -> str:
    try:
        done = run_tool([str(program), "--version"], cwd=Path("/"), env={}, timeout_seconds=10)
        said = (done.stdout or done.stderr).decode("utf-8", "replace").strip()
    except (ToolMissing, ToolFailed) as error:
        said = str(error)
    match = re.search(r"(\d+)\.(\d+)[.\d]*", said)
    if match is None or (int(match[1]), int(match[2])) < MINIMUM_VERSION:
        wanted = ".".join(map(str, MINIMUM_VERSION))
        problem = f"{program} is older than {wanted} ({said[:100]})"
        raise _Unusable(Found(Backend.BWRAP, "", problem, "install a newer bubblewrap"))
    return match[0]


def _check_landlock() -> None:
    try:
        level = landlock.abi()
        problem = f"the kernel's ABI is {level}, needed is {landlock.MINIMUM_ABI}"
        if level >= landlock.MINIMUM_ABI and seccomp.supported():
            return
        if not seccomp.supported():
            problem = f"its filter of system calls is not written for {platform.machine()}"
    except OSError as error:
        problem = error.strerror or str(error)
    remedy = "use Linux 6.2 or later, on x86_64 or aarch64, with landlock among its lsm="
    raise _Unusable(Found(Backend.LANDLOCK, "", problem, remedy))


# A backend that has worked is not probed again in this process, for whatever policy.
_proven: set[tuple[Backend, str]] = set()

_USER_NAMESPACES = (
    "let bwrap make user namespaces: on Ubuntu its AppArmor profile (apt install apparmor-profiles"
    " and copy bwrap-userns-restrict to /etc/apparmor.d), on Debian sysctl"
    " kernel.unprivileged_userns_clone=1, in Docker --security-opt seccomp=unconfined"
)


def _probe(runner: Runner, log: Path) -> None:
    """Run a command that does nothing, exactly as any other would be run."""
    if (runner.backend, runner.version) in _proven:
        return
    ended = runner.run(["true"], timeout_seconds=_PROBE_SECONDS, log=log)
    if ended.ok:
        _proven.add((runner.backend, runner.version))
        return
    problem = ended.reason or ended.stderr.text.strip() or f"the probe ended: {ended.cause}"
    remedy = _USER_NAMESPACES if runner.backend is Backend.BWRAP else ""
    raise _Unusable(Found(runner.backend, runner.version, problem, remedy))
