"""Renders findings on a plan as GitLab's report of code quality. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

from llmch.ci.plan_places import PlacedFinding
from llmch.ci.sarif import PlanAt
from llmch.page.visible import printed

MAKER: Final = '"check_name"'
_SEVERITIES: Final = {"error": "major", "warning": "minor"}


def render_code_quality(
    findings: Sequence[PlacedFinding], plan: PlanAt, mask: Callable[[str], str] = str
) -> str:
    """Return the findings as one list; `mask` takes secrets out of a text.

    GitLab needs a line: a finding about a whole file is shown at its first one.
    """
    entries = [
        {
            "check_name": each.finding.code,
            "description": printed(mask(f"{each.finding.order or 'plan'} {each.message}")),
            "severity": _SEVERITIES[each.finding.severity],
            "fingerprint": each.fingerprint,
            "location": {
                "path": plan.file(each.file),
                "lines": {"begin": each.place.line if each.place else 1},
            },
        }
        for each in findings
    ]
    return json.dumps(entries, indent=1) + "\n"
