"""Whose fault a failed command is: a table of real outputs, and what holds for any output."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factory.judging.environment_faults import Surroundings, find_fault, surroundings_of
from factory.sandbox.policy import Backend, Captured, Cause, Ended
from factory.sandbox.toolchains import Hidden
from factory.workbench.dependencies import Manifests, ways_to_prepare
from tests.factory.judging.measuring import Commit
from tests.harness import Factory

REPO = Surroundings(
    declared={
        "Python": frozenset({"requests", "pyyaml", "scikit-learn"}),
        "JavaScript": frozenset({"express", "@scope/tool"}),
    },
    written=("src/app.py",),
    added="import made_up\ntool --now\naddopts = --timeout=3\ncurl https://new.example.org\n",
)


def ended(
    output: str, exit_code: int = 1, cause: Cause = Cause.EXITED, argv: str = "bash verify.sh"
) -> Ended:
    log = Path("log")
    return Ended(
        argv=tuple(argv.split()),
        exit_code=exit_code,
        cause=cause,
        stdout=Captured("", 0, False, log),
        stderr=Captured(output, len(output), False, log),
        duration_seconds=0.1,
        backend=Backend.OFF,
    )


def what(end: Ended, around: Surroundings = REPO) -> str:
    fault = find_fault(end, around)
    return fault.what if fault else ""


FAULTS: dict[str, tuple[Ended, str]] = {
    "bash": (ended("verify.sh: line 3: shellcheck: command not found", 127), "'shellcheck'"),
    "dash": (ended("verify.sh: 3: jq: not found", 127), "'jq'"),
    "npm's shell": (ended("> jest\n\nsh: 1: jest: not found\n", 127), "'jest'"),
    "env": (ended("/usr/bin/env: 'node': No such file or directory", 127), "'node'"),
    "env, typographic": (ended("env: \u2018node\u2019: No such file or directory", 127), "'node'"),
    "make": (
        ended("make: tsc: No such file or directory\nmake: *** [Makefile:2: all] Error 127", 2),
        "'tsc'",
    ),
    "the command itself": (ended("", 127, Cause.NOT_FOUND, "node app.js"), "'node'"),
    "an import": (ended("ModuleNotFoundError: No module named 'requests'"), "'requests'"),
    "an import in pytest": (ended("E   ModuleNotFoundError: No module named 'yaml'", 2), "'yaml'"),
    "another name": (ended("ModuleNotFoundError: No module named 'sklearn'"), "'sklearn'"),
    "python -m": (ended("/opt/py/bin/python: No module named pytest"), "'pytest'"),
    "a plugin of pytest": (
        ended(
            "ERROR: usage: python -m pytest [options] [file_or_dir] [file_or_dir] [...]\n"
            "python -m pytest: error: unrecognized arguments: --cov=parse --cov-report=term\n"
            "  inifile: .pytest.ini\n  rootdir: /repo\n",
            4,
        ),
        "'pytest-cov'",
    ),
    "a plugin that is demanded": (
        ended("ERROR: Missing required plugins: pytest-asyncio>=0.23\n", 4),
        "'pytest-asyncio'",
    ),
    "in colour": (
        ended("\x1b[31mE   ModuleNotFoundError: No module named 'yaml'\x1b[0m"),
        "'yaml'",
    ),
    "node": (ended("Error: Cannot find module 'express'\nRequire stack:"), "'express'"),
    "a scope": (ended("Error: Cannot find package '@scope/tool' imported from"), "'@scope/tool'"),
    "curl": (ended("curl: (6) Could not resolve host: pypi.org", 6), "network"),
    "pip": (ended("NewConnectionError: Temporary failure in name resolution"), "network"),
    "npm": (ended("npm error request failed, reason: getaddrinfo EAI_AGAIN npm.org"), "network"),
    "npm offline": (
        ended("npm error request to https://registry.npmjs.org/x failed: cache mode is "
              "'only-if-cached' but no cached response is available."),
        "network",
    ),
    "cargo offline": (
        ended("Caused by:\n  attempting to make an HTTP request, but --offline was specified", 101),
        "network",
    ),
    "go": (ended("dial tcp: lookup proxy.golang.org: no such host"), "network"),
    "the disk": (ended("OSError: [Errno 28] No space left on device: 'x'"), "disk is full"),
    "the disk, for cp": (ended("cp: error writing 'b': No space left on device"), "disk is full"),
    "the quota": (ended("tee: out: Disk quota exceeded"), "disk is full"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_environment_is_found_and_has_a_remedy(name: str) -> None:
    end, words = FAULTS[name]
    fault = find_fault(end, REPO)
    assert fault is not None
    assert words in fault.what
    assert fault.remedy


NO_FAULTS: dict[str, Ended] = {
    "a module that nobody declared": ended("ModuleNotFoundError: No module named 'made_up'"),
    "a part of a declared package": ended("ModuleNotFoundError: No module named 'requests.nope'"),
    "a module of the order": ended("/usr/bin/python: No module named app"),
    "a program of the model's script": ended("verify.sh: line 1: tool: command not found", 127),
    "a file of the project": ended("", 127, Cause.NOT_FOUND, "./run.sh"),
    "a script of the project": ended("verify.sh: line 1: ./run.sh: No such file", 127),
    "a script that went on": ended("verify.sh: line 1: jq: command not found\nassert 1 == 2", 1),
    "a host that only the model calls": ended("curl: (6) Could not resolve host: new.example.org"),
    "the model's code calls": ended(
        'File "src/app.py", line 3\nsocket.gaierror: Temporary failure in name resolution'
    ),
    "a relative module of Node": ended("Error: Cannot find module './missing'"),
    "an undeclared package of Node": ended("Error: Cannot find module 'made-up'"),
    "an assertion about a full disk": ended(
        "E   assert 'ok' == 'No space left on device'\n>   assert say() == 'Disk quota exceeded'"
    ),
    "an option that the model's configuration has": ended(
        "usage: pytest [options] [file_or_dir]\npytest: error: unrecognized arguments: --timeout=3"
    ),
    "an option of pytest that nobody knows": ended(
        "usage: pytest [options] [file_or_dir]\npytest: error: unrecognized arguments: --quick"
    ),
    "an option of another program": ended(
        "usage: app.py\napp.py: error: unrecognized arguments: --cov"
    ),
    "a failed assertion": ended("AssertionError"),
    "a command that passed": ended("ModuleNotFoundError: No module named 'requests'", 0),
    "a command that took too long": ended(
        "OSError: [Errno 28] No space left on device", 137, Cause.TIMED_OUT
    ),
}


@pytest.mark.parametrize("name", NO_FAULTS)
def test_what_a_proposal_can_fix_is_its_own_fault(name: str) -> None:
    assert what(NO_FAULTS[name]) == ""


def test_with_a_network_nothing_is_the_sandboxs_fault() -> None:
    end = ended("curl: (6) Could not resolve host: pypi.org")
    assert what(end, Surroundings(offline=False)) == ""


def test_the_remedy_names_where_the_program_is_on_the_user_s_path() -> None:
    hidden = {"tox": Hidden(Path("/home/ada/bin/tox")), "jq": Hidden(Path("/srv/jq"), "it is odd")}
    around = Surroundings(hidden=hidden)
    fault = find_fault(ended("", 127, Cause.NOT_FOUND, "tox -q"), around)
    assert fault is not None
    assert "pass --sandbox-path /home/ada/bin or set `sandbox.path`" in fault.remedy
    fault = find_fault(ended("verify.sh: 3: jq: not found", 127), around)
    assert fault is not None
    assert "--sandbox-path /srv " in fault.remedy
    assert "(it is odd)" in fault.remedy


def test_the_remedy_names_what_the_checkout_has() -> None:
    around = Surroundings(
        declared={"Python": frozenset({"requests"})}, environments=("/repo/.venv/bin/python",)
    )
    fault = find_fault(ended("ModuleNotFoundError: No module named 'requests'"), around)
    assert fault is not None
    assert fault.remedy == (
        "pass --python /repo/.venv/bin/python if that environment has it, "
        "or pass --deps auto, which installs what the project declares"
    )


NAMES = st.from_regex(r"[a-z][a-z0-9_]{1,12}", fullmatch=True)


@settings(deadline=None)
@given(NAMES, st.sets(NAMES))
def test_a_missing_module_is_a_fault_exactly_where_it_is_declared(
    module: str, declared: set[str]
) -> None:
    end = ended(f"Traceback\nModuleNotFoundError: No module named '{module}'\n")
    around = Surroundings(
        declared={"Python": frozenset(each.replace("_", "-") for each in declared)}
    )
    if module in declared:
        assert repr(module) in what(end, around)
    elif f"py{module}" not in declared:
        assert what(end, around) == ""


@settings(deadline=None)
@given(NAMES, st.text(max_size=60))
def test_a_program_that_the_proposal_brought_is_never_a_fault(program: str, more: str) -> None:
    end = ended(f"verify.sh: line 1: {program}: command not found", 127)
    assert what(end, Surroundings(added=f"{more}\n{program} --check\n")) == ""
    assert what(end, Surroundings(added="")) == f"There is no program {program!r} here."


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(0, 255), st.sampled_from(Cause), st.text(max_size=80))
def test_any_output_is_read_without_an_error(
    output: str, exit_code: int, cause: Cause, added: str
) -> None:
    fault = find_fault(ended(output, exit_code, cause), Surroundings(added=added))
    assert fault is None or (fault.what and fault.remedy)


def ways(tmp_path: Path, files: dict[str, str], *, missed: bool = False, **present: str) -> str:
    for path, text in files.items():
        (tmp_path / path).write_text(text)
    manifests = Manifests.of(tmp_path)
    python, there = Path(sys.executable), frozenset(present.values())
    return "; ".join(ways_to_prepare(manifests, python, there, missed=missed))


def test_a_declared_package_that_is_not_there_is_named_with_what_installs_it(
    tmp_path: Path,
) -> None:
    text = '[dependency-groups]\ndev = ["pytest", "no-such-plugin>=1", "pydantic==0.1"]\n'
    said = ways(tmp_path, {"pyproject.toml": text})
    assert said.startswith("pass --deps auto, which installs what is declared and not here: ")
    assert "no-such-plugin" in said
    assert "pydantic 0.1 (not " in said
    assert "pytest" not in said


def test_nothing_is_to_be_prepared_where_all_that_is_declared_is_there(tmp_path: Path) -> None:
    manifest = json.dumps({"devDependencies": {"ava": "^6.0.0"}})
    files = {"pyproject.toml": '[dependency-groups]\ndev = ["pytest"]\n', "package.json": manifest}
    assert ways(tmp_path, files, found="node_modules") == ""
    assert "packages of JavaScript" in ways(tmp_path, files)


def test_what_go_and_cargo_declare_counts_where_a_command_missed_something(tmp_path: Path) -> None:
    files = {"Cargo.toml": '[package]\nname = "r"\n[dependencies]\nitoa = "1"\n'}
    assert ways(tmp_path, files) == ""
    assert "packages of Rust" in ways(tmp_path, files, missed=True)


def test_a_manifest_that_is_not_followed_is_named_with_the_reason(tmp_path: Path) -> None:
    said = ways(tmp_path, {"requirements.txt": "x @ https://example.org/x.whl\n"})
    assert said.startswith("prepare it yourself, since --deps auto does not: requirements.txt:1")


def test_the_network_is_not_opened_where_packages_can_be_prepared() -> None:
    for output in (
        "getaddrinfo ENOTFOUND registry.npmjs.org",
        "As a reminder, you're using offline mode (--offline) which can",
    ):
        fault = find_fault(ended(output), Surroundings())
        assert fault is not None
        assert "--sandbox-net host" in fault.remedy_after(())
        assert fault.remedy_after(("pass --deps auto",)) == "pass --deps auto"


def test_a_program_that_is_missing_may_be_one_of_the_packages_or_not() -> None:
    fault = find_fault(ended("sh: 1: ava: not found", 127), REPO)
    assert fault is not None
    said = fault.remedy_after(("pass --deps auto",))
    assert said == "pass --deps auto, or install ava where commands find it, such as /usr/bin"


@pytest.mark.parametrize(
    "said",
    [
        "# [pkg-config --cflags  -- libsecret-1]\n"
        "Package libsecret-1 was not found in the pkg-config search path.\n",
        "Package 'libsecret-1', required by 'virtual:world', not found\n",
        "No package 'libsecret-1' found\n",
    ],
)
def test_a_library_of_the_system_that_is_missing_is_the_machine_s_fault(said: str) -> None:
    fault = find_fault(ended(said, 1), Surroundings())
    assert fault is not None
    assert "'libsecret-1'" in fault.what
    assert "libsecret-1.pc" in fault.remedy
    assert find_fault(ended(said, 1), Surroundings(added="-lsecret libsecret-1")) is None


def test_what_a_proposal_added_is_read_of_the_files_that_are_there(factory: Factory) -> None:
    commit = Commit.of(factory, {"a.py": "x = 1\nimport new\n"}, before={"a.py": "x = 1\n"})
    with commit.pool() as pool, pool.lend(commit.commit) as bench:
        written = ("a.py", "removed.py")
        found = surroundings_of(bench, factory.options(), commit.parent, written)
    assert (found.added, found.written) == ("import new", written)


def test_an_output_of_blank_lines_is_read_at_once() -> None:
    assert find_fault(ended(" \n" * 80_000), Surroundings()) is None
