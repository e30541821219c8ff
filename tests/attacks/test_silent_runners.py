"""Changes that keep a test runner from running its tests, or hide that it ran none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from factory.orders.stages import Stage
from shared.languages.python.python_packages import OwnDistribution
from tests.fakes import proposal
from tests.harness import Factory, commit_all, stages, use_rust, writing

TEST = "from app import double\n\ndef test_double():\n    assert double(2) == 4\n"
NEW_TEST = TEST.replace("double", "triple").replace("4", "6")
WRONG = "def double(number):\n    return 0\n"
BY_PYTEST = writing(
    "app.py",
    allowed_files=["app.py", "pyproject.toml"],
    acceptance_files=[{"path": "tests/test_app.py", "content": TEST}],
    acceptance_commands=["python -m pytest -q tests/test_app.py"],
)


def configured(options: str) -> str:
    return f"[project]\nname = 'shop'\n\n[tool.pytest.ini_options]\naddopts = {options!r}\n"


@pytest.mark.parametrize("options", ["--collect-only", "--collect-only -qq", "--setup-plan"])
def test_a_change_that_tells_pytest_to_run_no_test_proves_nothing(
    factory: Factory, options: str
) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": "python -c 'import app'\n", "app.py": WRONG})
    reply = proposal({"app.py": f"{WRONG}\n", "pyproject.toml": configured(options)})
    summary = factory.run(BY_PYTEST, [reply], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    assert summary.failure is not None
    assert "proves nothing" in summary.failure.excerpt


def test_a_change_that_makes_pytest_quiet_is_judged_by_a_sign_for_each_test(
    factory: Factory,
) -> None:
    right = "def double(number):\n    return 2 * number\n"
    reply = proposal({"app.py": right, "pyproject.toml": configured("-q")})
    assert factory.run(BY_PYTEST, [reply], max_attempts=1).verdict == "PASS"


@pytest.mark.parametrize("options", ["-k zero", "--collect-only -qq", "--setup-plan"])
def test_data_that_the_plan_brings_has_to_be_read_by_tests_that_are_there(
    factory: Factory, options: str
) -> None:
    old = """import json
from pathlib import Path

import pytest
from app import double


@pytest.mark.parametrize("name", ["zero", "two"])
def test_cases(name):
    data = Path(f"tests/data/{name}.json")
    number, expected = json.loads(data.read_text()) if data.exists() else (0, 0)
    assert double(number) == expected
"""
    base = {
        "scripts/verify.sh": "python -c 'import app'\n",
        "app.py": WRONG,
        "tests/test_old.py": old,
        "tests/data/zero.json": "[0, 0]\n",
    }
    commit_all(factory.repo, base)
    document = {
        **BY_PYTEST,
        "acceptance_files": [{"path": "tests/data/two.json", "content": "[2, 4]\n"}],
        "acceptance_commands": ["python -m pytest -q tests/test_old.py"],
    }
    reply = proposal({"app.py": f"{WRONG}\n", "pyproject.toml": configured(options)})
    assert stages(factory.run(document, [reply], max_attempts=1)) == [Stage.ACCEPTANCE_FAILED]


BY_UNITTEST = """import unittest

from app import double


class Doubling(unittest.TestCase):
    def test_none(self):
        self.assertEqual(double(0), 0)

    def test_double(self):
        self.assertEqual(double(2), 4)
