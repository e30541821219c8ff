"""What verifies a repo, where that comes from, and what is not run."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.processes.shell_words import split_words
from shared.projects.build_tools import (
    Ground,
    Verification,
    find_projects,
    find_verification,
    nested_notes,
)
from shared.projects.manifests import ChangedFiles
from tests.shared.projects.given_files import GivenFiles

NODE = json.dumps({"scripts": {"test": "node --test"}})
EVERYTHING: dict[str, str | None] = {
    "scripts/verify.sh": "exit 0\n",
    "package.json": NODE,
    "go.mod": "module a\n",
    "a_test.go": "",
    "Makefile": "test:\n",
}
MANIFESTS = (
    "pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "package.json", "go.mod",
    "Cargo.toml", "pom.xml", "build.gradle", "settings.gradle", "a.sln", "a.csproj", "Makefile",
    "web/package.json", "scripts/verify.sh",
)  # fmt: skip


def verified(texts: dict[str, str | None], *chosen: str) -> Verification:
    return find_verification(GivenFiles(texts), chosen)


def commands(found: Verification) -> list[str]:
    return [each.text for each in found.commands]


def test_the_setting_comes_before_all_files() -> None:
    found = verified(EVERYTHING, "make lint", "npm test")
    assert (commands(found), found.ground) == (["make lint", "npm test"], Ground.SETTING)
    assert found.describe() == "verified by `make lint` and `npm test` (the setting verify)"


def test_the_script_comes_before_the_manifests() -> None:
    found = verified(EVERYTHING)
    assert (commands(found), found.ground) == (["bash scripts/verify.sh"], Ground.SCRIPT)


def test_all_languages_count_and_a_makefile_only_alone() -> None:
    texts = {path: text for path, text in EVERYTHING.items() if path != "scripts/verify.sh"}
    found = verified(texts)
    assert found.describe() == (
        "verified by `npm test` (package.json: scripts.test), `go build -o /dev/null ./...` and "
        "`go test -vet=off ./...` (go.mod)"
    )
    assert commands(verified({"Makefile": "test:\n"})) == ["make test"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("scripts/verify.sh", "scripts/verify.sh, which verifies it and each order after it"),
        ("go.mod", "go.mod, so `go test` verifies it"),
        ("Cargo.toml", "Cargo.toml, so `cargo test` verifies it"),
        ("package.json", "package.json, whose test script, if it has one, verifies it"),
    ],
)
def test_where_nothing_says_it_yet_an_order_to_come_does(path: str, words: str) -> None:
    said = verified({}).describe([("WO-01", ["a.txt"]), ("WO-02", ["b.txt", path])])
    assert f"WO-02 writes {words}" in said
    assert said.endswith("those before it rest on their acceptance commands alone")
    assert "those before" not in verified({}).describe([("WO-01", [path])])
    assert "WO-01" not in verified(EVERYTHING).describe([("WO-01", [path])])


def test_a_script_behind_a_link_is_not_run_and_named() -> None:
    found = verified({"scripts/verify.sh": None, "package.json": NODE})
    assert commands(found) == ["npm test"]
    assert found.notes[0].startswith("scripts/verify.sh is not run")


@pytest.mark.parametrize("texts", [{}, {"README.md": "x\n"}, {"a.py": ""}, {"setup.py": ""}])
def test_without_tests_python_keeps_what_is_usual_and_proves_nothing(
    texts: dict[str, str | None],
) -> None:
    found = verified(texts)
    assert commands(found)[-1] == "python -m pytest -q"
    assert (found.ground, found.is_known) == (Ground.USUAL, False)
    assert "rest on the acceptance commands alone" in found.describe()


def test_another_language_without_tests_is_verified_by_nothing() -> None:
    found = verified({"package.json": "{}"})
    assert (found.commands, found.ground) == ((), Ground.NOTHING)
    assert "--verify" in found.describe()


def test_manifests_below_the_root_are_named_with_a_remedy() -> None:
    texts = {"web/package.json": NODE, "tools/go.mod": "module t\n", "setup.py": ""}
    notes = verified(dict(texts)).notes
    assert "tools/go.mod is not run: `--verify 'env -C tools go test ./...'` runs it" in notes[1]
    assert "`--verify 'npm --prefix web test'`" in notes[2]


@pytest.mark.parametrize(
    "texts",
    [
        {"web/package.json": "{}"},  # nothing to run
        {"node_modules/a/package.json": NODE},
        {"vendor/a/go.mod": ""},
        {"tests/fixtures/package.json": NODE},
        {"web\n/package.json": NODE},
        {"package.json": json.dumps({"workspaces": ["web"]}), "web/package.json": NODE},
        {"Cargo.toml": "[workspace]\n", "a/Cargo.toml": ""},
    ],
)
def test_what_is_not_ours_or_runs_anyway_is_not_named(texts: dict[str, str | None]) -> None:
    files = GivenFiles(texts)
    assert list(nested_notes(files, find_projects(files))) == []


def test_more_manifests_than_fit_are_counted() -> None:
    files = GivenFiles({f"part{number}/go.mod": "" for number in range(5)})
    *_, last = nested_notes(files, ())
    assert last == "2 more manifests below the root are not run"


def test_changed_files_hide_what_they_replace() -> None:
    changed = ChangedFiles(GivenFiles({"a": "1", "b": "2"}), {"b": None, "c": "3"})
    assert list(changed.paths) == ["a", "c"]
    assert [changed.text(path) for path in "abc"] == ["1", None, "3"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
packages = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("name", "scripts", "workspaces", "dependencies"), values)
).map(json.dumps)
words = st.sampled_from(
    [
        "[project]\n",
        "name = 1\n",
        "scripts",
        "=",
        "[[",
        "<dependency>",
        "require (\n",
        "test:",
        "\n",
    ]
)
texts = st.none() | st.text(max_size=60) | packages | st.lists(words, max_size=9).map("".join)


@given(st.dictionaries(st.sampled_from(MANIFESTS), texts, max_size=6))
def test_no_manifest_is_too_strange(files: dict[str, str | None]) -> None:
    found = verified(files)
    for command in found.commands:
        assert split_words(command.text).texts
        assert not command.defined or split_words(command.defined).texts
    for line in (found.describe(), *found.notes):
        assert line.isprintable(), line


HUGE = {
    "pyproject.toml": "[" * 200_000,
    "package.json": '{"a":' * 40_000,
    "go.mod": "require (\n" * 20_000,
    "Cargo.toml": "a." * 90_000 + "b = 1",
    "pom.xml": "<dependency><artifactId>" * 8_000,
    "build.gradle": "implementation " + " " * 190_000,
    "a.csproj": "<PackageReference " * 11_000,
    "Makefile": "a " * 100_000 + ":",
}


@pytest.mark.parametrize("path", HUGE)
def test_a_huge_manifest_is_read_in_linear_time(path: str) -> None:
    started = time.process_time()
    verified({path: HUGE[path]})
    assert time.process_time() - started < 5  # quadratic time would be minutes
