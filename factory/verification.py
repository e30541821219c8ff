"""Which commands verify a tree, and whether an exit code means success. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from factory.tree import Tree

VERIFY_SCRIPT = "scripts/verify.sh"
_NO_TESTS_COLLECTED = 5  # pytest's exit code where it finds no tests


@dataclass(frozen=True, slots=True)
class Check:
    """One verification command; `tolerated` maps an exit code that passes to why it does."""

    argv: tuple[str, ...]
    tolerated: tuple[tuple[int, str], ...] = ()

    def note_for(self, exit_code: int) -> str | None:
        """Return why `exit_code` passes although it is not 0, or `None`."""
        return dict(self.tolerated).get(exit_code)

    def __str__(self) -> str:
        return " ".join(self.argv)


_COMPILE = Check(("python", "-m", "compileall", "-q", "."))
_FALLBACK = (
    _COMPILE,
    Check(("python", "-m", "pip", "--version")),
    Check(("python", "-m", "pytest", "-q"), ((_NO_TESTS_COLLECTED, "no tests were found"),)),
)


def verification_of(tree: Tree, *, exempt: bool) -> tuple[Check, ...]:
    """Return the commands for a tree as it is now: its own script, else the fallback.

    An exempt order (one that only builds towards the verify contract) is compiled and no more.
    """
    if exempt:
        return (_COMPILE,)
    if tree.exists(VERIFY_SCRIPT):
        return (Check(("bash", VERIFY_SCRIPT)),)
    return _FALLBACK
