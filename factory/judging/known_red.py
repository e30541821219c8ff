"""Says which checks were red before an order began, and whether the order makes more fail.

This matters only with `--allow-red`; without it, no order begins on a base that is red. The rule,
for each command of the verification:

- A command that passed on the base has to pass.
- A command that failed on the base may fail again in the same manner (by its own exit code, or by
  the same limit). Where the output of both runs names all failures, no new name may be among them;
  where it only counts them, there may not be more. A run without a count, after a base with one,
  is a failure: it does not show that nothing more fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from factory.judging.counting.count import Failures, count_failures
from factory.sandbox import Cause, Ended

_NAMED: Final = 5  # the most new failures that a message lists by name


@dataclass(frozen=True, slots=True)
class RedCheck:
    """Hold how a check failed: what ended the command, and its failures where they are counted."""

    cause: Cause
    failures: Failures | None = None

    @classmethod
    def of(cls, ended: Ended) -> RedCheck:
        """Return the account of a command that failed."""
        return cls(ended.cause, count_failures(f"{ended.stdout.text}\n{ended.stderr.text}"))

    def describe(self) -> str:
        """Return what failed, in a few words."""
        if self.failures is not None:
            return f"{self.failures.count} failed"
        return "failed" if self.cause is Cause.EXITED else str(self.cause).replace("_", " ")


@dataclass(frozen=True, slots=True)
class KnownRed:
    """Hold the checks that failed on a commit, by the text of their commands; none as a rule."""

    checks: Mapping[str, RedCheck] = field(default_factory=lambda: MappingProxyType({}))

    def allows(self, command: str, now: RedCheck) -> bool:
        """Return whether the command may fail as it did now."""
        before = self.checks.get(command)
        return before is not None and not more_failures(before, now)


NOTHING_RED: Final = KnownRed()


def more_failures(before: RedCheck, now: RedCheck) -> str:
    """Return how `now` is worse than `before`, as a sentence; "" if it is not worse."""
    if now.cause is not before.cause:
        return f"On the base it failed in another way ({before.describe()})."
    if before.failures is None:
        return ""
    if now.failures is None:
        return (
            f"On the base it reported {_counted(before.failures)}; now it reports none by count, "
            "so nothing shows that no more tests fail."
        )
    if before.failures.all_named and now.failures.all_named:
        new = sorted(now.failures.names - before.failures.names)
        more = f", and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
        listed = ", ".join(new[:_NAMED]) + more
        return f"These did not fail on the base: {listed}." if new else ""
    if now.failures.count > before.failures.count:
        return f"On the base there were {_counted(before.failures)}, now {now.failures.count}."
    return ""


def _counted(failures: Failures) -> str:
    return "1 failure" if failures.count == 1 else f"{failures.count} failures"
