"""Gathers what decides whether a failed command is the environment's fault."""

from __future__ import annotations

import json
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
from shared.languages.python.requirements import (
    declares_requirements,
    normal_name,
    required_names,
)
from shared.settings.sandbox import SandboxNet

_MOST_DECLARATIONS: Final = 20
_NODE_MANIFEST: Final = "package.json"
_NODE_TABLES: Final = ("dependencies", "devDependencies", "optionalDependencies")
_ENVIRONMENTS: Final = (".venv/bin/python", "venv/bin/python")


def surroundings_of(
    bench: Workbench, options: RunOptions, base: str, written: Collection[str] = ()
) -> Surroundings:
    """Return what surrounds the commands of a workbench whose tree is `base` with `written` files.

    The declarations are those of `base`: a proposal cannot declare what it made up.
    """
    git, settings = bench.workspace.git, options.settings
    files = trees.files_of(git, base)
    declarations = [path for path in files if declares_requirements(path)][:_MOST_DECLARATIONS]
    declared = {normal_name(each) for each in settings.dependencies}
    for path in declarations:
        declared |= required_names(_text(trees.content_of(git, base, path)))
    offline = settings.sandbox.net is SandboxNet.NONE
    return Surroundings(
        declared=frozenset(declared),
        node_packages=_node_packages(_text(trees.content_of(git, base, _NODE_MANIFEST))),
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


def _node_packages(manifest: str) -> frozenset[str]:
    try:
        document = json.loads(manifest)
    except (ValueError, RecursionError):
        return frozenset()
    tables = [document.get(name) for name in _NODE_TABLES] if isinstance(document, dict) else []
    return frozenset(name for each in tables if isinstance(each, dict) for name in each)


def _environments(bench: Workbench) -> Iterator[str]:
    for path in _ENVIRONMENTS:
        interpreter = bench.workspace.repo.folder / path
        if interpreter.is_file() and interpreter != bench.python:
            yield str(interpreter)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
