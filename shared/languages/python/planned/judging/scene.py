"""Describes a place in a command and what is known there, for the verdict on a complaint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from shared.languages.fault_words import declared_by
from shared.languages.python.planned.judging.backing import Names
from shared.languages.python.planned.judging.certainty import Certainty
from shared.languages.python.planned.judging.code_facts import CodeFacts
from shared.languages.python.planned.judging.spots import Spot, mentions
from shared.languages.python.views.views import ModuleHistory, View


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold the code of a finding, and the text that its message adds to the checker's."""

    code: str
    addition: str = ""


DOUBT: Final = Verdict("W222")


@dataclass(frozen=True, slots=True)
class Scene:
    """Hold one command's code, and what is known at the point where it runs.

    `derived` are the names whose values come from the project. `stored` are the names that the
    command itself binds to, or fills with, values of another type than the checker assumes.
    `source` returns the name for the order at a position.
    """

    facts: CodeFacts
    view: View
    names: Names
    history: ModuleHistory
    position: int
    source: Callable[[int], str]
    derived: frozenset[str]
    stored: frozenset[str]
    set_attributes: frozenset[str]
    local_classes: frozenset[str]


@dataclass(frozen=True)
class Place:
    """Represent a place in a command's code that a complaint is about."""

    spot: Spot
    scene: Scene

    @property
    def names(self) -> Names:
        return self.scene.names

    @cached_property
    def types(self) -> Certainty:
        return Certainty(self.scene.names, self.scene.local_classes)

    def is_own(self) -> bool:
        """Say whether a value that comes from the project is used here."""
        return any(mentions(each, self.scene.derived) for each in self.spot.near)

    def misuse(self, *, certain: bool) -> Verdict:
        """Return the verdict on a misused value: an error where the misuse is `certain`.

        A value that does not come from the project is never an error.
        """
        return Verdict("E214") if certain and self.is_own() else DOUBT

    def declared_by(self, name: str, owner: str | None = None) -> str:
        """Return which order declares a function or class, or a member of `owner`, and where."""
        top, qualified = owner or name, f"{owner}.{name}" if owner else name
        for each in self.names.owners(top):
            history, path = self.scene.history, each.module.path
            by = history.declared_by(path, qualified, self.scene.position)
            if by is not None:
                return declared_by(self.scene.source(by), path)
            return f"in {path}"
        return ""
