"""Renders findings on a plan as SARIF 2.1.0, which code scanning shows at their lines. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from llmch.ci.plan_places import PlacedFinding
from llmch.console.figures import count
from llmch.page.visible import printed
from shared.files.json_places import Place
from shared.rule_text import RuleText
from shared.version import VERSION

Mask: TypeAlias = Callable[[str], str]

MAKER: Final = '"name": "llmch"'
MOST_RESULTS: Final = 25_000
"""GitHub refuses a run with more, and shows the 5,000 that are the most severe."""
_ROOT: Final = "SRCROOT"
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True)
class PlanAt:
    """Say where the folder of a plan is: its path, relative to the root of its repo if it has one.

    `path` is absolute, and `in_repo` false, where the folder lies in no repo.
    """

    path: str
    in_repo: bool

    def file(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return f"{self.path}/{name}" if self.path not in ("", ".") else name


def render_sarif(
    findings: Sequence[PlacedFinding], rules: Iterable[RuleText], plan: PlanAt, mask: Mask = str
) -> str:
    """Return the findings as one document; `rules` are all that were asked.

    `findings` are the most severe first: those beyond the limit are left out, and counted in the
    document. `mask` takes secrets out of a text.
    """
    return _Writer(tuple(rules), plan, mask).document(findings)


@dataclass(frozen=True, slots=True)
class _Writer:
    rules: tuple[RuleText, ...]
    plan: PlanAt
    mask: Mask

    def document(self, findings: Sequence[PlacedFinding]) -> str:
        index = {each.code: number for number, each in enumerate(self.rules)}
        run: dict[str, Any] = {
            "tool": {
                "driver": {
                    "name": "llmch",
                    "version": VERSION,
                    "rules": [_rule(each) for each in self.rules],
                }
            },
            "automationDetails": {"id": "llmch/check/"},
            "columnKind": "utf16CodeUnits",
            "invocations": [self.invocation(len(findings) - MOST_RESULTS)],
            "results": [
                self.result(each, index[each.finding.code]) for each in findings[:MOST_RESULTS]
            ],
        }
        if self.plan.in_repo:
            about = {"text": "The root of the repository that the plan lies in."}
            run["originalUriBaseIds"] = {_ROOT: {"description": about}}
        document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
        return json.dumps(document, indent=1) + "\n"

    def invocation(self, left_out: int) -> dict[str, Any]:
        notes = []
        if left_out > 0:
            text = f"{count(left_out, 'finding')} left out: `llmch check` prints all of them"
            notes.append({"level": "warning", "message": {"text": text}})
        return {"executionSuccessful": True, "toolExecutionNotifications": notes}

    def result(self, each: PlacedFinding, rule_index: int) -> dict[str, Any]:
        file: dict[str, Any] = {"artifactLocation": self.location(each.file)}
        if each.place is not None:
            file["region"] = _region(each.place)
        where = {"fullyQualifiedName": self.fit(each.where)}
        return {
            "ruleId": each.finding.code,
            "ruleIndex": rule_index,
            "level": each.finding.severity,
            "message": {"text": self.fit(each.message)},
            "locations": [{"physicalLocation": file, "logicalLocations": [where]}],
            "partialFingerprints": {
                "llmchFinding/v1": each.fingerprint,
                "primaryLocationLineHash": f"{each.fingerprint[:16]}:1",
            },
        }

    def location(self, name: str) -> dict[str, str]:
        path = quote(self.plan.file(name).encode("utf-8", "surrogateescape"))
        return {"uri": path, "uriBaseId": _ROOT} if self.plan.in_repo else {"uri": f"file://{path}"}

    def fit(self, text: str) -> str:
        return printed(self.mask(text))


def _region(place: Place) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _rule(rule: RuleText) -> dict[str, Any]:
    help_text = f"{rule.why}\n\n{rule.remedy}".strip()
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why or rule.title},
        "help": {"text": help_text, "markdown": help_text},
        "defaultConfiguration": {"level": rule.severity},
    }
