"""What Python projects declare, in each form, and what of it is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from factory.workbench.dependencies import Manifests
from shared.errors import InvalidInput
from shared.languages.python.declared_requirements import versions_of_poetry
from shared.languages.python.python_packages import WantedPackages, read_wishes

HERE = {"python_version": "3.11", "sys_platform": "linux", "platform_machine": "x86_64"}
HASH = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64


def wishes(tree: Path, files: Mapping[str, str]) -> WantedPackages:
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    return read_wishes(Manifests.of(tree, files), HERE)


FORMS = {
    "groups that include groups, and each other": (
        {
            "pyproject.toml": "[dependency-groups]\n"
            'dev = ["ruff", {include-group = "Typing"}]\n'
            'typing = ["mypy>=1", {include-group = "dev"}]\n'
        },
        ("mypy>=1", "ruff"),
    ),
    "poetry": (
        {
            "pyproject.toml": "[tool.poetry.dependencies]\npython = '^3.11'\n"
            "flask = '^3.0'\nsix = '*'\nold = {version = '~1.2', optional = true}\n"
            "both = {version = '1.4', extras = ['x'], markers = \"sys_platform == 'linux'\"}\n"
            "[tool.poetry.group.test.dependencies]\npytest = '>=8'\n"
            "[tool.poetry.group.docs.dependencies]\nsphinx = '*'\n"
        },
        ("both[x]==1.4 ; sys_platform == 'linux'", "flask>=3.0,<4", "pytest>=8", "six"),
    ),
    "pdm": ({"pyproject.toml": "[tool.pdm.dev-dependencies]\nlint = ['flake8']\n"}, ("flake8",)),
    "hatch": (
        {
            "pyproject.toml": "[tool.hatch.envs.test]\ndependencies = ['coverage']\n"
            "extra-dependencies = ['pytest']\n[tool.hatch.envs.docs]\ndependencies = ['mkdocs']\n"
        },
        ("coverage", "pytest"),
    ),
    "lists that include lists": (
        {
            "requirements-dev.txt": "-r requirements/base.txt\n-e .[test]\npytest\n",
            "requirements/base.txt": "-r ../requirements-dev.txt\nsix>=1  # old\n",
        },
        ("pytest", "six>=1"),
    ),
    "setup.cfg": (
        {
            "setup.cfg": "[options]\ninstall_requires =\n    six>=1  # old\n    # no\n    attrs; "
            "python_version < '4'\n[options.extras_require]\ntest = pytest\ndocs = sphinx\n"
        },
        ("attrs; python_version < '4'", "pytest", "six>=1"),
    ),
    "lists that setup.cfg names": (
        {
            "setup.cfg": "[options]\ninstall_requires = file: deps/run.in, deps/more.in\n",
            "deps/run.in": "six>=1  # old\n",
            "deps/more.in": "-r run.in\nattrs\n",
        },
        ("attrs", "six>=1"),
    ),
    "lists that setuptools reads": (
        {
            "pyproject.toml": "[project]\ndynamic = ['dependencies']\n"
            "[tool.setuptools.dynamic]\ndependencies = {file = 'deps.in'}\n"
            "optional-dependencies.test = {file = ['tests/deps.in']}\n",
            "deps.in": "six>=1\n",
            "tests/deps.in": "pytest\n",
        },
        ("pytest", "six>=1"),
    ),
    "setup.py": (
        {
            "setup.py": "from setuptools import setup\nWANTED = ['six>=1']\n"
            "setup(install_requires=WANTED, extras_require={'test': ['pytest'], 'docs': ['x']})\n"
        },
        ("pytest", "six>=1"),
    ),
}


@pytest.mark.parametrize(("files", "wanted"), FORMS.values(), ids=FORMS)
def test_each_form_is_read(tmp_path: Path, files: dict[str, str], wanted: tuple[str, ...]) -> None:
    found = wishes(tmp_path, files)
    assert found.lines == wanted
    assert found.notes == ()


def test_constraints_limit_and_are_not_installed(tmp_path: Path) -> None:
    files = {"requirements.txt": "-c constraints.txt\nsix\n", "constraints.txt": "six<2\nabc<1\n"}
    found = wishes(tmp_path, files)
    assert (found.lines, found.constraints) == (("six",), ("abc<1", "six<2"))


def test_setup_py_is_not_run_and_what_it_computes_is_said(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = (
        f"open({str(mark)!r}, 'w')\nfrom setuptools import setup\n"
        "setup(install_requires=open('requirements.in').read().split())\n"
    )
    found = wishes(tmp_path, {"setup.py": text})
    assert found.lines == ()
    assert found.notes == (
        "setup.py: install_requires is computed, and setup.py is not run to find out.",
    )
    assert not mark.exists()


REFUSED = {
    "an include that leads out": (
        {"requirements.txt": "-r ../../secrets.txt\n"},
        r"requirements\.txt:1.*leads out of the repo",
    ),
    "an include by absolute path": (
        {"requirements.txt": "-r /etc/hosts\n"},
        r"requirements\.txt:1.*leads out of the repo",
    ),
    "an include of nothing": ({"requirements.txt": "-r more.txt\n"}, "names no file of the repo"),
    "a package from git": (
        {"pyproject.toml": "[tool.poetry.dependencies]\nx = {git = 'https://example.com/x'}\n"},
        "'x', which comes from git",
    ),
    "an address in a list of setup.cfg": (
        {"setup.cfg": "[options]\ninstall_requires = x @ https://example.com/x.whl\n"},
        "cannot install",
    ),
    "a list of setup.cfg that is not there": (
        {"setup.cfg": "[options]\ninstall_requires = file: deps.in\n"},
        r"setup\.cfg: options\.install_requires: the include 'deps\.in' names no file",
    ),
    "a setup.cfg of another form": ({"setup.cfg": "x\n"}, r"setup\.cfg cannot be read"),
    "two pins": (
        {
            "requirements.txt": "six==1.16\n",
            "pyproject.toml": "[project]\ndependencies = ['Six==1.15']\n",
        },
        r"requirements\.txt:1 pins six to 1\.16, but pyproject\.toml.* pins it to 1\.15",
    ),
}


@pytest.mark.parametrize(("files", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_followed_is_refused_by_name(
    tmp_path: Path, files: dict[str, str], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        wishes(tmp_path, files)


UV = f"""
[[package]]
name = "demo"
source = {{ virtual = "." }}
dependencies = [{{ name = "flask" }}]

