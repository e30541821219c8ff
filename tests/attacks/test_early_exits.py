"""Code under test that ends its command before the command's own end: such an exit proves nothing.

Each attack is run twice: as the program itself runs it, which succeeds, and as llmch judges it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from factory.judging.run_checks import parse_check, run_to_its_end
from factory.orders.stages import Stage
from factory.sandbox.detect import Sandbox, find_backends, open_sandbox
from factory.sandbox.policy import Ended, Policy
from shared.errors import PreflightRefused
from tests.fakes import proposal
from tests.harness import Factory, commit_all, order

_BACKEND = next(each.backend for each in find_backends() if not each.problem)


@dataclass(frozen=True)
class Bench:
    """A folder with files, and the sandbox in which its commands are judged."""

    folder: Path
    sandbox: Sandbox

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)

    def plainly(self, command: str) -> int:
        """The control: return the exit code of the command where llmch does not run it."""
        argv = list(parse_check(command).argv)
        python = {"python": [sys.executable], "pytest": [sys.executable, "-m", "pytest"]}
        argv[:1] = python.get(argv[0], argv[:1])
        return subprocess.run(argv, cwd=self.folder, capture_output=True, check=False).returncode

    def judged(self, command: str) -> Ended:
        log = self.folder.parent / "log"
        return run_to_its_end(parse_check(command), self.sandbox, seconds=60, log=log)

    def refused(self, command: str) -> str:
        """Return what is said of a command that succeeds plainly and is not believed."""
        assert self.plainly(command) == 0, "the attack does not work without llmch"
        ended = self.judged(command)
        assert not ended.ok
        return f"{ended.doubt}\n{ended.stdout.text}\n{ended.stderr.text}"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    folder, private = tmp_path / "work" / "project", tmp_path / "private"
    folder.mkdir(parents=True)
    private.mkdir()
    yield Bench(folder, open_sandbox(_BACKEND, Policy(folder, None, private, Path(sys.executable))))
    shutil.rmtree(private, ignore_errors=True)


_ASSERTED = 'python -c "from m import f; assert f(1) == 2"'
_AT_IMPORT = "while it is imported"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys\nsys.exit(0)\n", f"m.py:2 {_AT_IMPORT}"),
        ("raise SystemExit\n", f"m.py:1 {_AT_IMPORT}"),
        ("exit()\n", f"m.py:1 {_AT_IMPORT}"),
        ("import os\nos._exit(0)\n", f"m.py:2 {_AT_IMPORT}"),
        ("import os\ndef f(x):\n    os._exit(0)\n", "exits at m.py:3. Return or raise there"),
        ("import sys\ndef f(x):\n    sys.exit(0)\n", "exits at m.py:3. Return or raise there"),
        ("exec('import sys; sys.exit()')\n", f"m.py:1 {_AT_IMPORT}"),
        ("import posix\nposix._exit(0)\n", "something in the code under test ended the process"),
        ("import os\nos.execv('/bin/true', ['true'])\n", "ended the process"),
        ("import sys\nsys.exit(256)\n", "ended the process"),
        (
            "import atexit, os\natexit.register(os._exit, 0)\nraise SystemExit(1)\n",
            "",
        ),
    ],
)
def test_an_exit_of_the_imported_module_is_not_a_success(
    bench: Bench, code: str, said: str
) -> None:
    bench.write({"m.py": code})
    assert said in bench.refused(_ASSERTED)


def test_a_script_that_imports_a_module_without_a_main_guard_is_told_the_remedy(
    bench: Bench,
) -> None:
    module = "import sys\ndef main():\n    return 0\nsys.exit(main())\n"
    check = "import sys\nsys.path.insert(0, '.')\nfrom m import main\nassert main() == 1\n"
    bench.write({"m.py": module, "tests/check.py": check, "run.py": check})
    for command in ("python tests/check.py", "python run.py"):
        said = bench.refused(command)
        assert f"m.py:4 {_AT_IMPORT}" in said
        assert 'below `if __name__ == "__main__":`' in said


def test_a_function_cannot_end_the_test_that_calls_it(bench: Bench) -> None:
    check = "def main():\n    assert f(1) == 2\nif __name__ == '__main__':\n    sys.exit(main())\n"
    bench.write(
        {
            "m.py": "import sys\ndef f(x):\n    sys.exit(0)\n",
            "tests/check.py": f"import sys\nfrom m import f\n{check}",
            "tests/__init__.py": "",
        }
    )
    assert "exits at m.py:3" in bench.refused("env PYTHONPATH=. python tests/check.py")
    assert "exits at m.py:3" in bench.refused("python -m tests.check")


@pytest.mark.parametrize("code", ["import sys\nsys.exit(0)\n", "import os\nos._exit(0)\n"])
def test_unittest_that_is_ended_at_import_proves_nothing(bench: Bench, code: str) -> None:
    test = (
        "import unittest\nfrom m import f\n\nclass T(unittest.TestCase):\n"
        "    def test_f(self):\n        self.assertEqual(f(1), 2)\n"
    )
    bench.write({"m.py": code, "tests/__init__.py": "", "tests/test_m.py": test})
    assert f"m.py:2 {_AT_IMPORT}" in bench.refused("python -m unittest tests.test_m")


@pytest.mark.rest
@pytest.mark.parametrize(
    "code",
    [
        "import os\ndef f(x):\n    os._exit(0)\n",
        "import os\nprint('1 passed in 0.01s', flush=True)\nos._exit(0)\n",
    ],
)
def test_pytest_that_is_ended_proves_nothing(bench: Bench, code: str) -> None:
    test = "from m import f\n\ndef test_f():\n    assert f(1) == 2\n"
    bench.write({"m.py": code, "test_m.py": test})
    assert "ended before its own end" in bench.refused("pytest -q test_m.py")


def test_the_exit_code_of_an_own_end_cannot_be_chosen_by_the_code(bench: Bench) -> None:
    ways = ("sys.exit({})", "os._exit({})", "sys.exit(256 + {})")
    for way in ways:
        code = "\n".join(f"if x == {end}: {way.format(end)}" for end in range(1, 128))
        bench.write({"m.py": f"import os, sys\ndef f(x):\n{_indented(code)}\n"})
        codes = {bench.judged(f'python -c "from m import f; f({end})"').ok for end in (40, 90)}
        assert codes == {False}


def _indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.split("\n"))


_HONEST = {
    "its own last line exits": 'python -c "import sys; from m import ok; sys.exit(ok(0))"',
    "its own code leaves at once": 'python -c "import os; from m import ok; os._exit(ok(0))"',
    "its last call exits": "python -c \"from m import cli; cli(['--version'])\"",
    "a program's own main": "python -m app --version",
    "a program that exits in another file": "python prog.py --version",
    "a script of unittest": "python tests/cases.py",
    "a script that exits with its main": "python tests/check.py",
    "children": 'python -c "import os, sys; os.fork() or sys.exit(0); print(os.wait())"',
    "an exit that is expected": (
        'python -c "from m import cli\ntry: cli([])\nexcept SystemExit as e: assert e.code == 2"'
    ),
    "threads": (
        'python -c "import threading; from m import ok; threading.Thread(target=ok).start()"'
    ),
    "pytest": "python -m pytest -q tests/test_exits.py",
    "pytest without a summary": "python -m pytest -q -q tests/test_exits.py",
}


@pytest.mark.parametrize("name", _HONEST)
def test_honest_commands_pass_as_they_did(bench: Bench, name: str) -> None:
    cli = "def cli(argv):\n    p = argparse.ArgumentParser()\n    p.add_argument('--version', "
    cli += "action='version', version='1')\n    p.add_argument('file')\n    p.parse_args(argv)\n"
    guarded = "if __name__ == '__main__':\n    sys.exit(main())\n"
    bench.write(
        {
            "m.py": f"import argparse\n\ndef ok(x=0):\n    return x\n\n{cli}",
            "app/__main__.py": "import sys\nfrom m import cli\n\ndef main():\n"
            f"    return cli(None)\n\n{guarded}",
            "prog.py": "from m import cli\ncli(None)\nprint('went on')\n",
            "tests/cases.py": "import unittest\n\nclass T(unittest.TestCase):\n"
            "    def test_a(self): pass\n\nunittest.main()\n",
            "tests/check.py": f"import sys\n\ndef main():\n    return 0\n\n{guarded}",
            "tests/test_exits.py": "import pytest\nfrom m import cli\n\ndef test_a():\n"
            "    with pytest.raises(SystemExit):\n        cli([])\n",
        }
    )
    ended = bench.judged(_HONEST[name])
    assert ended.ok, (ended.doubt, ended.stderr.text)
    assert ended.exit_code == 0


@pytest.mark.rest
def test_a_report_that_counts_a_failed_test_is_not_a_success(bench: Bench) -> None:
    conftest = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
    tests = "def test_a(): assert 0\ndef test_b(): pass\n"
    bench.write({"conftest.py": conftest, "test_a.py": tests})
    said = bench.refused("python -m pytest -q test_a.py")
    assert "exited with 0, but its output reports 2 tests, 1 of them failed." in said
    bench.write({"verify.sh": "python -m pytest -q test_a.py\n"})
    assert not bench.judged("bash verify.sh").ok


def test_the_brief_of_an_early_exit_names_the_line_and_the_remedy(factory: Factory) -> None:
    document = order(allowed_files=["m.py"], acceptance_commands=[_ASSERTED])
    code = "import sys\n\n\ndef f(x):\n    return x\n\n\nsys.exit(f(0))\n"
    summary = factory.run(document, [proposal({"m.py": code})], max_attempts=1)
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert brief.stage is Stage.ACCEPTANCE_FAILED
    assert brief.exit_code == 1
    assert brief.facts == (
        "The command ended before its own end: the code under test exits at m.py:8 while it is "
        'imported. Put what a program does below `if __name__ == "__main__":`.',
    )


def test_an_early_exit_on_hollow_code_is_not_a_pass(factory: Factory) -> None:
    commit_all(factory.repo, {"quits.py": "import sys\nsys.exit(0)\n"})
    document = order(
        allowed_files=["m.py"],
        interfaces=[{"path": "m.py", "stub": "def f(x: int) -> int: ..."}],
        acceptance_commands=['python -c "import quits; from m import f; assert f(1) == 2"'],
    )
    code = "def f(x: int) -> int:\n    return x + 1\n"
    summary = factory.run(document, [proposal({"m.py": code})], max_attempts=1)
    assert summary.flags == ()


def test_a_verification_that_ends_early_is_red_on_the_base(factory: Factory) -> None:
    files = {"m.py": "import os\nos._exit(0)\n", "test_m.py": "import m\n\ndef test_a(): pass\n"}
    commit_all(factory.repo, files)
    with pytest.raises(PreflightRefused, match="ended before its own end"):
        factory.run(order(), [proposal({"hello.txt": "x\n"})], verify=("python -m pytest -q",))
