"""Puts a statement into a DSSE envelope, and takes it out again. Pure.

The envelope is that of https://github.com/secure-systems-lab/dsse, version 1: what is signed is the
payload's type and its bytes, so no JSON has to be written the same way twice.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter, ValidationError

from factory.statement.document import PAYLOAD_TYPE, Acceptance, AnyStatement, Statement
from shared.files.strict_json import JsonProblem, parse_json
from shared.work_order.hashing import canonical_json

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
