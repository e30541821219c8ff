"""How much is tried: a sample in `make test`, everything with `make test-kill`."""

from __future__ import annotations

import os

FULL = os.environ.get("LLMCH_TEST_KILL") == "full"
MOMENTS = int(os.environ.get("LLMCH_TEST_MOMENTS", "200" if FULL else "6"))
FIRST_MOMENT = int(os.environ.get("LLMCH_TEST_SEED", "1"))
"""A moment's number says all that is random about it: the same number tries the same again."""
