"""Shows a plan to the languages that it concerns, as the data that all of them read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planner.plan.plan import Draft
from planner.plan.projection import Projection
from planner.plan.promise import promise_of
from planner.plan.target import TargetRepo
from shared.commands.commands import analyse_command
from shared.languages.base import Language
from shared.languages.capabilities.chain import (
    AcceptanceText,
    Chain,
    ChainCode,
    DeclaredStub,
    OrderCode,
)
from shared.languages.registry import LANGUAGES

# A model's reply cannot hold more beside the rest of a plan.
MAX_PLAN_BYTES: Final = 256 * 1024
_TOO_MUCH: Final = f"the stubs of the plan have over {MAX_PLAN_BYTES} bytes together"


def read_orders(drafts: Sequence[Draft]) -> tuple[OrderCode, ...]:
    """Return what concerns languages in each order of a plan.

    Once the stubs of the plan exceed `MAX_PLAN_BYTES` together, each further stub is a problem. An
    order that landed has nothing to say: the repo has its code.
    """
    room = MAX_PLAN_BYTES
    found: list[OrderCode] = []
    for draft in drafts:
        if draft.landed:
            found.append(OrderCode(draft.position, draft.label))
            continue
        declared: list[DeclaredStub] = []
        for index, each in enumerate(draft.order.interfaces if draft.order is not None else ()):
            room -= len(each.stub)
            problem = "" if room >= 0 else _TOO_MUCH
            declared.append(DeclaredStub(index, each.path, each.stub, problem))
        found.append(_order_code(draft, tuple(declared)))
    return tuple(found)


def _order_code(draft: Draft, declared: tuple[DeclaredStub, ...]) -> OrderCode:
    promise, order = promise_of(draft), draft.order
    tests = order.acceptance_files if order is not None else ()
    return OrderCode(
        position=draft.position,
        label=draft.label,
        valid=order is not None,
        writes=tuple(promise.files),
        may_write=tuple(promise.possible),
        allowed_files=tuple(order.allowed_files) if order is not None else (),
        changes=tuple(order.changes) if order is not None else (),
        interfaces=declared,
        commands=tuple((index, analyse_command(text)) for index, text in draft.commands()),
        acceptance_files=tuple(
            AcceptanceText(index, each.path, each.content) for index, each in enumerate(tests)
        ),
    )


def read_codes(
    orders: tuple[OrderCode, ...], projection: Projection, target: TargetRepo
) -> tuple[ChainCode, ...]:
    """Return the answers of each language that the orders concern and that judges plans."""
    chain = Chain(orders, projection, target.files, target.sources, target.allowed.dependencies)
    return tuple(
        language.plans.read_chain(chain)
        for language in LANGUAGES
        if language.plans is not None and any(_concerns(language, each) for each in orders)
    )


def _concerns(language: Language, order: OrderCode) -> bool:
    """Say whether an order runs a tool of the language, or mentions a file of it."""
    return any(each.language == language.name for _, each in order.commands) or any(
        path.endswith(language.suffixes) for path in _paths(order)
    )


def _paths(order: OrderCode) -> Iterator[str]:
    yield from order.writes
    yield from order.may_write
    yield from order.allowed_files
    yield from (each.path for each in order.interfaces)
    yield from (each.path for each in order.acceptance_files)
