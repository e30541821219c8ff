"""The statements about a commit: in-toto documents in envelopes, as notes.

One says how llmch made the commit, the other that a person's commit counts for an order.
`docs/provenance.md` describes the fields. Anybody can write such a document, so one that is read
is checked against the commit before it counts. Times of day are left out: the commit has its date.

The envelope is that of https://github.com/secure-systems-lab/dsse, version 1: what is signed is the
payload's type and its bytes, so no JSON has to be written the same way twice.

Several runs may have made the same commit, and a person's commit may stand for several orders. So a
note is a bundle of envelopes, as in-toto describes it, and two notes are merged line by line. Pure.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from factory.orders.documents import (
    CountedTests,
    Exempt,
    Measured,
    ProposedBy,
    QuotedFile,
    ReplyRecord,
    SandboxRecord,
)
from shared.files.strict_documents import JsonProblem, parse_json
from shared.git import commits, trees
from shared.git.client import Git
from shared.git.commits import CommitFacts
from shared.git.refs import OWN_REFS
from shared.work_order.parse_order import canonical_json
from shared.work_order.work_order import WorkOrder

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:llmch:provenance:v1"
"""The project has no site of its own, so its name is not a URL that somebody else could own."""
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
    `exempt` says why the verification only compiled the code; it is absent if it did not.
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
    exempt: Exempt = ""


class Predicate(Judged):
    """Hold what is claimed of a commit that llmch made.

    `replies` are those of the attempt that passed, in the sequence in which they came.
    `conventions` is the file of the repo that its prompt quoted as such, if it quoted any.
    `agent` is the agent that proposed; it is absent where a model's own reply is the proposal.
    `strength` says how many small faults the acceptance commands notice; it is absent where nobody
    measured that.
    """

    terms: CommitTermsPart
    attempts: Annotated[int, Field(ge=1)]
    models: tuple[str, ...]
    replies: tuple[ReplyRecord, ...]
    conventions: QuotedFile | None = None
    agent: ProposedBy = None
    strength: Measured = None


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


_PROBLEMS_SHOWN: Final = 3
_ANY: Final[TypeAdapter[Statement | Acceptance]] = TypeAdapter(AnyStatement)


class EnvelopeMalformed(ValueError):
    """Say why a note does not hold a statement."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """Hold the bytes of a statement, and the armoured signatures of them; there may be none."""

    payload: bytes
    signatures: tuple[bytes, ...] = ()

    @property
    def signed_bytes(self) -> bytes:
        """Return what a signature covers (DSSE's pre-authentication encoding)."""
        kind = PAYLOAD_TYPE.encode()
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(self.payload), self.payload)

    def render(self) -> str:
        """Return the envelope as one line of JSON."""
        document = {
            "payloadType": PAYLOAD_TYPE,
            "payload": base64.b64encode(self.payload).decode("ascii"),
            "signatures": [
                {"sig": base64.b64encode(each).decode("ascii")} for each in self.signatures
            ],
        }
        return json.dumps(document) + "\n"


def payload_of(statement: Statement | Acceptance) -> bytes:
    """Return a statement as canonical JSON."""
    return canonical_json(statement.model_dump(mode="json", by_alias=True))


def parse_envelope(text: bytes) -> Envelope:
    """Return the envelope in a note. Raises `EnvelopeMalformed`."""
    try:
        document = parse_json(text)
    except JsonProblem as problem:
        raise EnvelopeMalformed(f"it is not JSON: {problem}") from None
    match document:
        case {"payloadType": str(kind), "payload": str(payload), "signatures": [*signatures]}:
            if kind != PAYLOAD_TYPE:
                raise EnvelopeMalformed(f"its payload is of the type {kind!r}")
            return Envelope(_decoded(payload), tuple(_signatures(signatures)))
        case _:
            raise EnvelopeMalformed("it is not a DSSE envelope")


