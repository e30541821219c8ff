"""Computes git's ids of objects. Pure."""

from __future__ import annotations

import hashlib


def object_id(kind: str, content: bytes, length: int) -> str:
    """Return git's id of an object; `length` tells which hash the repo uses."""
    algorithm = "sha1" if length == 40 else "sha256"
    data = b"%b %d\0%b" % (kind.encode(), len(content), content)
    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def is_id_of(found: str, content: bytes) -> bool:
    """Return whether `found` is the id of a file with this content."""
    return object_id("blob", content, len(found)) == found
