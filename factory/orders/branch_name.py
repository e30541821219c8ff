"""Names the branch of a plan or of orders without one, as a person would read it. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from factory.orders.read import LoadedOrder
from shared.work_order.hashing import order_key, sha256_bytes

LONGEST_SLUG: Final = 40
_ID_DIGITS = 8
_READ = 200  # characters of a text that may be very long
_ASIDE = re.compile(r"\([^()]*\)")
_SENTENCE = re.compile(r"[.;!?](?:\s|$)")
_BETWEEN_WORDS = re.compile("[^a-z0-9]+")


def default_branch(orders: Sequence[LoadedOrder]) -> str:
    """Return the branch for orders that no branch is named for, always the same for the same work.

    The orders of a plan share the plan's branch, also where only one of them is run. A plan that
    follows another one goes on with the branch of the oldest.
    """
    plan = orders[0].plan
    if plan is not None:
        return _name(plan.title, plan.root, "plan")
    keys = "\n".join(order_key(each.order) for each in orders)
    return _name(orders[0].order.title, sha256_bytes(keys.encode()), "order")


def branch_of_earlier_versions(orders: Sequence[LoadedOrder]) -> str:
    """Return the branch that earlier versions gave to a plan; "" for orders without a plan."""
    plan = orders[0].plan
    return f"factory/{plan.planner_run_id}" if plan else ""


def short_id(digest: str) -> str:
    """Return the digits of a hash that are enough to tell the plans of a repo apart."""
    return digest[:_ID_DIGITS]


def slug(text: str) -> str:
    """Return the first sentence of `text` as lower-case ASCII words with hyphens between them.

    The result has at most 40 characters and ends with a whole word where there are several. It is
    empty where the text has no ASCII letter or digit.
    """
    sentence = _SENTENCE.split(_ASIDE.sub(" ", text[:_READ]).strip())[0]
    plain = unicodedata.normalize("NFKD", sentence).encode("ascii", "ignore").decode()
    words = _BETWEEN_WORDS.sub("-", plain.lower()).strip("-")
    if len(words) <= LONGEST_SLUG:
        return words
    whole = words[: LONGEST_SLUG + 1].rpartition("-")[0]
    return whole or words[:LONGEST_SLUG]


def _name(title: str, digest: str, otherwise: str) -> str:
    return f"factory/{slug(title) or otherwise}-{short_id(digest)}"
