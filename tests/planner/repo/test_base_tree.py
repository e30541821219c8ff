"""A plan records the files that its orders touch or read, as git stores them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from planner.repo.planned_repo import NO_TREE, base_tree, open_tree
from shared.events.events import ignore
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import MAX_LISTED, WorkOrder
from tests.harness import commit_all, git, order


def recorded(repo: Path, *fields: dict[str, Any], branch: str | None = None) -> dict[str, str]:
    base = base_tree(open_tree(repo, branch, (), ignore))
    assert base is not None
    orders = [parse_document(WorkOrder, order(n, **each)) for n, each in enumerate(fields, 1)]
    return {each.path: each.sha256 for each in base.base_files(orders)}


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def test_each_file_that_an_order_touches_or_reads_is_recorded(repo: Path) -> None:
    paths = ["written.py", "gone.py", "shown.py", "needed.py", "run.py", "tests/test_a.py"]
    commit_all(repo, {path: f"{path}\n" for path in (*paths, "other.py")})
    fields = {
        "allowed_files": ["written.py", "new.py"],
        "removed_files": ["gone.py"],
        "context_files": ["shown.py"],
        "preconditions": [
            {"kind": "file_exists", "path": "needed.py"},
            {"kind": "file_absent", "path": "other.py"},
        ],
        "acceptance_commands": ["python ./run.py", "pytest tests/test_a.py::test_one"],
    }
    expected = {path: digest(f"{path}\n".encode()) for path in paths}
    assert recorded(repo, fields) == expected
    assert recorded(repo, fields, branch="main") == expected


def test_bytes_that_are_no_text_count_as_they_are(repo: Path) -> None:
    data = bytes(range(256)) * 4_000
    commit_all(repo, {"data.bin": data, "empty": b""})
    found = recorded(repo, {"allowed_files": ["data.bin", "empty"]})
    assert found == {"data.bin": digest(data), "empty": digest(b"")}


def test_a_checkout_counts_with_its_changes_and_a_branch_without(repo: Path) -> None:
    before = digest((repo / "src/app.py").read_bytes())
    (repo / "src/app.py").write_text("GREETING = 'changed'\n")
    fields = {"allowed_files": ["src/app.py"]}
    assert recorded(repo, fields) == {"src/app.py": digest(b"GREETING = 'changed'\n")}
    assert recorded(repo, fields, branch="main") == {"src/app.py": before}


def test_the_stored_bytes_count_where_a_checkout_has_other_line_ends(repo: Path) -> None:
    commit_all(repo, {".gitattributes": "*.txt text eol=crlf\n", "a.txt": "one\ntwo\n"})
    (repo / "a.txt").unlink()
    git(repo, "checkout", "--", "a.txt")
    assert (repo / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert recorded(repo, {"allowed_files": ["a.txt"]}) == {"a.txt": digest(b"one\ntwo\n")}


def test_links_and_files_that_vanished_are_not_recorded(repo: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret\n")
    (repo / "link").symlink_to(secret)
    commit_all(repo, {"gone.txt": "gone\n", "linked.txt": "text\n"})
    (repo / "gone.txt").unlink()
    (repo / "linked.txt").unlink()
    (repo / "linked.txt").symlink_to(secret)
    assert recorded(repo, {"allowed_files": ["link", "gone.txt", "linked.txt"]}) == {}


def test_no_filter_of_the_repo_itself_runs(repo: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    commit_all(repo, {".gitattributes": "*.txt filter=own\n", "a.txt": "one\n"})
    git(repo, "config", "filter.own.clean", f"touch {ran}; cat")
    (repo / "a.txt").write_text("two\n")
    assert recorded(repo, {"allowed_files": ["a.txt"]}) == {"a.txt": digest(b"two\n")}
    assert not ran.exists()


def test_there_are_at_most_as_many_as_a_manifest_lists(repo: Path) -> None:
    names = [f"{number:04d}.txt" for number in range(MAX_LISTED + 5)]
    commit_all(repo, dict.fromkeys(names, "same\n"))
    found = recorded(repo, {"allowed_files": names[5:]}, {"allowed_files": names[:5]})
    assert sorted(found) == names[5:]


def test_without_a_repo_there_is_no_base() -> None:
    assert base_tree(NO_TREE) is None
