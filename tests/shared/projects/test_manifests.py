"""Which versions of programs the manifests ask for, and which ones keep to them."""

from __future__ import annotations

import pytest

from shared.projects.manifests import Required, required_versions
from tests.shared.projects.given_files import GivenFiles


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("package.json", '{"engines": {"node": ">=22.12.0"}}', ["Node.js >=22.12.0"]),
        ("package.json", '{"engines": {"node": 22}}', []),
        ("package.json", '{"engines": "22"}', []),
        ("package.json", "[", []),
        pytest.param(
            "package.json", f'{{"engines": {{"node": "{" " * 999_999}1"}}}}', [], id="long"
        ),
        ("package.json", '{"engines": {"node": ">=22\\u001b]0;x"}}', ["Node.js >=22]0;x"]),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.10,<4"\n', ["Python >=3.10,<4"]),
        ("Cargo.toml", '[package]\nrust-version = "1.70"\n', ["Rust 1.70"]),
        ("Cargo.toml", '[workspace.package]\nrust-version = "1.71"\n', ["Rust 1.71"]),
        ("Cargo.toml", "[package]\nrust-version.workspace = true\n", []),
        ("go.mod", "module a\n\ngo 1.21.3\n", ["Go 1.21.3"]),
        ("go.mod", "module go 1.21\n", []),
    ],
)
def test_the_manifests_say_what_they_need(path: str, text: str, found: list[str]) -> None:
    asked = required_versions(GivenFiles({path: text}))
    assert [f"{each.tool} {each.versions}" for each in asked] == found


@pytest.mark.parametrize(
    ("versions", "met", "not_met"),
    [
        (">=22.12.0", "22.12.0", "22.11.9"),
        (">=22.12.0", "24.0.0", "20.20.2"),
        ("^20.19.0 || >=22.12.0", "20.20.2", "20.18.0"),
        ("18.x", "18.1.0", "16.9.0"),
        ("18", "18.0.0", "17.9.9"),
        (">= 18", "18.0.0", "17.9.9"),
        (">=18 <21", "20.9.0", "21.0.0"),
        ("<=20", "20.9.0", "21.0.0"),
        (">3.10", "3.11.0", "3.10.9"),
        ("~=3.11", "3.11.2", "3.10.0"),
        (">=3.10,!=3.11.*,<4", "3.12.0", "3.11.4"),
        ("1.26.0", "1.26", "1.25.9"),
        ("v18.0.0-rc.1", "18.0.0", "17.0.0"),
    ],
)
def test_a_version_keeps_to_its_range_or_does_not(versions: str, met: str, not_met: str) -> None:
    required = Required("a", versions, "b", ())
    assert required.is_met_by(met)
    assert not required.is_met_by(not_met)


@pytest.mark.parametrize("versions", ["*", "lts/*", "", "latest", "14 - 16", "x", ">=", "||"])
def test_a_range_that_is_not_understood_is_met(versions: str) -> None:
    assert Required("a", versions, "b", ()).is_met_by("15.0.0")
