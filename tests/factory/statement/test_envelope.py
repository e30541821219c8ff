"""An envelope is read back as it was, and nothing that anybody writes is more than malformed."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.statement.statement import (
    PAYLOAD_TYPE,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    Envelope,
    EnvelopeMalformed,
    parse_envelope,
    parse_statement,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(st.binary(), st.lists(st.binary(), max_size=3))
def test_an_envelope_is_read_back_as_it_was(payload: bytes, signatures: list[bytes]) -> None:
    envelope = Envelope(payload, tuple(signatures))
    assert parse_envelope(envelope.render().encode()) == envelope


def test_what_is_signed_is_what_dsse_says() -> None:
    """The example of the protocol's own text, with our type of payload."""
    signed = Envelope(b"hello world").signed_bytes
    assert signed == b"DSSEv1 28 application/vnd.in-toto+json 11 hello world"


@given(st.binary())
def test_any_bytes_are_an_envelope_or_malformed(text: bytes) -> None:
    with pytest.raises(EnvelopeMalformed):
        parse_envelope(text)


@pytest.mark.rest
@given(JSON, JSON)
def test_any_values_are_an_envelope_or_malformed(payload: object, signatures: object) -> None:
    document = {"payloadType": PAYLOAD_TYPE, "payload": payload, "signatures": signatures}
    try:
        parse_envelope(json.dumps(document).encode())
    except EnvelopeMalformed as malformed:
        assert str(malformed)


@pytest.mark.rest
@given(JSON, JSON)
def test_any_payload_is_a_statement_or_malformed(subject: object, predicate: object) -> None:
    document = {
        "_type": STATEMENT_TYPE,
        "predicateType": PREDICATE_TYPE,
        "subject": subject,
        "predicate": predicate,
    }
    with pytest.raises(EnvelopeMalformed):
        parse_statement(Envelope(json.dumps(document).encode()))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"payloadType": "x", "payload": "", "signatures": []}',
        b'{"payloadType": "application/vnd.in-toto+json", "payload": "%%", "signatures": []}',
        b'{"payloadType": "application/vnd.in-toto+json", "payload": "", "signatures": [1]}',
        b'{"payload": "", "payload": ""}',
    ],
)
def test_what_is_wrong_is_said(text: bytes) -> None:
    with pytest.raises(EnvelopeMalformed) as malformed:
        parse_envelope(text)
    assert str(malformed.value).startswith(("it ", "its ", "one of its "))


def test_a_key_that_stands_twice_in_a_payload_is_malformed() -> None:
    payload = base64.b64decode(base64.b64encode(b'{"_type": "a", "_type": "b"}'))
    with pytest.raises(EnvelopeMalformed, match="not JSON"):
        parse_statement(Envelope(payload))
