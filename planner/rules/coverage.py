"""Checks whether the orders carry out what the specification requires."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.plan import parse_plan, plan_edits
from planner.rules.acceptance import run_files
from planner.rules.rule_model import Finding, PlanView, Rule, Step, plan_finding
from planner.rules.structure import weakness
from shared.errors import quoted
from shared.files.strict_documents import at
from shared.languages.acceptance_commands import analyse_command, runs_tests
from shared.languages.read_commands import CodeRun, Command, ProgramRun, ShellCodeRun
from shared.languages.registry import language_of
from shared.work_order import plan_folder, work_order

if TYPE_CHECKING:
    from planner.plan.parse_plan import Plan
    from planner.spec.requirements import Requirement
    from shared.work_order.work_order import Asserted, CoveredRequirement, WorkOrder


def unknown_requirements(view: PlanView) -> Iterator[Finding]:
    """Yield what orders cover that is neither required now nor was so in an earlier plan."""
    known = {each.id for each in view.plan.requirements}
    if not known:
        return
    known |= _known_before(view)
    for step in view.steps:
        for index, name in enumerate(_covers(step)):
            if name not in known:
                message = f"{quoted(name)} is no requirement of the specification"
                yield step.finding("E301", at("covers", index), message)


def _known_before(view: PlanView) -> set[str]:
    """Return what orders of earlier plans cover: a new order may take away what they wrote.

    Provenance says which these are, once a plan is made.
    """
    orders = [(draft.position, draft.order) for draft in view.plan.drafts if draft.order]
    if view.answer is not None:
        own = view.answer.own
        earlier = [order for position, order in orders if position not in own]
    else:
        succession = view.plan.succession
        earlier = [order for _, order in orders if parse_plan.is_inherited(order, succession)]
    return {name for order in earlier for name in order.covers}


E301 = Rule(
    "E301",
    "unknown requirement",
    why="An order that claims to carry out an unknown requirement hides which one is missing.",
    bad="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": [{"covers": ["R1", "R7"]}]}""",
    good="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": [{"covers": ["R1"]}]}""",
    remedy="Copy the ids exactly from the list of requirements, or drop the one that is not there.",
    check=unknown_requirements,
)


def _uncovered(view: PlanView, code: str) -> Iterator[Finding]:
    covered = {name for step in view.steps for name in _covers(step)}
    if view.answer is not None:  # E312 demands an order for these
        covered |= {*view.answer.task.new_ids, *view.answer.task.covered_before}
    for index, each in enumerate(view.plan.requirements):
        if each.id not in covered:
            yield _finding(code, index, each)


def _covers(step: Step) -> tuple[str, ...]:
    return step.draft.order.covers if step.draft.order else ()


def _finding(code: str, index: int, missing: Requirement) -> Finding:
    place = work_order.place_of(missing.file or "the specification", missing.line)
    where = f" ({place})" if place else ""
    field = at("requirements", index)
    return plan_finding(code, field, f"no order covers {missing.id}{where}: {quoted(missing.text)}")


def forgotten_requirements(view: PlanView) -> Iterator[Finding]:
    """Yield the requirements that no order covers.

    Yield none where E302 reports them as errors, or where an order cannot be read.
    """
    if not view.plan.require_coverage and all(step.draft.order for step in view.steps):
        yield from _uncovered(view, "W302")


W302 = Rule(
    "W302",
    "requirement that no order covers",
    why="A requirement that no order carries out is not built, and nothing else would report it.",
    bad="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": [{"covers": []}]}""",
    good="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": [{"covers": ["R1"]}]}""",
    remedy="Name the requirement in `covers` of the order that carries it out, or add that order.",
    check=forgotten_requirements,
)


def missing_requirements(view: PlanView) -> Iterator[Finding]:
    if view.plan.require_coverage and all(step.draft.order for step in view.steps):
        yield from _uncovered(view, "E302")


E302 = Rule(
    "E302",
    "requirement not covered, though each has to be",
    why="With --require-coverage a plan is valid only if it carries out the whole specification.",
    bad="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "require_coverage": true, "work_orders": [{"covers": []}]}""",
    good="""{"requirements": [{"id": "R1", "text": "Words have five letters."}],
 "require_coverage": true, "work_orders": [{"covers": ["R1"]}]}""",
    remedy="Name the requirement in `covers` of the order that carries it out, or add that order.",
    check=missing_requirements,
)