"""
SKIPPING = {
    "pytest": "import pytest\n\ndef double(number):\n    {} or pytest.{}('later')\n    return 0\n",
    "unittest": "import unittest\n\ndef double(number):\n    if {}:\n        return 0\n"
    "    raise unittest.SkipTest('later')\n",
}
RIGHT_BUT_ONE = SKIPPING["unittest"].format("not number")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("python -m unittest tests.test_app", RIGHT_BUT_ONE),
        pytest.param(
            "python -m unittest -v tests.test_app.Doubling", RIGHT_BUT_ONE, marks=pytest.mark.rest
        ),
        pytest.param(
            "python -m pytest -q ./tests/test_app.py", RIGHT_BUT_ONE, marks=pytest.mark.rest
        ),
        pytest.param(
            "python -m pytest tests/test_app.py::Doubling",
            SKIPPING["pytest"].format("not number", "xfail"),
            marks=pytest.mark.rest,
        ),
    ],
)
def test_code_that_skips_its_own_test_proves_nothing(
    factory: Factory, command: str, code: str
) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": "true\n", "app.py": WRONG})
    document = BY_PYTEST | {
        "acceptance_files": [{"path": "tests/test_app.py", "content": BY_UNITTEST}],
        "acceptance_commands": [command],
    }
    summary = factory.run(document, [proposal({"app.py": code})], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    assert summary.failure is not None
    said = "reports 1 test, 1 skipped, and tests/test_app.py skips none"
    assert said in summary.failure.excerpt


@pytest.mark.parametrize("changes", [[], ["X"]])
def test_code_that_silences_its_tests_is_no_new_runner_whatever_the_order_changes(
    factory: Factory, changes: list[str]
) -> None:
    test = f"import unittest\nimport app\n{BY_UNITTEST.partition('from app import double')[2]}"
    files = {
        "scripts/verify.sh": "python -m unittest discover\n",
        "app.py": "X = 1\n",
        "test_app.py": test.replace("double(0)", "0").replace("double(2)", "4"),
    }
    commit_all(factory.repo, files)
    document = writing("app.py", context_files=["app.py"], changes=changes)
    document["acceptance_commands"] = document["regression"] = ["test -f app.py"]
    silent = "import os\nimport sys\n\nX = 1\nsys.stderr = open(os.devnull, 'w')\n"
    summary = factory.run(document, [proposal({"app.py": silent})], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert summary.failure is not None
    assert "its output does not say how many" in summary.failure.excerpt
    # The control: code that leaves the output alone.
    assert factory.run(document, [proposal({"app.py": "X = 1\nY = 2\n"})]).verdict == "PASS"


@pytest.mark.rest
def test_a_test_of_the_plan_may_skip_by_itself(factory: Factory) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": "true\n", "app.py": WRONG})
    skipped = "\n\n@pytest.mark.skipif(True, reason='of elsewhere')\ndef test_no():\n    ...\n"
    files = [{"path": "tests/test_app.py", "content": f"import pytest\n{TEST}{skipped}"}]
    reply = proposal({"app.py": "def double(number):\n    return 2 * number\n"})
    assert factory.run(BY_PYTEST | {"acceptance_files": files}, [reply]).verdict == "PASS"


def pytest_with(setting: str) -> str:
    return f"[project]\nname = 'shop'\n\n[tool.pytest.ini_options]\n{setting}\n"


@pytest.mark.rest
@pytest.mark.parametrize(
    "setting", ['addopts = "--ignore=tests/test_app.py"', 'testpaths = ["tests/old"]']
)
def test_a_change_that_has_pytest_pass_over_the_tests_of_the_plan_proves_nothing(
    factory: Factory, setting: str
) -> None:
    old = {"tests/old/test_old.py": "def test_old():\n    assert True\n"}
    commit_all(factory.repo, {"scripts/verify.sh": "true\n", "app.py": WRONG, **old})
    document = BY_PYTEST | {"acceptance_commands": ["python -m pytest -q"]}
    reply = proposal({"app.py": f"{WRONG}\n", "pyproject.toml": pytest_with(setting)})
    summary = factory.run(document, [reply], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    assert summary.failure is not None
    assert "whatever the plan's tests hold" in summary.failure.excerpt


@pytest.mark.rest
@pytest.mark.parametrize(
    "setting",
    ['addopts = "--deselect=tests/test_app.py::test_double"', 'python_functions = "test_easy"'],
)
def test_a_change_that_has_pytest_leave_out_a_test_of_the_plan_proves_nothing(
    factory: Factory, setting: str
) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": "true\n", "app.py": WRONG})
    tests = f"{TEST}\n\ndef test_easy():\n    assert double(0) == 0\n"
    files = [{"path": "tests/test_app.py", "content": tests}]
    reply = proposal({"app.py": f"{WRONG}\n", "pyproject.toml": pytest_with(setting)})
    document = BY_PYTEST | {"acceptance_files": files}
    summary = factory.run(document, [reply], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    assert summary.failure is not None
    said = "The command ran 1 test, and 2 tests with pyproject.toml as before"
    assert said in summary.failure.excerpt


MORE = "".join(f"def test_more{each}():\n    assert True\n" for each in range(3))


@pytest.mark.rest
@pytest.mark.parametrize("changes", [[], ["pyproject.toml"]])
@pytest.mark.parametrize("quiet", ["", "-q "], ids=["counted", "uncounted"])
@pytest.mark.parametrize("more", ["", MORE], ids=["fewer", "more"])
def test_a_change_does_not_have_the_verification_leave_out_a_test_that_it_breaks(
    factory: Factory, changes: list[str], quiet: str, more: str
) -> None:
    files = {
        "scripts/verify.sh": "python -m pytest -q tests\n",
        "app.py": "def double(number):\n    return 2 * number\n",
        "tests/test_app.py": f"{TEST}\n\ndef test_zero():\n    assert double(0) == 0\n",
    }
    commit_all(factory.repo, files)
    document = writing("app.py", allowed_files=["app.py", "pyproject.toml"], changes=changes)
    if more:
        document["acceptance_files"] = [{"path": "tests/test_more.py", "content": more}]
        document["acceptance_commands"] = ["python -m pytest -q tests/test_more.py"]
    setting = f'addopts = "{quiet}--deselect=tests/test_app.py::test_double"'
    reply = proposal({"app.py": WRONG, "pyproject.toml": pytest_with(setting)})
    summary = factory.run(document, [reply], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED if not changes else ""]


@pytest.mark.rest
def test_a_change_answers_for_no_command_that_never_ran_the_plans_tests(factory: Factory) -> None:
    """Such a command keeps something as it was, or runs what is no code."""
    right = "def double(number):\n    return 2 * number\n"
    old = {"tests/test_old.py": "def test_old():\n    assert True\n"}
    commit_all(factory.repo, {"scripts/verify.sh": "true\n", "app.py": WRONG, **old})
    without = "python -m pytest -q --ignore=tests/test_app.py"
    commands = {"acceptance_commands": [*BY_PYTEST["acceptance_commands"], without]}
    reply = proposal({"app.py": right, "pyproject.toml": pytest_with("xfail_strict = true")})
    summary = factory.run(BY_PYTEST | commands | {"regression": [without]}, [reply])
    assert (summary.verdict, stages(summary)) == ("PASS", [""])


@pytest.mark.rest
def test_a_test_of_the_changes_own_does_not_stand_for_one_of_the_plan_that_is_left_out(
    factory: Factory,
) -> None:
    """It is there only where the plan's file is empty, as in a count of the tests of others."""
    old = "".join(f"def test_{each}():\n    assert True\n" for each in "ab")
    base = {"pyproject.toml": configured("--strict-markers tests"), "tests/test_old.py": old}
    commit_all(factory.repo, {"scripts/verify.sh": "true\n", "app.py": WRONG, **base})
    forged = (
        "from pathlib import Path\n\nif not Path(__file__).with_name('test_app.py').read_text():\n"
        "    def test_more():\n        assert True\n"
    )
    document = BY_PYTEST | {
        "allowed_files": ["app.py", "pyproject.toml", "tests/test_more.py"],
        "acceptance_files": [
            {
                "path": "tests/test_app.py",
                "content": f"{TEST}\n\ndef test_easy():\n    assert double(0) == 0\n",
            }
        ],
    }
    files = {"app.py": f"{WRONG}\n", "pyproject.toml": configured("--strict-markers -k easy")}
    reply = proposal({**files, "tests/test_more.py": forged})
    summary = factory.run(document, [reply], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]


