"""Finds orders that are too small to be asked for alone, and joins them with their neighbours."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from planner.plan import plan_edits
from planner.rules.rule_model import Finding, PlanView, Rule
from shared.files.paths import VERIFY_SCRIPT
from shared.files.strict_documents import JsonObject, JsonValue, at
from shared.languages.registry import language_of
from shared.llm import budget
from shared.work_order import work_order

if TYPE_CHECKING:
    from planner.plan.parse_plan import Plan
    from shared.work_order.work_order import Interface, WorkOrder

# Of the plans in benchmarks/specs: code has about eight times the tokens of its interface, a file
# that is only read is shown in about three times those of its own, and all else that a prompt has
# besides its tests and notes takes some 350.
_CODE_SHARE: Final = 8
_SHOWN_SHARE: Final = 3
_HEAD_TOKENS: Final = 350
_TINY: Final = 150
_TIMES_AS_MUCH: Final = 3
# What is joined stays an order that a model writes at once, and a commit that a person reads.
_MOST_TOKENS: Final = 1_500
_MOST_FILES: Final = 4

Pair = tuple[int, int]


def small_pairs(plan: Plan) -> Iterator[Pair]:
    """Yield the positions of orders that are too small alone, each with the one to join it with.

    The second is later in the plan. Either both write exactly the same files and follow each other,
    or the first is tiny beside what its prompt has anyway, and the second alone reads its files.
    Orders that write `scripts/verify.sh`, that remove files or that landed are left as they are.
    """
    orders = [(each.position, each.order) for each in plan.drafts if each.order is not None]
    if len(orders) < len(plan.drafts) or any(each.landed for each in plan.drafts):
        return
    stubs = {each.path: each.stub for _, order in orders for each in order.interfaces}
    users = _users([order for _, order in orders])
    for index, (position, order) in enumerate(orders[:-1]):
        following = orders[index + 1][1]
        written = {*order.allowed_files}
        same = written == {*following.allowed_files}
        if same and _has_known_size(order) and _has_known_size(following):
            found = orders[index + 1]
        elif len(users[index]) == 1 and _is_tiny(order, stubs):
            found = orders[users[index].pop()]
        else:
            continue
        if written <= {*found[1].context_files} and _fit(order, found[1]):
            yield position, found[0]


def _users(orders: Sequence[WorkOrder]) -> list[set[int]]:
    """Return for each order the indexes of later ones that need it: of more than one, any two."""
    needing: dict[str, list[int]] = {}
    for index, order in enumerate(orders):
        for name in {*order.context_files, *order.allowed_files, *order.depends_on}:
            needing.setdefault(name, []).append(index)
    found: list[set[int]] = []
    for index, order in enumerate(orders):
        lists = (needing.get(name, []) for name in (order.id, *order.allowed_files))
        starts = ((each, bisect_right(each, index)) for each in lists)
        found.append({user for each, start in starts for user in each[start : start + 2]})
    return found


def _is_tiny(order: WorkOrder, stubs: dict[str, str]) -> bool:
    """Return whether an order writes little; one with a file of unknown size does not."""
    own = {each.path: each.stub for each in order.interfaces}
    if not _has_known_size(order):
        return False
    written = _CODE_SHARE * sum(map(_tokens, own.values()))
    read = [stubs.get(path, "") for path in order.context_files if path not in own]
    around = _HEAD_TOKENS + _SHOWN_SHARE * sum(map(_tokens, read))
    return written <= _TINY and around >= _TIMES_AS_MUCH * written


def _has_known_size(order: WorkOrder) -> bool:
    return {e.path for e in order.interfaces if e.stub.strip()} >= {*order.allowed_files}


def _tokens(text: str) -> int:
    return budget.likely_tokens(len(text.encode()))


def _fit(first: WorkOrder, second: WorkOrder) -> bool:
    """Return whether two orders can be one, as far as their own fields say."""
    both = (first, second)
    files = {path for each in both for path in each.allowed_files}
    tests = [test.path for each in both for test in each.acceptance_files]
    stubs = [stub for each in both for stub in each.interfaces]
    return (
        VERIFY_SCRIPT not in files
        and len(files) <= _MOST_FILES
        and not any(each.removed_files or each.changes for each in both)
        and len(set(tests)) == len(tests) <= work_order.MAX_ACCEPTANCE_FILES
        and {each.path for each in stubs} == {each.path for each in _stubs(first, second)}
        and _CODE_SHARE * sum(_tokens(each.stub) for each in stubs) <= _MOST_TOKENS
        and len(_context(first, second)) <= work_order.MAX_CONTEXT_FILES
    )


def _stubs(first: WorkOrder, second: WorkOrder) -> tuple[Interface, ...]:
    """Return the interfaces of both; of a file that both declare, as its language joins them."""
    told = {each.path for each in first.interfaces} & {each.path for each in second.interfaces}
    both = (*first.interfaces, *second.interfaces)
    once = [each for each in both if each.path not in told]
    for path in sorted(told):
        language = language_of(path)
        if language is not None and language.conformance is not None:
            in_force = language.conformance.contracts_in_force((first, second))
            once += [each for each in in_force if each.path == path]
    return tuple(once)


def _context(first: WorkOrder, second: WorkOrder) -> list[str]:
    made = {*first.allowed_files} - {*first.context_files}
    made |= {each.path for each in first.acceptance_files}
    read = (*first.context_files, *(each for each in second.context_files if each not in made))
    return [*dict.fromkeys(read)]


def small_orders(view: PlanView) -> Iterator[Finding]:
    for first, second in small_pairs(view.plan):
        step, other = view.steps[first - 1], view.steps[second - 1].draft.label
        message = f"is too small to be asked for alone; {other} needs all of it"
        yield step.finding("W304", at("allowed_files"), message)


W304 = Rule(
    "W304",
    "order too small to be asked for alone",
    why=(
        "Each order is a prompt of its own, with what every prompt has, its context files and its "
        "tests. An order that writes a few lines which a single other order uses pays for that "
        "many times over, and so do two orders in a row that write the same files."
    ),
    bad=r"""{"work_orders": [
 {"allowed_files": ["limits.py"], "interfaces": [{"path": "limits.py", "stub": "TRIES: int"}],
  "acceptance_commands": ["python -c \"from limits import TRIES; assert TRIES == 6\""]},
 {"allowed_files": ["game.py"], "context_files": ["limits.py"],
  "interfaces": [{"path": "game.py", "stub": "def left(tried: int) -> int: ..."}],
  "acceptance_commands": ["python -c \"from game import left; assert left(2) == 4\""]}]}""",
    good=r"""{"work_orders": [
 {"allowed_files": ["limits.py", "game.py"],
  "interfaces": [{"path": "limits.py", "stub": "TRIES: int"},
   {"path": "game.py", "stub": "def left(tried: int) -> int: ..."}],
  "acceptance_commands": [
   "python -c \"from game import left; from limits import TRIES as t; assert left(2) == t - 2\""
  ]}]}""",
    remedy="Write both as one order with the files, notes, tests and commands of the two.",
    check=small_orders,
)


def joined(plan: Plan, pair: Pair) -> dict[str, JsonValue] | None:
    """Return the plan's document with two orders as one, in the place of the second.

    The result is `None` where they cannot be one. Ids after the first move up.
    """
    first, second = (plan.drafts[each - 1] for each in pair)
    number = work_order.order_number(first.label)
    if not (first.order and second.order and number and isinstance(plan.document, dict)):
        return None
    entries: list[JsonValue] = []
    for draft in plan.drafts:
        entry = {**draft.raw}
        if draft is second:
            entry |= _both(first.raw, second.raw)
            entry["context_files"] = [*_context(first.order, second.order)]
            entry["interfaces"] = [
                {"path": each.path, "stub": each.stub} for each in _stubs(first.order, second.order)
            ]
        if isinstance(needed := entry.get("depends_on"), list):
            named = (second.label if each == first.label else str(each) for each in needed)
            entry["depends_on"] = [*dict.fromkeys(e for e in named if e != draft.label)]
        entries.append(entry)
    document = plan_edits.resting_on(
        {**plan.document, "work_orders": entries},
        lambda name: second.label if name == first.label else name,
    )
    return plan_edits.without_orders(document, {pair[0]}, [number])


_LISTS: Final = (
    *("covers", "allowed_files", "forbidden", "preconditions", "postconditions"),
    *("acceptance_files", "acceptance_commands", "regression", "depends_on"),
)
_TEXTS: Final = {"title": "; ", "intent": " ", "notes": "\n\n"}


def _both(first: Mapping[str, JsonValue], second: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the fields of two orders that are one after the other, each entry once."""
    both: dict[str, JsonValue] = {}
    for key, between in _TEXTS.items():
        texts = [text for each in (first, second) if isinstance(text := each.get(key), str)]
        both |= {key: between.join(filter(None, texts))} if texts else {}
    for key in _LISTS:
        listed = [each[key] for each in (first, second) if isinstance(each.get(key), list)]
        entries: list[JsonValue] = []
        for each in listed:
            entries += [e for e in each if e not in entries] if isinstance(each, list) else []
        both |= {key: entries} if listed else {}
    return both | _after_both(both, first)


def _after_both(both: JsonObject, first: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the lists without what only held between the two orders."""
    made, ran = first.get("postconditions"), first.get("acceptance_commands")
    found: dict[str, JsonValue] = {}
    for key, gone in (("preconditions", made), ("regression", ran)):
        listed = both.get(key)
        if isinstance(listed, list) and isinstance(gone, list):
            earlier = first.get(key)
            kept = earlier if isinstance(earlier, list) else []
            found[key] = [each for each in listed if each in kept or each not in gone]
    return found


RULES: Final = (W304,)