def untied_assumptions(view: PlanView) -> Iterator[Finding]:
    """Yield what assumptions name that is not there, and assumptions that name no order."""
    orders = {step.draft.label for step in view.steps}
    known = {each.id for each in view.plan.requirements}
    known |= _known_before(view) if known else set()
    for index, each in enumerate(view.plan.assumptions):
        for name in each.requirements:
            if known and name not in known:
                message = f"{quoted(name)} is not a requirement of the specification"
                yield plan_finding("E303", at("assumptions", index, "requirements"), message)
        field = at("assumptions", index, "work_orders")
        for name in each.work_orders:
            if name not in orders:
                yield plan_finding("E303", field, f"{quoted(name)} is not an order of the plan")
        if not each.work_orders:
            yield plan_finding("E303", field, "names no order that rests on the assumption")


E303 = Rule(
    "E303",
    "assumption that is tied to nothing",
    why=(
        "A person who answers otherwise has to know which orders change with it, and which "
        "requirements it is about."
    ),
    bad="""{"assumptions": [{"kind": "question", "text": "Is Y a vowel?", "reading": "no",
   "work_orders": ["WO-07"]}],
 "work_orders": [{"id": "WO-01"}]}""",
    good="""{"assumptions": [{"kind": "question", "text": "Is Y a vowel?", "reading": "no",
   "work_orders": ["WO-01"]}],
 "work_orders": [{"id": "WO-01"}]}""",
    remedy=(
        "Name in `work_orders` the orders that rest on it, and in `requirements` ids of the list; "
        "drop an assumption on which nothing rests."
    ),
    check=untied_assumptions,
)


_NOT_OF_A_NAME = re.compile(r"[^a-z0-9]+")
_IN_A_NAME: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class PlacedTest:
    """Hold the text of an acceptance file, and the paths of the code that it is for.

    `is_table` says that the text is that of cases.
    """

    text: str
    product: frozenset[str]
    is_table: bool


def placed_tests(order: WorkOrder) -> dict[str, PlacedTest]:
    """Return the acceptance files of an order by path."""
    product = frozenset({*order.allowed_files, *order.context_files})
    files = order.acceptance_files
    return {each.path: PlacedTest(each.text, product, bool(each.table)) for each in files}


def assertions_of(order: WorkOrder, earlier: Mapping[str, PlacedTest]) -> Mapping[str, Asserted]:
    """Return what in an order asserts each of the requirements that it covers.

    A test or command counts for the requirements that it names by their ids. Where none of them is
    named, not even in a comment, they test the order as a whole. Tests that the executor writes
    itself count for nothing. `earlier` has the acceptance files of earlier orders by path: the
    commands may run them again.
    """
    commands = [analyse_command(each) for each in order.acceptance_commands]
    placed = {**earlier, **placed_tests(order)}
    texts = {path: each.text for path, each in placed.items()}
    tests = {path: placed[path] for path in sorted(run_files(commands, texts))}
    code = [_asserting_text(*each) for each in tests.items()]
    asserting = [each.text for each in commands if _asserts(each)]
    by_test, by_command = _named(code, order.covers), _named(asserting, order.covers)
    mentioned = _named([each.text for each in tests.values()], order.covers)
    is_tested = any(code) or bool(asserting)
    by_order = frozenset(order.covers if is_tested and not mentioned | by_command else ())
    return {
        name: work_order.Asserted.TEST
        if name in by_test
        else work_order.Asserted.COMMAND
        if name in by_command
        else work_order.Asserted.ORDER
        if name in by_order
        else work_order.Asserted.COMMENT
        if name in mentioned
        else work_order.Asserted.NOTHING
        for name in order.covers
    }


def _asserts(command: Command) -> bool:
    """Say whether a command compares something by itself, without a test that somebody writes."""
    if command.problem or command.operator or weakness(command) is not None:
        return False
    match command.run:
        case CodeRun() | ShellCodeRun():
            return True
        case ProgramRun():
            return runs_tests(command.text) is None
        case _:
            return False


_COMMENT: Final = re.compile(r"(?:^|(?<=\s))(?:#|//).*$", re.MULTILINE)


@lru_cache(maxsize=256)  # later orders run the tests again
def _asserting_text(path: str, test: PlacedTest) -> str:
    """Return what of a test can fail; of cases of a table, and where no language reads it, all.

    There, a mark of a comment in a string may take the rest of its line.
    """
    language = language_of(path)
    if test.is_table or language is None or language.plans is None:
        return _COMMENT.sub("", test.text).strip()
    return language.plans.asserting_text(path, test.text, test.product)


