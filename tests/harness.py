"""Runs orders on a real repo: only the model is scripted, at its protocol."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pwd
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from factory.batch.batch import run_all
from factory.orders.documents import AttemptRecord, BatchSummary, ReplyFormat, RunSummary
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.task import RunOptions
from factory.run.run_order import run_order
from factory.sandbox.policy import Backend
from factory.workbench.dependencies import choose_python
from shared.events.events import Event, StageStarted
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import CommitSettings, SandboxSettings, Settings
from shared.work_order.parse_order import manifest_sha256
from tests.fakes import Reply, ScriptedModel

Json = dict[str, Any]
OnEvent = Callable[[Event], None]

_NOBODY = 65534

# What tests call these settings.
_SETTINGS = {
    "artifacts": "artifacts_dir",
    "max_attempts": "factory_attempts",
    "protected": "protected_branches",
}
_IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
    # Each commit of a test would start `git maintenance`.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "maintenance.auto",
    "GIT_CONFIG_VALUE_0": "false",
}


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git as the test itself would, and return what it says, less the last newline."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        input=stdin,
        env={**os.environ, **_IDENTITY},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr.decode()}"
    return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")


def use_rust(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have rustup's toolchains found, though the tests have a HOME of their own."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    if (home / ".rustup").is_dir():
        monkeypatch.setenv("RUSTUP_HOME", str(home / ".rustup"))
        monkeypatch.setenv("CARGO_HOME", str(home / ".cargo"))


def blob(repo: Path, commit: str, path: str) -> bytes:
    """Return the bytes that `commit` holds at `path`, no attribute applied."""
    return subprocess.run(
        ["git", "cat-file", "blob", f"{commit}:{path}"], cwd=repo, capture_output=True, check=True
    ).stdout


def commit_all(repo: Path, files: Mapping[str, str | bytes] | None = None) -> str:
    """Write `files`, commit everything, and return the commit."""
    for path, content in (files or {}).items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_bytes(content.encode() if isinstance(content, str) else content)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=more")
    return git(repo, "rev-parse", "HEAD")


def order(number: int = 1, **changes: Any) -> Json:
    """Return an order that has `hello.txt` written, with `changes` to its fields."""
    return {
        "id": f"WO-{number:02d}",
        "title": "Say hello",
        "intent": "Write a greeting.",
        "allowed_files": ["hello.txt"],
        "forbidden": [],
        "context_files": [],
        "acceptance_commands": ["test -f hello.txt"],
    } | changes


def writing(path: str, number: int = 1, **changes: Any) -> Json:
    """Return an order that has the one file at `path` written."""
    fields = {"allowed_files": [path], "acceptance_commands": ["true"]} | changes
    return order(number, **fields)


def manifest(orders: Sequence[Json], **provenance: Any) -> Json:
    """Return a plan of `orders` as the planner would emit it, its hash true."""
    origin: Json = {"planner_run_id": "01PLANNERRUN", "compile_hash": "c" * 64} | provenance
    for each in orders:
        each["provenance"] = {**origin, "bootstrap": bool(each.get("verify_exempt"))}
    return hashed({"schema_version": "1.0", "work_orders": list(orders), "provenance": origin})


def hashed(document: Json) -> Json:
    """Return the plan with the hash that it has, in all the places where it says so."""
    digest = manifest_sha256(document)
    for holder in (document, *document["work_orders"]):
        holder["provenance"]["manifest_sha256"] = digest
    return document


def write_plan(folder: Path, document: Json) -> Path:
    """Write a manifest and its orders to `folder` and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "WORK_ORDERS_MANIFEST.json").write_text(json.dumps(document))
    for each in document["work_orders"]:
        (folder / f"{each['id']}.json").write_text(json.dumps(each))
    return folder


def factory_branch(repo: Path) -> str:
    """Return the one branch that a run chose the name of."""
    name = git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/factory")
    assert name.startswith("factory/") and "\n" not in name, name
    return name


