"""Renders the difference between two versions of a specification, for people and as JSON. Pure."""

from __future__ import annotations

from planner.spec.difference import SpecDifference
from planner.spec.requirements import Requirement
from shared.files.strict_json import JsonObject


def render_difference(difference: SpecDifference) -> str:
    """Return a line that counts, and lines for what was added (+), changed (~) and removed (-).

    A changed requirement has its words before and after on two more lines. Sentences on doubts
    come last, each after a `?`. All text is on one line each and has no control characters.
    """
    lines = [_counted(difference)]
    lines += [f"+ {_named(each)}: {_one_line(each.text)}" for each in difference.added]
    for each in difference.changed:
        lines += [
            f"~ {_named(each.after)}:",
            f"    before: {_one_line(each.before.text)}",
            f"    after:  {_one_line(each.after.text)}",
        ]
    lines += [f"- {each.id}: {_one_line(each.text)}" for each in difference.removed]
    lines += [f"? {_one_line(each)}" for each in difference.doubts]
    return "\n".join(lines) + "\n"


def difference_document(difference: SpecDifference) -> JsonObject:
    """Return the difference as a JSON object; `line` is a line of the new text, or null."""
    return {
        "added": [_entry(each) for each in difference.added],
        "changed": [
            {
                "id": each.after.id,
                "before": each.before.text,
                "after": each.after.text,
                "line": each.after.line,
            }
            for each in difference.changed
        ],
        "removed": [{"id": each.id, "text": each.text} for each in difference.removed],
        "untouched": [each.id for each in difference.untouched],
        "doubts": [*difference.doubts],
    }


def _counted(difference: SpecDifference) -> str:
    return (
        f"Requirements: {len(difference.added)} added, {len(difference.changed)} changed, "
        f"{len(difference.removed)} removed, {len(difference.untouched)} untouched"
    )


def _entry(requirement: Requirement) -> JsonObject:
    return {"id": requirement.id, "text": requirement.text, "line": requirement.line}


def _named(requirement: Requirement) -> str:
    return f"{requirement.id} (line {requirement.line})" if requirement.line else requirement.id


def _one_line(text: str) -> str:
    return "".join(each for each in " ".join(text.split()) if each.isprintable())
