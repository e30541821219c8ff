from __future__ import annotations

import json
from typing import Any

import pytest

from planner.plan.file_projection import Allowed
from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from tests.planner.plans import creating, exists, findings, messages, of_command, order, plan


def python(code: str) -> list[str]:
    return [f'python -c "{code}"']


def of_plan(*orders: Any, **more: Any) -> list[str]:
    return findings(plan(*orders), **more)


# Files that an earlier command makes


@pytest.mark.parametrize(
    ("earlier", "makes"),
    [
        ("go build ./...", True),
        ("go generate ./...", True),
        ("go test -c ./score", True),
        ("go test -coverprofile cover.out ./score", True),
        ("go test ./score", False),
        ("go vet ./score", False),
        ("gofmt -l score", False),
        ("cargo build --offline", True),
        ("cargo test --offline", False),
        ("cargo +nightly check", False),
        ("npm run build", True),
        ("npm --silent test", False),
        ("yarn run test", False),
        ("npx tsc", True),
        ("npx tsc --noEmit", False),
        ("make", True),
        ("python -m compileall -q .", False),
    ],
)
def test_a_build_may_make_a_script_and_a_run_of_tests_does_not(earlier: str, makes: bool) -> None:
    found = of_plan(order(1, acceptance_commands=[earlier, "bash made/run.sh"]))
    assert ("E241 WO-01 acceptance_commands[1]" in found) is not makes


# Modules: E210, E217, W221, W101


def test_a_module_of_the_project_that_nobody_provides_is_an_error() -> None:
    document = plan(creating(1, "game/score.py", acceptance_commands=python("import game.words")))
    assert findings(document) == ["E210 WO-01 acceptance_commands[0]"]
    assert 'imports "game.words"' in messages(document)[0]


def test_a_module_that_a_later_order_provides_is_told_with_that_order() -> None:
    document = plan(order(1, acceptance_commands=python("import game")), creating(2, "game.py"))
    assert findings(document) == ["E217 WO-01 acceptance_commands[0]"]
    assert messages(document) == ['imports "game", which only WO-02 provides']


@pytest.mark.parametrize("package", ["numpy", "yaml", "requests.adapters", "PIL"])
def test_a_well_known_package_must_be_declared(package: str) -> None:
    assert of_command(*python(f"import {package}")) == ["W221"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", "[project]\ndependencies = ['NumPy>=2', 'PyYAML', 'python-frobnicate']"),
        (
            "pyproject.toml",
            "[project.optional-dependencies]\na = ['numpy', 'pyyaml', 'frobnicate']",
        ),
        ("pyproject.toml", "[dependency-groups]\na = ['numpy[x]', 'pyyaml', 'frobnicate ; x']"),
        ("pyproject.toml", "[tool.poetry.dependencies]\nnumpy='1'\npyyaml='1'\nfrobnicate='1'"),
        (
            "pyproject.toml",
            "[tool.poetry.group.a.dependencies]\nnumpy=''\npyyaml=''\nfrobnicate=''",
        ),
        ("requirements.txt", "# all\n-r other.txt\nnumpy==2.0\nPyYAML ~= 6\nfrobnicate[fast]\n"),
        ("requirements-dev.txt", "numpy\npyyaml\nfrobnicate"),
        ("requirements/base.txt", "numpy\npyyaml\nfrobnicate"),
    ],
)
def test_what_the_repo_declares_may_be_imported(path: str, text: str) -> None:
    command = order(1, acceptance_commands=python("import frobnicate, numpy, yaml"))
    assert of_plan(command, repo={path}, sources={path: text}) == []


def test_where_dependencies_are_declared_every_other_module_must_be() -> None:
    command = order(1, acceptance_commands=python("import frobnicate"))
    assert of_plan(command) == ["W101 WO-01 acceptance_commands[0]"]
    sources = {"pyproject.toml": "[project]\ndependencies = ['numpy']"}
    assert of_plan(command, repo=set(sources), sources=sources) == [
        "W221 WO-01 acceptance_commands[0]"
    ]


def test_the_user_may_declare_a_dependency_as_well() -> None:
    command = order(1, acceptance_commands=python("import frobnicate"))
    assert of_plan(command, allowed=Allowed(dependencies=("frobnicate",))) == []


@pytest.mark.parametrize("sources", [{}, {"pyproject.toml": "not toml ["}])
def test_a_declaration_that_cannot_be_read_may_declare_anything(sources: dict[str, str]) -> None:
    command = order(1, acceptance_commands=python("import frobnicate"))
    assert of_plan(command, repo={"pyproject.toml"}, sources={}) == []


def test_so_may_one_that_an_order_writes() -> None:
    first = creating(1, "requirements.txt", acceptance_commands=python("import numpy"))
    assert of_plan(first) == []
    late = order(1, acceptance_commands=python("import numpy"))
    assert of_plan(late, creating(2, "requirements.txt")) == ["W221 WO-01 acceptance_commands[0]"]


