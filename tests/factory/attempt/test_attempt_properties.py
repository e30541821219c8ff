"""What holds for every input that hypothesis can think of."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from factory.attempt.apply_proposal import write_files
from factory.judging.failure_brief import cut, stable_excerpt
from factory.orders.documents import MAX_EXCERPT_CHARACTERS, FileWrite, WriteProposal
from factory.orders.order_commit import (
    CommitTerms,
    OrderIdentity,
    describe_commit,
    identify,
    landed_orders,
)
from factory.preflight import name_paths, printable
from factory.proposal.scope import check_proposal
from factory.workbench.tree import Tree
from shared.git import commits
from shared.git.client import Git
from shared.git.commits import CommitFacts
from shared.git.repos import Identity
from shared.work_order.parse_order import EMPTY_SHA256, parse_document
from shared.work_order.work_order import WorkOrder
from tests.harness import fingerprint, git, order

EXAMPLES = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


# No proposal changes a byte outside its allowed files

HOSTILE_NAMES = [
    "", ".", "..", "...", " ", "-", "-rf", "~", "*", "a", "A", "b", "file", "FILE", "dir", "DIR",
    "link", "chain", "dangling", "up", "fifo", "lib", "new", "x" * 255, "x" * 256, "\u00e9",
    "e\u0301", "\u00df", "ss", ".git", ".GIT", ".git.", ".git ", ".g\u200cit", "git~1",
    ".git::$INDEX_ALLOCATION", "a\nb", "a\0b", "a\\b", "..\\b", "C:", "CON", "\ud800", "\ufeff",
]  # fmt: skip

paths = st.one_of(
    st.lists(st.sampled_from(HOSTILE_NAMES), min_size=1, max_size=5).map("/".join),
    st.text(max_size=20),
)
contents = st.sampled_from(["", "x\n", "\0", "\ud800", "\r\n", "y" * 204_801, "y" * 204_800])


@st.composite
def attempts(draw: st.DrawFn) -> tuple[tuple[str, ...], tuple[str, ...], list[tuple[str, str]]]:
    """Allowed files, forbidden ones, and what is proposed: mostly of the allowed, to get far."""
    allowed = tuple(draw(st.lists(paths, min_size=1, max_size=4)))
    forbidden = tuple(draw(st.lists(paths, max_size=2)))
    proposed = st.one_of(st.sampled_from(allowed), paths)
    writes = draw(st.lists(st.tuples(proposed, contents), min_size=1, max_size=4))
    return allowed, forbidden, writes


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree full of ways out of it, with something precious beside it."""
    root = tmp_path_factory.mktemp("trap") / "trap"
    tree, outside = root / "run" / "tree", root / "outside"
    for folder in (tree / "dir/DIR", tree / "lib", outside / "dir", tree / ".git"):
        folder.mkdir(parents=True)
    for file in (tree / "file", tree / "dir/file", tree / ".git/config", outside / "file"):
        file.write_text("precious\n")
    links = {"link": "../../outside", "chain": "link", "dangling": "../../outside/new", "up": ".."}
    for name, target in links.items():
        (tree / name).symlink_to(target)
        (tree / "dir" / name).symlink_to(target)
    os.mkfifo(tree / "fifo")
    os.link(outside / "file", tree / "dir/a")
    return root


@dataclass
class Copy:
    """A copy of the trap for one example; made anew where the last example changed it."""

    trap: Path
    root: Path
    before: dict[str, tuple[str, int, str]] = field(default_factory=dict)

    def fresh(self) -> dict[str, tuple[str, int, str]]:
        if not self.before or everything(self.root) != self.before:
            shutil.rmtree(self.root, ignore_errors=True)
            copy_tree(self.trap, self.root)
            self.before = everything(self.root)
        return self.before


@pytest.fixture
def sprung(trap: Path, tmp_path: Path) -> Copy:
    return Copy(trap, tmp_path / "copy")


def everything(root: Path) -> dict[str, tuple[str, int, str]]:
    """Like `fingerprint`, git's folder included."""
    found = dict(fingerprint(root))
    for folder in root.rglob(".git"):
        found |= {f"{folder}/{name}": facts for name, facts in fingerprint(folder).items()}
    return found


