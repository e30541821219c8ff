"""Defines what a language is to planner and factory: its name, and the capabilities that it has.

A language is one folder beside this file, and one entry of `registry.LANGUAGES`. It has at least
outlines. Each further capability is a protocol, and a field here that stays `None` if the
language does not have it. Mostly a module implements a capability. It loads when it is first
asked (`shared/__init__.py`), so that a program that meets no file of the language loads nothing of
it. Facts that every language is asked for, such as its suffixes, are a value or a small class.
All paths are relative to the repository and use slashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.languages.capabilities import (
        Advice,
        Conformance,
        Edits,
        Examples,
        Failures,
        Notes,
        Outliner,
    )
    from shared.languages.language_tools import Dependencies, Packages, Reports
    from shared.languages.planned_code import Plans
    from shared.languages.read_commands import CommandReader


@dataclass(frozen=True, slots=True)
class Language:
    """Hold the capabilities of one language.

    `more_suffixes` are those of source files without an outline, dots included, and `contracted`
    those of files that may have an interface, for `plans` to judge. `commands` reads
    what the language's tools run, and `plans` judges code that is only planned. `conformance`
    compares code with contracts, `edits` replaces definitions by their names, `notes` points out
    what a person would, `packages` knows what manifests declare, `dependencies` prepares it for
    commands, and `failures` knows which of it a failed command lacks. `reports` reads what the
    language's tools print of faults. `advice` is for the model that plans; a language without it is
    described by the planner's own prompt, or not at all. `examples` are for the person who looks up
    a rule that the language decides.
    """

    outliner: Outliner
    more_suffixes: tuple[str, ...] = ()
    contracted: tuple[str, ...] = ()
    commands: CommandReader | None = None
    plans: Plans | None = None
    conformance: Conformance | None = None
    edits: Edits | None = None
    notes: Notes | None = None
    packages: Packages | None = None
    dependencies: Dependencies | None = None
    failures: Failures | None = None
    reports: Reports | None = None
    advice: Advice | None = None
    examples: Examples | None = None

    @property
    def name(self) -> str:
        return self.outliner.name

    @property
    def suffixes(self) -> tuple[str, ...]:
        return (*self.outliner.outlined, *self.more_suffixes)
