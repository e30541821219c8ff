"""Runs untrusted commands, only through `open_sandbox(choice, policy).run(argv, ...)`."""

from factory.sandbox.detect import (
    Sandbox,
    TriedBackend,
    find_backends,
    open_sandbox,
    require_backend,
)
from factory.sandbox.policy import (
    Backend,
    Captured,
    Cause,
    Ended,
    Guarantee,
    Guarantees,
    Limits,
    Policy,
    SessionEnded,
)
from factory.sandbox.supervision import end_all

__all__ = [
    "Backend",
    "Captured",
    "Cause",
    "Ended",
    "Guarantee",
    "Guarantees",
    "Limits",
    "Policy",
    "Sandbox",
    "SessionEnded",
    "TriedBackend",
    "end_all",
    "find_backends",
    "open_sandbox",
    "require_backend",
]
