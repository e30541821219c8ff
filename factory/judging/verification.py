"""Chooses the commands that verify a tree, and says which exit codes mean success. Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from factory.sandbox import Cause, Ended
from factory.workbench.tree import Tree
from shared.shell_words import split_words
from shared.work_order.schemas import VERIFY_SCRIPT

_NO_TESTS_COLLECTED = 5  # pytest's exit code where it finds no tests


@dataclass(frozen=True, slots=True)
class Check:
    """Represent one command; `tolerated` pairs an exit code that passes with the reason."""

    text: str
    argv: tuple[str, ...]
    tolerated: tuple[tuple[int, str], ...] = ()

    def note_for(self, exit_code: int) -> str | None:
        """Return why `exit_code` passes although it is not 0, or `None`."""
        return dict(self.tolerated).get(exit_code)

    def passes(self, ended: Ended) -> bool:
        """Return whether the command passed."""
        return ended.ok or (ended.cause is Cause.EXITED and bool(self.note_for(ended.exit_code)))


def parse_check(text: str, *tolerated: tuple[int, str]) -> Check:
    """Return the command in `text`, split as a shell would split it and run without a shell."""
    return Check(text, split_words(text).texts, tolerated)


_COMPILE = parse_check("python -m compileall -q .")
_FALLBACK = (
    parse_check("python -m pip --version"),
    parse_check("python -m pytest -q", (_NO_TESTS_COLLECTED, "no tests were found")),
)


def _compile_without(folders: frozenset[str]) -> Check:
    if not folders:
        return _COMPILE
    names = "|".join(map(re.escape, sorted(folders)))
    return parse_check(f"{_COMPILE.text} -x {shlex.quote(f'^[.]/({names})/')}")


def verification_of(tree: Tree, *, exempt: bool) -> tuple[Check, ...]:
    """Return the commands for a tree as it is now: its own script, else the fallback.

    The code of an exempt order (one that only builds towards the verify contract) is compiled and
    not run. Installed packages in linked folders are not compiled.
    """
    compiling = _compile_without(tree.linked)
    if exempt:
        return (compiling,)
    if tree.exists(VERIFY_SCRIPT):
        return (parse_check(f"bash {VERIFY_SCRIPT}"),)
    return (compiling, *_FALLBACK)
