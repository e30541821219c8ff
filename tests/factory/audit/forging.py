"""Forges commits and statements: with plain git, as somebody with the whole repo could."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from factory.statement.statement import PROOF_REF, Envelope
from shared.work_order.parse_order import canonical_json, sha256_bytes
from tests.harness import Factory, Json, git

Edit = Callable[[Json], object]


@dataclass(frozen=True)
class Forger:
    """Somebody who may change everything in the repo and its records. `commits` are the honest
    ones, oldest first."""

    repo: Path
    artifacts: Path
    commits: tuple[str, ...]

    @property
    def run_folder(self) -> Path:
        return max((self.artifacts / "factory").glob("*/"))

    # Commits

    def on(self, number: int) -> None:
        """Have the branch end with one of the honest commits, and check it out."""
        git(self.repo, "switch", "--quiet", "work")
        git(self.repo, "reset", "--quiet", "--hard", self.commits[number])

    def amend(self, *arguments: str, files: Mapping[str, str] | None = None) -> str:
        """Amend the last commit of the branch and return the new one."""
        for path, text in (files or {}).items():
            (self.repo / path).parent.mkdir(parents=True, exist_ok=True)
            (self.repo / path).write_text(text)
        git(self.repo, "add", "--all")
        how = arguments or ("--no-edit",)
        git(self.repo, "commit", "--quiet", "--allow-empty", "--amend", *how)
        return self.tip

    @property
    def tip(self) -> str:
        return git(self.repo, "rev-parse", "work")

    def text(self, commit: str) -> str:
        """Return the bytes of a commit."""
        return git(self.repo, "cat-file", "commit", commit)

    def write(self, raw: str) -> str:
        """Make a commit of any bytes, move the branch to it, and return it."""
        raw = raw if raw.endswith("\n") else raw + "\n"
        made = git(
            self.repo, "hash-object", "-t", "commit", "-w", "--literally", "--stdin",
            stdin=raw.encode(),
        )  # fmt: skip
        git(self.repo, "switch", "--quiet", "--detach", "main")
        git(self.repo, "update-ref", "refs/heads/work", made)
        return made

    def remade(self, commit: str, **changes: str) -> str:
        """Make a commit again as llmch would, with another tree, parent or message."""
        raw = self.text(commit)
        head, _, message = raw.partition("\n\n")
        lines = dict(line.split(" ", 1) for line in head.split("\n"))
        lines |= {name: value for name, value in changes.items() if name in lines}
        head = "\n".join(f"{name} {value}" for name, value in lines.items())
        return self.write(f"{head}\n\n{changes.get('message', message)}")

    def tree_with(self, commit: str, files: Mapping[str, str]) -> str:
        """Return the tree of a commit with files written."""
        git(self.repo, "switch", "--quiet", "--detach", commit)
        for path, text in files.items():
            (self.repo / path).parent.mkdir(parents=True, exist_ok=True)
            (self.repo / path).write_text(text)
        git(self.repo, "add", "--all")
        tree = git(self.repo, "write-tree")
        git(self.repo, "reset", "--quiet", "--hard")
        return tree

    # Statements

    def statement(self, commit: str) -> Json:
        """Return the statement on a commit."""
        return self.payload(git(self.repo, "notes", f"--ref={PROOF_REF}", "show", commit))

    def payload(self, envelope: str) -> Json:
        """Return the statement in an envelope."""
        found: Json = json.loads(base64.b64decode(json.loads(envelope)["payload"]))
        return found

    def attach(self, commit: str, statement: Any, signatures: tuple[bytes, ...] = ()) -> None:
        """Put a statement on a commit."""
        self.note(commit, Envelope(canonical_json(statement), signatures).render())

    def note(self, commit: str, text: str) -> None:
        """Put any note on a commit, where its statement would be."""
        git(
            self.repo, "notes", f"--ref={PROOF_REF}", "add", "--force", "--file=-", commit,
            stdin=text.encode(),
        )  # fmt: skip

    def restate(self, commit: str, edit: Edit) -> None:
        """Change the statement on a commit."""
        statement = self.statement(commit)
        edit(statement)
        self.attach(commit, statement)

    def state_of(self, number: int, commit: str, edit: Edit = lambda each: None) -> None:
        """Put an honest commit's statement on a forged one, with all that names it changed."""
        statement = self.statement(self.commits[number])
        git(self.repo, "notes", f"--ref={PROOF_REF}", "remove", self.commits[number])
        tree = git(self.repo, "rev-parse", f"{commit}^{{tree}}")
        parent = git(self.repo, "rev-parse", f"{commit}^")
        predicate = statement["predicate"]
        statement["subject"][0]["digest"]["gitCommit"] = commit
        statement["subject"][1]["digest"]["gitTree"] = tree
        predicate["result"] = {"commit": commit, "tree": tree}
        predicate["base"] = {
            "commit": parent, "tree": git(self.repo, "rev-parse", f"{parent}^{{tree}}"),
        }  # fmt: skip
        edit(statement)
        self.attach(commit, statement)

    def rehash(self, commit: str) -> Edit:
        """Return an edit that states the hashes of the files that a commit has."""

        def edit(statement: Json) -> None:
            for each in statement["predicate"]["change"]["written"]:
                data = git(self.repo, "cat-file", "blob", f"{commit}:{each['path']}")
                each["sha256"] = sha256_bytes(f"{data}\n".encode())

        return edit


MadeBranch = tuple[Path, tuple[str, ...]]
"""The folder that has a repo, its plan and its records; and the commits of the branch."""


def made_in(
    folder: Path, template_repo: Path, make: Callable[[Factory], tuple[str, ...]]
) -> MadeBranch:
    """Make a branch in a copy of a repo, with a home of its own."""
    shutil.copytree(template_repo, folder / "repo", symlinks=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(folder))
        patched.setenv("LLMCH_WORKSPACES", str(folder / "workspaces"))
        return folder, make(Factory(folder / "repo", folder))


def forger_of_copy(made: MadeBranch, tmp_path: Path) -> Forger:
    """Return somebody who works on a copy of the repo and its records."""
    folder, commits = made
    shutil.copytree(folder / "repo", tmp_path / "repo", symlinks=True)
    shutil.copytree(folder / "artifacts", tmp_path / "artifacts")
    return Forger(tmp_path / "repo", tmp_path / "artifacts", commits)
