"""Finds what speaks for the commits of a repo: statements, plan, and the records of runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from factory.orders.identity import OrderIdentity
from factory.orders.read import LoadedOrder, read_workdir
from factory.orders.reply_record import reply_sha256
from factory.statement.bundle import Attached, parse_bundle
from factory.statement.document import Acceptance, Statement
from factory.statement.notes import PROOF_REF, read_envelopes
from shared.errors import InvalidInput
from shared.files.strict_json import MAX_DOCUMENT_BYTES
from shared.files.text_input import read_regular_file
from shared.git import refs
from shared.git.client import Git, GitFailed
from shared.llm.record.reply_texts import reply_texts
from shared.plan_folder.names import MANIFEST_NAME

_RUN_ID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")  # a ULID


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold a plan on disk; `named` says that the person named it, and not a run's record."""

    path: Path
    orders: tuple[LoadedOrder, ...]
    named: bool

    @property
    def hashes(self) -> frozenset[str]:
        """Return the hashes of the plan and of those that it follows; none for loose orders."""
        facts = self.orders[0].plan
        return frozenset((facts.manifest_sha256, *facts.lineage)) if facts else frozenset()


@dataclass
class Evidence:
    """Hold what is at hand. Nothing of it is believed before it is compared with the commit.

    `places` are the folders that have the folders of runs, and `transcripts` are files that are
    named beside them.
    """

    git: Git
    places: tuple[Path, ...]
    transcripts: tuple[Path, ...] = ()
    named_plan: Plan | None = None
    lacks_objects: bool = field(default=False, init=False)
    """Whether statements are missing that the ref names, as in a partial clone."""
    _replies: dict[Path, Mapping[str, str]] = field(default_factory=dict)
    _plans: dict[str, Plan | None] = field(default_factory=dict)

    @cached_property
    def has_statements(self) -> bool:
        """Whether the ref of the statements is here."""
        return bool(refs.commit_of(self.git, PROOF_REF))

    @cached_property
    def envelopes(self) -> Mapping[str, bytes]:
        """The notes with statements, by the commit that each is attached to."""
        if not self.has_statements:
            return {}
        try:
            return read_envelopes(self.git)
        except GitFailed:
            self.lacks_objects = True
            return {}

    @cached_property
    def attached(self) -> Mapping[str, tuple[Attached, ...]]:
        """What the notes hold, by the commit that each is attached to."""
        return {commit: parse_bundle(text) for commit, text in self.envelopes.items()}

    @cached_property
    def statements(self) -> tuple[Statement | Acceptance, ...]:
        """The statements that can be read."""
        found = (each.statement for parts in self.attached.values() for each in parts)
        return tuple(each for each in found if each is not None)

    def about(self, identity: OrderIdentity) -> tuple[Statement, ...]:
        """Return the statements about commits that llmch made of an order."""
        made = (each for each in self.statements if isinstance(each, Statement))
        return tuple(each for each in made if identity_of(each) == identity)

    def with_tree(self, tree: str) -> tuple[Statement | Acceptance, ...]:
        """Return the statements about commits with a tree."""
        return tuple(each for each in self.statements if each.tree == tree)

    def plan_of_run(self, run_id: str) -> Plan | None:
        """Return the plan that a run was asked for, if its record and the plan are here."""
        if self.named_plan is not None:
            return self.named_plan
        if run_id not in self._plans:
            self._plans[run_id] = self._recorded_plan(run_id)
        return self._plans[run_id]

    def replies_of_run(self, run_id: str) -> Mapping[str, str]:
        """Return the recorded replies of a run by their hashes, and those of the named files."""
        found: dict[str, str] = {}
        for path in (*self.transcripts, *self._records_of(run_id)):
            if path not in self._replies:
                self._replies[path] = {reply_sha256(each): each for each in _replies_in(path)}
            found |= self._replies[path]
        return found

    def _records_of(self, run_id: str) -> Iterator[Path]:
        folder = self._folder_of(run_id)
        if folder is not None:
            yield folder / "transcript.jsonl"
            yield from sorted(folder.rglob("raw_llm_response*.txt"))

    def _folder_of(self, run_id: str) -> Path | None:
        if not _RUN_ID.fullmatch(run_id):
            return None
        return next((each for at in self.places if (each := at / run_id).is_dir()), None)

    def _recorded_plan(self, run_id: str) -> Plan | None:
        folder = self._folder_of(run_id)
        if folder is None:
            return None
        try:
            head = json.loads(read_regular_file(folder / "run.json", "", MAX_DOCUMENT_BYTES).data)
            path = Path(head["workdir"]) if "workdir" in head else Path(head["work_order"]).parent
            return read_plan(path, named=False) if (path / MANIFEST_NAME).is_file() else None
        except (InvalidInput, ValueError, KeyError, TypeError, RecursionError, OSError):
            return None


def read_plan(path: Path, *, named: bool) -> Plan:
    """Return the plan in a folder. Raises `InvalidInput` as `read_workdir` does."""
    return Plan(path, read_workdir(path), named)


def how_to_fetch(git: Git) -> str:
    """Return the command that brings the statements into this repo."""
    try:
        remotes = git.run("remote").split()
    except GitFailed:
        remotes = []
    remote = "origin" if "origin" in remotes or not remotes else remotes[0]
    return f"git fetch {remote} {PROOF_REF}:{PROOF_REF}"


def identity_of(statement: Statement | Acceptance) -> OrderIdentity:
    """Return the identity that a statement gives its order."""
    predicate = statement.predicate
    plan = predicate.plan.manifest_sha256 if predicate.plan else ""
    return OrderIdentity(predicate.order.id, predicate.order.key, plan)


def _replies_in(path: Path) -> Iterable[str]:
    """Return the replies in a transcript, or the one in a file; none where it cannot be read."""
    try:
        if path.suffix == ".jsonl":
            return tuple(reply_texts(path))
        data = read_regular_file(path, "reply", MAX_DOCUMENT_BYTES).data
    except InvalidInput:
        return ()
    return (data.decode("utf-8", "replace"),)
