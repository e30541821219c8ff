"""Says that a command changed a file which it may not change. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from factory.repo.path_names import name_paths
from shared.work_order.schemas import WorkOrder


def describe_tampering(changed: Sequence[str], order: WorkOrder) -> str:
    """Return the account of a failure by commands that changed the files `changed`."""
    placed = {each.path for each in order.acceptance_files}
    tests = [path for path in changed if path in placed]
    back = [path for path in changed if path in order.removed_files]
    written = [path for path in changed if path not in placed and path not in back]
    accounts: list[str] = []
    if written:
        accounts.append(
            f"a command changed {name_paths(written)} after it was written; what is committed "
            "must be exactly what was proposed"
        )
    if tests:
        accounts.append(
            f"a command changed the plan's own test {name_paths(tests)}; it must stay byte for "
            "byte as the work order has it"
        )
    if back:
        accounts.append(
            f"a command made {name_paths(back)} again, which the order removes; what is committed "
            "must be exactly what was judged"
        )
    return "\n".join(accounts)
