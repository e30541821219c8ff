"""Defines the statement about a commit: an in-toto Statement v1 with a predicate of our own.

`docs/provenance.md` describes the fields. Anybody can write such a document, so one that is read
is checked against the commit before it counts. Times of day are left out: the commit has its date.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from factory.orders.documents import SandboxRecord
from factory.orders.reply_record import ReplyRecord
from factory.orders.verified_by import CountedTests
from shared.work_order.schemas import WorkOrder

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:llmch:provenance:v1"
"""The project has no site of its own, so its name is no URL that somebody else could own."""
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"

ObjectId = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Part(BaseModel):
    # A later version may add keys. What is signed is the text, not what this version reads of it.
    model_config = ConfigDict(frozen=True, extra="ignore")


class Subject(_Part):
    """Name one thing that the statement is about: the commit, or its tree."""

    name: Literal["commit", "tree"]
    digest: dict[str, ObjectId]


class Snapshot(_Part):
    """Name a commit and its tree."""

    commit: ObjectId
    tree: ObjectId


class OrderPart(_Part):
    """Hold the order that the commit carries out; its key can be computed from the document."""

    id: str
    key: Sha256
    document: WorkOrder


class PlanPart(_Part):
    """Name the plan of the order, and the plans before it, oldest first."""

    manifest_sha256: Sha256
    lineage: tuple[Sha256, ...] = ()


class CommitTermsPart(_Part):
    """Hold what the commit's message and author were made from, beside the order."""

    author: str
    email: str
    date: str
    subject: str
    summary: str


class FileHash(_Part):
    """Name a file and the SHA-256 of what git stores of it."""

    path: str
    sha256: Sha256


class ChangePart(_Part):
    """List what the commit writes, the plan's own files among it, and what it removes."""

    written: tuple[FileHash, ...]
    removed: tuple[str, ...]


class CommandPart(_Part):
    """Hold one command that judged the commit's tree, and how it ended.

    `note` says why a command passes whose exit code is not 0. `sandbox` is the number of its
    sandbox in the list of sandboxes.
    """

    stage: Literal["verification", "acceptance"]
    command: tuple[str, ...]
    exit_code: int
    duration_seconds: float
    tests: CountedTests | None
    sandbox: int
    note: str = ""


class ToolPart(_Part):
    """Name the program that made the commit, and the run in which it did."""

    name: Literal["llmch"] = "llmch"
    version: str
    run: str


class Predicate(_Part):
    """Hold what is claimed of the commit.

    `signed` is the form of the signature, and null where the person does not sign commits.
    `replies` are those of the attempt that passed, in the sequence in which they came.
    """

    tool: ToolPart
    order: OrderPart
    plan: PlanPart | None
    requirements: tuple[str, ...]
    base: Snapshot
    result: Snapshot
    terms: CommitTermsPart
    change: ChangePart
    attempts: Annotated[int, Field(ge=1)]
    models: tuple[str, ...]
    replies: tuple[ReplyRecord, ...]
    commands: tuple[CommandPart, ...]
    sandboxes: tuple[SandboxRecord, ...]
    signed: Literal["openpgp", "x509", "ssh"] | None


class Statement(_Part):
    """Represent an in-toto Statement v1 about one commit."""

    type: Annotated[Literal["https://in-toto.io/Statement/v1"], Field(alias="_type")] = (
        STATEMENT_TYPE
    )
    subject: tuple[Subject, ...]
    predicate_type: Annotated[Literal["urn:llmch:provenance:v1"], Field(alias="predicateType")] = (
        PREDICATE_TYPE
    )
    predicate: Predicate

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    @property
    def commit(self) -> str:
        """Return the id of the commit that the statement is about; "" where it names none."""
        return next(
            (each.digest.get("gitCommit", "") for each in self.subject if each.name == "commit"), ""
        )

    @property
    def tree(self) -> str:
        """Return the id of the tree that the statement is about; "" where it names none."""
        return next(
            (each.digest.get("gitTree", "") for each in self.subject if each.name == "tree"), ""
        )
