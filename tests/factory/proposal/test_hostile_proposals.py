"""Proposals that try to write where they may not: refused before anything is written, and told."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factory.orders.documents import FileWrite, RunSummary, WriteProposal
from factory.orders.stages import Stage
from factory.proposal.scope import check_proposal
from factory.workbench.tree import NotReadable, Tree
from shared.llm.model_client import Request
from shared.work_order.parse_order import EMPTY_SHA256, parse_document
from shared.work_order.work_order import WorkOrder
from tests.fakes import Reply, proposal
from tests.harness import Factory, blob, commit_all, fingerprint, git, order, stages

GOOD = proposal({"hello.txt": "hello\n"})


def write(path: str, content: str = "x\n", base: str = EMPTY_SHA256) -> dict[str, str]:
    return {"path": path, "base_sha256": base, "content": content}


def refused(factory: Factory, *writes: dict[str, str], **changes: Any) -> str:
    """Have these writes refused where this is decided; return what was said of them."""
    document = parse_document(WorkOrder, order(acceptance_commands=["true"], **changes))
    proposed = WriteProposal.model_validate_json(json.dumps({"summary": "s", "writes": writes}))
    refusals = check_proposal(document, proposed, {}, Tree(factory.repo))
    assert {each.stage for each in refusals} == {Stage.WRITE_SCOPE_VIOLATION}
    return "\n".join(each.message for each in refusals)


def refused_by_a_run(factory: Factory, *writes: dict[str, str], **changes: Any) -> str:
    """Have these writes refused, then good ones pass; return what was said of the first."""
    seen: list[object] = []

    def look(request: Request) -> str:
        seen.append(fingerprint(factory.workspace))
        return json.dumps({"summary": "s", "writes": list(writes)})

    def look_again(request: Request) -> str:
        seen.append(fingerprint(factory.workspace))
        return GOOD(request)

    document = order(acceptance_commands=["true"], **changes)
    summary = factory.run(document, [look, look_again])
    assert stages(summary) == [Stage.WRITE_SCOPE_VIOLATION, ""]
    assert seen[0] == seen[1], "nothing was written"
    assert git(factory.repo, "diff", "--name-only", "main", "work") == "hello.txt"
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert brief.constraints_reminder.startswith("Write only: ")
    assert brief.primary_error_excerpt in factory.prompt(1)
    return brief.primary_error_excerpt


@pytest.mark.parametrize(
    "writes",
    [
        [write(".git/hooks/pre-commit")],
        [write("../outside.txt"), write("hello.txt")],
        [write("a\0b")],
        [write("")],
        [write("src/app.py", base="0" * 64)],
        [write("hello.txt", "a\0b")],
        [write("Hello.txt"), write("-rf")],
    ],
    ids=lambda writes: repr(writes[0]["path"]),
)
def test_a_run_says_the_same_and_has_nothing_written(
    factory: Factory, writes: list[dict[str, str]]
) -> None:
    assert refused_by_a_run(factory, *writes) == refused(factory, *writes)


GIT_SPELLINGS = [
    ".git/hooks/pre-commit",
    ".git",
    ".GIT/config",
    ".gIt/config",
    "src/.git/config",
    "git~1/config",
    "GIT~1/config",
    ".git./config",
    ".git /config",
    ".git::$INDEX_ALLOCATION/config",
    ".git:stream",
    ".g\u200cit/config",
    "\u2060.git/config",
    ".gi\u0307t/config",
    "\uff0egit/config",
]


@pytest.mark.parametrize("path", GIT_SPELLINGS)
def test_git_in_any_spelling_is_out_of_scope(factory: Factory, path: str) -> None:
    assert repr(path) in refused(factory, write(path))


@pytest.mark.parametrize("path", [each for each in GIT_SPELLINGS if each != ".gi\u0307t/config"])
def test_git_is_its_own_even_where_an_order_allows_it(path: str, tmp_path: Path) -> None:
    document = parse_document(WorkOrder, order(allowed_files=[path]))
    proposed = WriteProposal(summary="s", writes=(FileWrite(**write(path)),))
    (violation,) = check_proposal(document, proposed, {}, Tree(tmp_path))
    assert violation.message == f"{path!r} is git's own"


OUTSIDE = {
    "/etc/passwd": "is absolute",
    "../outside.txt": "leads outside",
    "src/../../outside.txt": "leads outside",
    "": "is empty",
    ".": "names the root",
    "src/": "ends in a slash",
    "a\\b": "has a backslash",
    "C:/x": "has a drive letter",
    "a\0b": "holds a NUL",
    "a\nb": "holds a control character",
    "./hello.txt": "must be written as 'hello.txt'",
    "src/../hello.txt": "must be written as 'hello.txt'",
    "src//x": "must be written as 'src/x'",
    "Hello.txt": "is not in allowed_files",
    "hello.txt ": "is not in allowed_files",
    "-rf": "is not in allowed_files",
    "src/app.py": "is not in allowed_files",
    "scripts/verify.sh": "is not in allowed_files",
}


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_that_is_not_allowed_is_told_why(factory: Factory, path: str) -> None:
    assert f"{path!r} {OUTSIDE[path]}" in refused(factory, write(path)).replace(
        "is no path inside the repo: ", ""
    )


def test_one_path_out_of_scope_refuses_all(factory: Factory) -> None:
    message = refused(factory, write("hello.txt"), write("other.txt"))
    assert message == "'other.txt' is not in allowed_files"


def test_every_path_out_of_scope_is_told(factory: Factory) -> None:
    message = refused(factory, write("one"), write("two"), write("hello.txt"))
    assert message.split("\n") == [f"{path!r} is not in allowed_files" for path in ("one", "two")]


def test_scope_comes_before_freshness(factory: Factory) -> None:
    assert "allowed_files" in refused(factory, write("src/app.py", base="0" * 64))


def test_a_path_twice_is_refused(factory: Factory) -> None:
    message = refused(factory, write("hello.txt", "one"), write("hello.txt", "two"))
    assert message == "'hello.txt' is proposed twice"


def test_two_paths_that_differ_in_case_or_form_alone_are_one(factory: Factory) -> None:
    names = ["Straße.txt", "STRASSE.txt", "café.txt", "cafe\u0301.txt", "hello.txt"]
    message = refused(factory, *map(write, names), allowed_files=names)
    assert message.split("\n") == [
        f"{names[1]!r} is proposed twice",
        f"{names[3]!r} is proposed twice",
    ]


@pytest.mark.parametrize(
    ("path", "there"),
    [("readme.MD", "README.md"), ("SRC/new.py", "SRC"), ("src/APP.py", "src/app.py")],
)
def test_a_name_that_differs_from_a_files_in_case_alone_is_refused(
    factory: Factory, path: str, there: str
) -> None:
    allowed = ["hello.txt", path]
    there = "src" if there == "SRC" else there
    message = refused(factory, write(path), allowed_files=allowed)
    assert message == f"{path!r} is the same as {there!r} on some file systems"


def test_names_that_a_repo_tells_apart_already_can_be_written(factory: Factory) -> None:
    commit_all(factory.repo, {"a.txt": "one\n", "A.txt": "two\n"})
    document = order(allowed_files=["a.txt"], acceptance_commands=["true"])
    assert factory.run(document, [proposal({"a.txt": "new\n"})]).verdict == "PASS"


def test_a_file_and_a_folder_of_one_name_are_refused(factory: Factory) -> None:
    allowed = ["x", "x/y", "hello.txt"]
    message = refused(factory, write("x"), write("x/y"), allowed_files=allowed)
    assert message == "'x' is proposed as a file and as a folder"


@pytest.mark.parametrize(
    "forbidden",
    ["secrets", "secrets/", "./secrets", "src/../secrets/", "Secrets", "secrets/*", "*.pem", "*"],
)
def test_a_forbidden_path_is_refused_however_it_is_spelled(
    factory: Factory, forbidden: str
) -> None:
    document = parse_document(
        WorkOrder, order(allowed_files=["secrets/key.pem"], forbidden=[forbidden])
    )
    proposed = WriteProposal(summary="s", writes=(FileWrite(**write("secrets/key.pem")),))
    (violation,) = check_proposal(document, proposed, {}, Tree(factory.repo))
    assert violation.message.endswith(f"is forbidden by the work order ({forbidden})")


@pytest.mark.parametrize("forbidden", ["secret", "key.pem", "", ".", "other/secrets"])
def test_what_is_not_forbidden_passes(factory: Factory, forbidden: str) -> None:
    document = parse_document(
        WorkOrder, order(allowed_files=["secrets/key.pem"], forbidden=[forbidden])
    )
    proposed = WriteProposal(summary="s", writes=(FileWrite(**write("secrets/key.pem")),))
    assert check_proposal(document, proposed, {}, Tree(factory.repo)) == ()


def test_forbidden_files_are_shown_to_the_model(factory: Factory) -> None:
    factory.run(order(forbidden=["secrets"]), [GOOD])
    assert "These must stay untouched:\n- secrets" in factory.prompt()


CONTENT = {
    "a NUL": ("a\0b", "contains a NUL"),
    "200 KB and a byte": ("x" * (200 * 1024 + 1), "has 204,801 bytes, over the limit of 204,800"),
    "200 KB by its bytes": ("ü" * (100 * 1024 + 1), "has 204,802 bytes"),
}


@pytest.mark.parametrize("name", CONTENT)
def test_content_that_cannot_be_written_is_refused(factory: Factory, name: str) -> None:
    content, reason = CONTENT[name]
    assert reason in refused(factory, write("hello.txt", content))


def test_content_of_exactly_the_limit_is_written(factory: Factory) -> None:
    assert factory.run(order(), [proposal({"hello.txt": "x" * 204_800})]).verdict == "PASS"


def test_files_that_are_too_much_together_are_refused(factory: Factory) -> None:
    names = ["hello.txt", "a", "b"]
    writes = [write(name, "x" * 180_000) for name in names]
    message = refused(factory, *writes, allowed_files=names)
    assert message == "the files have 540,000 bytes together, over the limit of 512,000"


@pytest.mark.parametrize("name", ["ü" * 128, "folder/" + "x" * 256])
def test_a_name_longer_than_file_systems_take_is_refused(factory: Factory, name: str) -> None:
    document = parse_document(WorkOrder, order(allowed_files=[name]))
    proposed = WriteProposal(summary="s", writes=(FileWrite(**write(name)),))
    (violation,) = check_proposal(document, proposed, {}, Tree(factory.repo))
    assert "has a name of over 255 bytes" in violation.message
    reply = json.dumps({"summary": "s", "writes": [write(name)]})
    summary = factory.run(order(allowed_files=[name]), [reply], max_attempts=1)
    assert summary.verdict == "FAIL"


NAMES = [
    "-rf",
    "--help",
    " ",
    "$(touch x)",
    "a;b",
    "'q'",
    '"q"',
    "#x",
    "!x",
    "~",
    "%s",
    "ü",
    "…",
    ":(top)",
    "a" * 255,
    "é" * 127,
    ".gitkeep",
    "x.git",
    ".github/x",
]


def test_odd_names_that_are_allowed_are_written_as_they_are(factory: Factory) -> None:
    document = order(allowed_files=NAMES, acceptance_commands=["true"])
    writes = [write(name, f"odd {number}\n") for number, name in enumerate(NAMES)]
    reply = json.dumps({"summary": "s", "writes": writes})
    assert factory.run(document, [reply]).verdict == "PASS"
    changed = git(factory.repo, "diff", "-z", "--name-only", "main", "work").split("\0")
    assert sorted(changed) == sorted([*NAMES, ""])
    for each in writes:
        assert blob(factory.repo, "work", each["path"]) == each["content"].encode()


def test_the_list_of_ignored_files_can_be_written(factory: Factory) -> None:
    document = order(allowed_files=[".gitignore"], acceptance_commands=["true"])
    assert factory.run(document, [proposal({".gitignore": "odd\n"})]).verdict == "PASS"
    assert git(factory.repo, "diff", "--name-only", "main", "work") == ".gitignore"


# What stands in the way


def plant_dangling_link(repo: Path) -> None:
    (repo / "trap").symlink_to("/nowhere/at/all")


def plant_link_to_file(repo: Path) -> None:
    (repo / "trap").symlink_to("README.md")


def plant_link_outside(repo: Path) -> None:
    (repo / "trap").symlink_to("/etc/hostname")


def plant_chain_of_links(repo: Path) -> None:
    (repo / "one").symlink_to("two")
    (repo / "two").symlink_to("README.md")
    (repo / "trap").symlink_to("one")


def plant_link_to_itself(repo: Path) -> None:
    (repo / "trap").symlink_to("trap")


@pytest.mark.parametrize(
    "plant",
    [
        plant_dangling_link,
        plant_link_to_file,
        plant_link_outside,
        plant_chain_of_links,
        plant_link_to_itself,
    ],
)
def test_a_link_is_never_written_through(factory: Factory, plant: Callable[[Path], None]) -> None:
    plant(factory.repo)
    commit_all(factory.repo)
    summary = factory.run(order(allowed_files=["trap"]), [])
    assert stages(summary) == [Stage.PREFLIGHT], "it could not even be shown"
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert brief.primary_error_excerpt == "'trap' cannot be shown: it is a symbolic link"


@pytest.mark.parametrize("target", ["src", "..", "/tmp", "nowhere"])
def test_a_linked_folder_is_never_entered(factory: Factory, target: str) -> None:
    (factory.repo / "folder").symlink_to(target)
    commit_all(factory.repo)
    summary = factory.run(order(allowed_files=["folder/new.txt"]), [])
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert brief.primary_error_excerpt.endswith("it lies behind a symbolic link")


def planted_meanwhile(
    factory: Factory, plant: Callable[[Path], object], path: str = "hello.txt"
) -> RunSummary:
    """Something is put in the way after the file was shown, as by a process left running."""
    outside = factory.scratch / "outside"
    outside.mkdir()
    (outside / "victim").write_text("precious\n")

    factory.at_stage("apply", plant)
    reply = json.dumps({"summary": "s", "writes": [write(path)]})
    document = order(allowed_files=[path], acceptance_commands=["true"])
    summary = factory.run(document, [reply], max_attempts=1)
    assert (outside / "victim").read_text() == "precious\n"
    assert [each.name for each in outside.iterdir()] == ["victim"]
    assert summary.verdict == "FAIL"
    return summary


IN_THE_WAY: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a link": (
        lambda tree: (tree / "hello.txt").symlink_to(tree.parents[2] / "victim"),
        "hello.txt",
        "is a symbolic link",
    ),
    "a folder": (lambda tree: (tree / "hello.txt").mkdir(), "hello.txt", "is a folder"),
    "a FIFO": (lambda tree: os.mkfifo(tree / "hello.txt"), "hello.txt", "is no regular file"),
    "a linked folder": (
        lambda tree: (tree / "new").symlink_to("/tmp"),
        "new/hello.txt",
        "lies behind a symbolic link",
    ),
    "a file for a folder": (
        lambda tree: (tree / "new").touch(),
        "new/hello.txt",
        "lies below something that is no folder",
    ),
    "a look-alike": (
        lambda tree: (tree / "HELLO.TXT").touch(),
        "hello.txt",
        "is the same as 'HELLO.TXT' on some file systems",
    ),
}


@pytest.mark.rest
@pytest.mark.parametrize("name", IN_THE_WAY)
def test_what_is_put_in_the_way_after_it_was_shown_is_seen(factory: Factory, name: str) -> None:
    plant, path, reason = IN_THE_WAY[name]
    summary = planted_meanwhile(factory, plant, path)
    assert stages(summary) == [Stage.WRITE_SCOPE_VIOLATION]
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert brief.primary_error_excerpt == f"{path!r} {reason}"


def test_a_link_planted_by_an_earlier_order_is_not_followed(factory: Factory) -> None:
    """No proposal can make a link, but a command of an earlier attempt could try."""
    outside = factory.scratch / "outside"
    outside.mkdir()
    document = order(
        allowed_files=["hello.txt", "new/file.txt"],
        acceptance_commands=[f"ln -s {outside} new", "false"],
    )
    both = proposal({"hello.txt": "x\n", "new/file.txt": "y\n"})
    first: Reply = proposal({"hello.txt": "x\n"})
    factory.run(document, [first, both], max_attempts=2)
    assert list(outside.iterdir()) == []


def test_a_hard_link_is_broken_and_not_written_through(factory: Factory, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("# A project\n")
    reply = proposal({"README.md": "new\n"})

    def link(tree: Path) -> None:
        (tree / "README.md").unlink()
        os.link(victim, tree / "README.md")

    factory.at_stage("apply", link)
    document = order(allowed_files=["README.md"], acceptance_commands=["grep -qx new README.md"])
    assert factory.run(document, [reply]).verdict == "PASS"
    assert victim.read_text() == "# A project\n"


def test_a_path_in_a_submodule_is_refused(factory: Factory) -> None:
    git(factory.repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/lib")
    git(factory.repo, "commit", "--quiet", "--message=submodule")
    (factory.repo / "vendor/lib").mkdir(parents=True)
    summary = factory.run(order(allowed_files=["vendor/lib/x.py"]), [])
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert "lies in a submodule, which is a repo of its own" in brief.primary_error_excerpt
    summary = factory.run(order(allowed_files=["vendor/lib"]), [])
    assert stages(summary) == [Stage.PREFLIGHT]


class Intruder:
    """Acts once, at a given system call of this process: as another process might at any time."""

    def __init__(self) -> None:
        self._left = 0
        self._act: Callable[[], None] = lambda: None
        sys.addaudithook(self._hear)

    def at(self, call: int, act: Callable[[], None]) -> None:
        self._left, self._act = call, act

    def was_there(self) -> bool:
        """Return whether there were as many calls, and expect no more."""
        acted = self._left == 0
        self._left = 0
        return acted

    def _hear(self, event: str, arguments: object) -> None:
        if self._left and event in ("open", "os.mkdir", "os.rename", "os.listdir", "os.remove"):
            self._left -= 1
            if self._left == 0:
                self._act()


@pytest.fixture(scope="module")
def intruder() -> Intruder:
    return Intruder()


@pytest.mark.parametrize("use", ["write", "state_of", "lookalike_of"])
def test_a_folder_swapped_for_a_link_while_it_is_used_leads_nowhere(
    tmp_path: Path, intruder: Intruder, use: str
) -> None:
    """What was checked is what is used: each step of a path is opened relative to the last."""
    outside = tmp_path / "outside"
    (outside / "b").mkdir(parents=True)
    (outside / "b/precious").write_text("precious\n")
    before = fingerprint(outside)
    for call in itertools.count(1):
        root = tmp_path / f"tree{call}"
        (root / "a/b").mkdir(parents=True)

        def swap(root: Path = root) -> None:
            (root / "a").rename(root / "aside")
            (root / "a").symlink_to(outside)

        intruder.at(call, swap)
        tree, found = Tree(root), None
        with contextlib.suppress(NotReadable):
            match use:
                case "write":
                    tree.write("a/b/precious", b"changed")
                case "state_of":
                    found = tree.state_of("a/b/precious").sha256
                case _:
                    found = tree.lookalike_of("a/b/PRECIOUS")
        assert fingerprint(outside) == before
        assert found in (None, EMPTY_SHA256, "")
        if not intruder.was_there():
            break
    assert call > 3


def test_a_fifo_never_keeps_a_reader_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert Tree(tmp_path).state_of("fifo").kind == "other"
    assert not Tree(tmp_path).exists("fifo")
