"""Describes what a model's reply changes in the plan before."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from planner.replan.follow_up import FollowUp
from shared.work_order.schemas import NotRemoved, WithdrawnOrder


class Place(Enum):
    """Name where an order of the reply belongs in the plan before."""

    NEW = auto()
    REPLACES = auto()
    SAME = auto()
    """The plan before has this order, word for word."""
    LANDED = auto()
    KEPT = auto()
    REPEATED = auto()
    """The reply has the id twice."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold where an order of the reply belongs.

    `position` is its place in the merged plan, from 1. For one that is not taken over, it is the
    place of the order whose id it has.
    """

    place: Place
    position: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what a reply says about the plan before, in the sequence of the reply.

    `withdrawn` and `not_removed` are as the reply states them, whether or not they may be.
    """

    task: FollowUp
    entries: tuple[Entry, ...] = ()
    withdrawn: tuple[WithdrawnOrder, ...] = ()
    not_removed: tuple[NotRemoved, ...] = ()

    @property
    def own(self) -> frozenset[int]:
        """Return the positions of the orders that the reply brings."""
        taken = (Place.NEW, Place.REPLACES)
        return frozenset(each.position for each in self.entries if each.place in taken)

    def positions(self, place: Place) -> tuple[int, ...]:
        """Return the positions of the entries of that kind."""
        return tuple(each.position for each in self.entries if each.place is place)
