"""A `gh` and a `glab` at the edge of the process: programs that hold issues, and note their calls.

They answer as the API does for the few paths that llmch asks, from a file of JSON beside them.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness import git

# Rules come first: the first whose text is in the arguments answers.
PROGRAM = """#!{python} -S
import json, os, pathlib, re, sys
here = pathlib.Path(__file__).parent
argv = sys.argv[1:]
stdin = sys.stdin.read() if "--input" in argv else ""
secret = [name for name in os.environ if name.startswith(("OPENAI_", "LLMCH_", "GIT_"))]
note = {{"program": pathlib.Path(__file__).name, "argv": argv, "stdin": stdin, "secret": secret,
        "cwd": os.getcwd()}}
with open(here / "calls.jsonl", "a") as file:
    file.write(json.dumps(note) + "\\n")
for text, code, answer in json.loads((here / "rules.json").read_text()):
    if text in " ".join(argv):
        print(answer, file=sys.stderr if code else sys.stdout)
        sys.exit(code)
if argv[:1] != ["api"]:
    sys.exit(0)
db = json.loads((here / "db.json").read_text())
method = argv[argv.index("--method") + 1]
path, _, query = argv[-1].partition("?")
sent = json.loads(stdin) if stdin else {{}}

def end(answer):
    (here / "db.json").write_text(json.dumps(db))
    print(json.dumps(answer))
    sys.exit(0)

def missing():
    print("gh: Not Found (HTTP 404)", file=sys.stderr)
    sys.exit(1)

def made(kind, **more):
    db["next"] += 1
    entry = {{"id": db["next"], "user": db["me"], "created_at": "2026-01-02T00:00:00Z",
             "updated_at": "2026-01-02T00:00:00Z", **sent, **more}}
    db[kind].append(entry)
    end(entry)

tail = re.sub(r"^(repos/ada/shop|projects/ada%2Fshop)/?", "", path)
words = tail.split("/")
page = int((re.search(r"page=(\\d+)$", query) or [0, 1])[1])
match [method, *words]:
    case ["GET", ""]:
        end({{"default_branch": "main"}})
    case ["GET", "issues", number]:
        end(db["issues"][number]) if number in db["issues"] else missing()
    case ["GET", "issues", "comments", number] | ["GET", "issues", _, "notes", number] | [
        "GET", "pulls", "comments", number] | ["GET", "merge_requests", _, "notes", number]:
        kinds = db["comments"] + db["review_comments"]
        found = [each for each in kinds if str(each["id"]) == number]
        # GitLab's answer for one note does not say its thread.
        end({{k: v for k, v in found[0].items() if k != "discussion_id"}}) if found else missing()
    case ["GET", "merge_requests", _, "discussions", thread]:
        found = [each for each in db["review_comments"] if each.get("discussion_id") == thread]
        end({{"id": thread, "notes": found}}) if found else missing()
    case ["GET", "issues", number, "comments" | "notes"]:
        found = [each for each in db["comments"] if str(each.get("of")) == number]
        end(found[(page - 1) * 100:page * 100])
    case ["POST", "issues", number, "comments" | "notes"] | [
        "POST", "merge_requests", number, "notes"]:
        made("comments", of=int(number))
    case ["PATCH", "issues", "comments", number] | ["PUT", "issues", _, "notes", number]:
        found = [each for each in db["comments"] if str(each["id"]) == number]
        found[0].update(sent) if found else missing()
        end(found[0])
    case ["GET", "pulls", number, "reviews", review]:
        found = [each for each in db["reviews"] if str(each["id"]) == review]
        end(found[0]) if found else missing()
    case ["GET", "pulls", number, "reviews", review, "comments"]:
        all_of = [each for each in db["review_comments"]
                  if str(each.get("pull_request_review_id")) == review]
        # As on GitHub, where this list alone has only the position in the diff.
        lines = ("line", "original_line")
        end([{{k: v for k, v in each.items() if k not in lines}} for each in all_of])
    case ["GET", "pulls", number, "comments"]:
        end(db["review_comments"][(page - 1) * 100:page * 100])
    case ["POST", "pulls", number, "comments", comment, "replies"]:
        made("replies", to=int(comment))
    case ["POST", "merge_requests", number, "discussions", thread, "notes"]:
        made("replies", to=thread)
    case ["GET", "pulls" | "merge_requests"]:
        end([each for each in db["pulls"] if each["state"] == "open"])
    case ["GET", "pulls" | "merge_requests", number]:
        found = [each for each in db["pulls"] if str(each["number"]) == number]
        end(found[0]) if found else missing()
    case ["POST", "pulls" | "merge_requests"]:
        db["pulls"].append({{"number": 7, "iid": 7, "state": "open", "web_url": db["url"] + "/7",
            "html_url": db["url"] + "/7", "head": {{"ref": sent.get("head"),
            "repo": {{"full_name": "ada/shop"}}}}, "base": {{"ref": sent.get("base"),
            "repo": {{"full_name": "ada/shop"}}}}, "source_branch": sent.get("source_branch"),
            "source_project_id": 1, "target_project_id": 1,
            "title": sent["title"], "body": sent.get("body"),
            "description": sent.get("description")}})
        end(db["pulls"][-1])
    case ["PATCH" | "PUT", "pulls" | "merge_requests", number]:
        db["pulls"][0].update(sent)
        end(db["pulls"][0])
    case ["GET", "collaborators", name, "permission"]:
        end({{"permission": db["rights"].get(name, "none")}})
    case ["GET", "members", "all", number]:
        level = db["levels"].get(number)
        end({{"access_level": level}}) if level else missing()
