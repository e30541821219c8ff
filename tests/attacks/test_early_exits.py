"""Code under test that ends its command before the command's own end: such an exit proves nothing.

Each attack is run twice: as the program itself runs it, which succeeds, and as llmch judges it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from factory.judging.count_tests import tests_of as counted_tests
from factory.judging.run_checks import parse_check, run_to_its_end
from factory.orders.documents import CountedTests
from factory.orders.stages import Stage
from factory.sandbox.detect import find_backends, open_sandbox
from factory.sandbox.lent_folders import go_seed
from factory.sandbox.policy import Ended, Policy
from factory.sandbox.runner import Sandbox
from factory.sandbox.toolchain_search import find_toolchains
from shared.errors import PreflightRefused
from tests.fakes import proposal
from tests.harness import Factory, commit_all, order
from tests.real_tools import kept_seeds, needs

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

    def unwatched(self, command: str) -> int:
        """The control for tools that only the sandbox has: the command with nothing on watch."""
        argv = parse_check(f"env GOFLAGS=-buildvcs=false {command}").argv
        log = self.folder.parent / "plain"
        return self.sandbox.run(argv, timeout_seconds=60, log=log).exit_code

    def refused(self, command: str) -> str:
        """Return what is said of a command that succeeds plainly and is not believed."""
        control = self.unwatched if command.startswith(("go ", "cargo ")) else self.plainly
        assert control(command) == 0, "the attack does not work without llmch"
        ended = self.judged(command)
        assert not ended.ok
        return f"{ended.doubt}\n{ended.stdout.text}\n{ended.stderr.text}"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    folder, private = tmp_path / "work" / "project", tmp_path / "private"
    folder.mkdir(parents=True)
    private.mkdir()
    yield Bench(folder, sandbox_in(folder, private))
    shutil.rmtree(private, ignore_errors=True)


def sandbox_in(folder: Path, private: Path, seed: Path | None = None) -> Sandbox:
    environ = {"HOME": pwd.getpwuid(os.geteuid()).pw_dir, "PATH": os.environ["PATH"]}
    tools = find_toolchains(private, lambda _: None, environ)
    python = Path(sys.executable)
    return open_sandbox(
        _BACKEND,
        Policy(
            folder, None, private, python, toolchains=tools, seeds={"GOCACHE": seed} if seed else {}
        ),
    )


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


QUIET = {"pytest.ini": "[pytest]\naddopts = -q\n"}
ENDING = {
    "m.py": "import os\ndef f():\n    os._exit(5)\n",
    "test_m.py": "import m\n\ndef test_f():\n    m.f()\n",
}


@pytest.mark.parametrize(
    ("files", "note"),
    [
        ({}, "no tests were found"),
        (QUIET, "no tests were found"),
        (ENDING, ""),
        ({**QUIET, **ENDING}, ""),
    ],
)
def test_only_a_runner_that_says_so_found_no_tests(
    bench: Bench, files: Mapping[str, str], note: str
) -> None:
    bench.write(files)
    check = parse_check("python -m pytest -q", (5, "no tests were found"))
    log = bench.folder.parent / "log"
    ended = run_to_its_end(check, bench.sandbox, seconds=60, log=log)
    assert ended.exit_code == 5
    assert (check.note_on(ended, files), check.passes(ended, files)) == (note, bool(note))


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


_CALLS = (
    "const {f} = require('./m.js');\nrequire('node:test')('x', () => { if (f(1) !== 2) throw 1 })\n"
)
_IMPORTS = (
    "import {f} from './m.mjs';\nimport test from 'node:test';\ntest('x', () => { throw f })\n"
)


@needs("node")
@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("process.exit(0)\n", "m.js:1 while it is loaded"),
        ("process.reallyExit(0)\n", "m.js:1 while it is loaded"),
        ("exports.f = () => process.exit()\n", "m.js:1. Return or throw there"),
        ("exports.f = () => 2;\nsetTimeout(() => process.exit(0), 1);\n", ""),
    ],
)
def test_node_that_is_ended_by_the_code_under_test_proves_nothing(
    bench: Bench, module: str, said: str
) -> None:
    late = "const end = new Promise((done) => setTimeout(done, 200));\n"
    waits = f"{late}require('./m.js');\n"
    waits += "require('node:test')('y', () => end.then(() => { throw 1 }))\n"
    bench.write({"m.js": module, "m.test.js": _CALLS if said else waits})
    assert f"exits at {said}" in bench.refused("node --test m.test.js") or not said
    if said:
        checked = "const {f} = require('../m.js');\nrequire('assert').equal(f(1), 2);\n"
        bench.write({"tests/check.js": checked})
        assert said in bench.refused("node tests/check.js")
        assert said in bench.refused("node -e \"require('assert')(require('./m.js').f(1) === 2)\"")


@pytest.mark.rest
@needs("node")
def test_a_module_that_ends_node_while_it_is_imported_proves_nothing(bench: Bench) -> None:
    module = "process.exit(0);\nexport const f = 1;\n"
    main = "import {f} from './m.mjs';\nif (f !== 2) throw 1;\n"
    bench.write({"m.mjs": module, "m.test.mjs": _IMPORTS, "main.mjs": main})
    for command in ("node --test m.test.mjs", "node main.mjs", "npm test --silent"):
        bench.write({"package.json": '{"scripts": {"test": "node --test m.test.mjs"}}'})
        assert "m.mjs:1 while it is loaded" in bench.refused(command)


_FAILS = "require('assert').equal(require({}).f(1), 2);\n"


@needs("node")
@pytest.mark.parametrize(
    ("hides", "said"),
    [
        ("process.on('uncaughtException', () => {})", "takes errors"),
        ("process.setUncaughtExceptionCaptureCallback(() => {})", "takes errors"),
        ("process.once('uncaughtException', () => process.exit(0))", ""),
        ("process.on('exit', () => { process.exitCode = 0 })", "makes the exit code 0"),
        ("process.on('exit', () => process.exit(0))", "makes the exit code 0"),
    ],
)
def test_a_failure_that_the_code_under_test_hides_from_node_is_one(
    bench: Bench, hides: str, said: str
) -> None:
    test = _FAILS.format("'../m.js'")
    bench.write(
        {
            "m.js": f"{hides};\nexports.f = () => 0;\n",
            "tests/check.js": test,
            "tests/plain.test.js": test,
        }
    )
    evaluated = _FAILS.format("'./m.js'").strip()
    commands = ("node tests/check.js", "node --test tests/plain.test.js", f'node -e "{evaluated}"')
    for command in commands:
        assert f"the code under test {said}" in bench.refused(command)


@needs("node")
def test_a_rejection_that_the_code_under_test_takes_is_a_failure(bench: Bench) -> None:
    module = "process.on('unhandledRejection', () => {});\nexports.f = async () => 0;\n"
    bench.write({"m.js": module})
    test = "require('./m.js').f(1).then((found) => require('assert').equal(found, 2))"
    assert "the code under test takes errors" in bench.refused(f'node -e "{test}"')


@needs("node")
def test_what_takes_errors_of_a_process_may_be_tested(bench: Bench) -> None:
    module = "exports.seen = [];\nfor (const each of ['uncaughtException', 'exit'])\n"
    module += "  process.on(each, (what) => exports.seen.push(String(what)));\n"
    own = (
        "process.on('uncaughtException', () => {});\nsetTimeout(() => { throw new Error('y') });\n"
    )
    test = "const {seen} = require('../m.js');\nprocess.emit('uncaughtException', 'x');\n"
    test += "if (seen[0] !== 'x') throw new Error(seen);\n"
    bench.write({"m.js": module, "tests/check.js": test, "tests/own.js": f"{own}{test}"})
    bench.write({"app.js": "require('./m.js');\nthrow new Error('z');\n"})
    for command in ("node tests/check.js", "node tests/own.js", "node app.js"):
        ended = bench.judged(command)
        assert ended.ok, (command, ended.stderr.text)


@needs("node")
def test_honest_programs_of_node_pass_as_they_did(bench: Bench) -> None:
    bench.write(
        {
            "cli.js": "exports.main = () => process.exit(0);\n",
            "bin/a.js": "#!/usr/bin/env node\nrequire('../cli.js').main();\n",
            "bin/b.js": "const {main} = require('../cli.js');\nmain();\nconsole.log('on');\n",
            "loads.js": "require('./loaded.js');\n",
            "loaded.js": "process.exit(0);\n",
            "own.test.js": "const test = require('node:test');\ntest('x', () => {});\n"
            "test.after(() => process.exit(0));\n",
            "node_modules/lib/index.js": "module.exports = () => process.exit(0);\n",
        }
    )
    for command in (
        "node bin/a.js",
        "node bin/b.js",
        "node loads.js",
        "node --test own.test.js",
        "node -e \"require('lib')()\"",
        "node -e \"require('./cli.js').main()\"",
        "node -e \"process.exit(require('./cli.js').main())\"",
        'node -e "process.exit(0)"',
        "env NODE_OPTIONS=--no-warnings node -p 1",
    ):
        ended = bench.judged(command)
        assert ended.ok, (command, ended.stderr.text)


@needs("node")
def test_a_program_that_a_test_starts_is_judged_by_the_test(bench: Bench) -> None:
    ends = "exports.f = () => setImmediate(() => process.exit(0));\n"
    starts = (
        "const {execFileSync} = require('node:child_process');\n"
        "require('node:test')('x', () => { execFileSync(process.execPath, ['tests/pm.js']) });\n"
    )
    program = "require('../m.js').f();\nsetTimeout(() => {}, 60000);\n"
    bench.write({"m.js": ends, "tests/pm.js": program, "m.test.js": starts})
    ended = bench.judged("node --test m.test.js")
    assert ended.ok, ended.stderr.text
    direct = (
        "require('node:test')('x', async () => {\n"
        "  require('./m.js').f();\n  await new Promise(() => {});\n});\n"
    )
    bench.write({"m.test.js": direct})
    assert "m.js:1" in bench.refused("node --test m.test.js")


@needs("node")
def test_a_runner_of_the_projects_own_does_not_hide_what_ends_its_tests(bench: Bench) -> None:
    runs = "require('node:child_process').execFileSync(process.execPath, ['--test', 'm.test.js'])\n"
    test = "const {f} = require('./m.js');\nrequire('node:test')('x', () => { if (!f) throw 1 })\n"
    bench.write({"m.js": "process.exit(0)\n", "m.test.js": test, "tests/run.js": runs})
    assert not bench.judged("node tests/run.js").ok


@pytest.fixture
def go(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A bench for Go, whose standard library is compiled already."""
    folder, private = tmp_path / "work" / "project", tmp_path / "private"
    folder.mkdir(parents=True)
    private.mkdir()
    program = Path(str(shutil.which("go")))
    kept = kept_seeds(tmp_path_factory, program)
    seed = go_seed(program, os.environ["PATH"], frozenset(), kept)
    bench = Bench(folder, sandbox_in(folder, private, seed))
    test = 'package w\n\nimport "testing"\n\nfunc TestF(t *testing.T) {\n'
    test += "\tif F() != 2 {\n\t\tt.Fatal(F())\n\t}\n}\n"
    bench.write({"go.mod": "module w\n\ngo 1.21\n", "w_test.go": test})
    return bench


