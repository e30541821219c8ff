"""What a Node lock and a `package.json` may say before npm, pnpm or Yarn sees them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.errors import InvalidInput
from shared.languages.ecmascript.node_modules import (
    KNOWN_HOSTS,
    check_npm_lock,
    check_pnpm_lock,
    check_yarn_lock,
    reduced_manifest,
    reduced_workspace,
    unsynchronised,
)

GOOD = {
    "version": "1.0.0",
    "resolved": "https://registry.npmjs.org/x/-/x-1.0.0.tgz",
    "integrity": "sha512-AAAA",
}
GIT = "git+ssh://git@example.com/x.git#abc"


def npm_lock(**entries: Any) -> dict[str, Any]:
    packages = {f"node_modules/{name}": entry for name, entry in entries.items()}
    return {"lockfileVersion": 3, "packages": {"": {}, **packages}}


def test_packages_of_registries_pass_and_folders_of_the_repo_are_returned() -> None:
    lock = npm_lock(x=GOOD, part={"resolved": "parts/part", "link": True})
    lock["packages"]["node_modules/x/node_modules/y"] = {"inBundle": True}
    lock["packages"]["parts/part"] = {"version": "1.0.0"}
    assert check_npm_lock("package-lock.json", lock, KNOWN_HOSTS) == ("parts/part",)


BAD = [
    ({**GOOD, "integrity": ""}, "x has no integrity"),
    ({"version": "1.0.0", "resolved": GOOD["resolved"]}, "x has no integrity"),
    ({**GOOD, "resolved": "https://example.com/x.tgz"}, "x comes from 'https://example.com"),
    ({**GOOD, "resolved": GIT}, r"x comes from 'git\+ssh"),
    ({**GOOD, "resolved": "file:../x.tgz"}, "x comes from 'file:"),
    ({**GOOD, "resolved": "https://a@registry.npmjs.org/x.tgz"}, "x comes from"),
    ({**GOOD, "resolved": "https://[::1/x"}, "x comes from"),
]


@pytest.mark.parametrize(("entry", "words"), BAD)
def test_npm_s_packages_are_refused_by_name(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=f"package-lock.json: {words}") as refused:
        check_npm_lock("package-lock.json", npm_lock(x=entry), KNOWN_HOSTS)
    assert refused.value.hint


@pytest.mark.parametrize(("entry", "words"), BAD)
def test_so_are_those_of_npm_6_at_any_depth(entry: dict[str, Any], words: str) -> None:
    lock = {"lockfileVersion": 1, "dependencies": {"a": {**GOOD, "dependencies": {"x": entry}}}}
    with pytest.raises(InvalidInput, match=words):
        check_npm_lock("package-lock.json", lock, KNOWN_HOSTS)


@pytest.mark.parametrize("folder", ["../out", "/etc", "a/../../b"])
def test_a_folder_outside_of_the_repo_is_refused(folder: str) -> None:
    lock = {"packages": {"": {}, folder: {"version": "1.0.0"}}}
    with pytest.raises(InvalidInput, match="leads out of the repo"):
        check_npm_lock("package-lock.json", lock, KNOWN_HOSTS)


PNPM = "lockfileVersion: '9.0'\npackages:\n  x@1.0.0:\n    resolution: {%s}\n"


def test_pnpm_s_packages_need_integrity_and_a_registry() -> None:
    check_pnpm_lock("pnpm-lock.yaml", PNPM % "integrity: sha512-AAAA")
    for resolution, words in [
        ("", "x@1.0.0 has no integrity"),
        ("tarball: https://example.com/x.tgz, integrity: sha512-A", "comes from tarball"),
        ("type: git, repo: https://example.com/x", "comes from repo"),
        ("directory: ../x, type: directory", "comes from directory"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            check_pnpm_lock("pnpm-lock.yaml", PNPM % resolution)
    with pytest.raises(InvalidInput, match="is not valid YAML"):
        check_pnpm_lock("pnpm-lock.yaml", "a: [")


YARN = '# yarn lockfile v1\n\n\nx@^1.0.0:\n  version "1.0.0"\n'
RESOLVED = '  resolved "https://registry.yarnpkg.com/x/-/x-1.0.0.tgz#abc"\n'


def test_yarn_s_packages_need_integrity_and_a_registry() -> None:
    check_yarn_lock("yarn.lock", f"{YARN}{RESOLVED}  integrity sha512-AAAA\n", KNOWN_HOSTS)
    with pytest.raises(InvalidInput, match="no integrity"):
        check_yarn_lock("yarn.lock", YARN + RESOLVED, KNOWN_HOSTS)
    elsewhere = RESOLVED.replace("registry.yarnpkg.com", "example.com")
    with pytest.raises(InvalidInput, match=r"comes from 'https://example\.com"):
        check_yarn_lock("yarn.lock", f"{YARN}{elsewhere}  integrity sha512-A\n", KNOWN_HOSTS)


def test_a_manifest_is_reduced_to_names_and_versions() -> None:
    manifest = {
        "name": "demo",
        "scripts": {"postinstall": "evil"},
        "packageManager": "npm@1",
        "dependencies": {"x": "^1.0.0", "y": "npm:@a/b@~2", "part": "file:./part", "z": "1 || 2"},
        "workspaces": ["parts/*"],
    }
    reduced = reduced_manifest("package.json", json.dumps(manifest))
    assert set(reduced) == {"private", "name", "dependencies", "workspaces"}
    assert reduced["dependencies"] == manifest["dependencies"]


@pytest.mark.parametrize(
    "place",
    [GIT, "https://example.com/x.tgz", "user/repo", "file:/etc", "file:./x.tgz", "link:~/x", 1],
)
def test_a_dependency_from_elsewhere_is_refused_by_name(place: object) -> None:
    for manifest in ({"dependencies": {"x": place}}, {"overrides": {"a": {"x": place}}}):
        with pytest.raises(InvalidInput, match=r"package\.json: cannot install"):
            reduced_manifest("package.json", json.dumps(manifest))


def test_workspaces_of_another_folder_are_refused() -> None:
    with pytest.raises(InvalidInput, match="leads out of the repo"):
        reduced_manifest("package.json", json.dumps({"workspaces": ["../../*"]}))
    with pytest.raises(InvalidInput, match="leads out of the repo"):
        reduced_workspace("pnpm-workspace.yaml", "packages: ['../*']\n")


def test_settings_of_a_pnpm_workspace_are_left_out() -> None:
    text = "packages: [a/*]\nregistry: https://example.com\ncatalog: {x: ^1}\n"
    found = json.loads(reduced_workspace("pnpm-workspace.yaml", text))
    assert found == {"packages": ["a/*"], "catalog": {"x": "^1"}}


@pytest.mark.parametrize("text", ["", "[]", "{", "1"])
def test_a_manifest_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"package\.json is not"):
        reduced_manifest("package.json", text)


def test_what_the_lock_lacks_is_named() -> None:
    lock = {"packages": {"": {"dependencies": {"x": "1", "y": "1"}}}}
    manifest = {"dependencies": {"x": "1", "y": "2"}, "devDependencies": {"z": "1"}}
    assert unsynchronised(manifest, lock) == ("y", "z")


EVIL = "https://example.com/x.tgz"


@pytest.mark.parametrize("flag", ["inBundle", "extraneous", "link"])
def test_what_npm_need_not_fetch_may_not_come_from_elsewhere_either(flag: str) -> None:
    entry = {"version": "1.0.0", "resolved": EVIL, flag: True}
    lock = npm_lock(x=entry)
    if flag == "link":
        entry["resolved"] = "../../private"
    with pytest.raises(InvalidInput, match=r"x comes from|leads out of the repo"):
        check_npm_lock("package-lock.json", lock, KNOWN_HOSTS)


@pytest.mark.parametrize(
    "line",
    [f'  "resolved" "{EVIL}"', f'  resolved  "{EVIL}"', f"\tresolved {EVIL}", f'resolved "{EVIL}"'],
)
def test_lines_that_yarn_does_not_write_are_refused(line: str) -> None:
    lock = f'a@^1.0.0:\n  version "1.0.0"\n{line}\n  integrity sha512-AAAA\n'
    with pytest.raises(InvalidInput, match="line 3 is not as Yarn writes it"):
        check_yarn_lock("yarn.lock", lock, KNOWN_HOSTS)


@pytest.mark.parametrize("between", ["", "# a comment\n", "\r"])
def test_neither_a_comment_nor_other_line_ends_hide_a_field_of_yarn_s(between: str) -> None:
    lock = f'a@^1.0.0:\n{between}  resolved "{EVIL}"\n  integrity sha512-AAAA\n'
    lock = lock.replace("\r", "").replace("\n", "\r\n") if between == "\r" else lock
    with pytest.raises(InvalidInput, match="comes from"):
        check_yarn_lock("yarn.lock", lock, KNOWN_HOSTS)


def test_an_entry_of_yarn_s_without_fields_has_no_integrity() -> None:
    with pytest.raises(InvalidInput, match="a@\\^1 has no integrity"):
        check_yarn_lock("yarn.lock", "a@^1:\n", KNOWN_HOSTS)


def test_a_folder_outside_of_the_repo_is_no_dependency() -> None:
    def reduced(path: str) -> None:
        reduced_manifest(path, '{"dependencies": {"a": "file:../a"}}')

    reduced("parts/b/package.json")
    with pytest.raises(InvalidInput, match="cannot install 'a'"):
        reduced("package.json")


@pytest.mark.parametrize("text", ["a: !!bool x", 'a: !!int ""', "a: !!timestamp x"])
def test_a_value_that_does_not_fit_its_tag_is_no_yaml(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not valid YAML"):
        check_pnpm_lock("pnpm-lock.yaml", text)