sys.exit("no answer to " + " ".join(argv))
"""

SSH = """#!/bin/sh
for last; do :; done
exec ${{last%% *}} {bare}
"""

Rule = tuple[str, int, str]
ADA = {"login": "ada", "username": "ada", "id": 1, "type": "User"}
EVE = {"login": "eve", "username": "eve", "id": 66, "type": "User"}
BOT = {"login": "github-actions[bot]", "id": 9, "type": "Bot"}
NOTHING: dict[str, Any] = {
    "issues": {}, "comments": [], "review_comments": [], "reviews": [], "replies": [], "pulls": [],
    "rights": {"ada": "admin"}, "levels": {"1": 50}, "next": 1000, "me": BOT,
    "url": "https://github.com/ada/shop/pull",
}  # fmt: skip


@dataclass
class FakeForge:
    """The folder of the programs, and the repo whose origin is on a host of theirs."""

    folder: Path
    repo: Path

    def install(self, *programs: str, rules: list[Rule] | None = None) -> None:
        for name in programs:
            path = self.folder / name
            path.write_text(PROGRAM.format(python=sys.executable))
            path.chmod(0o755)
        (self.folder / "rules.json").write_text(json.dumps(rules or []))
        if not (self.folder / "db.json").exists():
            self.db = NOTHING

    @property
    def db(self) -> Any:
        return json.loads((self.folder / "db.json").read_text())

    @db.setter
    def db(self, value: Any) -> None:
        (self.folder / "db.json").write_text(json.dumps(value))

    @property
    def calls(self) -> list[dict[str, Any]]:
        path = self.folder / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def sent(self) -> Any:
        """What the one call that changes something sends."""
        (sent,) = (each["stdin"] for each in self.calls if each["stdin"])
        return json.loads(sent)

    def origin(self, url: str) -> Path:
        """Name the origin `url`; git reaches it by an `ssh` that leads to a folder beside it."""
        bare = self.repo.parent / "origin.git"
        git(self.repo.parent, "clone", "--quiet", "--bare", str(self.repo), str(bare))
        ssh = self.folder / "ssh"
        ssh.write_text(SSH.format(bare=shlex.quote(str(bare))))
        ssh.chmod(0o755)
        git(self.repo, "remote", "add", "origin", url)
        git(self.repo, "fetch", "--quiet", "origin")
        return bare