def test_a_folder_of_the_name_of_a_package_is_not_that_package() -> None:
    command = order(1, acceptance_commands=python("from redis import Redis"))
    assert of_plan(command, repo={"redis/seed.py"}) == ["W221 WO-01 acceptance_commands[0]"]
    assert of_plan(command, repo={"redis/redis.conf"}) == ["W221 WO-01 acceptance_commands[0]"]


@pytest.mark.parametrize(
    "repo",
    [
        {"game/__init__.py": "", "game/_speed.pyx": ""},
        {"game/__init__.py": "__path__ = []"},
        {"game/__init__.py": "import sys; sys.modules['game._speed'] = sys"},
        {"game/__init__.py": "__import__('pkg_resources').declare_namespace(__name__)"},
        {"game/__init__.py": "", "setup.py": "Extension('game._speed', ['csrc/speed.c'])"},
        {"game/__init__.py": "", "pyproject.toml": "[tool.x]\nfile = 'game/_speed.py'"},
    ],
)
def test_a_module_that_may_come_from_elsewhere_is_only_a_warning(repo: dict[str, str]) -> None:
    command = order(1, acceptance_commands=python("import game._speed"))
    assert of_plan(command, repo=set(repo), sources=repo) == ["W101 WO-01 acceptance_commands[0]"]


@pytest.mark.parametrize(
    ("proto", "written", "code"),
    [
        ("protos/score.proto", "a.md", "W101"),
        ("protos/words.proto", "a.md", "E210"),
        ("protos/words.proto", "csrc/score.c", "W101"),
    ],
)
def test_a_tool_may_make_a_module_of_another_language(proto: str, written: str, code: str) -> None:
    repo = {"game/__init__.py": "", proto: ""}
    commands = python("import game.score_pb2")
    command = order(1, allowed_files=[written], acceptance_commands=commands)
    found = of_plan(command, repo=set(repo), sources=repo)
    assert found == [f"{code} WO-01 acceptance_commands[0]"]


def test_a_module_that_no_build_makes_is_an_error() -> None:
    repo = {"game/__init__.py": "", "pyproject.toml": "[tool.x]\nfile = 'game/_speed2.py'"}
    command = order(1, acceptance_commands=python("import game._speed"))
    assert of_plan(command, repo=set(repo), sources=repo) == ["E210 WO-01 acceptance_commands[0]"]


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("tests/helpers.py", []),
        ("lib/helpers/__init__.py", []),
        ("packages/helpers/src/helpers/__init__.py", []),
        ("game/helpers.py", ["W221"]),  # in a package: nothing imports it by this name
        ("tests/helpers2.py", ["W221"]),
    ],
)
def test_a_module_in_a_folder_that_may_be_searched_is_not_a_package_of_others(
    path: str, codes: list[str]
) -> None:
    repo = {path: "", "game/__init__.py": "", "pyproject.toml": "[project]\ndependencies = ['a']"}
    test = {"path": "tests/unit/test_a.py", "content": "from helpers import x\nassert x == 1\n"}
    document = order(
        1, acceptance_files=[test], acceptance_commands=["python -m pytest tests/unit/test_a.py"]
    )
    assert [each[:4] for each in of_plan(document, repo=set(repo), sources=repo)] == codes


@pytest.mark.parametrize("path", ["setup.cfg", "setup.py", "tox.ini"])
def test_a_package_may_be_declared_in_another_file_than_the_manifest(path: str) -> None:
    sources = {
        "pyproject.toml": "[build-system]\nrequires = ['setuptools']",
        path: "a\n frobnicate",
    }
    for module, codes in (("frobnicate", []), ("numpy", ["W221 WO-01 acceptance_commands[0]"])):
        command = order(1, acceptance_commands=python(f"import {module}"))
        assert of_plan(command, repo=set(sources), sources=sources) == codes


def test_a_module_is_told_once_in_an_order() -> None:
    commands = python("import game.a") + python("from game.a import x; import game.b")
    assert of_plan(creating(1, "game/c.py", acceptance_commands=commands)) == [
        "E210 WO-01 acceptance_commands[0]",
        "E210 WO-01 acceptance_commands[1]",
    ]


def test_what_could_not_be_read_may_provide_anything() -> None:
    commands = [*python("import game.a"), "python tool.py", "python -m game", "pytest tests"]
    broken = creating(1, "game/b.py") | {"allowed_files": 3}
    assert of_plan(broken, order(2, acceptance_commands=commands)) == ["E005 WO-01 allowed_files"]
    pattern = order(1, allowed_files=["*"])
    assert of_plan(pattern, order(2, acceptance_commands=commands)) == [
        "E004 WO-01 allowed_files[0]"
    ]