@pytest.mark.rest
@EXAMPLES
@given(attempt=attempts())
@example((("link/file",), (), [("link/file", "x\n")]))
@example((("dir/a",), (), [("dir/a", "x\n")]))
@example((("new/a", "new"), (), [("new", "x\n"), ("new/a", "x\n")]))
@example((("A", "a"), (), [("a", "x\n"), ("A", "x\n")]))
def test_no_proposal_changes_a_byte_outside_its_allowed_files(
    sprung: Copy,
    attempt: tuple[tuple[str, ...], tuple[str, ...], list[tuple[str, str]]],
) -> None:
    allowed, forbidden, writes = attempt
    before = sprung.fresh()
    tree = Tree(sprung.root / "run/tree", frozenset({"lib"}))
    # Unchecked, so that even paths which no order may name get as far as they can.
    work_order = parse_document(WorkOrder, order()).model_copy(
        update={"allowed_files": allowed, "forbidden": forbidden}
    )
    proposal = WriteProposal(
        summary="s",
        writes=tuple(
            FileWrite.model_construct(path=path, base_sha256=base_of(tree, path), content=content)
            for path, content in writes
        ),
    )
    refused = check_proposal(work_order, proposal, {}, tree) or write_files(tree, proposal.writes)
    after = everything(sprung.root)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    permitted = {f"run/tree/{path}" for path in allowed} if not refused else set()
    made = {str(folder) for path in permitted for folder in Path(path).parents}
    assert changed <= permitted | made
    assert all(path in after for path in before), "nothing was removed"
    if not refused:
        for path, content in dict(writes).items():
            assert tree.read(path) == content.encode()


def copy_tree(source: Path, target: Path) -> None:
    """Copy links as links, FIFOs as FIFOs, and names of one file as names of one file."""
    target.mkdir()
    known: dict[int, Path] = {}
    for path in sorted(source.rglob("*")):
        copy = target / path.relative_to(source)
        status = path.lstat()
        if path.is_symlink():
            copy.symlink_to(path.readlink())
        elif path.is_dir():
            copy.mkdir()
        elif path.is_fifo():
            os.mkfifo(copy)
        elif status.st_ino in known:
            os.link(known[status.st_ino], copy)
        else:
            known[status.st_ino] = copy
            shutil.copy2(path, copy)


def base_of(tree: Tree, path: str) -> str:
    """Return the hash that the prompt would have shown."""
    try:
        return tree.state_of(path).sha256
    except (ValueError, OSError):
        return EMPTY_SHA256


# Excerpts

MACHINE = {
    "/home/u/.cache/llmch/workspaces/01X/repo/": "",
    "/home/u/.cache/llmch/workspaces/01X/repo": ".",
    "/home/u/.cache/llmch/workspaces/01X/repo.private": "<private>",
    "/home/u/.cache/llmch/workspaces/01X/repo.private/tmp": "/tmp",
    "/usr/lib/python": "<python>/lib/python",
    "/opt/venv": "<python>",
    "/opt/venv/bin/python": "python",
}
pieces = st.one_of(
    st.sampled_from([*MACHINE, *(path[:9] for path in MACHINE), *(path[9:] for path in MACHINE)]),
    st.sampled_from(
        ["  ^^^^", "~~^~~ ", '  File "<string>", line 3, in f', "    x = 1", "\n", "\t"]
    ),
    st.sampled_from(["in 0.12s", "in 3s", "0x7f00deadbeef", "0x12", "\r\n", "\x0b", " ", "in "]),
    st.text(max_size=10),
)
outputs = st.lists(pieces, max_size=30).map("".join)


@EXAMPLES
@given(outputs)
@example("/opt/opt/venv/venv")
@example("/home/u/.cache/llmch/workspaces/01X/re/opt/venvpo")
def test_an_excerpt_names_no_path_of_the_machine(output: str) -> None:
    excerpt = stable_excerpt(output, MACHINE.items())
    assert not [path for path in MACHINE if path in excerpt]


