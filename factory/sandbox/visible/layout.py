"""Fills the private directory of a policy with what all its commands share."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from factory.sandbox.caches import SeededCache
from factory.sandbox.policy import Policy
from factory.sandbox.reclaim import put_aside
from factory.sandbox.visible import environment, target_path
from factory.sandbox.visible.bytecode import link_mirror, write_mirror
from factory.sandbox.visible.git_view import GitView, git_view
from factory.sandbox.visible.interpreter import (
    Interpreter,
    interpreter_of,
    write_programs,
)
from factory.sandbox.visible.view import SandboxView, view_of
from shared.settings.sandbox import SandboxNet

_OWN_PACKAGES = ("llmch", "planner", "factory", "shared")


@dataclass(frozen=True, slots=True)
class Layout:
    """Hold a policy with its paths resolved and everything it needs on the disk."""

    policy: Policy
    interpreter: Interpreter
    view: SandboxView
    git: GitView | None
    go_cache: SeededCache

    @property
    def programs(self) -> Path:
        """Return the folder of programs, where no command can write.

        It holds `bin` (python, pytest, pip), `site` (the command's sitecustomize) and `bytecode`
        (a mirror of the installed bytecode).
        """
        return self.policy.private / "programs"

    @property
    def aside(self) -> Path:
        """Return the folder for what commands left, until the private directory is deleted."""
        return self.policy.private / "aside"

    def environment(self, temporary: Path) -> dict[str, str]:
        """Return the variables of a contained command that has its /tmp at `temporary`."""
        toolchains = self.policy.toolchains
        path = toolchains.search_path(environment.SYSTEM_PATH)
        variables = dict(toolchains.variables)
        if self.policy.network is SandboxNet.NONE:
            variables |= environment.offline()
        return self._build(temporary, path, variables)

    def bare_environment(self) -> dict[str, str]:
        """Return the variables of a command without a sandbox: the user's PATH stays as it is."""
        toolchains = self.policy.toolchains
        path = ":".join(
            (*map(str, toolchains.named), toolchains.bare_path or environment.SYSTEM_PATH)
        )
        return self._build(self.policy.temporary, path, toolchains.bare_variables)

    def _build(self, temporary: Path, path: str, variables: Mapping[str, str]) -> dict[str, str]:
        return environment.build(
            workspace=self.policy.workspace,
            temporary=temporary,
            path=f"{self.programs / 'bin'}:{self.interpreter.executable.parent}:{path}",
            site=self.programs / "site",
            extra={
                "GOCACHE": str(self.policy.go_cache),
                **variables,
                **self.policy.environment,
            },
        )

    def renew_temporary(self) -> None:
        """Replace the command's /tmp by an empty directory, and Go's cache by its seed."""
        temporary = self.policy.temporary
        if temporary.exists():
            put_aside(temporary, self.aside)
        temporary.mkdir(mode=0o700)
        prefix = temporary / environment.BYTECODE
        link_mirror(self.interpreter, self.programs / "bytecode", prefix)
        self.go_cache.restore(self.aside)


def lay_out(policy: Policy) -> Layout:
    """Fill the policy's private directory, replace what an earlier call left, return the layout.

    Raises `InvalidInput` for an interpreter or a path that cannot be used.
    """
    policy = _resolved(policy)
    interpreter = interpreter_of(policy.python)
    programs = policy.private / "programs"
    policy.go_cache.mkdir(mode=0o700, exist_ok=True)
    layout = Layout(
        policy=policy,
        interpreter=interpreter,
        view=view_of(policy, interpreter, programs),
        git=git_view(policy, policy.private / "git-config"),
        go_cache=SeededCache(policy.go_cache, policy.go_seed),
    )
    shutil.rmtree(programs, ignore_errors=True)
    for folder in (programs, programs / "bin", programs / "site", programs / "bytecode"):
        folder.mkdir()
    layout.aside.mkdir(exist_ok=True)
    layout.renew_temporary()
    write_programs(interpreter, programs / "bin")
    write_mirror(interpreter, programs / "bytecode")
    _write_site(policy, programs / "site")
    return layout


def _resolved(policy: Policy) -> Policy:
    own_git = policy.workspace / ".git"
    git_dir = policy.git_dir or (own_git if own_git.is_dir() else None)
    return replace(
        policy,
        workspace=policy.workspace.resolve(),
        git_dir=git_dir and git_dir.resolve(),
        private=policy.private.resolve(),
        python=policy.python.absolute(),  # resolved, it would leave its virtual environment
        read=tuple(each.absolute() for each in policy.read),
        write=tuple(each.absolute() for each in policy.write),
    )


def _write_site(policy: Policy, folder: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    own = {name: str(root / name) for name in _OWN_PACKAGES}
    roots = [str(each) for each in environment.import_roots(policy.workspace)]
    visible = [str(each) for each in (*policy.read, *policy.write)]
    source = Path(target_path.__file__).read_text(encoding="utf-8")
    call = f"\n\ninstall({own!r}, {roots!r}, {visible!r})\n"
    (folder / "sitecustomize.py").write_text(source + call, encoding="utf-8")
