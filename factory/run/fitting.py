"""Refuses a plan that was made for other files than the branch has, before anything is paid."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence

from factory.orders.read import LoadedOrder
from factory.record.changed_files import ChangedFile, changed_files
from factory.record.landed import LandedOrders
from factory.run.commission import Commission
from factory.run.going_on import place_option
from shared.commands.order_files import order_files
from shared.errors import PreflightRefused
from shared.git.client import Git

_SHOWN = 10  # files, or commits of a file


def files_changed_since(
    git: Git, commission: Commission, landed: LandedOrders, accepted: Collection[str] = ()
) -> tuple[str, ...]:
    """Return a warning for each file that changed since the plan and does not stop the run.

    Looked at are the files that the plan recorded and that orders which have not landed touch or
    read. A change by an order of the plan, or by a commit of `accepted`, is as it should be. A
    change by somebody who worked on the branch after the plan's first order is a warning. Raises
    `PreflightRefused` where any other commit changed such a file, unless the options allow that.
    """
    concerned = _concerned(commission.orders, landed.landed)
    plan = commission.orders[0].plan
    if plan is None or not concerned:
        return ()
    base = {each.path: each.sha256 for each in plan.base_files if each.path in concerned}
    own = {*landed.of_plans, *landed.landed.values(), *accepted}
    changed = changed_files(git, landed.first_parents, base, own)
    of_plan = {each for each, digest in landed.of_plans.items() if digest == plan.manifest_sha256}
    since_begun = _since_begun(landed.first_parents, of_plan)
    foreign = [
        each for each in changed if not each.commits or not since_begun.issuperset(each.commits)
    ]
    if foreign and not commission.options.allow_changed:
        raise _refusal(commission, foreign, concerned)
    return tuple(
        f"{each.path} has changed since the plan was made{_by(each)}: "
        f"{', '.join(concerned[each.path])} goes on with it as it is"
        for each in changed[:_SHOWN]
    )


def _concerned(
    orders: Sequence[LoadedOrder], landed: Mapping[str, str]
) -> Mapping[str, Sequence[str]]:
    """Return, by file, the orders that have not landed and that touch or read it."""
    found: dict[str, list[str]] = {}
    for each in orders:
        if each.order.id not in landed:
            for path in order_files(each.order):
                found.setdefault(path, []).append(each.order.id)
    return found


def _since_begun(first_parents: Sequence[str], of_plan: Collection[str]) -> frozenset[str]:
    """Return the commits made on the branch itself after the plan's first order landed there."""
    last = max((n for n, each in enumerate(first_parents) if each in of_plan), default=0)
    return frozenset(first_parents[:last])


def _refusal(
    commission: Commission, changed: Sequence[ChangedFile], concerned: Mapping[str, Sequence[str]]
) -> PreflightRefused:
    lines = [
        f"  {each.path}, which {_listed(concerned[each.path])} touches or reads{_by(each)}"
        for each in changed[:_SHOWN]
    ]
    if len(changed) > _SHOWN:
        lines.append(f"  and {len(changed) - _SHOWN} more")
    path = commission.path.parent if commission.command == "run" else commission.path
    options = commission.options
    branch = f" --branch {shlex.quote(options.branch)}" if options.branch else ""
    return PreflightRefused(
        "files have changed since the plan was made for them:\n" + "\n".join(lines),
        "look at what changed: --allow-changed goes on where the orders still fit, and "
        "`llmch accept ORDER --commit SHA` says that a commit is the work of an order; once the "
        f"specification says something else, `llmch plan --spec SPEC --from "
        f"{shlex.quote(str(path))}"
        f"{place_option(options.repo)}{branch}` plans for the files as they are now",
    )


def _by(file: ChangedFile) -> str:
    commits = [each[:12] for each in file.commits]
    return f" (changed by {_listed(commits)})" if commits else " (no commit here has it as it was)"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
