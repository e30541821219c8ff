"""Defines what a commit of an order claims, and what becomes of a claim that is looked into."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Claim(StrEnum):
    """Name one thing that a commit claims; `CHAIN` is about all commits of a range."""

    STATEMENT = "statement"
    SIGNATURE = "signature"
    ORDER = "order"
    COMMIT = "commit"
    PARENT = "parent"
    FILES = "files"
    REPLY = "reply"
    PLAN = "plan"
    CHECKS = "checks"
    CHAIN = "chain"


DESCRIPTIONS = {
    Claim.STATEMENT: "it carries a statement about exactly this commit",
    Claim.SIGNATURE: "the statement is signed by somebody who is trusted here",
    Claim.ORDER: "it carries out the order that its message names",
    Claim.COMMIT: "its message and author are what llmch makes of that order",
    Claim.PARENT: "its parent is the commit on which it was judged",
    Claim.FILES: "it changes what the order allows, and nothing else",
    Claim.REPLY: "its files are exactly those of the recorded reply",
    Claim.PLAN: "the order belongs to the plan",
    Claim.CHECKS: "verification and acceptance pass on its tree",
    Claim.CHAIN: "the commits follow each other without a gap",
}
"""What each claim says, as a sentence about the commit or, for the last one, about the range."""


class Standing(StrEnum):
    """Say what became of a claim. The worst comes last."""

    PROVEN = "proven"
    NOT_PROVABLE = "not_provable"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Ruling:
    """Hold what became of a claim: `text` says by what or why not, and `remedy` what to do.

    `order` is the order for which a person accepted the commit, "" where llmch made it.
    """

    claim: Claim
    standing: Standing
    text: str
    remedy: str = ""
    order: str = ""


def proven(claim: Claim, text: str) -> Ruling:
    """Return that a claim holds."""
    return Ruling(claim, Standing.PROVEN, text)


def contradicted(claim: Claim, text: str) -> Ruling:
    """Return that a claim is false."""
    return Ruling(claim, Standing.CONTRADICTED, text)


def not_provable(claim: Claim, text: str, remedy: str = "") -> Ruling:
    """Return that nothing here decides a claim, and what would."""
    return Ruling(claim, Standing.NOT_PROVABLE, text, remedy)


def worst_of(rulings: Iterable[Ruling]) -> Standing:
    """Return the worst that became of any claim; proven where there is none."""
    found = {each.standing for each in rulings}
    return next((each for each in reversed(tuple(Standing)) if each in found), Standing.PROVEN)
