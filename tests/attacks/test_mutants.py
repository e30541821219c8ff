"""Code under test that notices that it is a mutant, and then wants others of them to be killed.

A strength that was forged would let an order land whose tests notice nothing. In each attack a
module acts as soon as the file beside it is not as it was, and then works as ever. What it does is
seen where nothing stands in its way; the strength has to be that of the same code without it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from factory.orders.documents import Strength
from factory.sandbox.policy import Backend
from tests.factory.judging.measuring import STACK, Commit
from tests.factory.sandbox.sandbox_arena import wait_until
from tests.harness import Factory
from tests.real_tools import needs
from tests.scale import large

WATCHES = """\
import os, sys, tempfile, time

TOLD = os.path.join(tempfile.gettempdir(), "told")
if os.path.exists("told") or os.path.exists(TOLD):
    raise SystemExit("a mutant before this one left word")
if open("stack.py").read() != "import watches\\n" + open("stack.txt").read():
    {act}
"""
NOTHING = "pass"
IN_TREE = "open('told', 'w').close()"
IN_TEMPORARY = "open(TOLD, 'w').close()"
LATER = (
    "if not os.fork():\n"
    "        os.setsid()\n"
    "        for _ in range(20):\n"
    "            time.sleep(0.1)\n"
    "            open('told', 'w').close()\n"
    "        os._exit(0)"
)
DELETES = "[os.remove(each) for each in ('stack.txt', 'stack.py')]"
LOCKS = "os.mkdir('told'); os.mkdir('told/in'); os.chmod('told', 0)"
KILLS = "os.kill(os.getppid(), 9)"
PRINTS = "print('FAILED tests/test_stack.py - 1 failed\\n\\n' * 99)"
LOOKS = "assert not open(f'/proc/{os.getppid()}/environ', 'rb').read()"
EXITS = "os._exit(93)"
COMMAND = "python -c 'from stack import clamp; assert clamp(0, 1, 9) == 1'"


def measured(factory: Factory, act: str, **how: object) -> Strength:
    code = "import watches\n" + STACK
    before = {"watches.py": WATCHES.replace("{act}", act), "stack.txt": STACK, "stack.py": "\n"}
    commit = Commit.of(factory, {"stack.py": code}, COMMAND, before=before)
    return commit.strength(Backend.BWRAP, mutants=8, **how)


@pytest.mark.rest
@needs("bwrap")
@pytest.mark.parametrize(
    "act",
    [
        IN_TREE,
        DELETES,
        *(pytest.param(each, marks=large) for each in (IN_TEMPORARY, LATER, LOCKS, PRINTS)),
    ],
)
def test_a_mutant_decides_nothing_for_another_one(factory: Factory, act: str) -> None:
    found = measured(factory, act)
    assert (found.of, found.killed) == (8, 1), found.survivors


@pytest.mark.rest
@needs("bwrap")
@pytest.mark.parametrize("act", [KILLS, EXITS])
def test_a_mutant_that_ends_what_tries_it_is_tried_alone(factory: Factory, act: str) -> None:
    found = measured(factory, act)
    assert found.of == 8
    assert found.killed == (8 if act == EXITS else 1), found.survivors


@pytest.mark.rest
@needs("bwrap")
def test_a_mutant_cannot_look_into_what_tries_it(factory: Factory) -> None:
    found = measured(factory, LOOKS.replace("assert not", "None;"), batched=True)
    assert (found.of, found.killed) == (8, 8), "it fails to read, so it fails"


@pytest.mark.parametrize("act", [NOTHING, IN_TREE, IN_TEMPORARY, LATER, DELETES, LOCKS, LOOKS])
def test_the_control_does_what_it_is_to_do(tmp_path: Path, act: str) -> None:
    (temporary := tmp_path / "tmp").mkdir()
    (folder := tmp_path / "repo").mkdir()
    (folder / "watches.py").write_text(WATCHES.replace("{act}", act))
    (folder / "stack.txt").write_text(STACK)
    (folder / "stack.py").write_text("import watches\n" + STACK.replace("<", "<="))
    before = {each.name for each in folder.iterdir()}
    argv = [sys.executable, "-B", "-c", "import stack"]
    done = subprocess.run(argv, cwd=folder, env={"TMPDIR": str(temporary)}, check=False)
    if act == LATER:
        assert wait_until((folder / "told").exists)
    there = {each.name for each in folder.iterdir()} | {each.name for each in temporary.iterdir()}
    assert (done.returncode != 0) == (act == LOOKS), "the parent's memory can be read here"
    assert (there == before) == (act in (NOTHING, LOOKS))