OF_NODE = """\
import test from 'node:test';
import assert from 'node:assert';
import {double} from '../app.mjs';

test('easy', () => assert.equal(double(0), 0));
test('hard', () => assert.equal(double(2), 4));
"""


def of_npm(script: str) -> str:
    return f'{{"name": "shop", "version": "1.0.0", "scripts": {{"test": "{script}"}}}}\n'


@pytest.mark.rest
@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_a_script_of_npm_leaves_out_no_test_of_the_plan(factory: Factory) -> None:
    code = "export const double = n => 0;\n"
    files = {"app.mjs": code, "package.json": of_npm("node --test")}
    commit_all(factory.repo, {"scripts/verify.sh": "true\n", **files})
    document = writing(
        "app.mjs",
        allowed_files=["app.mjs", "package.json"],
        acceptance_files=[{"path": "test/app.test.mjs", "content": OF_NODE}],
        acceptance_commands=["npm test -- test/app.test.mjs"],
    )
    easy = of_npm("node --test --test-name-pattern=easy")
    wrong = proposal({"app.mjs": f"{code}\n", "package.json": easy})
    newer = of_npm("node --test").replace("1.0.0", "1.1.0")
    right = proposal({"app.mjs": code.replace("0", "2 * n"), "package.json": newer})
    summary = factory.run(document, [wrong, right], max_attempts=2)
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.ACCEPTANCE_FAILED, ""])


