"""Implements `llmch explain`: says what a rule's code or a stage means, and what to do about it."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark, Shape
from llmch.entry import answers
from shared.errors import Example, InvalidInput, RuleText


@dataclass(frozen=True, slots=True)
class RuleList(Document):
    """Represent the answer of `explain` without a code: all rules, and the names of all stages."""

    shape = Shape("rules", "stages", rules=Shape("code", "title"))

    rules: tuple[RuleText, ...]
    stages: tuple[str, ...]

    def blocks(self) -> Iterator[Block]:
        yield Paragraph(tuple(f"{each.code}  {each.title}" for each in self.rules))
        yield Remark(("", f"stages: {', '.join(self.stages)}"))


@dataclass(frozen=True, slots=True)
class RuleDocument(Document):
    """Represent the answer of `explain CODE`: one rule, with examples by their language.

    The name of the language is empty for a rule that is the same in every language.
    """

    rule: RuleText
    examples: Mapping[str, Example]

    def to_json(self) -> object:
        shown = [
            {"language": name or None, "bad": each.bad, "good": each.good}
            for name, each in self.examples.items()
        ]
        return {
            "code": self.rule.code,
            "title": self.rule.title,
            "severity": self.rule.severity,
            "why": self.rule.why,
            "bad": shown[0]["bad"],
            "good": shown[0]["good"],
            "examples": shown,
            "remedy": self.rule.remedy,
        }

    def blocks(self) -> Iterator[Block]:
        rule = self.rule
        yield Paragraph((f"{rule.code}  {rule.title}  ({rule.severity})", ""))
        yield Paragraph((f"Why: {rule.why}", ""))
        for name, each in self.examples.items():
            where = f" in {name}" if name else ""
            yield Paragraph((f"Bad{where}:", *_indented(each.bad), ""))
            yield Paragraph((f"Good{where}:", *_indented(each.good), ""))
        yield Paragraph((f"Remedy: {rule.remedy}",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code",
        nargs="?",
        metavar="CODE",
        help="a rule's code, as in E101, or a stage, as in verify_failed",
    )


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    if args.code is not None and (stage := answers.explain_stage(_as_stage(args.code))):
        return Outcome(stage)
    if args.code is None:
        return Outcome(RuleList(tuple(answers.rule_codes().values()), answers.STAGE_NAMES))
    rule = answers.rule_codes().get(args.code.upper())
    if rule is None:
        near = (
            *difflib.get_close_matches(args.code.upper(), answers.rule_codes(), n=3, cutoff=0.5),
            *difflib.get_close_matches(_as_stage(args.code), answers.STAGE_NAMES, n=2),
        )
        raise InvalidInput(
            f"{args.code!r} is neither a rule nor a stage",
            f"did you mean {' or '.join(near)}?" if near else "`llmch explain` lists all of them",
        )
    return Outcome(RuleDocument(rule, answers.examples_of(rule)))


def _as_stage(code: str) -> str:
    return code.lower().replace("-", "_")


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]
