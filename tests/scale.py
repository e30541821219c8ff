"""How much is tried of what takes long: a sample in the suite, all with `make test-drift`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

import pytest
from _pytest.mark.structures import ParameterSet

FULL = os.environ.get("LLMCH_TEST_DRIFT") == "full"
large = pytest.mark.skipif(not FULL, reason="a large test: make test-drift runs it")


def sampled(
    cases: Iterable[str], quick: Collection[str] = (), one_in: int = 3
) -> list[ParameterSet]:
    """Return cases as parameters: quick ones, one in so many of the others, and the large rest."""
    chosen = []
    others = 0
    for each in cases:
        if each in quick:
            chosen.append(pytest.param(each))
            continue
        marks = [pytest.mark.rest] if others % one_in == 0 else [pytest.mark.rest, large]
        chosen.append(pytest.param(each, marks=marks))
        others += 1
    return chosen