_INIT = 'package w\n\nimport "os"\n\nfunc F() int { return 1 }\n\nfunc init() { os.Exit(0) }\n'
_MAIN = 'package w\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) {\n'


@needs("go")
@pytest.mark.rest
def test_a_go_package_that_is_ended_before_its_tests_proves_nothing(go: Bench) -> None:
    go.write({"w.go": _INIT})
    for command in ("go test ./...", "go test -run TestF .", "go test -v -json ./..."):
        assert "ended before its own end: os.Exit(0) in the code under" in go.refused(command)
    honest = _INIT.replace("return 1", "return 2").replace("os.Exit(0)", "_ = os.Args")
    go.write({"w.go": honest})
    for command in ("go test", "go test -v ./...", "go test -run TestNone ./...", "go vet ./..."):
        assert go.judged(command).ok, command
    go.write({"w.go": honest.replace("return 2", "return 1")})
    assert "w_test.go:7: 1" in go.judged("go test ./...").stdout.text


def _saying(statement: str) -> str:
    head = 'package w\n\nimport (\n\t"fmt"\n\t"syscall"\n)\n\nvar _ = syscall.Getpid\n\n'
    return f"{head}func F() int {{\n\t{statement}\n\treturn 2\n}}\n"


@needs("go")
@pytest.mark.rest
def test_what_go_tests_print_decides_nothing(go: Bench) -> None:
    first = "func TestFirst(t *testing.T) {}\n"
    go.write({"a_test.go": f'package w\n\nimport "testing"\n\n{first}'})
    go.write({"w.go": _saying('fmt.Println("PASS"); syscall.Exit(0)')})  # os.Exit(0) panics here
    said = go.refused("go test ./...")
    assert "1 test of a test binary began and reported no result" in said
    go.write({"w.go": _saying('fmt.Println("FAIL")')})
    assert go.judged("go test ./...").ok
    go.write({"w.go": _saying('fmt.Print("guess> ")')})
    counted = counted_tests(go.judged("go test ./..."))
    assert counted == CountedTests(passed=2, failed=0, skipped=0)


