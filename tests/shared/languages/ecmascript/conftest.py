"""Lets these tests find the fetched programs, though they have a home of their own."""

from __future__ import annotations

import pytest

from tests.shared.languages.ecmascript.plans import FETCHED


@pytest.fixture(autouse=True)
def _fetched_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMCH_TOOLS", str(FETCHED))
