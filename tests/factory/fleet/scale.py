"""How much is tried of a fleet: a sample in `make test`, everything with `make test-fleet`."""

from __future__ import annotations

import os

import pytest

FULL = os.environ.get("LLMCH_TEST_FLEET") == "full"
FIRST_SEED = int(os.environ.get("LLMCH_TEST_SEED", "1"))
"""A seed says all that is random about a test: the same number tries the same again."""
SEEDS = 10 if FULL else 1
SEEDS_SUBMITTED = 3
KILLS = 10 if FULL else 4

large = pytest.mark.skipif(not FULL, reason="a large test: make test-fleet runs it")
BRANCHES = int(os.environ.get("LLMCH_TEST_BRANCHES", "25"))
PLANS_OF_A_BRANCH = 8
