"""The project's own formatter makes what is committed; a formatter that misbehaves is not used."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from factory.attempt import apply_proposal
from factory.sandbox.policy import Backend
from shared.events.events import Warned
from shared.settings.settings import FormatChoice, SandboxSettings
from tests.fakes import proposal
from tests.harness import Factory, Json, blob, commit_all, order, stages
from tests.real_tools import NODE_TOOLS, add_real_rust, needs_node_tools

PATH = "tests/test_score.py"
UGLY = "def score(guess):\n    return {'a':1}[guess]\n"
NICE = 'def score(guess):\n    return {"a": 1}[guess]\n'
TEST = "from score import score\n\n\ndef test_it():\n    assert score( 'a' ) == 1\n"
RUFF = {"pyproject.toml": "[tool.ruff.format]\n"}
# A module of the tree has the name of the formatter, so that a test decides what it does.
BLACK = "import pathlib, sys, time\ntext = sys.stdin.read()\n{}\n"


def scoring() -> Json:
    return order(
        allowed_files=["score.py"],
        acceptance_files=[{"path": PATH, "content": TEST}],
        acceptance_commands=[f"python -m pytest -q {PATH}"],
    )


@pytest.mark.rest
def test_what_the_formatter_made_is_committed_and_the_record_keeps_the_reply(
    factory: Factory,
) -> None:
    commit_all(factory.repo, RUFF)
    with_ruff = Path(sys.executable)
    summary = factory.run(scoring(), [proposal({"score.py": UGLY})], python=with_ruff)
    assert summary.verdict == "PASS", summary.failure
    assert blob(factory.repo, "work", "score.py").decode() == NICE
    assert 'score("a") == 1' in blob(factory.repo, "work", PATH).decode()
    (write,) = factory.record("attempt_1/proposed_writes.json")["writes"]
    assert write["content"] == UGLY
    made = factory.record("attempt_1/formatted_files.json")["writes"]
    assert [each["path"] for each in made] == ["score.py", PATH]
    assert not factory.seen(Warned)


@pytest.mark.rest
def test_a_person_turns_the_formatter_off(factory: Factory) -> None:
    commit_all(factory.repo, RUFF)
    factory.run(scoring(), [proposal({"score.py": UGLY})], format=FormatChoice.OFF)
    assert blob(factory.repo, "work", "score.py").decode() == UGLY


@pytest.mark.rest
@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ("sys.exit(3)", "exit code 3"),
        ("time.sleep(60)", "did not end within"),
        ("pathlib.Path('README.md').write_text('mine')\nprint(text)", "changes other files"),
        ("pathlib.Path('new.py').write_text('')\nprint(text)", "changes other files"),
        ("pass", "is empty"),
        ("sys.stdout.buffer.write(b'\\xff')", "is not text"),
    ],
)
def test_a_formatter_that_misbehaves_is_not_used_and_leaves_nothing(
    factory: Factory, act: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sleep" in act:  # only the one that hangs meets the limit, whatever else the machine does
        monkeypatch.setattr(apply_proposal, "SECONDS", 1.0)
    black = {"black.py": BLACK.format(act), "pyproject.toml": "[tool.black]\n", "README.md": "x\n"}
    commit_all(factory.repo, black)
    summary = factory.run(scoring(), [proposal({"score.py": UGLY})])
    assert stages(summary) == [""]
    assert blob(factory.repo, "work", "score.py").decode() == UGLY
    assert blob(factory.repo, "work", PATH).decode() == TEST
    assert blob(factory.repo, "work", "README.md") == b"x\n"
    (warning,) = factory.seen(Warned)
    assert "`black` of the project was not used" in warning.message
    assert problem in warning.message


@pytest.mark.rest
def test_a_test_that_the_formatter_would_change_stays_and_others_are_formatted(
    factory: Factory,
) -> None:
    act = "print(text.replace('0', '1') if 'kept' in text else text.replace('( ', '('), end='')"
    commit_all(factory.repo, {"black.py": BLACK.format(act), "pyproject.toml": "[tool.black]\n"})
    kept = "def test_kept():\n    assert 0 == 0\n"
    document = scoring()
    document["acceptance_files"].insert(0, {"path": "tests/test_a.py", "content": kept})
    factory.run(document, [proposal({"score.py": UGLY})])
    assert blob(factory.repo, "work", "tests/test_a.py").decode() == kept
    assert "score('a' )" in blob(factory.repo, "work", PATH).decode()
    (warning,) = factory.seen(Warned)
    assert "on tests/test_a.py" in warning.message


@pytest.mark.parametrize(("there", "warned"), [({}, 0), ({"rustfmt.toml": ""}, 1)])
def test_a_formatter_that_no_file_names_fails_without_a_warning(
    factory: Factory, there: dict[str, str], warned: int
) -> None:
    commit_all(factory.repo, {"Cargo.toml": "[package]\n", **there})
    document = order(allowed_files=["a.rs"], acceptance_commands=["test -f a.rs"])
    factory.run(document, [proposal({"a.rs": "fn (\n"})], allow_red=True)
    assert blob(factory.repo, "work", "a.rs") == b"fn (\n"
    assert len([e for e in factory.seen(Warned) if "`rustfmt`" in e.message]) == warned


@pytest.mark.rest
@pytest.mark.skipif(shutil.which("gofmt") is None, reason="there is no gofmt")
def test_go_is_formatted_by_gofmt(factory: Factory) -> None:
    commit_all(factory.repo, {"go.mod": "module example.org/x\n"})
    document = order(allowed_files=["a.go"], acceptance_commands=["test -f a.go"])
    reply = proposal({"a.go": "package x\nvar  A=1\n"})
    summary = factory.run(document, [reply], allow_red=True)
    assert blob(factory.repo, "work", "a.go").decode() == "package x\n\nvar A = 1\n", summary


@pytest.mark.rest
@pytest.mark.skipif(shutil.which("rustfmt") is None, reason="there is no rustfmt")
@pytest.mark.parametrize(
    ("there", "kept"),
    [
        ({"rustfmt.toml": "", "src/a.rs": "fn b( ){}\n"}, "fn b() {}\n"),
        ({"src/a.rs": "fn b() {}\n"}, "fn b() {}\n"),
        ({"src/a.rs": "fn b( ){}\n"}, ""),
    ],
)
def test_rust_is_formatted_in_its_edition_where_that_is_asked_or_changes_no_other_line(
    factory: Factory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    there: dict[str, str],
    kept: str,
) -> None:
    programs = add_real_rust(tmp_path / "home")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    crate = '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n'
    commit_all(factory.repo, {"Cargo.toml": crate, "src/lib.rs": "", **there})
    written = there["src/a.rs"] + "pub async  fn a( )->u8{1}\n"
    document = order(allowed_files=["src/a.rs"], acceptance_commands=["grep -q async src/a.rs"])
    reply = proposal({"src/a.rs": written})
    contained = SandboxSettings(backend=Backend.BWRAP)
    summary = factory.run(document, [reply], allow_red=True, sandbox=contained)
    formatted = kept + "pub async fn a() -> u8 {\n    1\n}\n" if kept else written
    assert blob(factory.repo, "work", "src/a.rs").decode() == formatted, factory.seen(Warned)
    assert summary.verdict == "PASS"


JS_UGLY = "export const f = (a)=>{ return {'a':1}[a] }\n"
FOUR = "export const f = (a) => {\n    return { a: 1 }[a];\n};\n"


@pytest.mark.rest
@needs_node_tools("prettier", "biome")
@pytest.mark.parametrize(
    ("name", "config", "made"),
    [
        ("prettier", {".prettierrc": '{"semi": false, "tabWidth": 4}'}, FOUR.replace(";", "")),
        (
            "biome",
            {"biome.json": '{"formatter": {"indentStyle": "space", "indentWidth": 4}}'},
            FOUR,
        ),
    ],
)
def test_a_package_is_formatted_by_its_own_config_and_the_tool_in_a_folder_above(
    factory: Factory, name: str, config: dict[str, str], made: str
) -> None:
    manifest = '{"name": "x", "private": true}'
    commit_all(
        factory.repo,
        {
            "package.json": manifest,
            "package-lock.json": '{"lockfileVersion": 3}',
            ".gitignore": "node_modules\n",
            "packages/a b/package.json": manifest,
            **{f"packages/a b/{path}": text for path, text in config.items()},
        },
    )
    for each in (".bin", "prettier", "@biomejs"):
        shutil.copytree(NODE_TOOLS / each, factory.repo / "node_modules" / each, symlinks=True)
    path = "packages/a b/src/f.js"
    document = order(allowed_files=[path], acceptance_commands=[f"test -f '{path}'"])
    summary = factory.run(document, [proposal({path: JS_UGLY})], allow_red=True)
    assert not [e.message for e in factory.seen(Warned) if name in e.message]
    assert blob(factory.repo, "work", path).decode() == made, summary