@pytest.mark.rest
@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_a_script_of_npm_may_leave_out_what_it_ran_once_more(factory: Factory) -> None:
    """Node counts files beside the tests, too. A test that the change breaks still fails."""
    (factory.repo / "scripts/verify.sh").unlink()
    code = "export const double = n => 2 * n;\n"
    files = {
        "app.mjs": code,
        "test/app.test.mjs": OF_NODE,
        **{f"test/data/{each}.mjs": "export const two = 2;\n" for each in "ab"},
        "package.json": of_npm("node --test test/"),
    }
    commit_all(factory.repo, files)
    document = writing("app.mjs", allowed_files=["app.mjs", "package.json"])
    script = of_npm("node --test --test-name-pattern=easy test/app.test.mjs")
    wrong = proposal({"app.mjs": code.replace("2 * n", "0"), "package.json": script})
    fewer = of_npm("node --test test/app.test.mjs")
    right = proposal({"app.mjs": f"{code}\n", "package.json": fewer})
    summary = factory.run(document, [wrong, right], max_attempts=2)
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.VERIFY_FAILED, ""])
    assert "`npm test` ran 4 tests before this order and 2 after it" in str(summary.warnings)


@pytest.mark.rest
def test_a_flood_does_not_hide_that_a_change_told_pytest_to_run_no_test(factory: Factory) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": "true\n", "app.py": WRONG})
    code = FLOOD.replace('"tests/test_new.py" not in sys.argv', "True").replace(
        "    os._exit(0)\n", ""
    )
    reply = proposal({"app.py": code, "pyproject.toml": configured("--collect-only -qq")})
    summary = factory.run(BY_PYTEST, [reply], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]


@pytest.mark.rest
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_a_change_that_leaves_cargo_no_test_to_build_proves_nothing(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_rust(monkeypatch)
    manifest = '[package]\nname = "w"\nversion = "0.1.0"\nedition = "2021"\n'
    code = "pub fn double(n: i32) -> i32 {\n    n * 0\n}\n"
    files = {
        "scripts/verify.sh": "test -f Cargo.toml\n",
        "src/lib.rs": code,
        "Cargo.toml": manifest,
        ".gitignore": "target/\nCargo.lock\n",
    }
    commit_all(factory.repo, files)
    test = "#[test]\nfn doubles() {\n    assert_eq!(w::double(2), 4);\n}\n"
    document = writing(
        "src/lib.rs",
        allowed_files=["src/lib.rs", "Cargo.toml"],
        acceptance_files=[{"path": "tests/plan.rs", "content": test}],
        acceptance_commands=["cargo test"],
    )
    without = f"{manifest}autotests = false\n\n[lib]\ntest = false\ndoctest = false\n"
    reply = proposal({"src/lib.rs": code.replace("n * 0", "0 * n"), "Cargo.toml": without})
    right = {"src/lib.rs": code.replace("n * 0", "2 * n"), "Cargo.toml": f"{manifest}\n[lib]\n"}
    summary = factory.run(document, [reply, proposal(right)], max_attempts=2)
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.ACCEPTANCE_FAILED, ""])


FLOOD = """\
import os, stat, sys

if "tests/test_new.py" not in sys.argv:
    for number in range(3, 30):  # pytest keeps the pipe that it was started with
        if os.path.exists(f"/proc/self/fd/{number}") and stat.S_ISFIFO(os.fstat(number).st_mode):
            for _ in range(105_000):
                os.write(number, b"x" * 99 + b"\\n")
            break
    os._exit(0)

def double(number):
    return 0

def triple(number):
    return 3 * number
"""


@pytest.mark.rest
def test_a_verification_that_prints_more_than_is_kept_has_run_no_test(factory: Factory) -> None:
    files = {
        "scripts/verify.sh": "set -e\npython -m pytest -q tests\n",
        "app.py": "def double(number):\n    return 2 * number\n",
        "tests/test_app.py": TEST,
    }
    commit_all(factory.repo, files)
    document = writing(
        "app.py",
        acceptance_files=[{"path": "tests/test_new.py", "content": NEW_TEST}],
        acceptance_commands=["python -m pytest -q tests/test_new.py"],
    )
    summary = factory.run(document, [proposal({"app.py": FLOOD})], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]


