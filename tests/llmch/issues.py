"""An issue of a repo on a fake forge, payloads as GitHub and GitLab send them, and jobs for them.

The payloads are authored: of what the forges send they have the parts that are read. Those that
GitHub sent are in `ci/recorded_payloads`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shared.work_order.work_order import question_id
from tests.harness import git
from tests.llmch.command_line import Said, Say, model_server, plan_reply, write_reply
from tests.llmch.forges import ADA, NOTHING, FakeForge
from tests.planner.plans import Document, plan
from tests.planner.replanning import writing
from tests.shared.llm.scripted_server import Act, ScriptedServer

URL = "https://github.com/ada/shop"
ORIGIN = "git@github.com:ada/shop.git"
TITLE = "Lines; $(touch pwned) `touch pwned`"
BODY = "- R1: Lines are read.\n- R2: Lines end. <!-- hidden -->\n"
QUESTION = "Who may read?"
ASK_ID = question_id(QUESTION)
WHO: Document = {
    "kind": "question", "text": QUESTION, "reading": "Everybody.", "requirements": ["R1"],
    "work_orders": ["WO-01"],
}  # fmt: skip
FIRST = plan_reply(plan(writing(1, "R1"), writing(2, "R2"), assumptions=[WHO]))
NEVER_EDITED = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}


def again(number: int, *covers: str, title: str = "Again") -> Act:
    """Return what the planner's model replies where one order is to change, or is new."""
    return plan_reply({"work_orders": [writing(number, *covers, title=title)]})


def part(number: int) -> Act:
    return write_reply({f"part_{number:02d}.txt": "done\n"})


@dataclass
class Shop:
    """A repo with an issue, and the jobs that its events start, each on a clone of its own."""

    forge: FakeForge
    bare: Path
    folder: Path
    say: Say
    monkeypatch: pytest.MonkeyPatch
    jobs: int = 0
    said: Said | None = None
    server: ScriptedServer | None = None
    flags: tuple[str, ...] = field(default=())

    @property
    def issue(self) -> dict[str, Any]:
        found: dict[str, Any] = self.forge.db["issues"]["33"]
        return found

    def change(self, **issue: Any) -> None:
        db = self.forge.db
        db["issues"]["33"].update(issue)
        self.forge.db = db

    def add(self, kind: str, **entry: Any) -> dict[str, Any]:
        """Add a comment or a review to what the forge has, and return it."""
        db = self.forge.db
        db["next"] += 1
        whole = {"id": db["next"], "user": ADA, "author_association": "OWNER", "of": 33,
                 "body": "", **NEVER_EDITED, **entry}  # fmt: skip
        db[kind].append(whole)
        self.forge.db = db
        return whole

    def labeled(self, name: str = "llmch", sender: Any = ADA) -> dict[str, Any]:
        return self.payload(action="labeled", issue=self.issue, label={"name": name}, sender=sender)

    def commented(self, body: str, action: str = "created", **entry: Any) -> dict[str, Any]:
        """Return the event of a new comment on the issue."""
        comment = self.add("comments", body=body, **entry)
        return self.payload(
            action=action, issue=self.issue, comment=comment, sender=comment["user"]
        )

    def reviewed(
        self, *bodies: str, path: str = "part_01.txt", body: str = "", repo: str = "ada/shop",
        of_comment: bool = False, **entry: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the event of a review with a comment on a line for each of `bodies`."""
        review = self.add("reviews", body=body, state="commented", **entry)
        comments = [
            self.add("review_comments", body=each, path=path, line=1,
                     pull_request_review_id=review["id"], **entry)
            for each in bodies
        ]  # fmt: skip
        request = {
            "number": 7,
            "head": {"ref": "llmch/issue-33", "repo": {"full_name": repo}},
            "base": {"ref": "main", "repo": {"full_name": "ada/shop"}},
        }
        if of_comment:
            return self.payload(action="created", comment=comments[0], pull_request=request)
        return self.payload(action="submitted", review=review, pull_request=request)

    def payload(self, **parts: Any) -> dict[str, Any]:
        return {"repository": {"full_name": "ada/shop", "html_url": URL}, "sender": ADA, **parts}

    def job(self, event: Any, *replies: Act, run: str = "") -> Any:
        """Start a job for an event, on a clone of its own; return what it printed as JSON."""
        self.jobs += 1
        clone = self.folder / f"job-{self.jobs}"
        git(self.folder, "clone", "--quiet", str(self.bare), str(clone))
        git(clone, "remote", "set-url", "origin", ORIGIN)
        path = self.folder / f"event-{self.jobs}.json"
        path.write_text(json.dumps(event))
        self.monkeypatch.setenv("GITHUB_RUN_ID", run or str(self.jobs))
        with model_server(self.monkeypatch, *replies) as server:
            said = self.say(
                "build", "--event", path, "--repo", clone, "--no-review", "--sandbox", "off",
                "--reply-format", "json", "--max-attempts", "1", "--json",
                "--artifacts-dir", self.folder / f"records-{self.jobs}", *self.flags,
            )  # fmt: skip
        self.said, self.server = said, server
        return said.document

    @property
    def paid(self) -> int:
        """How many calls of a model the last job made."""
        assert self.server is not None
        return len(self.server.received)

    @property
    def posted(self) -> list[str]:
        """The comments that llmch wrote on the issue, the oldest first."""
        db = self.forge.db
        return [each["body"] for each in db["comments"] if each["user"] == db["me"]]

    def files(self, branch: str = "llmch/issue-33") -> set[str]:
        return set(git(self.bare, "ls-tree", "-r", "--name-only", branch).split("\n"))

    @property
    def record(self) -> dict[str, Any]:
        ref = "refs/llmch-issues/33:state.json"
        found: dict[str, Any] = json.loads(git(self.bare, "cat-file", "blob", ref))
        return found

    @property
    def refs(self) -> str:
        return git(self.bare, "for-each-ref", "--format=%(refname) %(objectname)")


def open_shop(
    repo: Path, tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch, **issue: Any
) -> Shop:
    """Return a repo on a fake GitHub that has an issue, 33."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    forge = FakeForge(folder, repo)
    bare = forge.origin("git@github.com:ada/shop.git")
    forge.install("gh", "glab")
    whole = {
        "number": 33, "iid": 33, "title": TITLE, "body": BODY, "description": BODY, "labels": [],
        "updated_at": "2026-01-01T00:00:00Z", "html_url": f"{URL}/issues/33", **issue,
    }  # fmt: skip
    forge.db = NOTHING | {"issues": {"33": whole}}
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    return Shop(forge, bare, jobs, say, monkeypatch)
