"""Has commands find what the tree declares, and says what of it is not installed."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Final

from factory.dependencies.base import RegistryUnreachable
from factory.judging.brief import brief_of, brief_of_fault
from factory.judging.environment import Fault
from factory.orders.documents import FailureBrief
from factory.orders.stages import Stage
from factory.sandbox import Ended
from factory.workbench.tree import NotReadable, Tree
from factory.workbench.workbench import Workbench
from shared.errors import EnvironmentFault, InvalidInput
from shared.languages.python.requirements import (
    declares_requirements,
    provides_module,
    required_names,
)
from shared.work_order.schemas import WorkOrder

_MODULE = re.compile(r"No module named '?(\w+)")
_NODE_PACKAGE = re.compile(r"Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w-][\w.-]*)")
_LOCKED_OUT: Final = {
    "go.mod": re.compile(r"missing go\.sum entry|module lookup disabled by GOPROXY=off"),
    "Cargo.toml": re.compile(
        r"no matching package named|attempting to make an HTTP request, but --offline"
    ),
}
_NODE_TABLES: Final = ("dependencies", "devDependencies")


def follow_manifests(bench: Workbench, order: WorkOrder) -> FailureBrief | None:
    """Have commands find what the tree declares; return the brief of a failure to do so.

    A registry that cannot be reached is the environment's fault. Anything else that an installer
    refuses is due to what the manifests say.
    """
    try:
        bench.follow_manifests()
    except RegistryUnreachable as error:
        brief = brief_of(Stage.VERIFY_FAILED, order, error.message)
        return brief_of_fault(Fault(error.message.splitlines()[0], error.hint), brief)
    except (InvalidInput, EnvironmentFault) as error:
        return brief_of(Stage.VERIFY_FAILED, order, error.message)
    return None


def not_installed(ended: Ended, tree: Tree, written: Collection[str]) -> tuple[str, ...]:
    """Return sentences on what a failed command missed and the written manifests declare."""
    output = f"{ended.stdout.text}\n{ended.stderr.text}"
    return tuple(
        f"{what} is not installed. {path} declares it, but what an order declares is installed "
        "with --deps auto alone."
        for path in written
        for what in _missed(path, output, tree)
    )


def _missed(path: str, output: str, tree: Tree) -> Iterator[str]:
    name = path.rpartition("/")[2]
    if declares_requirements(path):
        names = required_names(_text(tree, path))
        missed = dict.fromkeys(_MODULE.findall(output))
        yield from (f"The module {each!r}" for each in missed if provides_module(names, each))
    elif name == "package.json":
        packages = _node_packages(_text(tree, path))
        missed = dict.fromkeys(_NODE_PACKAGE.findall(output))
        yield from (f"The Node package {each!r}" for each in missed if each in packages)
    elif name in _LOCKED_OUT and _LOCKED_OUT[name].search(output):
        yield "A package"


def _text(tree: Tree, path: str) -> str:
    try:
        return tree.read(path).decode("utf-8", "replace")
    except NotReadable:
        return ""


def _node_packages(manifest: str) -> frozenset[str]:
    try:
        document = json.loads(manifest)
    except (ValueError, RecursionError):
        return frozenset()
    tables = [document.get(name) for name in _NODE_TABLES] if isinstance(document, dict) else []
    return frozenset(name for each in tables if isinstance(each, dict) for name in each)