# E241


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests/test_a.py",
        "python -m pytest -q tests/test_a.py::test_x",
        "pytest -k x tests/",
        "pytest -xvk x tests/",
        "pytest --runslow tests/test_a.py",
        "pytest --strict-markers tests",
        "python -m py_compile tests/test_a.py",
        "bash tests/test_a.py",
    ],
)
def test_a_path_must_exist_by_then(command: str) -> None:
    assert of_command(command) == ["E241"]
    assert of_plan(creating(1, "tests/test_a.py", acceptance_commands=[command])) == []
    late = of_plan(order(1, acceptance_commands=[command]), creating(2, "tests/test_a.py"))
    assert late == ["E217 WO-01 acceptance_commands[0]"]


@pytest.mark.parametrize(
    "command",
    [
        *("pytest", "pytest -q", "pytest .", "pytest -k tests", "pytest --pyargs game"),
        *("pytest /x.py", "pytest -qk test_sum", "python -m pytest -xvm slow"),
        *("pytest --reruns 2", "pytest --hypothesis-profile ci", "pytest --cov-fail-under 90"),
    ],
)
def test_what_names_no_path_of_the_repo_needs_none(command: str) -> None:
    assert "E241" not in of_command(command)


@pytest.mark.parametrize(
    "commands",
    [
        ["python make.py --out gen.py", "python gen.py"],
        ["gcc -o app main.c", "./app"],
        ["node_modules/.bin/jest"],
        ["./.venv/bin/tool"],
    ],
)
def test_a_script_that_a_command_or_tool_may_make_is_only_a_warning(commands: list[str]) -> None:
    document = creating(1, "make.py", "main.c", acceptance_commands=commands)
    assert of_plan(document) == [f"W101 WO-01 acceptance_commands[{len(commands) - 1}]"]


# E242


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (["game.py"], None),
        (["game/__main__.py"], None),
        (["src/game/__main__.py"], None),
        (["game/__init__.py"], "E242"),
        (["game/cli.py"], "E242"),
    ],
)
def test_a_module_that_is_run_must_be_one_that_can_be(files: list[str], code: str | None) -> None:
    found = of_plan(creating(1, *files, acceptance_commands=["python -m game --help"]))
    assert found == ([f"{code} WO-01 acceptance_commands[0]"] if code else [])


def test_one_that_comes_later_is_too_late() -> None:
    late = order(1, acceptance_commands=["python -m game"])
    assert of_plan(late, creating(2, "game/__main__.py")) == ["E217 WO-01 acceptance_commands[0]"]


@pytest.mark.parametrize(
    ("command", "codes"),
    [
        ("python -m json.tool", []),
        ("python -m pytest", []),
        ("python -m pip --version", []),
        ("python -m black --check .", ["W221"]),
        ("python -m frobnicate", ["W101"]),
    ],
)
def test_modules_of_others_are_told_as_imports_are(command: str, codes: list[str]) -> None:
    assert of_command(command) == codes


@pytest.mark.parametrize(
    ("main", "there", "is_found"),
    [
        ("./lib/index.js", "lib/index.js", True),
        ("lib", "lib/index.js", True),
        ("./dist/index.js", "src/index.js", True),  # a build makes it
        (None, "index.js", True),
        (None, "lib/index.js", False),
    ],
)
def test_a_test_may_import_the_package_that_it_is_in(
    main: str | None, there: str, is_found: bool
) -> None:
    test = "const it = require('..');\nrequire('node:assert').equal(it(), 1);\n"
    repo = {
        "package.json": json.dumps({"name": "it"} | ({"main": main} if main else {})),
        there: "module.exports = () => 0;\n",
    }
    one = order(
        1,
        allowed_files=[there],
        postconditions=exists(there),
        acceptance_files=[{"path": "test/one.test.js", "content": test}],
        acceptance_commands=["node --test test/one.test.js"],
    )
    found = judge(parse_plan(plan(one)), repo, repo).errors
    assert [each.code for each in found] == ([] if is_found else ["E210"])


@pytest.mark.parametrize(("imported", "codes"), [("./styles.css", []), ("./logic.js", ["E210"])])
def test_a_bundler_may_make_the_assets_that_a_test_imports(imported: str, codes: list[str]) -> None:
    test = f"import '{imported}';\nimport it from './it.js';\nif (it() !== 1) throw it;\n"
    one = order(
        1,
        allowed_files=["it.js"],
        postconditions=exists("it.js"),
        acceptance_files=[{"path": "it.test.js", "content": test}],
        acceptance_commands=["node --test it.test.js"],
    )
    repo = {"package.json": '{"type": "module"}', "it.js": "export default () => 0;\n"}
    assert [each.code for each in judge(parse_plan(plan(one)), repo, repo).errors] == codes
