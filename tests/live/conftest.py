"""Skips these tests, by name, unless a person names a model server of theirs."""

from __future__ import annotations

import os

import pytest

from tests.live.model_server import MISSING, ModelServer, named_server

# Read before any fixture runs: what a person has set is taken out of each test's environment.
_ENVIRON = dict(os.environ)


@pytest.fixture(scope="session")
def server() -> ModelServer:
    """The person's model server."""
    named = named_server(_ENVIRON)
    if named is None:
        pytest.skip(MISSING)
    return named
