"""Chooses the commands that verify a tree, and says which exit codes mean success.

What verifies the tree that an order makes is what its base says together with what the tree says:
an order brings tests that count at once, and takes none away from its own verification.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from factory.sandbox import Cause, Ended
from factory.workbench.workspace import Workspace
from shared.files.repo_sources import RepoSources
from shared.projects.base import RepoFiles, VerifyCommand
from shared.projects.changed import ChangedFiles
from shared.projects.python import COMPILE, PYTEST
from shared.projects.registry import find_projects
from shared.projects.verification import Ground, Verification, find_verification
from shared.shell_words import split_words

# Pytest's exit code where it finds no tests. A command that the user chose has to pass as it is.
_NO_TESTS: Final = ((5, "no tests were found"),)


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


@dataclass(frozen=True, slots=True)
class BaseVerification:
    """Say what verifies a base, and the trees that an order makes of it.

    `files` are those of the base, and `found` is what they say. The code of an exempt order (one
    that only builds towards the verify contract) is compiled and not run. `linked` are folders of
    installed packages, which are not compiled.
    """

    files: RepoFiles
    found: Verification
    chosen: tuple[str, ...] = ()
    exempt: bool = False
    linked: frozenset[str] = frozenset()

    def checks(self) -> tuple[Check, ...]:
        """Return the commands that verify the base."""
        return self._checks_of(self.found.commands)

    def checks_with(self, written: Mapping[str, str | None]) -> tuple[Check, ...]:
        """Return the commands that verify the base with these texts written, by path.

        `None` stands for a file that is removed.
        """
        if self.exempt or self.chosen:
            return self.checks()
        files = ChangedFiles(self.files, written)
        now = find_verification(files)
        if not self.found.is_known:
            return self._checks_of(now.commands if now.is_known else self.found.commands)
        kept = tuple(_kept(self.found, now, files))
        texts = {each.text for each in kept}
        return self._checks_of((*kept, *(each for each in now.commands if each.text not in texts)))

    def _checks_of(self, commands: tuple[VerifyCommand, ...]) -> tuple[Check, ...]:
        compiling = _compile_without(self.linked)
        if self.exempt:
            return (compiling,)
        if self.chosen:
            return tuple(parse_check(each.text) for each in commands)
        return tuple(
            compiling
            if each.text == COMPILE
            else parse_check(each.text, *(_NO_TESTS if each.text == PYTEST else ()))
            for each in commands
        )


def verification_of(
    workspace: Workspace, chosen: tuple[str, ...] = (), *, exempt: bool = False
) -> BaseVerification:
    """Return what verifies the workspace's baseline. The tree must be the baseline as it is.

    `chosen` is the setting `verify`.
    """
    return verification_before(workspace, {}, chosen, exempt=exempt)


def verification_before(
    workspace: Workspace,
    texts: Mapping[str, str | None],
    chosen: tuple[str, ...] = (),
    *,
    exempt: bool,
) -> BaseVerification:
    """Return what verifies the tree that the workspace's baseline was made from.

    `texts` are the files that the baseline changed, as they were; `None` stands for one that was
    not there. The workspace must be its baseline as it is.
    """
    files: RepoFiles = RepoSources(workspace.root, workspace.files)
    if texts:
        files = ChangedFiles(files, texts)
    found = find_verification(files, chosen)
    return BaseVerification(files, found, chosen, exempt, workspace.linked)


def _kept(base: Verification, now: Verification, files: RepoFiles) -> Iterator[VerifyCommand]:
    """Yield the commands of the base, in a form that does on the files what it did on the base."""
    present = {each.text: each for each in now.commands}
    if now.ground is Ground.SCRIPT:
        own = (each for project in find_projects(files) for each in project.verify)
        present |= {each.text: each for each in own}
    for each in base.commands:
        if not each.defined or each == present.get(each.text):
            yield each
        else:
            yield VerifyCommand(each.defined, f"{each.origin}, as on the base")


def _compile_without(folders: frozenset[str]) -> Check:
    if not folders:
        return parse_check(COMPILE)
    names = "|".join(map(re.escape, sorted(folders)))
    return parse_check(f"{COMPILE} -x {shlex.quote(f'^[.]/({names})/')}")
