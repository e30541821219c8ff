"""The typical changes of `CONTRIBUTING.md`, made on a copy: they touch the files that it names."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_OF_THE_PRODUCT = ("llmch", "planner", "factory", "shared", "docs")
_COPIED = (*_OF_THE_PRODUCT, "tests", "pyproject.toml")
_LEFT_OUT = shutil.ignore_patterns("targets", "node", "adr")
_ROW = re.compile(r"^\| an? ([\w ]+?) \| (.+?) \| ?(.*?) ?\|$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Checkout:
    """A copy of the checkout to change."""

    root: Path

    def insert(self, path: str, before: str, text: str) -> None:
        """Put `text` in front of the one place in a file that is `before`."""
        old = (self.root / path).read_text()
        assert old.count(before) == 1, f"{path} has {before!r} {old.count(before)} times"
        (self.root / path).write_text(old.replace(before, text + before))

    def run(self, *words: str) -> str:
        """Return what `python -m WORDS` prints in the copy."""
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def hold(self, *tests: str) -> None:
        """Run tests of the copy, and find no fault."""
        self.run("pytest", "-p", "no:cacheprovider", *tests)

    def touched(self) -> set[str]:
        """Return the files of the product and its pages that differ from this checkout's."""
        files = (
            path.relative_to(self.root)
            for top in _OF_THE_PRODUCT
            for path in (self.root / top).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        )
        return {str(path) for path in files if not _is_as_it_was(self.root / path, ROOT / path)}


def _is_as_it_was(copy: Path, original: Path) -> bool:
    return original.is_file() and copy.read_bytes() == original.read_bytes()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A copy of all that the changes and their checks read."""
    root = tmp_path / "checkout"
    root.mkdir()
    for name in _COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=_LEFT_OUT)
        else:
            shutil.copy(ROOT / name, root / name)
    for path in (*ROOT.glob("*.md"), ROOT / "examples"):
        (root / path.name).symlink_to(path)
    return Checkout(root)


def add_rule(checkout: Checkout) -> None:
    """Refuse an order whose title says that there is none yet."""
    path = "planner/rules/structure.py"
    text = """def titles_to_come(view: PlanView) -> Iterator[Finding]:
    for step in view.steps:
        if step.draft.raw.get("title") == "TODO":
            yield step.finding("E008", at("title"), "the title is still to come")


E008 = Rule(
    "E008",
    "title to come",
    why="A commit is called after its order.",
    bad='{"title": "TODO"}',
    good='{"title": "Totals"}',
    remedy="Say in a few words what the order does.",
    check=titles_to_come,
)


"""
    checkout.insert(path, "RULES: Final = (", text)
    head, _, listed = (checkout.root / path).read_text().rpartition("RULES: Final = (")
    (checkout.root / path).write_text(f"{head}RULES: Final = (E008, {listed}")
    checkout.run("tests.rules_page")
    assert "title to come" in checkout.run("llmch", "explain", "E008")
    checkout.hold("tests/planner/rules/test_catalogue.py", "-k", "E008 or codes")


def add_verb(checkout: Checkout) -> None:
    """Have `llmch hello` greet."""
    (checkout.root / "llmch" / "verbs" / "hello.py").write_text('''"""Implements `llmch hello`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph


@dataclass(frozen=True, slots=True)
class GreetingDocument(Document):
    """Represent the answer of `hello`."""

    def to_json(self) -> object:
        return {"greeting": "hello"}

    def blocks(self) -> Iterator[Block]:
        yield Paragraph(("hello",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    return Outcome(GreetingDocument())
''')
    table = "llmch/entry/verb_table.py"
    checkout.insert(table, '        "help": "explain a topic', '        "hello": "greet",\n')
    checkout.insert(table, '    "help": "llmch help', '    "hello": "llmch hello",\n')
    checkout.insert("docs/commands.md", "| `llmch help` |", "| `llmch hello` | greet |\n")
    assert checkout.run("llmch", "hello") == "hello\n"
    checkout.hold("tests/test_documentation.py", "tests/llmch/entry/test_usage.py", "-k", "verb")


def add_setting(checkout: Checkout) -> None:
    """Let a person lengthen the time of every command."""
    checkout.insert(
        "shared/settings/settings.py",
        "    python: str | None = setting(",
        "    patience: int = setting(\n"
        "        WholeNumber(1, 9),\n"
        "        1,\n"
        '        "by how much commands may take longer",\n'
        '        flag=Flag("--patience", FlagGroup.COMMANDS, "N"),\n'
        "    )\n",
    )
    path = checkout.root / "factory" / "judging" / "run_checks.py"
    used = "    seconds = trial.options.settings.timeout_seconds\n"
    assert path.read_text().count(used) == 1
    longer = used.rstrip() + " * trial.options.settings.patience\n"
    path.write_text(path.read_text().replace(used, longer))
    checkout.run("tests.settings_page")
    assert "--patience N" in checkout.run("llmch", "run", "--help")
    checkout.hold("tests/shared/settings/test_settings.py", "-k", "page")


def add_stage(checkout: Checkout) -> None:
    """Give a name to one more way in which an attempt can fail."""
    path = "factory/orders/stages.py"
    checkout.insert(path, '    ENVIRONMENT = "environment"\n', '    TOO_SLOW = "too_slow"\n')
    checkout.insert(
        path,
        "    StageText(\n        Stage.WRITE_FAILED,\n",
        '    StageText(\n        Stage.TOO_SLOW,\n        "A command was too slow.",\n'
        '        _ANSWERED,\n        "Allow more time.",\n        _ASK_AGAIN,\n    ),\n',
    )
    checkout.insert(
        "tests/factory/orders/test_next_step.py",
        '    Stage.ENVIRONMENT: "",\n',
        '    Stage.TOO_SLOW: "retry",\n',
    )
    checkout.run("tests.stages_page")
    assert "A command was too slow." in checkout.run("llmch", "explain", "too_slow")
    checkout.hold(
        *("tests/factory/orders/test_next_step.py", "tests/test_documentation.py"), "-k", "stage"
    )


CHANGES: dict[str, Callable[[Checkout], None]] = {
    "rule on form": add_rule,
    "verb": add_verb,
    "setting": add_setting,
    "stage of failure": add_stage,
}


@pytest.mark.rest
@pytest.mark.parametrize("name", CHANGES)
def test_a_typical_change_touches_the_files_that_the_document_names(
    name: str, checkout: Checkout
) -> None:
    rows = {row[1]: row for row in _ROW.finditer((ROOT / "CONTRIBUTING.md").read_text())}
    by_hand, by_script = (set(_CODE.findall(cell)) for cell in rows[name].groups()[1:])
    CHANGES[name](checkout)
    touched = {each.replace("hello", "explain") for each in checkout.touched()}
    assert touched == by_hand | by_script
    assert len(by_hand) <= 3
