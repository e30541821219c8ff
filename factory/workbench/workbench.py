"""A workspace with the sandbox that holds its commands: what one order at a time works on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from factory.sandbox import Sandbox
from factory.sandbox.linked import Linked
from factory.sandbox.visible.interpreter import interpreter_of, python_paths
from factory.workbench.workspace import Workspace, workspace_refused


@dataclass(slots=True, eq=False)
class Workbench:
    """The two, and the interpreter of the commands; `used` since the tree was checked out.

    `temporary` is the host's name of what commands have for /tmp and HOME; `linked` are the
    folders of the user's checkout that commands find in the tree.
    """

    workspace: Workspace
    sandbox: Sandbox
    python: Path
    temporary: Path
    linked: tuple[Linked, ...] = ()
    used: bool = False

    def reset(self) -> None:
        """Make it what it was before any command: the tree its baseline, /tmp empty.

        Bytecode of the last attempt's file, left in /tmp, would pass for that of one of equal
        size, written within the same second. Raises `CommandFailed` where disk or git refuse.
        """
        self.workspace.reset()
        self._clear()

    def restore(self) -> None:
        """Do what `reset` does, and less of it where the commands left the tree as it was."""
        self.workspace.restore()
        self._clear()

    def _clear(self) -> None:
        try:
            self.sandbox.clear()
        except OSError as error:
            raise workspace_refused(self.workspace.root.parent, error) from error

    @property
    def reads_alike(self) -> bool:
        """Whether its Python is of the version that runs this, so that both read the same code."""
        return interpreter_of(self.python).tag == sys.implementation.cache_tag

    def path_names(self) -> Mapping[str, str]:
        """Return paths of this machine that may show up in output, and what stands for each."""
        workspace = self.workspace
        return {
            f"{workspace.root}/": "",
            str(workspace.root): ".",
            str(self.temporary): "/tmp",  # noqa: S108  # as the sandbox shows it
            str(workspace.private): "<private>",
            **{str(each.source): each.path for each in self.linked},
            **python_paths(self.python),
        }