def fingerprint(folder: Path) -> dict[str, tuple[str, int, str]]:
    """Return kind, mode and content of everything below `folder`, git's own folder left out."""
    found = {}
    # Git's folder is not even looked into: a git that outlived a killed run may be tidying it.
    for path in sorted(_outside_git(folder)):
        relative = path.relative_to(folder)
        mode = path.lstat().st_mode
        content = ""
        if stat.S_ISREG(mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(mode):
            content = str(path.readlink())
        found[str(relative)] = (stat.filemode(mode)[0], stat.S_IMODE(mode), content)
    return found


def _outside_git(folder: Path) -> Iterator[Path]:
    for top in folder.iterdir():
        if top.name != ".git":
            yield top
            if not top.is_symlink():
                yield from top.rglob("*")


@dataclass
class Factory:
    """A repo, a model to be scripted, and the options of a run; keeps what came of the last one.

    A run that ends in an error leaves its events and its records here all the same.
    """

    repo: Path
    scratch: Path
    events: list[Event] = field(default_factory=list)
    on_event: OnEvent | None = None
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel({}))

    @property
    def artifacts(self) -> Path:
        return self.scratch / "artifacts"

    @property
    def workspaces(self) -> Path:
        return Path(os.environ["LLMCH_WORKSPACES"])

    @property
    def workspace(self) -> Path:
        """The tree of the one run under way."""
        (found,) = self.workspaces.glob(f"*/*/{self.repo.name}")
        return found

    @property
    def run_folder(self) -> Path:
        """The records of the last run."""
        return max((self.artifacts / "factory").glob("*/"))

    def options(self, **changes: Any) -> RunOptions:
        """Return the options of a run, with `changes` to them and to the settings among them."""
        own = {each.name for each in dataclasses.fields(RunOptions)}
        names = {each.name for each in dataclasses.fields(Settings)} - own
        settings = Settings(
            artifacts_dir=self.artifacts,
            sandbox=SandboxSettings(backend=Backend.OFF),
            commit=CommitSettings(subject="{order}: {title}"),  # tells the orders apart
        )
        changes = {_SETTINGS.get(name, name): value for name, value in changes.items()}
        changed = {name: changes.pop(name) for name in names & changes.keys()}
        defaults = RunOptions(
            repo=self.repo,
            settings=dataclasses.replace(settings, **changed),
            models=ModelChoice((Rung("scripted"),), reply_format=ReplyFormat.JSON),
            python=choose_python(None, None).python,
            branch="work",
        )
        return dataclasses.replace(defaults, **changes)

    def run(self, document: Json | Path, replies: Iterable[Reply], **options: Any) -> RunSummary:
        """Run one order; `replies` are what the model says on each attempt."""
        path = document if isinstance(document, Path) else self.save(document)
        name = document["id"] if isinstance(document, dict) else _id_of(document)
        source = self._script({name: list(replies)})
        return run_order(path, self.options(**options), source, self._take)

    def run_all(
        self,
        plan: Json | Path,
        replies: Mapping[str, Sequence[Reply]],
        **options: Any,
    ) -> BatchSummary:
        """Run a plan's orders; `replies` are what the model says, by order."""
        folder = plan if isinstance(plan, Path) else write_plan(self.scratch / "plan", plan)
        source = self._script({name: list(each) for name, each in replies.items()})
        return run_all(folder, self.options(**options), source, self._take)

    def save(self, document: Json) -> Path:
        """Write an order to a file of its own, no manifest beside it."""
        folder = self.scratch / "orders"
        folder.mkdir(exist_ok=True)
        path = folder / f"{document['id']}.json"
        path.write_text(json.dumps(document))
        return path

    def at_stage(self, stage: str, act: Callable[[Path], object]) -> None:
        """Have `act` do something to the workspace whenever a stage begins."""

        def look(event: Event) -> None:
            if isinstance(event, StageStarted) and event.stage == stage:
                act(self.workspace)

        self.on_event = look

    def record(self, path: str) -> Any:
        """Return a JSON document of the last run's records."""
        return json.loads((self.run_folder / path).read_text())

    def prompt(self, call: int = 0) -> str:
        """Return what the model was asked."""
        return self.model.requests[call].prompt

    def seen(self, kind: type[Event]) -> list[Any]:
        """Return the events of one kind, in order."""
        return [each for each in self.events if isinstance(each, kind)]

    def tip(self, branch: str = "work") -> str:
        """Return the commit of a branch; empty where there is none."""
        return git(self.repo, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")

    def _script(self, replies: Mapping[str, list[Reply]]) -> ModelSource:
        self.events = []
        self.model = ScriptedModel(replies)
        return ModelSource(Mode.LIVE, lambda emit: self.model)

    def _take(self, event: Event) -> None:
        self.events.append(event)
        if self.on_event:
            self.on_event(event)


def _id_of(path: Path) -> str:
    return path.stem if path.stem.startswith("WO-") else "WO-01"


def stages(summary: RunSummary) -> list[str]:
    """Return at which stage each attempt failed; "" for one that passed."""
    return [_stage(each) for each in summary.attempt_records]


def _stage(record: AttemptRecord) -> str:
    return str(record.failure_brief.stage) if record.failure_brief else ""


@contextmanager
def as_ordinary_user(folder: Path) -> Iterator[None]:
    """Act without root's rights below `folder`, which is made the ordinary user's."""
    if os.geteuid() != 0:
        yield
        return
    git_ceiling = [each for each in (folder, *folder.parents) if str(each) != "/"]
    modes = {each: each.stat().st_mode for each in git_ceiling if each.stat().st_uid == 0}
    for each in modes:
        each.chmod(modes[each] | 0o711)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        for each, mode in modes.items():
            each.chmod(mode)
