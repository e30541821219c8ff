from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kill.scenario import ROOT
from tests.kill.zygote import Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Starts runs as processes of their own."""
    zygote = Zygote(ROOT)
    yield zygote
    zygote.close()
