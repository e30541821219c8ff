"""One honest branch for all forgeries: each works on a copy of its repo and its records."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.factory.audit.forging import Forger, MadeBranch, forger_of_copy, made_in
from tests.factory.audit.honest import make_branch


@pytest.fixture(scope="session")
def honest_branch(template_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> MadeBranch:
    """The folder of a repo with a landed plan, its plan and its records; and the commits."""
    return made_in(tmp_path_factory.mktemp("honest"), template_repo, make_branch)


@pytest.fixture
def forger(honest_branch: MadeBranch, tmp_path: Path) -> Forger:
    return forger_of_copy(honest_branch, tmp_path)
