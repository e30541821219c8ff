"""Which distributions a project declares, and which modules they provide."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.languages.python import declared_requirements
from shared.languages.python.declared_requirements import REQUIREMENT, versions_of_poetry


@pytest.mark.parametrize(
    ("path", "declares"),
    [
        ("pyproject.toml", True),
        ("requirements.txt", True),
        ("requirements-dev.txt", True),
        ("tools/requirements/dev.txt", False),
        ("requirements/dev.txt", True),
        ("docs/pyproject.toml", False),
        ("setup.cfg", False),
    ],
)
def test_a_declaration_is_known_by_its_path(path: str, declares: bool) -> None:
    assert declared_requirements.declares(path) is declares


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("PyYAML>=6\n# no\n-r more.txt\nfoo_bar[x]==1\n", {"pyyaml", "foo-bar"}),
        ('[project]\ndependencies = ["Requests~=2.0"]\n', {"requests"}),
        ('[dependency-groups]\ndev = ["pytest", {include-group = "x"}]\n', {"pytest"}),
        ('[tool.poetry.dependencies]\nflask = "^3"\n', {"flask"}),
        ("", set()),
    ],
)
def test_the_declared_names_are_read(text: str, names: set[str]) -> None:
    assert declared_requirements.declared(text) == names


@pytest.mark.parametrize(
    ("name", "module", "provides"),
    [
        ("requests", "requests", True),
        ("pyyaml", "yaml", True),
        ("python-dateutil", "dateutil", True),
        ("scikit-learn", "sklearn", True),
        ("foo-bar", "foo_bar", True),
        ("flask-login", "login", False),
        ("requests", "request", False),
    ],
)
def test_a_module_is_provided_by_its_distribution(name: str, module: str, provides: bool) -> None:
    assert declared_requirements.provides([name], module) is provides


@settings(deadline=None)
@given(st.text())
def test_any_text_declares_something_or_nothing(text: str) -> None:
    assert all(
        name == declared_requirements.normal_name(name)
        for name in declared_requirements.declared(text)
    )


@pytest.mark.parametrize(
    "line", ["a" + " " * 20_000 + "$", "a;" + " " * 20_000 + "$", "a" + " ==1" * 5_000 + "$"]
)
def test_a_line_that_is_none_is_refused_at_once(line: str) -> None:
    assert REQUIREMENT.fullmatch(line) is None


@pytest.mark.parametrize(
    ("line", "versions", "marker"),
    [
        ("a", "", None),
        ("a [x, y] (>= 1.0, < 2)", ">= 1.0, < 2", None),
        ('a>=1 ; platform_version ~= "1" or os_name == "a|b"', ">=1", True),
        ('a==1 ; python_version < "3.12" --hash=sha256:' + "0" * 64, "==1 ", True),
        ("a==1.0 --hash=sha256:" + "0" * 64 + " --hash=sha256:" + "1" * 64, "==1.0", None),
    ],
)
def test_a_requirement_is_read_whole(line: str, versions: str, marker: bool | None) -> None:
    found = REQUIREMENT.fullmatch(line)
    assert found and found["name"] == "a"
    assert (found["versions"].strip(), bool(found["marker"])) == (versions.strip(), bool(marker))


def test_a_version_of_poetry_without_end_is_left_to_be_refused() -> None:
    assert versions_of_poetry("^1.2") == ">=1.2,<2"
    assert versions_of_poetry("^" + "9" * 5000).startswith("^9")
