"""Has commands find what the tree declares, and says what of it is not installed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from factory.dependencies.workshop import RegistryUnreachable
from factory.judging.brief import brief_of, brief_of_fault
from factory.judging.environment import Fault
from factory.orders.documents import FailureBrief
from factory.orders.stages import Stage
from factory.sandbox import Ended
from factory.workbench.tree import NotReadable, Tree
from factory.workbench.workbench import Workbench
from shared.errors import EnvironmentFault, InvalidInput
from shared.languages.registry import LANGUAGES
from shared.work_order.schemas import WorkOrder


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
    for language in LANGUAGES:
        if language.packages is not None and language.packages.declares(path):
            yield from language.packages.not_installed(_text(tree, path), output)


def _text(tree: Tree, path: str) -> str:
    try:
        return tree.read(path).decode("utf-8", "replace")
    except NotReadable:
        return ""