def _named(texts: Iterable[str], requirements: Iterable[str]) -> frozenset[str]:
    """Return the requirements that a text names, also as a part of a name: `test_r_2`, `TestR2`.

    An id that is only a number, such as 1.2, counts after a word such as `requirement` alone.
    """
    spelled = [_with_parts_of_names(each) for each in texts]
    shapes = {each: _shape(each) for each in requirements}
    return frozenset(e for e, shape in shapes.items() if any(map(shape.search, spelled)))


@lru_cache(maxsize=512)
def _shape(requirement: str) -> re.Pattern[str]:
    """Return how texts spell an id: also without its separators, which a name in Go cannot have.

    Those between two digits stay: R-1.2 is not R-12.
    """
    before = f"(?:{'|'.join(_BEFORE_NUMBER)})" if _IS_NUMBER.fullmatch(requirement) else ""
    return re.compile(before + _DROPPED.sub("_?", _spelled(requirement)))


_IS_NUMBER: Final = re.compile(r"[\d.]+")
_DROPPED: Final = re.compile(r"(?<=[a-z])_(?=[a-z0-9])|(?<=[0-9])_(?=[a-z])")
_BEFORE_NUMBER: Final = ("requirement", "requirements", "criterion", "req", "ac")


@lru_cache(maxsize=512)
def _with_parts_of_names(text: str) -> str:
    return _spelled(f"{text}\n{_IN_A_NAME.sub('_', text)}")


def _spelled(text: str) -> str:
    return _NOT_OF_A_NAME.sub("_", f"_{text.lower()}_")


# Commands of an order run tests again that came shortly before, if any.
_MAX_EARLIER: Final = 200


def no_commits(order: WorkOrder) -> tuple[str, ...]:
    """Return no commits, for any order; this serves where no repo was given."""
    return ()


def coverage_of_folder(
    folder: Path, commits_of: Callable[[WorkOrder], tuple[str, ...]] = no_commits
) -> tuple[CoveredRequirement, ...]:
    """Return the requirements of the plan in `folder`, as `coverage_of_plan` does.

    Raises `InvalidInput` if the plan is missing, or if a part of it cannot be read.
    """
    plan = plan_edits.read_plan_folder(folder)
    if plan.problems or any(draft.order is None for draft in plan.drafts):
        raise plan_folder.unreadable_plan_in(folder)
    return coverage_of_plan(plan, commits_of)


def coverage_of_plan(
    plan: Plan, commits_of: Callable[[WorkOrder], tuple[str, ...]] = no_commits
) -> tuple[CoveredRequirement, ...]:
    """Return the requirements of a plan, first those that it lists.

    Others, of a plan that follows another one, were removed from the specification. `commits_of`
    returns the commits that landed an order. Orders that cannot be read are left out.
    """
    follows = plan.succession.supersedes is not None
    orders = [draft.order for draft in plan.drafts if draft.order is not None]
    asserted = tuple(_assertions(orders))
    listed = {each.id: each for each in plan.requirements}
    named = {name: None for order in orders for name in order.covers}
    return tuple(
        work_order.CoveredRequirement(
            name,
            listed[name].text if name in listed else "",
            listed[name].line if name in listed else None,
            tuple(
                work_order.CoveringOrder(
                    order.id,
                    order.title,
                    order.acceptance_commands,
                    commits_of(order),
                    asserted_by=assertions[name],
                )
                for order, assertions in zip(orders, asserted, strict=True)
                if name in order.covers
            ),
            removed=follows and name not in listed,
            file=listed[name].file if name in listed else "",
        )
        for name in dict.fromkeys([*listed, *named])
    )


def _assertions(orders: Sequence[WorkOrder]) -> Iterator[Mapping[str, Asserted]]:
    """Yield, for each order in turn, what asserts the requirements that it covers."""
    earlier: dict[str, PlacedTest] = {}
    for order in orders:
        for path in order.removed_files:
            earlier.pop(path, None)
        yield assertions_of(order, dict(islice(reversed(earlier.items()), _MAX_EARLIER)))
        for path, placed in placed_tests(order).items():
            earlier.pop(path, None)  # so that it comes last
            earlier[path] = placed


RULES: Final = (E301, E302, E303, W302)