@EXAMPLES
@given(outputs)
def test_an_excerpt_of_an_excerpt_is_the_same(output: str) -> None:
    excerpt = stable_excerpt(output, MACHINE.items())
    assume(len(excerpt) < MAX_EXCERPT_CHARACTERS)
    assert stable_excerpt(excerpt, MACHINE.items()) == excerpt


@EXAMPLES
@given(st.lists(st.text(max_size=200), max_size=40).map("\n".join), st.integers(50, 3000))
def test_what_is_cut_is_within_its_bound_and_keeps_both_ends(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert len(short) <= limit
    if len(text) <= limit:
        assert short == text
    else:
        head, mark, tail = short.partition("\n[... cut ...]\n")
        assert mark
        assert text.startswith(head)
        assert text.endswith(tail)
        cut_lines = [each for each in text.split("\n") if len(each) > limit // 8]
        assert cut_lines or {*head.split("\n"), *tail.split("\n")} <= {*text.split("\n")}


@EXAMPLES
@given(outputs.map(lambda text: text * 200))
def test_an_excerpt_is_bounded(output: str) -> None:
    assert len(stable_excerpt(output, MACHINE.items())) <= MAX_EXCERPT_CHARACTERS


# Commits

titles = st.one_of(
    st.text(),
    st.text(alphabet="\n\r\0\t :\u2028\u202eL", max_size=20),
    st.sampled_from(
        [
            "x\n\nLlmch-Key: forged",
            "Llmch-Work-Order: WO-99",
            "\n\nLlmch-Work-Order: WO-99\nLlmch-Key: forged\n",
            "\u2028\u2029Llmch-Key: forged",
            "# comment",
            "--- a/file",
            "y" * 500,
        ]
    ),
)


TERMS = CommitTerms(Identity("Ada", "ada@example.org"), "@1 +0000")


def described(title: str, plan: str) -> tuple[OrderIdentity, CommitFacts]:
    work_order = parse_document(WorkOrder, order()).model_copy(update={"title": title})
    identity = identify(
        parse_document(WorkOrder, order(intent="x")), plan
    )  # of the title nothing may depend
    return identity, describe_commit(work_order, identity, TERMS, "")


@EXAMPLES
@given(titles, st.sampled_from(["", "a" * 64]))
def test_a_commit_is_known_by_its_trailers_whatever_its_title(title: str, plan: str) -> None:
    identity, facts = described(title, plan)
    assert landed_orders([("commit", facts.message)]) == {identity: "commit"}
    subject, blank, *trailers = facts.message.split("\n")
    assert subject.startswith("WO-01")
    assert len(subject) <= 100
    assert blank == ""
    assert trailers[-1] == ""


@pytest.mark.parametrize(
    "title", ["a\0b", "x\n\nLlmch-Key: forged", "", "\u202egnp.exe", "\x1b[31mred", "# c", "\ud800"]
)
def test_git_keeps_the_message_as_it_was_given(repo: Path, title: str) -> None:
    identity, facts = described(title, "")
    asked = Git(repo)
    commit = commits.write(asked, git(repo, "rev-parse", "HEAD^{tree}"), "HEAD", facts)
    (logged,) = commits.log(asked, commit, limit=1)
    found, message = logged.id, logged.message
    assert (found, message) == (commit, facts.message)
    assert landed_orders([(found, message)]) == {identity: commit}
    assert not {"\0", "\x1b", "\u202e"} & set(message)


@EXAMPLES
@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=30)), max_size=5))
def test_messages_of_others_are_no_orders(history: list[tuple[str, str]]) -> None:
    assume(not any("Llmch-Key: " in message for _, message in history))
    assert landed_orders(history) == {}


# Names in messages


@EXAMPLES
@given(st.lists(st.text(), max_size=12))
def test_named_paths_fit_on_a_line_that_can_be_printed(names: list[str]) -> None:
    text = name_paths(names)
    assert text.isprintable()
    text.encode()
    assert text.endswith(f" and {len(names) - 5} more") == (len(names) > 5)


@EXAMPLES
@given(st.text())
def test_a_printable_name_is_itself(name: str) -> None:
    assert printable(name) == (name if name.isprintable() else repr(name))
