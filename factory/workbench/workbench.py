"""Joins a workspace with the sandbox of its commands; one order at a time works on the pair."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from factory.sandbox import Sandbox
from factory.sandbox.linked import Linked
from factory.sandbox.toolchains.found import NO_TOOLCHAINS, Toolchains
from factory.sandbox.visible.interpreter import interpreter_of, python_paths
from factory.workbench.supplies import Supplies
from factory.workbench.workspace import Workspace, workspace_refused


@dataclass(slots=True, eq=False)
class Workbench:
    """Hold a workspace, its sandbox, and the interpreter that commands find as `python`.

    `temporary` is the folder of the host that commands see as /tmp and HOME. `supplies` are what
    commands find beside the tree, and `toolchains` those that they find on PATH; `supply` looks for
    the supplies again where they follow the manifests. `used` is true once an order has worked on
    the tree.
    """

    workspace: Workspace
    sandbox: Sandbox
    python: Path
    temporary: Path
    supplies: Supplies
    toolchains: Toolchains = NO_TOOLCHAINS
    supply: Callable[[Workbench], None] | None = None
    used: bool = False

    @property
    def linked(self) -> tuple[Linked, ...]:
        """Return the folders that commands find in the tree and that do not belong to it."""
        return self.supplies.linked

    def follow_manifests(self) -> None:
        """Have commands find what the manifests in the tree declare now, with `--deps auto`.

        No command may be running. Raises `InvalidInput` for a manifest that cannot be followed, and
        `EnvironmentFault` where an installer fails; the supplies then stay as they were.
        """
        if self.supply:
            self.supply(self)

    def reset(self) -> None:
        """Restore the state before any command: the tree is its baseline, and /tmp is empty.

        Bytecode in /tmp from the last attempt must not stay: Python would use it for a new file of
        equal size that was written within the same second. Raises `CommandFailed` if disk or git
        refuse.
        """
        self.workspace.reset()
        self._clear()

    def restore(self) -> None:
        """Do what `reset` does, with less work if the commands left the tree unchanged."""
        self.workspace.restore()
        self._clear()

    def _clear(self) -> None:
        try:
            self.sandbox.clear()
        except OSError as error:
            raise workspace_refused(self.workspace.root.parent, error) from error

    @property
    def reads_alike(self) -> bool:
        """Return whether the commands' Python has the version that runs llmch.

        Then both accept the same syntax.
        """
        return interpreter_of(self.python).tag == sys.implementation.cache_tag

    def path_names(self) -> Mapping[str, str]:
        """Map each path of this machine that may appear in output to the name that replaces it."""
        workspace = self.workspace
        return {
            f"{workspace.root}/": "",
            str(workspace.root): ".",
            str(self.temporary): "/tmp",  # noqa: S108  # as the sandbox shows it
            str(workspace.private): "<private>",
            **{str(each.source): each.path for each in self.linked},
            **{str(each): "<dependencies>" for each in self.supplies.prepared.read},
            **python_paths(self.python),
        }
