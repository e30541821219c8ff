"""Which versions a repo asks for, and which installed one that is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.sandbox.toolchains import pick, pinned, read_pins

ASKED = {
    ".nvmrc": ("v20.1\n", "node", "v20.1"),
    ".node-version": ("18", "node", "18"),
    ".python-version": ("3.12.1\n3.11.2\n", "python", "3.12.1"),
    "rust-toolchain.toml": ('[toolchain]\nchannel = "1.70"\n', "rust", "1.70"),
    "rust-toolchain": ("nightly-2024-01-02\n", "rust", "nightly-2024-01-02"),
    ".sdkmanrc": ("# candidates\njava=21.0.2-tem\n", "java", "21.0.2-tem"),
    ".tool-versions": ("# ours\ngolang 1.21.0\nnodejs 20.1.0 system\n", "go", "1.21.0"),
    "mise.toml": ('[env]\nnode = "1"\n[tools]\nnode = "22"\n', "node", "22"),
    "package.json": ('{"volta": {"node": "20.9.0", "yarn": 1}}', "node", "20.9.0"),
}


@pytest.mark.parametrize("path", ASKED)
def test_a_version_is_read_from(path: str) -> None:
    text, tool, version = ASKED[path]
    found = pinned(read_pins({path: text}.get), tool)
    assert found is not None
    assert found.version == version
    assert found.origin.startswith(path)


@pytest.mark.parametrize(
    "path", [".nvmrc", "rust-toolchain.toml", ".tool-versions", "package.json", "mise.toml"]
)
@given(text=st.text())
def test_whatever_a_file_holds_a_version_is_a_plain_name(path: str, text: str) -> None:
    for each in read_pins({path: text}.get):
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,60}", each.version)


@pytest.mark.parametrize("text", ["../../../etc", "/etc", "lts/*", "", "a/b", ".hidden", "x" * 99])
def test_what_could_lead_elsewhere_is_no_version(text: str) -> None:
    assert read_pins({".nvmrc": text, "rust-toolchain": text}.get) == ()


INSTALLED = ("v18.2.0", "v20.1.0", "v20.10.3", "v20.9.0", "v2.0.0")


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("20", "v20.10.3"),
        ("v20.9", "v20.9.0"),
        ("18.2.0", "v18.2.0"),
        ("2", "v2.0.0"),
        ("20.1", "v20.1.0"),
        ("21", None),
        ("", None),
    ],
)
def test_the_newest_version_that_fits_is_picked(wanted: str, chosen: str | None) -> None:
    assert pick(wanted, INSTALLED) == chosen


def test_an_exact_name_comes_before_a_longer_one() -> None:
    assert pick("17.0.1", ("17.0.1-tem", "17.0.1")) == "17.0.1"
    assert pick("stable", ("stable-x86_64", "nightly-x86_64")) == "stable-x86_64"