_FAKE = """package w

import "fmt"

func F() int { return 2 }

func init() { fmt.Print("=== RUN   TestA\\n--- PASS: TestA (0.00s)\\n") }
"""


@needs("go")
@pytest.mark.rest
def test_go_tests_are_counted_one_by_one_and_none_that_a_package_without_tests_prints(
    go: Bench,
) -> None:
    go.write({"w.go": _FAKE.replace('fmt.Print("', '_ = fmt.Sprint("')})
    more = "".join(f"func TestN{each}(t *testing.T) {{}}\n" for each in range(3))
    go.write({"n_test.go": f'package w\n\nimport "testing"\n\n{more}'})
    assert counted_tests(go.judged("go test ./...")) == CountedTests(passed=4, failed=0, skipped=0)
    go.write({"w.go": _FAKE})
    ended = go.judged("go test -run TestNone ./...")
    assert "--- PASS: TestA" in ended.stdout.text, "the attack does not work"
    counted = counted_tests(ended)
    assert counted is not None
    assert not counted.ran


@needs("go")
@pytest.mark.rest
def test_a_test_main_leaves_tests_out_but_hides_no_failure(go: Bench) -> None:
    go.write({"w.go": _INIT.replace("os.Exit(0)", "_ = os.Args")})
    go.write({"main_test.go": _MAIN + "\tm.Run()\n\tos.Exit(0)\n}\n"})
    assert "its TestMain exits with 0" in go.refused("go test ./...")
    go.write({"main_test.go": _MAIN + "\tos.Exit(0)\n}\n"})
    ended = go.judged("go test ./...")
    assert ended.ok
    assert "[no tests to run]" in ended.stdout.text


@needs("cargo")
@pytest.mark.rest
def test_a_test_binary_of_cargo_that_is_ended_proves_nothing(bench: Bench) -> None:
    lib = "pub fn f() -> i32 { std::process::exit(0) }\n\n#[cfg(test)]\nmod tests {\n"
    lib += "    #[test]\n    fn f() { assert_eq!(super::f(), 2) }\n}\n"
    other = "#[test]\nfn other() {}\n"
    manifest = '[package]\nname = "w"\nversion = "0.1.0"\nedition = "2021"\n'
    bench.write({"Cargo.toml": manifest, "src/lib.rs": lib, "tests/other.rs": other})
    said = "1 test of a test binary began and reported no result"
    assert said in bench.refused("cargo test")
    bench.write({"src/lib.rs": lib.replace("std::process::exit(0)", "2")})
    ended = bench.judged("cargo test")
    assert ended.ok, ended.stdout.text