def parse_statement(envelope: Envelope) -> Statement | Acceptance:
    """Return the statement in an envelope. Raises `EnvelopeMalformed`."""
    try:
        return _ANY.validate_python(parse_json(envelope.payload))
    except JsonProblem as problem:
        raise EnvelopeMalformed(f"its payload is not JSON: {problem}") from None
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        listed = "; ".join(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
            for each in problems[:_PROBLEMS_SHOWN]
        )
        raise EnvelopeMalformed(f"its payload is not a statement of llmch: {listed}") from None


def _signatures(entries: Sequence[object]) -> list[bytes]:
    found = []
    for each in entries:
        match each:
            case {"sig": str(sig)}:
                found.append(_decoded(sig))
            case _:
                raise EnvelopeMalformed("one of its signatures is not an object with `sig`")
    return found


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise EnvelopeMalformed("it is not in base64") from None


_MOST_STATEMENTS: Final = 10_000  # on one commit: each replay of a run leaves one


@dataclass(frozen=True, slots=True)
class Attached:
    """Hold one line of a note: a statement with its envelope, or why it does not hold one."""

    envelope: Envelope | None = None
    statement: Statement | Acceptance | None = None
    malformed: str = ""


def parse_bundle(note: bytes) -> tuple[Attached, ...]:
    """Return what is attached to a commit; at least one, so that a note is never passed over."""
    lines = tuple(dict.fromkeys(each for each in note.split(b"\n") if each.strip()))
    if not lines:
        return (Attached(malformed="it is empty"),)
    found = tuple(map(_attached, lines[:_MOST_STATEMENTS]))
    if len(lines) > _MOST_STATEMENTS:
        found += (Attached(malformed=f"it has over {_MOST_STATEMENTS} lines"),)
    return found


def bundle_without(note: bytes, unwanted: Callable[[Statement | Acceptance], bool]) -> bytes:
    """Return a note without the statements that are not wanted; what cannot be read stays."""
    kept = []
    for line in filter(bytes.strip, note.split(b"\n")):
        statement = _attached(line).statement
        if statement is None or not unwanted(statement):
            kept.append(line + b"\n")
    return b"".join(kept)


def _attached(line: bytes) -> Attached:
    envelope = None
    try:
        envelope = parse_envelope(line)
        return Attached(envelope, parse_statement(envelope))
    except EnvelopeMalformed as malformed:
        return Attached(envelope, None, str(malformed))


PROOF_REF: Final = OWN_REFS[2]


def write_envelope(git: Git, commit: str, envelope: str, facts: CommitFacts) -> None:
    """Attach an envelope to a commit, beside those that are there; `facts` say who does it.

    Raises `GitFailed`.
    """
    commits.append_note(git, PROOF_REF, commit, envelope, facts)


def drop_statements(
    git: Git, commit: str, unwanted: Callable[[Statement | Acceptance], bool], facts: CommitFacts
) -> None:
    """Take the statements that are not wanted from a commit's note. Raises `GitFailed`."""
    before = read_envelopes(git, (commit,)).get(commit, b"")
    after = bundle_without(before, unwanted)
    if after == before:
        return
    if after:
        commits.add_note(git, PROOF_REF, commit, after.decode("utf-8", "surrogateescape"), facts)
    else:
        commits.remove_note(git, PROOF_REF, commit, facts)


def read_envelopes(git: Git, on: Collection[str] | None = None) -> Mapping[str, bytes]:
    """Return the bytes of the notes by commit: of all, or of those commits of `on` that have one.

    The notes are found by git's own listing of the ref, so none is taken for another's.
    """
    listed = [line.split() for line in git.run("notes", f"--ref={PROOF_REF}", "list").splitlines()]
    wanted = {commit: blob for blob, commit in listed if on is None or commit in on}
    texts = trees.blobs(git, tuple(dict.fromkeys(wanted.values())))
    return {commit: texts[blob] for commit, blob in wanted.items() if blob in texts}
