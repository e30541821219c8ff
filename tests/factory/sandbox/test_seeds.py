"""What Go's build cache begins with, made by the real Go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from factory.sandbox.lent_folders import WITHOUT_C, go_seed, seed_is_kept, standard_imports
from factory.workbench.judging_tools import compiles_without_c
from shared.errors import CommandFailed
from shared.files.text_sources import RepoSources
from shared.settings.settings import SandboxSettings

PATH = os.environ.get("PATH", os.defpath)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A Go whose standard library has a few packages, and the path of its program."""
    for name in ("fmt", "net/http", "internal/abi", "encoding/json"):
        (tmp_path / "go/src" / name).mkdir(parents=True)
    program = tmp_path / "go/bin/go"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no compiler here >&2\nexit 2\n")
    program.chmod(0o755)
    return program


def test_the_packages_of_the_standard_library_are_found(library: Path) -> None:
    sources = [
        'package a\n\nimport "fmt"\n\nimport (\n\tj "encoding/json"\n\t. "net/http"\n)\n',
        'package b\n\nimport (\n\t"example.org/fmt"\n\t"internal/abi"\n\t"../../etc"\n\t"no"\n)',
        'package c\n\nvar s = `import "os"`\n',
    ]
    assert standard_imports(sources, library) == {"fmt", "encoding/json", "net/http"}


def test_a_go_that_fails_says_so_and_leaves_nothing(tmp_path: Path, library: Path) -> None:
    with pytest.raises(CommandFailed, match="no compiler here"):
        go_seed(library, PATH, frozenset(), tmp_path / "kept")
    assert [each.name for each in (tmp_path / "kept").iterdir()] == ["go.lock"]
    assert not seed_is_kept(library, frozenset(), tmp_path / "kept")


def test_only_seeds_that_were_used_lately_are_kept(tmp_path: Path, library: Path) -> None:
    library.write_text('#!/bin/sh\nmkdir -p "$GOCACHE/0a" && echo x > "$GOCACHE/0a/0a1-d"\n')
    kept = tmp_path / "kept"
    packages = [frozenset({f"p{number}"}) for number in range(9)]
    (kept / "making-of-a-killed-run" / "x").mkdir(parents=True)
    folders = [go_seed(library, PATH, each, kept) for each in packages]
    assert not list(kept.glob("making-*"))
    assert sum(each.is_dir() for each in folders) == 8
    assert (folders[-1] / "0a/0a1-d").read_text() == "x\n"
    assert seed_is_kept(library, packages[-1], kept)


def test_another_go_has_another_seed(tmp_path: Path, library: Path) -> None:
    library.write_text('#!/bin/sh\nmkdir -p "$GOCACHE"\n')
    first = go_seed(library, PATH, frozenset(), tmp_path / "kept")
    library.write_text('#!/bin/sh\nmkdir -p "$GOCACHE" # 2\n')
    assert go_seed(library, PATH, frozenset(), tmp_path / "kept") != first


def test_a_repo_that_compiles_without_c_has_that_in_its_seed_too(
    tmp_path: Path, library: Path
) -> None:
    library.write_text(
        '#!/bin/sh\nmkdir -p "$GOCACHE/0a" && touch "$GOCACHE/0a/${CGO_ENABLED:-c}"\n'
    )
    kept = tmp_path / "kept"
    with_c = go_seed(library, PATH, frozenset({"net"}), kept)
    both = go_seed(library, PATH, frozenset({"net", WITHOUT_C}), kept)
    assert [each.name for each in (with_c / "0a").iterdir()] == ["c"]
    assert sorted(each.name for each in (both / "0a").iterdir()) == ["0", "c"]


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("Makefile", "test:\n\tCGO_ENABLED=0 go test ./...\n", True),
        ("Makefile", "export CGO_ENABLED := 0\n", True),
        ("scripts/verify.sh", 'export CGO_ENABLED="0"\n', True),
        ("Taskfile.yml", "env:\n  CGO_ENABLED: 0\n", True),
        ("Makefile", "CGO_ENABLED=1 go test\n", False),
        ("notes.md", "CGO_ENABLED=0", False),
    ],
)
def test_the_scripts_of_a_repo_say_whether_it_compiles_without_c(
    tmp_path: Path, path: str, text: str, found: bool
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(text)
    assert compiles_without_c(RepoSources(tmp_path), [path], SandboxSettings()) is found