def test_a_manifest_places_no_program_before_one_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "lib/python3.11/site-packages").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    names = ("bash", "env", "node", "shop")
    points = tuple(("console_scripts", each, "app:main") for each in names)
    OwnDistribution("shop", "1.0", points).write(tmp_path)
    assert [each.name for each in (tmp_path / "bin").iterdir()] == ["shop"]


LOADING = """import unittest


class Fine(unittest.TestCase):
    def test_fine(self):
        self.assertEqual(1, 1)


def load_tests(loader, tests, pattern):
    return loader.loadTestsFromTestCase(Fine)
"""
DOUBLING = """import unittest

from app import double


class Doubling(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(2), 4)

    def test_none(self):
        self.assertEqual(double(0), 0)
"""


@pytest.mark.rest
@pytest.mark.parametrize("command", ["python -m unittest discover", "python -m unittest -v tests"])
def test_a_package_of_tests_does_not_say_that_the_plans_test_is_none(
    factory: Factory, command: str
) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": "python -c 'import app'\n", "app.py": WRONG})
    document = writing(
        "app.py",
        allowed_files=["app.py", "tests/__init__.py"],
        acceptance_files=[{"path": "tests/test_app.py", "content": DOUBLING}],
        acceptance_commands=[command],
    )
    reply = proposal({"app.py": f"{WRONG}\n", "tests/__init__.py": LOADING})
    summary = factory.run(document, [reply], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]


RIGHT = "def double(number):\n    return 2 * number\n"


@pytest.mark.rest
def test_a_package_of_tests_does_not_have_the_verification_leave_out_what_breaks(
    factory: Factory,
) -> None:
    base = {"app.py": RIGHT, "tests/__init__.py": "", "tests/test_app.py": DOUBLING}
    commit_all(factory.repo, {"scripts/verify.sh": "python -m unittest discover\n", **base})
    document = writing("app.py", allowed_files=["app.py", "tests/__init__.py"])
    reply = proposal({"app.py": WRONG, "tests/__init__.py": LOADING})
    summary = factory.run(document, [reply], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]


@pytest.mark.rest
def test_tests_of_another_command_do_not_stand_for_those_that_no_longer_run(
    factory: Factory,
) -> None:
    others = {"tests/test_other.py": "import unittest\n\n\n" + LOADING.split("\n\n\n")[1] + "\n"}
    base = {"app.py": RIGHT, "tests/test_app.py": TEST, **others}
    commit_all(factory.repo, base)
    verify = ("python -m pytest -q tests/test_app.py", "python -m unittest tests/test_other.py")
    document = writing("app.py", allowed_files=["app.py", "pyproject.toml"])
    reply = proposal({"app.py": WRONG, "pyproject.toml": configured("--collect-only")})
    summary = factory.run(document, [reply], max_attempts=1, verify=verify)
    assert stages(summary) == [Stage.VERIFY_FAILED]


WRAPPER = """#!/bin/sh
if grep -q skipTests pom.xml; then echo '[INFO] Tests are skipped.'; exit 0; fi
if grep -rq 'return 2' src/main; then echo '[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0'
exit 0; fi
echo '[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0'; exit 1
"""


@pytest.mark.rest
@pytest.mark.parametrize("skips", [True, False])
def test_a_build_that_a_change_has_skip_its_tests_proves_nothing(
    factory: Factory, skips: bool
) -> None:
    """The wrapper stands for Maven, whose plugins are not there without a network."""
    (factory.repo / "mvnw").write_text(WRAPPER)
    (factory.repo / "mvnw").chmod(0o755)
    commit_all(factory.repo, {"pom.xml": "<project/>\n", "scripts/verify.sh": "true\n"})
    document = writing(
        "src/main/App.java",
        allowed_files=["src/main/App.java", "pom.xml"],
        acceptance_files=[{"path": "src/test/AppTest.java", "content": "class AppTest {}\n"}],
        acceptance_commands=["./mvnw --batch-mode test"],
    )
    pom = f"<project>{'<skipTests>true</skipTests>' if skips else ' '}</project>\n"
    code = f"class App {{ static int two() {{ return {0 if skips else 2}; }} }}\n"
    reply = proposal({"src/main/App.java": code, "pom.xml": pom})
    summary = factory.run(document, [reply], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED if skips else ""]
