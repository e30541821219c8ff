"""Defines the statements about a commit: in-toto Statements v1 with predicates of our own.

One says how llmch made the commit, the other that a person's commit stands for an order.
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
ACCEPTANCE_TYPE: Final = "urn:llmch:acceptance:v1"
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


class PersonPart(_Part):
    """Name a person as git does."""

    name: str
    email: str


class Judged(_Part):
    """Hold what is claimed of a commit that was judged as the work of an order.

    `signed` is the form of the signature, and null where the person does not sign commits.
    """

    tool: ToolPart
    order: OrderPart
    plan: PlanPart | None
    requirements: tuple[str, ...]
    base: Snapshot
    result: Snapshot
    change: ChangePart
    commands: tuple[CommandPart, ...]
    sandboxes: tuple[SandboxRecord, ...]
    signed: Literal["openpgp", "x509", "ssh"] | None


class Predicate(Judged):
    """Hold what is claimed of a commit that llmch made.

    `replies` are those of the attempt that passed, in the sequence in which they came.
    """

    terms: CommitTermsPart
    attempts: Annotated[int, Field(ge=1)]
    models: tuple[str, ...]
    replies: tuple[ReplyRecord, ...]


class AcceptancePredicate(Judged):
    """Hold what is claimed of a person's commit that stands for an order. No model was asked.

    `beyond` are the files that the commit changes although the order does not allow it; whoever
    accepted the commit allowed them.
    """

    accepted_by: PersonPart
    beyond: tuple[str, ...]


class _AboutCommit(_Part):
    type: Annotated[Literal["https://in-toto.io/Statement/v1"], Field(alias="_type")] = (
        STATEMENT_TYPE
    )
    subject: tuple[Subject, ...]

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


class Statement(_AboutCommit):
    """Represent an in-toto Statement v1 about one commit that llmch made."""

    predicate_type: Annotated[Literal["urn:llmch:provenance:v1"], Field(alias="predicateType")] = (
        PREDICATE_TYPE
    )
    predicate: Predicate


class Acceptance(_AboutCommit):
    """Represent an in-toto Statement v1 about one commit of a person that stands for an order."""

    predicate_type: Annotated[Literal["urn:llmch:acceptance:v1"], Field(alias="predicateType")] = (
        ACCEPTANCE_TYPE
    )
    predicate: AcceptancePredicate


AnyStatement = Annotated[Statement | Acceptance, Field(discriminator="predicate_type")]
"""A statement of either kind, as its `predicateType` says."""
