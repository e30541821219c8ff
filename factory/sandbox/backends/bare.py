"""Runs commands without isolation, only by the explicit choice `off`.

Environment, limits and deadline are those of every backend.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from factory.sandbox.commands import limits
from factory.sandbox.commands.runner import Prepared
from factory.sandbox.commands.supervision import Launch
from factory.sandbox.guarantees import Guarantee, Guarantees, holding
from factory.sandbox.linked import Placement
from factory.sandbox.policy import Backend
from factory.sandbox.visible.layout import Layout


class Bare:
    """Run commands with the user's own rights."""

    backend = Backend.OFF
    placement = Placement.COPY
    version = ""
    guarantees: Guarantees = holding(
        Guarantee.LIMITS, Guarantee.LOOPBACK, Guarantee.MULTIPROCESSING
    )

    def __init__(self, layout: Layout) -> None:
        self._cwd = layout.policy.workspace
        self._rlimits = limits.of_each_process(layout.policy.limits)
        self.environment = layout.bare_environment()

    def admit_temporary(self) -> None:
        """Do nothing: the command's access was never restricted."""

    @contextlib.contextmanager
    def prepare(
        self, program: str, argv: Sequence[str], *, terminal: bool = False
    ) -> Iterator[Prepared]:
        """Yield the command as it is."""
        launch = Launch(program, argv, self._cwd, self.environment, self._rlimits)
        yield Prepared(launch, started=lambda: True)
