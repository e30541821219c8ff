from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.files.paths import PathProblem, check_path, fold_path, glob_characters, is_git_path

PIECES = st.sampled_from(
    ["a", "b.py", "..", ".", "/", "//", "", ".git", " ", "-x", "\\", "C:", "\0", "\x7f", "é", "*"]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=8).map("".join), st.lists(PIECES).map("/".join))


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("a", "a"),
        ("./a", "a"),
        ("src/../a", "a"),
        ("src//a.py", "src/a.py"),
        ("src/./a.py", "src/a.py"),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("..a/b..", "..a/b.."),
        ("-rf", "-rf"),
        ("a b/ü.py", "a b/ü.py"),
        ("ab:c", "ab:c"),
    ],
)
def test_a_relative_path_is_normalised_and_passes(written: str, normal: str) -> None:
    assert check_path(written) == normal


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("//a", "absolute"),
        (".", "root"),
        ("a/..", "root"),
        ("./.", "root"),
        ("..", r"\.\."),
        ("../a", r"\.\."),
        ("a/../../b", r"\.\."),
        ("src\\a.py", "backslash"),
        ("C:a.py", "drive"),
        ("c:/a.py", "drive"),
        ("./C:a.py", "drive"),
        ("a\0b", "NUL"),
        ("a\nb", "control"),
        ("a\x7fb", "control"),
        ("a\x85b", "control"),
        ("src/", "slash"),
        ("a\ud800", "surrogate"),
    ],
)
def test_any_other_path_is_refused_with_its_reason(written: str, reason: str) -> None:
    with pytest.raises(PathProblem, match=reason):
        check_path(written)


@given(TEXTS)
def test_a_path_that_passes_is_normal_relative_and_inside(text: str) -> None:
    try:
        path = check_path(text)
    except PathProblem:
        return
    assert path == check_path(path) == posixpath.normpath(path)
    assert not path.startswith("/")
    assert path.split("/")[0] not in {".", ".."}
    assert posixpath.normpath("/repo/" + text) == "/repo/" + path


@given(st.text(alphabet="abz09_.-/", max_size=12))
def test_the_quick_way_through_agrees_with_the_rules_in_full(text: str) -> None:
    bad = not text or text[0] == "/" or text[-1] == "/"
    inside = posixpath.normpath(text).split("/")[0] not in {".", ".."}
    if bad or not inside:
        with pytest.raises(PathProblem):
            check_path(text)
    else:
        assert check_path(text) == posixpath.normpath(text)


def test_glob_characters_are_named_each_once() -> None:
    assert glob_characters("src/**/[ab]?.py") == "*?["
    assert glob_characters("src/a].py") == ""


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        ".git/config",
        "sub/.git/hooks/pre-commit",
        ".GIT/config",
        ".Git",
        "git~1/config",
        "GIT~1",
        ".git./config",
        ".git ",
        ".git . .",
        ".git::$INDEX_ALLOCATION/config",
        ".git:stream",
        ".git .:x",
        ".g\u200cit/config",
        "\ufeff.git",
        ".gi\u00adt",
        "\uff0egit",
        ".\uff47\uff49\uff54",
        ".g\u2170t",
        ".git\\config",
        "a\\.git",
    ],
)
def test_every_spelling_that_some_file_system_takes_for_git_is_seen(path: str) -> None:
    assert is_git_path(path)


@pytest.mark.parametrize(
    "path", [".gitignore", ".github/x", "git", "a.git", ".git2", "git~2", "..git", "gitx/.gitkeep"]
)
def test_neighbours_of_git_are_ordinary_files(path: str) -> None:
    assert not is_git_path(path)


def test_paths_that_a_file_system_may_take_for_one_fold_to_one() -> None:
    assert fold_path("Src/A.py") == fold_path("src/a.PY")
    assert fold_path("caf\u00e9") == fold_path("cafe\u0301") == fold_path("CAFE\u0301")
    assert fold_path("a") != fold_path("b")


@given(st.text(max_size=20))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold_path(fold_path(text)) == fold_path(text)