[[package]]
name = "flask"
version = "3.0.1"
source = {{ registry = "https://pypi.org/simple" }}
dependencies = [
    {{ name = "jinja2" }},
    {{ name = "colorama", marker = "sys_platform == 'win32'" }},
]
wheels = [{{ url = "https://example.com/f.whl", hash = "{HASH}" }}]

[[package]]
name = "jinja2"
version = "3.1.0"
source = {{ registry = "https://pypi.org/simple" }}
wheels = [{{ url = "x", hash = "{HASH}" }}, {{ url = "y", hash = "{OTHER}" }}]

[[package]]
name = "colorama"
version = "1.0"
source = {{ registry = "https://pypi.org/simple" }}
wheels = [{{ url = "x", hash = "{HASH}" }}]
"""
POETRY = f"""
[[package]]
name = "Flask"
version = "3.0.1"
files = [{{file = "f-3-any.whl", hash = "{HASH}"}}, {{file = "f.tar.gz", hash = "{OTHER}"}}]
[package.dependencies]
Jinja2 = ">=3"
colorama = {{version = "*", markers = "sys_platform == 'win32'"}}

[[package]]
name = "jinja2"
version = "3.1.0"
files = [{{file = "j.whl", hash = "{HASH}"}}, {{file = "k.whl", hash = "{OTHER}"}}]

[[package]]
name = "colorama"
version = "1.0"
files = [{{file = "c.whl", hash = "{HASH}"}}]
"""
PDM = f"""
[metadata]
groups = ["default"]
lock_version = "4.5.0"

