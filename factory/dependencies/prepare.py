"""Prepares what a tree declares, in every language that it uses."""

from __future__ import annotations

from typing import Final

from shared.languages.capabilities.dependencies import ManifestFiles, Prepared, Workshop
from shared.languages.registry import LANGUAGES

_NOTHING: Final = "--deps auto found nothing to install: no manifest of the repo declares packages."


def prepare(files: ManifestFiles, workshop: Workshop) -> Prepared:
    """Return all that the tree's manifests come to; equal manifests are prepared once.

    Raises `InvalidInput` for a manifest or a lock that is not followed, and `EnvironmentFault`
    where an installer fails, for example because a registry cannot be reached.
    """
    prepared = Prepared()
    for language in LANGUAGES:
        if language.dependencies is not None:
            prepared = prepared.joined(language.dependencies.prepare(files, workshop))
    return prepared if prepared != Prepared() else Prepared(notes=(_NOTHING,))
