"""Orders on public Python projects as they are, verified by each project's own test command."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from factory.orders.documents import Form
from factory.orders.stages import Stage
from factory.proposal.edit_blocks import Change, render_changes
from factory.proposal.reply_formats import ProposedFile, render_block
from tests.harness import Json, commit_all, git, order
from tests.llmch.command_line import model_server, say_in
from tests.real_tools import needs_sandbox
from tests.shared.llm.edge import chat_stream
from tests.shared.llm.scripted_server import Act

pytestmark = pytest.mark.rest


PUBLIC = Path(__file__).parent / "public"


@dataclass(frozen=True, slots=True)
class Project:
    """Hold a project, how its tests are run, and an order that adds `new` to `source`.

    `new` takes the place of `old`; with `wrong` in it, tests of the project fail. `tests` is how
    many pass with the one that the order brings. Without `verify`, llmch finds the command.
    """

    name: str
    verify: str
    command: str
    tests: int
    source: str
    old: str
    new: str
    wrong: tuple[str, str]
    test: tuple[str, str]

    def reply(self, new: str) -> Act:
        """Return the act of a model that edits the source so, and writes the test."""
        edit = render_changes([Change(self.old, new)])
        blocks = (
            render_block(ProposedFile(self.source, edit, Form.SEARCH)),
            render_block(ProposedFile(*self.test)),
        )
        return chat_stream("\n".join(("Adds what the order asks for.\n", *blocks)))


_CONTAINS = "    def __contains__(self, arg: str) -> bool:\n        return arg in self.sections\n"
_NAMED = "    def __contains__(self, name):\n        return name in self.named\n"
PROJECTS = (
    Project(
        "colorama",
        verify="python -m unittest discover -p *_test.py",
        command="python -m unittest discover -p *_test.py",
        tests=39,
        source="colorama/ansi.py",
        old="    NORMAL    = 22\n",
        new="    NORMAL    = 22\n    ITALIC    = 3\n",
        wrong=("= 22", "= 23"),
        test=(
            "colorama/tests/italic_test.py",
            "from unittest import TestCase\n\nfrom ..ansi import Style\n\n\n"
            "class ItalicTest(TestCase):\n\n    def testItalic(self):\n"
            "        self.assertEqual(Style.ITALIC, '\\033[3m')\n",
        ),
    ),
    Project(
        "iniconfig",
        verify="",
        command="python -m pytest -q",
        tests=43,
        source="src/iniconfig/__init__.py",
        old=_CONTAINS,
        new=f"{_CONTAINS}\n    def count(self) -> int:\n        return len(self.sections)\n",
        wrong=("arg in", "arg not in"),
        test=(
            "testing/test_count.py",
            "from iniconfig import IniConfig\n\n\ndef test_count() -> None:\n"
            '    assert IniConfig("x", data="[a]\\n[b]\\n").count() == 2\n',
        ),
    ),
    Project(
        "parse",
        verify="python -m pytest -q -o addopts= --doctest-modules --doctest-glob=README.rst",
        command="python -m pytest -q -o addopts= --doctest-modules --doctest-glob=README.rst",
        tests=99,
        source="parse.py",
        old=_NAMED,
        new=f"{_NAMED}\n    def count(self):\n        return len(self.fixed) + len(self.named)\n",
        wrong=("name in", "name not in"),
        test=(
            "tests/test_count.py",
            "import parse\n\n\ndef test_count():\n"
            '    assert parse.parse("{} {a}", "x y").count() == 2\n',
        ),
    ),
)


@pytest.fixture(params=PROJECTS, ids=lambda project: project.name)
def project(request: pytest.FixtureRequest) -> Project:
    found: Project = request.param
    return found


def take(name: str, folder: Path) -> Path:
    """Make a repo of a public project and return it."""
    if not PUBLIC.is_dir():
        pytest.skip("the public projects are in a checkout only")
    repo = folder / name
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=main", "--template=")
    git(repo, "apply", "--whitespace=nowarn", str(PUBLIC / f"{name}.patch"))
    commit_all(repo)
    return repo


def work_order(project: Project) -> Json:
    """Return the order: to change the source and to write one test."""
    (path, _), source = project.test, project.source
    return order(
        title="Add what is missing",
        intent="Add it, with a test.",
        allowed_files=[source, path],
        context_files=[source],
        postconditions=[{"kind": "file_exists", "path": path}],
        acceptance_commands=[f"test -f {path}"],
    )


@needs_sandbox()
def test_what_breaks_a_test_of_the_project_does_not_land_and_what_does_not_lands(
    project: Project,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repo = take(project.name, tmp_path)
    (tmp_path / "WO-01.json").write_text(json.dumps(work_order(project)))
    verify = ("--verify", project.verify) if project.verify else ()
    say = say_in(repo, capsys)
    flags = (
        *("run", "--work-order", "../WO-01.json", "--branch", "work", *verify),
        *("--reply-format", "edits", "--max-attempts", "1", "--json"),
    )
    wrong = project.new.replace(*project.wrong)
    assert wrong != project.new
    with model_server(monkeypatch, project.reply(wrong)):
        said = say(*flags)
    assert said.code == 1, said.out + said.err
    assert said.document["failure"]["stage"] == Stage.VERIFY_FAILED
    assert said.document["failure"]["command"] == project.command
    assert git(repo, "branch", "--list", "work") == ""

    with model_server(monkeypatch, project.reply(project.new)):
        said = say(*flags)
    assert said.code == 0, said.out + said.err
    proof = said.document["verified_by"]["verification"][-1]
    assert shlex.split(proof["command"]) == shlex.split(project.command)
    assert (proof["tests"]["passed"], proof["tests"]["failed"]) == (project.tests, 0)
    assert project.new.strip() in git(repo, "show", f"work:{project.source}")


def test_a_plugin_of_pytest_that_is_missing_is_named_before_a_model_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tests ask for pytest-cov, which the Python that runs llmch does not have."""
    repo = take("parse", tmp_path)
    (tmp_path / "WO-01.json").write_text(json.dumps(order()))
    with model_server(monkeypatch) as server:
        said = say_in(repo, capsys)("run", "--work-order", "../WO-01.json", "--json")
    assert (said.code, said.error["name"], server.received) == (5, "PREFLIGHT", [])
    assert "unrecognized arguments: --cov=parse" in said.error["message"]
    assert "The plugin 'pytest-cov' of pytest is not installed" in said.error["hint"]