[[package]]
name = "flask"
version = "3.0.1"
groups = ["default"]
dependencies = ["Jinja2>=3", "colorama; sys_platform == 'win32'", "no requirement"]
files = [{{file = "f-3-any.whl", hash = "{HASH}"}}, {{file = "f.tar.gz", hash = "{OTHER}"}}]

[[package]]
name = "jinja2"
version = "3.1.0"
files = [{{url = "https://x/j.whl", hash = "{HASH}"}}, {{file = "k.whl", hash = "{OTHER}"}}]

[[package]]
name = "jinja2"
version = "3.1.0"
extras = ["i18n"]
dependencies = ["babel>=2.7", "jinja2==3.1.0"]
files = [{{file = "j.whl", hash = "{HASH}"}}]

[[package]]
name = "babel"
version = "2.9"
files = [{{file = "b.whl", hash = "{HASH}"}}]

[[package]]
name = "colorama"
version = "1.0"
marker = "sys_platform == 'win32'"
files = [{{file = "c.whl", hash = "{HASH}"}}]
"""
FLASK = "[project]\nname = 'demo'\ndependencies = ['flask>=3']\n"
LOCKS = [("uv.lock", UV), ("poetry.lock", POETRY), ("pdm.lock", PDM)]


@pytest.mark.parametrize(("name", "lock"), LOCKS)
def test_a_lock_gives_versions_and_hashes_of_what_this_platform_needs(
    tmp_path: Path, name: str, lock: str
) -> None:
    found = wishes(tmp_path, {"pyproject.toml": FLASK, name: lock})
    assert found.lines == (
        f"flask==3.0.1 --hash={HASH}",
        f"jinja2==3.1.0 --hash={HASH} --hash={OTHER}",
    )


@pytest.mark.parametrize(("name", "lock"), LOCKS)
def test_a_package_that_the_lock_lacks_has_versions_chosen_anew_and_is_named(
    tmp_path: Path, name: str, lock: str
) -> None:
    project = FLASK.replace("'flask>=3'", "'flask>=3', 'attrs'")
    found = wishes(tmp_path, {"pyproject.toml": project, name: lock})
    assert found.lines == ("attrs", "flask>=3")
    (note,) = found.notes
    assert note.startswith(f"{name} does not have attrs")


@pytest.mark.parametrize(("name", "lock"), LOCKS)
def test_a_locked_package_without_a_hash_is_refused_by_name(
    tmp_path: Path, name: str, lock: str
) -> None:
    without = lock.replace(HASH, "").replace(OTHER, "")
    with pytest.raises(InvalidInput, match=rf"{name}: \w+ [\d.]+ has no sha256"):
        wishes(tmp_path, {"pyproject.toml": FLASK, name: without})


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("uv.lock", "source = { git = 'https://example.com/x' }"),
        ("uv.lock", "source = { path = '../x.whl' }"),
        ("poetry.lock", "[package.source]\ntype = 'git'\nurl = 'https://example.com/x'"),
        ("pdm.lock", "git = 'https://example.com/x'\nrevision = 'abc'"),
        ("pdm.lock", "path = './x.whl'"),
    ],
)
def test_a_locked_package_from_elsewhere_is_refused_by_name(
    tmp_path: Path, name: str, source: str
) -> None:
    lock = f"[[package]]\nname = 'evil'\nversion = '1'\n{source}\n"
    with pytest.raises(InvalidInput, match=f"{name}: evil comes from"):
        wishes(tmp_path, {"pyproject.toml": FLASK, name: lock})


def test_the_extras_of_a_package_are_entries_of_their_own_in_pdm(tmp_path: Path) -> None:
    project = "[project]\nname = 'demo'\ndependencies = ['jinja2[I18N]']\n"
    found = wishes(tmp_path, {"pyproject.toml": project, "pdm.lock": PDM})
    assert [each.partition(" ")[0] for each in found.lines] == ["babel==2.9", "jinja2==3.1.0"]


PIPFILE = """
[[source]]
url = "https://pypi.org/simple"

