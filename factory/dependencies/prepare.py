"""Prepares what a tree declares, in every ecosystem that it uses."""

from __future__ import annotations

from typing import Final

from factory.dependencies.base import Preparation, Prepared, Workshop
from factory.dependencies.cargo import prepare_cargo
from factory.dependencies.go import prepare_go
from factory.dependencies.manifests import Manifests
from factory.dependencies.node.modules import prepare_node
from factory.dependencies.python.environment import prepare_python

PREPARATIONS: Final[tuple[Preparation, ...]] = (
    prepare_python,
    prepare_node,
    prepare_go,
    prepare_cargo,
)
_NOTHING: Final = "--deps auto found nothing to install: no manifest of the repo declares packages."


def prepare(files: Manifests, workshop: Workshop) -> Prepared:
    """Return all that the tree's manifests come to; equal manifests are prepared once.

    Raises `InvalidInput` for a manifest or a lock that is not followed, and `EnvironmentFault`
    where an installer fails, for example because a registry cannot be reached.
    """
    prepared = Prepared()
    for preparation in PREPARATIONS:
        prepared = prepared.joined(preparation(files, workshop))
    return prepared if prepared != Prepared() else Prepared(notes=(_NOTHING,))
