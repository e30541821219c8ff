"""What a specification costs in tokens, by part: `python -m benchmarks.costs [NAME ...]`.

With `--mutants N`, also how many of N small faults in the code of each order its tests notice.

Each folder of `specs` has a specification and authored replies as a strong model gives them: a
plan, and the files of each order. They are planned and carried out as by `llmch build`, with the
review that a user has by default. A token is counted as four bytes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from benchmarks.setting import open_bench
from factory.batch.batch import run_all
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.task import RunOptions
from factory.proposal.reply_formats import fence_for
from llmch.verbs.demo import make_repo
from planner.compile.inputs import PlannerModel, PlanOptions
from planner.run_plan import run_plan
from shared.events.events import ignore
from shared.llm.budget import likely_tokens
from shared.llm.model_client import Completion, Request, Role, Usage
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import Settings, StrengthSettings

SPECS = Path(__file__).parent / "specs"
MODEL = "authored-strong"
LEAST_PREFIX = 1_024
"""The shortest prefix, in tokens, that providers charge less for when it is sent again."""

_MARK = re.compile(r"^(`{3,}|</?product_spec>|#{1,2} .*$)", re.MULTILINE)


def tokens(text: str) -> int:
    """Return the tokens of `text`, as the product estimates them."""
    return likely_tokens(len(text.encode()))


@dataclass(slots=True)
class Authored:
    """Answers with the written replies of a folder, and keeps every prompt and reply."""

    folder: Path
    said: list[tuple[Request, str]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def complete(self, request: Request) -> Completion:
        text = self._reply(request)
        with self._lock:
            self.said.append((request, text))
        usage = Usage(1, tokens(request.prompt), 0, tokens(text))
        return Completion(text=text, model=request.model, usage=usage)

    def _reply(self, request: Request) -> str:
        match request.place.role:
            case Role.PLANNER:
                return json.dumps(self.plan(), ensure_ascii=False, indent=0)
            case Role.REVIEWER:
                return '{"findings": []}'
            case _:
                return self._files(str(request.place.order))

    def plan(self) -> dict[str, Any]:
        """Return the plan, with the acceptance files that lie beside it."""
        plan: dict[str, Any] = json.loads((self.folder / "plan.json").read_text("utf-8"))
        for order in plan["work_orders"]:
            for file in order.get("acceptance_files", ()):
                file["content"] = (self.folder / "acceptance" / file["path"]).read_text("utf-8")
        return plan

    def _files(self, order: str) -> str:
        folder = self.folder / order
        blocks = ["Summary: what the task asks for"]
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            text = path.read_text("utf-8")
            fence = fence_for(text)
            blocks.append(f"{fence}{path.relative_to(folder).as_posix()}\n{text}{fence}")
        return "\n\n".join(blocks) + "\n"


@dataclass(frozen=True, slots=True)
class Cost:
    """Hold the tokens of one specification, by part, and how much of the input can be cached.

    `killed` are the mutants that the tests of the plan noticed, `of` so many that were tried.
    """

    name: str
    spec: int
    calls: int
    parts: Mapping[str, int]
    cacheable: int
    killed: int = 0
    of: int = 0

    @property
    def sent(self) -> int:
        return sum(count for part, count in self.parts.items() if " in: " in part)

    @property
    def replied(self) -> int:
        return sum(count for part, count in self.parts.items() if " out: " in part)


# Above 0, so that strength is measured, and below what any tests reach that notice something.
_ANY_STRENGTH = 0.001


def measure(folder: Path, mutants: int = 0) -> Cost:
    """Plan and build the specification in `folder`; raises `SystemExit` where that fails."""
    model = Authored(folder)
    with tempfile.TemporaryDirectory() as scratch:
        repo = make_repo(Path(scratch) / "repo", folder.name)
        source = ModelSource(Mode.LIVE, lambda _: model, Path(scratch) / "made.jsonl")
        strength = StrengthSettings(_ANY_STRENGTH, mutants) if mutants else StrengthSettings()
        settings = Settings(artifacts_dir=Path(scratch) / "artifacts", strength=strength)
        planner = PlannerModel(MODEL, None, None)
        asked = PlanOptions(
            folder / "spec.md",
            settings.artifacts_dir,
            planner,
            1,
            repo,
            reviewer=planner,
            review_all=False,
        )
        plan = run_plan(asked, source, ignore)
        if plan.output_dir is None:
            raise SystemExit(f"{folder.name}: {plan.report.render()}")
        options = RunOptions(repo, settings, ModelChoice((Rung(MODEL),)), Path(sys.executable))
        summary = run_all(plan.output_dir, options, source, ignore)
        if summary.verdict != "PASS":
            raise SystemExit(f"{folder.name}: {[each.failure for each in summary.orders]}")
        orders = json.loads((plan.output_dir / "WORK_ORDERS_MANIFEST.json").read_text("utf-8"))
    parts: Counter[str] = Counter()
    by_id = {each["id"]: each for each in orders["work_orders"]}
    for request, reply in model.said:
        parts += Counter(dict(_parts(request, reply, by_id)))
    spec = tokens((folder / "spec.md").read_text("utf-8"))
    prompts = [request.prompt for request, _ in model.said]
    attempts = (attempt for each in summary.orders for attempt in each.attempt_records)
    found = [each.strength for each in attempts if each.strength is not None]
    killed, of = sum(each.killed for each in found), sum(each.of for each in found)
    return Cost(folder.name, spec, len(model.said), parts, _cacheable(prompts), killed, of)


def _cacheable(prompts: Sequence[str]) -> int:
    """Return the tokens of the prompts that an earlier one begins with as well."""
    found = 0
    for index, prompt in enumerate(prompts):
        shared = max((_shared(prompt, each) for each in prompts[:index]), default=0)
        found += shared if shared >= LEAST_PREFIX else 0
    return found


def _shared(text: str, other: str) -> int:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False))
    return tokens(text[: sum(1 for _ in same)])


def _parts(
    request: Request, reply: str, orders: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, int]]:
    """Yield the parts of one call with their tokens; a name may come several times."""
    counts: Counter[str] = Counter()
    match request.place.role:
        case Role.PLANNER:
            for heading, text in _sections(request.prompt):
                counts[f"plan in: {_of_plan(heading)}"] += tokens(text)
            counts += _plan_reply(reply)
        case Role.REVIEWER:
            counts["review in: the plan and the specification"] = tokens(request.prompt)
            counts["review out: findings"] = tokens(reply)
        case _:
            order = orders[str(request.place.order)]
            for heading, text in _sections(request.prompt):
                counts[f"orders in: {_of_order(heading, order)}"] += tokens(text)
            notes = tokens(order.get("notes") or "")
            counts["orders in: notes"] += notes
            counts["orders in: the task, commands, paths"] -= notes
            for path, text in re.findall(r"^`{3,}(\S+)\n(.*?)^`{3,}$", reply, re.M | re.S):
                kind = "own tests" if "test" in path else "code"
                counts[f"orders out: {kind}"] += tokens(text)
    yield from counts.items()


def _sections(prompt: str) -> Iterator[tuple[str, str]]:
    """Yield each heading of a prompt with its text; what is in a fence has none."""
    heading, begun, fence = "", 0, ""
    for found in _MARK.finditer(prompt):
        mark = found[0].replace("</", "<")
        if not mark.startswith("#"):
            fence = "" if fence == mark else fence or mark
        elif not fence:
            yield heading, prompt[begun : found.start()]
            heading, begun = mark, found.start()
    yield heading, prompt[begun:]


def _of_plan(heading: str) -> str:
    match heading.lstrip("# "):
        case "Product specification":
            return "specification"
        case "Requirements":
            return "requirements"
        case "Repository":
            return "repository"
        case "Example":
            return "example"
        case _:
            return "rules"


def _of_order(heading: str, order: Mapping[str, Any]) -> str:
    path = heading.removeprefix("## ").split(" ")[0]
    if "Interface" in heading or "interface" in heading:
        return "interfaces"
    if path in {each["path"] for each in order.get("acceptance_files", ())}:
        return "tests of the plan"
    if heading.startswith("## "):
        return "files to change" if path in order["allowed_files"] else "context files"
    if heading.startswith("# Your task"):
        return "the task, commands, paths"
    return "how to reply"


def _plan_reply(reply: str) -> Counter[str]:
    names = {
        "acceptance_files": "acceptance files", "notes": "notes", "interfaces": "interfaces",
        "postconditions": "conditions", "preconditions": "conditions",
    }  # fmt: skip
    counts: Counter[str] = Counter()
    for order in json.loads(reply)["work_orders"]:
        for key, value in order.items():
            counts[f"plan out: {names.get(key, 'all else')}"] += tokens(json.dumps(value))
    counts["plan out: all else"] += tokens(reply) - sum(counts.values())
    return counts


def render(costs: Sequence[Cost]) -> str:
    """Return the costs as a table in Markdown."""
    parts = sorted({part for each in costs for part in each.parts}, key=_place)
    rows: list[tuple[str, list[str]]] = [("specification", [f"{each.spec:,}" for each in costs])]
    rows.append(("calls", [str(each.calls) for each in costs]))
    rows += [(part, [f"{each.parts.get(part, 0):,}" for each in costs]) for part in parts]
    rows.append(("**input**", [f"**{each.sent:,}**" for each in costs]))
    shares = [f"**{each.cacheable:,} ({each.cacheable * 100 // each.sent}%)**" for each in costs]
    rows.append(("**of it cacheable**", shares))
    rows.append(("**output**", [f"**{each.replied:,}**" for each in costs]))
    if any(each.of for each in costs):
        rows.append(("mutants killed", [f"{each.killed} of {each.of}" for each in costs]))
    head = f"| tokens | {' | '.join(each.name for each in costs)} |\n|---|{'---:|' * len(costs)}\n"
    return head + "".join(f"| {name} | {' | '.join(cells)} |\n" for name, cells in rows)


def _place(part: str) -> tuple[bool, int, str]:
    stage = part.split(" ")[0]
    return " out: " in part, ("plan", "review", "orders").index(stage), part


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    known = sorted(each.parent.name for each in SPECS.glob("*/spec.md"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)} (all)")
    parser.add_argument(
        "--mutants", type=int, default=0, metavar="N", help="faults to try in each order's code"
    )
    args = parser.parse_args(argv)
    with open_bench(quick=True):
        found = [measure(SPECS / name, args.mutants) for name in args.names or known]
    sys.stdout.write(render(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
