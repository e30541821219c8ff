"""Decides what commands find beside the tree: folders of the checkout, and what was prepared."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from factory.dependencies.manifests import Manifests
from factory.dependencies.prepare import prepare
from factory.dependencies.workshop import LocalWorkshop
from factory.orders.options import RunOptions
from factory.sandbox.linked import Linked, linked_modules
from factory.workbench.linking import Linking
from factory.workbench.workspace import Workspace, dependencies_root
from shared.events.event import Emit
from shared.events.messages import Noted, Warned
from shared.languages.capabilities.dependencies import Prepared


@dataclass(frozen=True, slots=True)
class Supplies:
    """Hold what commands find beside the tree, for the manifests with this `fingerprint`.

    `linked` has the folders of the checkout, and those that were prepared.
    """

    linked: tuple[Linked, ...]
    prepared: Prepared = field(default_factory=Prepared)
    fingerprint: str = ""


@dataclass(slots=True, eq=False)
class Supplier:
    """Find the supplies of trees for one run. Threads may share the supplier.

    Each warning is emitted once.
    """

    options: RunOptions
    emit: Emit
    linking: Linking = field(default_factory=Linking)
    _warned: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def supplies_of(self, workspace: Workspace, before: Supplies | None = None) -> Supplies:
        """Return the supplies of a workspace; `before` itself where its manifests are the same.

        Raises `InvalidInput` and `EnvironmentFault` as `prepare` does.
        """
        if not self.options.install_dependencies:
            return Supplies(self._links(workspace))
        files = Manifests.of(workspace.root, workspace.files)
        fingerprint = files.fingerprint()
        if before and before.fingerprint == fingerprint:
            return before
        linked = self._links(workspace)
        self.emit(Noted("preparing the target's dependencies"))
        present = frozenset(each.path for each in linked)
        workshop = LocalWorkshop(dependencies_root(), self.options.python, present=present)
        prepared = prepare(files, workshop)
        self._warn(prepared.notes)
        return Supplies((*linked, *_beside(prepared, present)), prepared, fingerprint)

    def python_of(self, supplies: Supplies) -> Path:
        """Return the interpreter that commands find as `python`."""
        return supplies.prepared.python or self.options.python

    def _links(self, workspace: Workspace) -> tuple[Linked, ...]:
        chosen = self.linking.choose(workspace)
        self._warn(chosen.warnings)
        return chosen.linked

    def _warn(self, warnings: Iterable[str]) -> None:
        with self._lock:
            new = [each for each in dict.fromkeys(warnings) if each not in self._warned]
            self._warned.update(new)
        for warning in new:
            self.emit(Warned(warning))


def _beside(prepared: Prepared, present: frozenset[str]) -> Iterator[Linked]:
    """Yield the prepared folders that take no place of a folder of the checkout."""
    for path, folder in prepared.folders.items():
        if path not in present:
            yield linked_modules(path, folder)
