"""Runs untrusted commands, only through `open_sandbox(choice, policy).run(argv, ...)`."""

from factory.sandbox.commands.supervision import end_all
from factory.sandbox.detect import Found, Sandbox, find_backends, open_sandbox, require_backend
from factory.sandbox.guarantees import Guarantee, Guarantees
from factory.sandbox.outcome import Captured, Cause, Ended, SessionEnded
from factory.sandbox.policy import Backend, Limits, Policy

__all__ = [
    "Backend",
    "Captured",
    "Cause",
    "Ended",
    "Found",
    "Guarantee",
    "Guarantees",
    "Limits",
    "Policy",
    "Sandbox",
    "SessionEnded",
    "end_all",
    "find_backends",
    "open_sandbox",
    "require_backend",
]
