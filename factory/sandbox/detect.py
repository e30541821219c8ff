"""Finds the backend that works on this machine by running a command in it, once per process."""

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

from factory.sandbox.bwrap import MINIMUM_VERSION, Bubblewrapped
from factory.sandbox.landlock import MINIMUM_ABI, Bare, Landlocked, abi
from factory.sandbox.landlock import supported as seccomp_supported
from factory.sandbox.policy import Backend, Policy
from factory.sandbox.private_folder import Layout, lay_out
from factory.sandbox.runner import Sandbox
from shared.errors import SandboxUnavailable
from shared.processes.process import ProgramMissing, ToolFailed, run_tool

_FIXED_PLACES = (Path("/usr/bin/bwrap"), Path("/bin/bwrap"), Path("/usr/local/bin/bwrap"))
_PROBE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class TriedBackend:
    """Describe a backend that was tried: its `problem`, empty if it works, and the `remedy`."""

    backend: Backend
    version: str
    problem: str = ""
    remedy: str = ""


def open_sandbox(choice: Backend, policy: Policy) -> Sandbox:
    """Return the chosen sandbox, or for `AUTO` the first that works, which is never `OFF`.

    Raises `SandboxUnavailable` with the probe's own error and how to fix it, and `InvalidInput`
    for an interpreter, a path or a variable that a command cannot be given.
    """
    layout = lay_out(policy)
    tried: list[TriedBackend] = []
    for backend in _candidates(choice):
        try:
            return _open_backend(backend, layout, _describe_failures(tried))
        except _Unusable as error:
            tried.append(error.found)
    raise _unavailable(tried)


def require_backend(choice: Backend) -> None:
    """Raise `SandboxUnavailable` if the chosen sandbox works on no policy at all."""
    tried = [each for each in find_backends() if choice in (Backend.AUTO, each.backend)]
    if tried and all(each.problem for each in tried):
        raise _unavailable(tried)


def _unavailable(tried: Sequence[TriedBackend]) -> SandboxUnavailable:
    return SandboxUnavailable(
        _describe_failures(tried),
        "\n".join((*(each.remedy for each in tried), "or run without a sandbox: --sandbox off")),
    )


def _describe_failures(tried: Sequence[TriedBackend]) -> str:
    return "; ".join(f"{each.backend} does not work here: {each.problem}" for each in tried)


def find_backends() -> tuple[TriedBackend, ...]:
    """Return every backend with whether it works here, tried on an empty workspace."""
    with tempfile.TemporaryDirectory(prefix="llmch-probe-") as folder:
        workspace, private = Path(folder, "workspace"), Path(folder, "private")
        workspace.mkdir()
        private.mkdir()
        layout = lay_out(Policy(workspace, None, private, Path(sys.executable)))
        return tuple(_try_backend(backend, layout) for backend in _candidates(Backend.AUTO))


def _try_backend(backend: Backend, layout: Layout) -> TriedBackend:
    try:
        return TriedBackend(backend, _open_backend(backend, layout).version)
    except _Unusable as error:
        return error.found


def _candidates(choice: Backend) -> tuple[Backend, ...]:
    match choice:
        case Backend.AUTO:
            return (Backend.BWRAP, Backend.LANDLOCK)
        case Backend.BWRAP | Backend.LANDLOCK | Backend.OFF:
            return (choice,)


def _open_backend(backend: Backend, layout: Layout, instead: str = "") -> Sandbox:
    """Return the sandbox of this backend, probed unless it has worked. Raises `_Unusable`."""
    match backend:
        case Backend.OFF:
            return Sandbox(layout, Bare(layout))
        case Backend.BWRAP:
            program = find_bwrap(layout.policy)
            sandbox = Sandbox(layout, Bubblewrapped(layout, program, _bwrap_version(program)))
        case Backend.LANDLOCK:
            _check_landlock()
            sandbox = Sandbox(layout, Landlocked(layout), instead)
        case Backend.AUTO:
            raise AssertionError("the candidates of AUTO are tried one by one")
    _probe(sandbox, layout.policy.private / "probe")
    return sandbox


class _Unusable(Exception):
    def __init__(self, found: TriedBackend) -> None:
        super().__init__(found.problem)
        self.found = found


def find_bwrap(policy: Policy) -> Path:
    """Return the system's bwrap, never one in the target repo. Raises `_Unusable` without one."""
    own = [policy.workspace, *([policy.git_dir.parent] if policy.git_dir else [])]
    folders = (Path(each) for each in os.environ.get("PATH", "").split(":"))
    on_path = (each / "bwrap" for each in folders if each.is_absolute())
    for place in (*_FIXED_PLACES, *on_path):
        if os.access(place, os.X_OK) and place.is_file():
            real = place.resolve()
            if not any(real.is_relative_to(each) for each in own):
                return real
    raise _Unusable(
        TriedBackend(
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
    except (ProgramMissing, ToolFailed) as error:
        said = str(error)
    match = re.search(r"(\d+)\.(\d+)[.\d]*", said)
    if match is None or (int(match[1]), int(match[2])) < MINIMUM_VERSION:
        wanted = ".".join(map(str, MINIMUM_VERSION))
        problem = f"{program} is older than {wanted} ({said[:100]})"
        raise _Unusable(TriedBackend(Backend.BWRAP, "", problem, "install a newer bubblewrap"))
    return match[0]


def _check_landlock() -> None:
    try:
        level = abi()
        problem = f"the kernel's ABI is {level}, but {MINIMUM_ABI} or later is needed"
        if level >= MINIMUM_ABI and seccomp_supported():
            return
        if not seccomp_supported():
            problem = f"llmch has no system call filter for {platform.machine()}"
    except OSError as error:
        problem = error.strerror or str(error)
    remedy = "use Linux 6.2 or later, on x86_64 or aarch64, with landlock among its lsm="
    raise _Unusable(TriedBackend(Backend.LANDLOCK, "", problem, remedy))


# A backend that has worked once in this process is not probed again, whatever the policy.
_proven: set[tuple[Backend, str]] = set()

_USER_NAMESPACES = (
    "let bwrap make user namespaces: on Ubuntu its AppArmor profile (apt install apparmor-profiles"
    " and copy bwrap-userns-restrict to /etc/apparmor.d), on Debian sysctl"
    " kernel.unprivileged_userns_clone=1, in Docker --security-opt seccomp=unconfined"
)
_UNMASKED_PROC = (
    "let bwrap mount a /proc of its own, which a container hides parts of: in podman --security-opt"
    " unmask=ALL, in Docker --security-opt systempaths=unconfined"
)


def _probe(sandbox: Sandbox, log: Path) -> None:
    """Run `true` in the same way as any other command. Raises `_Unusable` if it fails."""
    if (sandbox.backend, sandbox.version) in _proven:
        return
    ended = sandbox.run(["true"], timeout_seconds=_PROBE_SECONDS, log=log)
    if ended.ok:
        _proven.add((sandbox.backend, sandbox.version))
        return
    problem = ended.reason or ended.stderr.text.strip() or f"the probe ended: {ended.cause}"
    raise _Unusable(
        TriedBackend(sandbox.backend, sandbox.version, problem, _remedy(sandbox.backend, problem))
    )


def _remedy(backend: Backend, problem: str) -> str:
    if backend is not Backend.BWRAP:
        return ""
    return _UNMASKED_PROC if "mount proc" in problem else _USER_NAMESPACES
