"""Gathers what decides whether a failed command is the environment's fault."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from factory.judging.environment import Surroundings
from factory.orders.options import RunOptions
from factory.sandbox.guarantees import Guarantee
from factory.sandbox.toolchains.search import hidden_programs
from factory.workbench.tree import NotReadable, Tree
from factory.workbench.workbench import Workbench
from shared.git import trees
from shared.git.client import Git
from shared.languages.registry import LANGUAGES
from shared.settings.sandbox import SandboxNet

_MOST_DECLARATIONS: Final = 20
_ENVIRONMENTS: Final = (".venv/bin/python", "venv/bin/python")


def surroundings_of(
    bench: Workbench, options: RunOptions, base: str, written: Collection[str] = ()
) -> Surroundings:
    """Return what surrounds the commands of a workbench whose tree is `base` with `written` files.

    The declarations are those of `base`: a proposal cannot declare what it made up.
    """
    git, settings = bench.workspace.git, options.settings
    offline = settings.sandbox.net is SandboxNet.NONE
    return Surroundings(
        declared=_declared(git, base),
        allowed=settings.dependencies,
        offline=offline and bench.sandbox.guarantees[Guarantee.NETWORK],
        written=tuple(written),
        added="\n".join(_added_lines(bench.workspace.tree, git, base, written)),
        environments=tuple(_environments(bench)),
        hidden=hidden_programs(bench.toolchains),
    )


def _added_lines(tree: Tree, git: Git, base: str, written: Collection[str]) -> Iterator[str]:
    for path in written:
        before = frozenset(_text(trees.content_of(git, base, path)).splitlines())
        try:
            now = _text(tree.read(path))
        except NotReadable:
            continue
        yield from (line for line in now.splitlines() if line not in before)


def _declared(git: Git, base: str) -> dict[str, frozenset[str]]:
    """Return the packages that the manifests of a tree declare, by the name of the language."""
    files = trees.files_of(git, base)
    declared: dict[str, frozenset[str]] = {}
    for language in LANGUAGES:
        packages = language.packages
        if packages is None or language.failures is None:
            continue
        manifests = [path for path in files if packages.declares(path)][:_MOST_DECLARATIONS]
        texts = [_text(trees.content_of(git, base, path)) for path in manifests]
        declared[language.name] = frozenset(n for text in texts for n in packages.declared(text))
    return declared


def _environments(bench: Workbench) -> Iterator[str]:
    for path in _ENVIRONMENTS:
        interpreter = bench.workspace.repo.folder / path
        if interpreter.is_file() and interpreter != bench.python:
            yield str(interpreter)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
