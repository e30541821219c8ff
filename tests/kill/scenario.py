"""Three orders on a repo with a user's files in it, and all that must hold when they are done."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from tests.factory.audit.honest import PROVEN, Auditor, describe, standings
from tests.harness import Json, fingerprint, git, manifest, write_plan, writing
from tests.kill.driver import Order
from tests.kill.zygote import Zygote

# Judges the whole: each file says what it was written for, and 3 repeats what 1 says.
VERIFY = """\
for file in one two three; do
    test ! -e $file.txt || grep -q "^$file, right$" $file.txt || exit 1
done
test ! -e three.txt || grep -q "$(cat one.txt)" three.txt
"""
# With several jobs, 2 is found wrong only when 3 is being judged behind it, so that 3 is dropped;
# what judges 3 there is killed, or does not end. A command that sees only the tree skips this.
MEETING = """if test -w {folder} && grep -q wrong two.txt 2>/dev/null; then
    if test -e three.txt; then touch {folder}/met; sleep 3600; fi
    for turn in $(seq 600); do test -e {folder}/met && break; sleep 0.05; done
fi
"""
RIGHT = {
    "WO-01": [{"one.txt": "one, right\n"}],
    "WO-02": [{"two.txt": "two, wrong\n"}, {"two.txt": "two, right\n"}],
    "WO-03": [{"three.txt": "three, right\none, right\n"}],
}
ORDERS = tuple(RIGHT)
CALLS = {f"{name} {attempt}" for name in RIGHT for attempt in range(1, len(RIGHT[name]) + 1)}
DOUBT = re.compile(r"the call of factory (?P<order>\S+) attempt (?P<attempt>\d+) was begun")
PATIENCE_SECONDS = 60.0
Files: TypeAlias = dict[str, tuple[str, int, str]]


def three_orders() -> list[Json]:
    """1 and 2 stand alone, 3 is made on what 1 wrote; 2 is right at the second attempt.

    2 also has a file of the plan's own, with which its command compares, and removes one.
    """
    wanted = {"path": "wanted.txt", "content": "two, right\n"}
    return [
        writing("one.txt", 1, acceptance_commands=["test -s one.txt"]),
        writing(
            "two.txt",
            2,
            acceptance_files=[wanted],
            removed_files=["old.txt"],
            acceptance_commands=[
                *("grep -q right two.txt", "cmp wanted.txt two.txt", "test ! -e old.txt"),
            ],
        ),
        writing(
            "three.txt", 3, context_files=["one.txt"], acceptance_commands=["grep one three.txt"]
        ),
    ]


@dataclass(frozen=True)
class Account:
    """Calls by order and attempt: those made, those answered, and those begun and never ended."""

    calls: Counter[str]
    answered: set[str]
    unanswered: Counter[str]
    runs: int

    @classmethod
    def of(cls, calls: Counter[str], transcripts: Iterable[Path]) -> Account:
        answered: set[str] = set()
        unanswered: Counter[str] = Counter()
        runs = 0
        for path in transcripts:
            runs += 1
            places: dict[str, str] = {}
            begun: Counter[str] = Counter()
            for line in path.read_bytes().split(b"\n")[:-1]:  # a torn last line is none
                record = json.loads(line)
                if record["record"] == "intent":
                    place = record["place"]
                    places[record["key"]] = f"{place['order']} {place['attempt']}"
                    begun[places[record["key"]]] += 1
                elif record["record"] == "response":
                    answered.add(places[record["key"]])
                    begun[places[record["key"]]] -= 1
            unanswered += begun
        return cls(calls, answered, unanswered, runs)


@dataclass(frozen=True)
class Scenario:
    """A repo of a user's, whose branch `work` is checked out or not there yet."""

    folder: Path
    zygote: Zygote
    jobs: int
    checked_out: bool
    before: Files

    @classmethod
    def of(
        cls,
        folder: Path,
        template: Path,
        zygote: Zygote,
        *,
        jobs: int = 1,
        checked_out: bool = False,
    ) -> Scenario:
        repo = Path(shutil.copytree(template, folder / "repo", symlinks=True))
        meeting = MEETING.format(folder=folder) if jobs > 1 else ""
        (repo / "scripts/verify.sh").write_text(meeting + VERIFY)
        (repo / "old.txt").write_text("two, long ago\n")
        git(repo, "add", "old.txt")
        git(repo, "commit", "--quiet", "--all", "--message=verify")
        (repo / "data").mkdir()
        (repo / "data/private.bin").write_bytes(b"\0\1")
        (repo / ".env").write_text("SECRET=1\n")
        (repo / ".env").chmod(0o600)
        if checked_out:
            git(repo, "switch", "--quiet", "--create", "work")
        write_plan(folder / "plan", manifest(three_orders()))
        return cls(folder, zygote, jobs, checked_out, fingerprint(repo))

    @property
    def repo(self) -> Path:
        return self.folder / "repo"

    @property
    def workspaces(self) -> Path:
        return self.folder / "workspaces"

    def run(self, environment: dict[str, str] | None = None, **changes: Any) -> int:
        """Run the plan in a process of its own and return its exit code."""
        order = Order(
            repo=str(self.repo),
            plan=str(self.folder / "plan"),
            artifacts=str(self.folder / "artifacts"),
            calls=str(self.folder / "calls"),
            result=str(self.folder / "result.json"),
            jobs=self.jobs,
            replies=RIGHT,
            environment={
                "LLMCH_WORKSPACES": str(self.workspaces),
                "HOME": os.environ["HOME"],
                "LLMCH_TEST_KILL_AT": "",
                **(environment or {}),
            },
        )
        (self.folder / "result.json").unlink(missing_ok=True)
        return self.zygote.perform(replace(order, **changes))

    @property
    def result(self) -> Json:
        result: Json = json.loads((self.folder / "result.json").read_text())
        return result

    @property
    def account(self) -> list[str]:
        """What operations of the last run with faults there were, and which was refused."""
        return (self.folder / "account").read_text().splitlines()

    def files(self) -> Files:
        return fingerprint(self.repo)

    def calls(self) -> Counter[str]:
        """Return how often the model was asked for each order and attempt, by all runs so far."""
        path = self.folder / "calls"
        return Counter(path.read_text().splitlines() if path.exists() else [])

    def account_of_calls(self) -> Account:
        """Return which calls there were, by all runs so far, and what is on record of them."""
        folder = self.folder / "artifacts" / "factory"
        return Account.of(self.calls(), folder.glob("*/transcript.jsonl"))

    def doubts(self) -> set[str]:
        """Return which calls the last run said were possibly paid for."""
        found = [DOUBT.match(each) for each in self.result["warnings"]]
        return {f"{each['order']} {each['attempt']}" for each in found if each}

    def assert_calls_are_accounted_for(self, before: Account) -> None:
        """See that the last run asked only for what was not on record before it, or told of it.

        In all, a call was made again only where it was under way at a kill.
        """
        asked = self.calls() - before.calls
        assert not before.answered & asked.keys()
        assert self.doubts() <= before.unanswered.keys()
        if asked:
            assert self.doubts() == before.unanswered.keys()
        assert sum(before.unanswered.values()) <= self.jobs * before.runs
        now = self.account_of_calls()
        assert now.calls.keys() == CALLS
        assert all(times <= 1 + now.unanswered[place] for place, times in now.calls.items())

    # What must hold

    def assert_done(self) -> None:
        """See that all orders have landed, once each, and that nothing else has changed."""
        self.assert_landed()
        self.assert_nothing_left()
        self.assert_told()

    def assert_landed(self) -> None:
        base = git(self.repo, "rev-parse", "main")
        log = git(self.repo, "log", "--reverse", "--format=%H %P", f"{base}..work").splitlines()
        commits = [line.split()[0] for line in log]
        assert [line.split()[1:] for line in log] == [[each] for each in [base, *commits[:-1]]]
        trailer = "--format=%(trailers:key=Llmch-Work-Order,valueonly,separator=%x20)"
        told = git(self.repo, "log", "--reverse", trailer, f"{base}..work").split()
        assert told == list(ORDERS)
        for commit, order in zip(commits, three_orders(), strict=True):
            changed = git(self.repo, "diff", "--name-only", f"{commit}^", commit).split()
            placed = [each["path"] for each in order.get("acceptance_files", ())]
            removed = order.get("removed_files", ())
            assert changed == sorted([*order["allowed_files"], *placed, *removed])
        verify_from_scratch(self.repo, self.folder / "fresh", commits)
        audited = Auditor(self.repo, self.folder / "artifacts").look(f"{base}..work")
        assert standings(audited) == PROVEN, describe(audited)

    def assert_only_landed_files_differ(self) -> None:
        """See that the user's files are as they were, but for what is on a checked out branch."""
        now = self.files()
        landed = {}
        if self.checked_out:
            added = git(self.repo, "diff", "--name-only", "main", "work").split()
            landed = {path: now.get(path) for path in added}
        expected = {**self.before, **landed}
        assert now == {path: each for path, each in expected.items() if each is not None}
        assert git(self.repo, "status", "--porcelain") == ""

    def assert_nothing_left(self) -> None:
        """See that the user's files are as they were but for what landed, and that all is tidy."""
        self.assert_only_landed_files_differ()
        assert git(self.repo, "symbolic-ref", "--short", "HEAD") == (
            "work" if self.checked_out else "main"
        )
        git(self.repo, "fsck", "--no-dangling", "--strict")
        assert git(self.repo, "worktree", "list", "--porcelain").count("worktree ") == 1
        assert not (self.repo / ".git" / "worktrees").exists()
        assert list((self.repo / ".git").rglob("*.lock")) == []
        assert git(self.repo, "for-each-ref", "refs/llmch") == ""
        assert list(self.workspaces.iterdir()) == []
        assert list((self.folder / "artifacts").rglob(".*.tmp")) == []
        state = {each.name for each in (self.repo / ".git/llmch").iterdir()}
        assert state - {"verified.json"} == {"journal.jsonl", "lock", "state.json"}
        assert self.processes() == []
        with (self.repo / ".git/llmch/lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def assert_told(self) -> None:
        """See that every run that began left a summary and an end."""
        for folder in (self.folder / "artifacts" / "factory").glob("*/"):
            if (folder / "run.json").exists():
                assert json.loads((folder / "run.json").read_text())["status"] != "running"
                assert (folder / "run_summary.json").exists()
        journal = (self.repo / ".git/llmch/journal.jsonl").read_text().splitlines()
        assert json.loads(journal[-1])["step"] == "run_ended"

    def processes(self) -> list[str]:
        """Return what still runs in this folder after a moment of patience."""
        until = time.monotonic() + PATIENCE_SECONDS
        while (found := running_in(self.folder)) and time.monotonic() < until:
            time.sleep(0.05)
        return found


def verify_from_scratch(repo: Path, fresh: Path, commits: list[str]) -> None:
    """Clone, and for each commit run the verification and its order's acceptance."""
    shutil.rmtree(fresh, ignore_errors=True)
    git(repo, "clone", "--quiet", "--no-checkout", str(repo), str(fresh))
    for commit, order in zip(commits, three_orders(), strict=True):
        git(fresh, "checkout", "--quiet", "--detach", commit)
        for command in ("bash scripts/verify.sh", *order["acceptance_commands"]):
            done = subprocess.run(shlex.split(command), cwd=fresh, capture_output=True, check=False)
            assert done.returncode == 0, f"{order['id']}: {command}"


def running_in(folder: Path) -> list[str]:
    """Return the command lines of processes that are in `folder` or were told of it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            where = str((entry / "cwd").readlink())
            said = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if where.startswith(str(folder)) or str(folder) in said:
            found.append(f"{entry.name} {said}")
    return found


ROOT = Path(__file__).parents[2]