[packages]
Flask = "*"
colorama = {version = ">=1,<2", sys_platform = "== 'win32'"}
rich = {version = "~=13.0", extras = ["jupyter"], markers = "python_version > '3'"}

[dev-packages]
pytest = "==8.1"
"""


def pipfile_lock(**entries: object) -> str:
    flask = {"hashes": [HASH, "md5:no"], "version": "==3.0.1", "index": "pypi"}
    windows = {"hashes": [HASH], "version": "==1.0", "markers": "sys_platform == 'win32'"}
    locked = {"flask": flask, "colorama": windows, "rich": flask, "jinja2": flask, **entries}
    return json.dumps({"_meta": {}, "default": locked, "develop": {"pytest": flask}})


def test_a_pipfile_is_read_without_its_lock(tmp_path: Path) -> None:
    assert wishes(tmp_path, {"Pipfile": PIPFILE}).lines == (
        "Flask",
        "colorama>=1,<2 ; sys_platform == 'win32'",
        "pytest==8.1",
        "rich[jupyter]~=13.0 ; python_version > '3'",
    )


def test_all_that_pipenv_locked_is_installed_with_its_hashes(tmp_path: Path) -> None:
    found = wishes(tmp_path, {"Pipfile": PIPFILE, "Pipfile.lock": pipfile_lock()})
    named = ("flask", "jinja2", "pytest", "rich")
    assert found.lines == tuple(f"{name}==3.0.1 --hash={HASH}" for name in named)
    assert found.notes == ()


def test_a_pipfile_that_was_changed_since_is_said_to_be_ahead_of_its_lock(tmp_path: Path) -> None:
    changed = PIPFILE + 'httpx = "*"\n'
    found = wishes(tmp_path, {"Pipfile": changed, "Pipfile.lock": pipfile_lock()})
    assert "httpx" in found.lines
    assert found.notes[0].startswith("Pipfile.lock does not have httpx")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"git": "https://example.com/x", "ref": "a"}, "flask comes from git"),
        ({"path": ".", "editable": True}, "flask comes from path"),
        ({"file": "https://example.com/x.whl"}, "flask comes from file"),
        ({"version": "==1.0"}, "flask 1.0 has no sha256"),
        ({"version": "==1.0 --index-url x", "hashes": [HASH]}, "is not a package"),
        (["flask"], "is not a package"),
    ],
)
def test_what_pipenv_locked_from_elsewhere_is_refused(
    tmp_path: Path, entry: object, words: str
) -> None:
    files = {"Pipfile": PIPFILE, "Pipfile.lock": pipfile_lock(flask=entry)}
    with pytest.raises(InvalidInput, match=words):
        wishes(tmp_path, files)


def test_a_pipfile_that_names_an_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="'x', which comes from git"):
        wishes(tmp_path, {"Pipfile": "[packages]\nx = {git = 'https://example.com/x'}\n"})


@pytest.mark.parametrize("text", ["{", "[]", "[" * 50_000, '{"default": [1], "develop": {"a": 1}}'])
def test_a_lock_of_another_form_is_refused_or_holds_nothing(tmp_path: Path, text: str) -> None:
    files = {"Pipfile": "[packages]\nsix = '*'\n", "Pipfile.lock": text}
    try:
        found = wishes(tmp_path, files)
    except InvalidInput as refused:
        assert "Pipfile.lock" in refused.message
    else:
        assert found.lines == ("six",)


@pytest.mark.parametrize(
    ("constraint", "versions"),
    [
        ("^1.2.3", ">=1.2.3,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^0", ">=0,<1"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~1", ">=1,<2"),
        ("~=1.2", "~=1.2"),
        ("1.*", "==1.*"),
        (">= 1, < 2", ">=1,<2"),
        ("*", ""),
        ("^1 || ^2", ""),
    ],
)
def test_poetry_s_constraints_as_pip_says_them(constraint: str, versions: str) -> None:
    assert versions_of_poetry(constraint) == versions
