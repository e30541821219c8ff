"""The work order that the README shows is valid, and says what it takes to be executed."""

from __future__ import annotations

import pytest

from factory.orders.read_orders import read_order
from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from shared.files.strict_documents import JsonValue, parse_json
from shared.work_order.work_order import WorkOrder
from tests.fakes import proposal
from tests.harness import Factory, commit_all
from tests.work_orders_page import EXAMPLE

pytestmark = pytest.mark.rest


CART = '''\
"""What a customer is about to buy."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cart:
    """The prices of the items, in cents."""

    prices: tuple[int, ...] = ()

    def total(self) -> int:
        return sum(self.prices)
'''
REPO = {"shop/__init__.py": "", "shop/cart.py": CART}

DISCOUNTS = '''\
"""Discount codes."""

from shop.cart import Cart

PERCENT = {"SPRING10": 10, "STAFF50": 50}


class UnknownCode(ValueError):
    """Nobody gives a discount for this code."""


def discounted_total(cart: Cart, code: str) -> int:
    if code not in PERCENT:
        raise UnknownCode(code)
    return cart.total() * (100 - PERCENT[code]) // 100
'''
TESTS = """\
from shop.cart import Cart
from shop.discounts import discounted_total


def test_half_of_an_odd_price_is_rounded_up_in_favour_of_the_customer() -> None:
    assert discounted_total(Cart((999,)), "STAFF50") == 499
"""


def example_order() -> WorkOrder:
    return read_order(EXAMPLE).order


def test_the_factory_reads_the_example_without_a_warning() -> None:
    assert read_order(EXAMPLE).warnings == ()


def test_no_rule_has_anything_to_say_about_the_example() -> None:
    requirements: list[JsonValue] = [
        {"id": each, "text": "as the specification has it"} for each in example_order().covers
    ]
    order = parse_json(EXAMPLE.read_bytes())
    plan = parse_plan({"work_orders": [order], "requirements": requirements})
    assert judge(plan, REPO, REPO).render() == ()


def test_the_example_names_every_field_that_a_person_writes() -> None:
    """The planner computes `verify_exempt` and `provenance`."""
    order = parse_json(EXAMPLE.read_bytes())
    assert isinstance(order, dict)
    assert WorkOrder.model_fields.keys() - order.keys() == {"verify_exempt", "provenance"}


def test_code_that_does_what_the_example_asks_for_lands(factory: Factory) -> None:
    commit_all(factory.repo, REPO)
    files = {"shop/discounts.py": DISCOUNTS, "tests/test_discounts.py": TESTS}
    summary = factory.run(EXAMPLE, [proposal(files)])
    assert summary.verdict == "PASS", summary.failure
    assert summary.flags == ()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("// 100", "/ 100 // 1"),  # a float, and so not the interface
        ("raise UnknownCode(code)", "return cart.total()"),
        ("10,", "11,"),
    ],
)
def test_code_that_does_something_else_does_not_land(
    factory: Factory, right: str, wrong: str
) -> None:
    commit_all(factory.repo, REPO)
    assert right in DISCOUNTS
    files = {
        "shop/discounts.py": DISCOUNTS.replace(right, wrong),
        "tests/test_discounts.py": TESTS,
    }
    assert factory.run(EXAMPLE, [proposal(files)], max_attempts=1).verdict == "FAIL"
