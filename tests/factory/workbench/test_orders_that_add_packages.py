"""An order declares a package: what its commands find, with `--deps auto` and without."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from shared.errors import EnvironmentFault, InvalidInput
from shared.events.events import Warned
from tests.factory.workbench.test_python_environment import wheel
from tests.fakes import Reply, proposal
from tests.harness import Factory, Json, commit_all, git, manifest, order, stages
from tests.once import made_once

pytestmark = pytest.mark.rest


OLD, NEW = "old\n", "old\nlib\n"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index of three packages, which pip uses, and no uv."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("old", "lib", "pytest"):
        wheel(folder, name)
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def environments(own_surroundings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environments that these tests have in common: pip takes seconds for each."""
    shared = made_once(tmp_path_factory, "environments-with-lib", lambda _: None)
    (own_surroundings / "environments").symlink_to(shared)
    return shared


@pytest.fixture
def target(factory: Factory, index: Path, environments: Path) -> Path:
    # The script keeps the verification from running pytest, which the index has no real one of.
    verify = {"requirements.txt": OLD, "scripts/verify.sh": "python -c 'import old'\n"}
    commit_all(factory.repo, verify)
    return factory.repo


def adding(text: str = NEW, **changes: Any) -> tuple[Json, str]:
    document = order(
        allowed_files=["requirements.txt"],
        postconditions=[{"kind": "file_exists", "path": "requirements.txt"}],
        **{"acceptance_commands": ['python -c "import lib"'], **changes},
    )
    base = hashlib.sha256(OLD.encode()).hexdigest()
    writes = [{"path": "requirements.txt", "base_sha256": base, "content": text}]
    return document, json.dumps({"summary": "as scripted", "writes": writes})


def test_the_next_command_has_what_an_order_declares(factory: Factory, target: Path) -> None:
    document, reply = adding()
    summary = factory.run(document, [reply], install_dependencies=True)
    assert summary.verdict == "PASS"
    assert git(target, "show", "work:requirements.txt").split() == ["old", "lib"]


def test_a_refused_attempt_leaves_nothing_for_the_next(factory: Factory, target: Path) -> None:
    document, with_lib = adding(acceptance_commands=["sh -c '! python -c \"import lib\"'"])
    _, without = adding("old>=1\n")
    summary = factory.run(document, [with_lib, without], install_dependencies=True)
    assert (stages(summary), summary.verdict) == (["acceptance_failed", ""], "PASS")


def test_an_order_that_reads_the_manifest_has_it_too(factory: Factory, target: Path) -> None:
    first, reply = adding()
    second = order(
        2, context_files=["requirements.txt"], acceptance_commands=['python -c "import lib"']
    )
    replies: dict[str, list[Reply]] = {
        "WO-01": [reply],
        "WO-02": [proposal({"hello.txt": "hello\n"})],
    }
    summary = factory.run_all(manifest([first, second]), replies, install_dependencies=True)
    assert summary.verdict == "PASS"


def test_so_has_an_order_that_does_not_name_the_manifest(factory: Factory, target: Path) -> None:
    first, reply = adding()
    second = order(2, acceptance_commands=['python -c "import lib"'])
    replies: dict[str, list[Reply]] = {
        "WO-01": [reply],
        "WO-02": [proposal({"hello.txt": "hello\n"})],
    }
    summary = factory.run_all(
        manifest([first, second]), replies, install_dependencies=True, max_attempts=1
    )
    assert [each.attempts for each in summary.orders] == [1, 1]
    assert summary.verdict == "PASS"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("old\nlib @ https://example.com/lib.whl\n", "requirements.txt:2: cannot install"),
        ("old\nnever-published\n", "never-published"),
    ],
)
def test_what_cannot_be_installed_is_the_proposal_s_fault_and_the_next_prompt_says_why(
    factory: Factory, target: Path, text: str, words: str
) -> None:
    document, bad = adding(text)
    _, good = adding()
    summary = factory.run(document, [bad, good], install_dependencies=True)
    assert (stages(summary), summary.verdict) == (["verify_failed", ""], "PASS")
    assert words in factory.prompt(1)


def test_without_it_the_brief_says_what_is_missing_and_what_would_install_it(
    factory: Factory, target: Path
) -> None:
    (target / "scripts/verify.sh").write_text("true\n")
    commit_all(target)
    document, reply = adding()
    summary = factory.run(document, [reply], max_attempts=1)
    brief = summary.attempt_records[-1].failure_brief
    assert brief is not None
    assert brief.facts[-1] == (
        "The module 'lib' is not installed. requirements.txt declares it, but what an order "
        "declares is installed with --deps auto alone."
    )


def test_a_base_that_cannot_be_prepared_ends_the_command_before_anything_is_paid(
    factory: Factory, target: Path
) -> None:
    commit_all(target, {"requirements.txt": "never-published\n"})
    document, reply = adding()
    with pytest.raises(EnvironmentFault, match="never-published") as refused:
        factory.run(document, [reply], install_dependencies=True)
    assert refused.value.exit_code == 5
    commit_all(target, {"requirements.txt": "x @ https://example.com/x.whl\n"})
    with pytest.raises(InvalidInput, match="cannot install"):
        factory.run(document, [reply], install_dependencies=True)


def test_what_is_left_out_is_a_warning(factory: Factory, target: Path) -> None:
    commit_all(target, {"setup.py": "from setuptools import setup\nsetup(install_requires=x())\n"})
    factory.run(*_hello(), install_dependencies=True)
    assert [each.message for each in factory.seen(Warned)] == [
        "setup.py: install_requires is computed, and setup.py is not run to find out."
    ]


def _hello() -> tuple[Json, list[Reply]]:
    return order(acceptance_commands=["true"]), [proposal({"hello.txt": "hello\n"})]
