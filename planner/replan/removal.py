"""Computes what only removed requirements brought into a repo, and what stays beside it. Pure.

The orders of a plan say which files and names each brought. What an order of a remaining
requirement writes, declares, reads or names in a command stays, as does what other code of the repo
uses. Code is searched for words: a use that is none keeps something, and never takes it away.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from planner.plan.parse_plan import Draft, Plan, parse_entries, parse_plan, strings
from planner.replan.predecessor import FollowUp, covers_of
from shared.files.strict_documents import JsonObject, JsonValue
from shared.languages.registry import language_of, outline_of
from shared.work_order.plan_folder import StoredManifest
from shared.work_order.work_order import NotRemoved, WorkOrder, order_id, order_number

_MOST_READ: Final = 3_000  # files of code that are searched for uses
_MOST_COMMANDS: Final = 10
_IMPORTING: Final = re.compile(r"\b(?:import|from|require|use|mod|include)\b")


@dataclass(frozen=True, slots=True)
class Removal:
    """Say what goes with removed requirements.

    `orders` covered nothing else, and `shared` are those that also carry out what remains, so that
    no order says what of them goes. `files` go whole; `names` and `tests` go from files that stay,
    each as `FILE: NAME`. `stays` says in words what stays, and why.
    """

    requirements: tuple[str, ...]
    orders: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.orders or self.shared)

    @property
    def is_of_whole_files(self) -> bool:
        """Return whether all that was brought goes in whole files, so that nobody has to write."""
        return bool(self.files) and not (self.names or self.tests or self.shared or self.stays)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def find_removal(
    orders: Sequence[WorkOrder],
    removed: Collection[str],
    base: Collection[str] = (),
    texts: Mapping[str, str] | None = None,
    paths: Sequence[str] = (),
) -> Removal:
    """Return what goes with the requirements `removed`, of what `orders` brought.

    `base` are the files that were there before the plan, and never go whole. `texts` has the files
    at `paths` as they are now; without it, only the orders say what is used.
    """
    mine = [each for each in orders if each.covers and set(each.covers) <= set(removed)]
    own = {each.id for each in mine}
    rest = [each for each in orders if each.id not in own]
    shared = [each.id for each in rest if not set(removed).isdisjoint(each.covers)]
    named = tuple(sorted({each for one in orders for each in one.covers if each in removed}))
    brought = dict.fromkeys(path for each in mine for path in files_of(each))
    there = [each for each in brought if not paths or each in paths]
    first = {path: each for each in reversed(orders) for path in files_of(each)}
    stays: dict[str, str] = {
        each: why for each in there if (why := _kept(each, first[each], rest, base))
    }
    code = _CodeAround.read(texts, paths, set(there))
    while more := _used_by_what_stays(there, stays, mine, code):
        stays |= more
    going = tuple(each for each in there if each not in stays)
    names, kept = _names(mine, rest, stays, code)
    return Removal(
        named,
        tuple(each.id for each in mine),
        tuple(shared),
        tuple(sorted(going)),
        names,
        tuple(_tests(mine, rest, stays)),
        (*(f"{path}: {why}" for path, why in stays.items()), *kept),
    )


def files_of(order: WorkOrder) -> tuple[str, ...]:
    """Return the files that an order writes, and those of its tests."""
    return (*order.allowed_files, *(each.path for each in order.acceptance_files))


def _kept(path: str, first: WorkOrder, rest: Sequence[WorkOrder], base: Collection[str]) -> str:
    """Return why a file that `first` brought stays, by what orders say; "" if nothing keeps it."""
    if path in {*base, *first.context_files, *_found(first)}:
        return "was there before the plan"
    stem = posixpath.splitext(path)[0].replace("/", ".")
    for each in rest:
        if path in files_of(each):
            return f"{each.id} writes it too"
        read = {*each.context_files, *_found(each)}
        if path in read or any(_names_file(one, path, stem) for one in each.acceptance_commands):
            return f"{each.id} uses it"
    return ""


def _found(order: WorkOrder) -> Iterator[str]:
    """Yield the files that an order waits for."""
    yield from (each.path for each in order.preconditions if each.kind == "file_exists")


def _names_file(command: str, path: str, module: str) -> bool:
    return path in command or bool(re.search(rf"(?<![\w.]){re.escape(module)}(?![\w.])", command))


@dataclass(frozen=True, slots=True)
class _CodeAround:
    """Hold the files of code of a repo: those that orders brought for removed requirements, and
    all others."""

    brought: Mapping[str, str]
    others: Mapping[str, str]

    @classmethod
    def read(
        cls, texts: Mapping[str, str] | None, paths: Sequence[str], brought: Collection[str]
    ) -> _CodeAround:
        if texts is None:
            return cls({}, {})
        code = [each for each in paths if language_of(each) is not None][:_MOST_READ]
        found = {each: texts[each] for each in dict.fromkeys((*brought, *code)) if each in texts}
        others = {path: text for path, text in found.items() if path not in brought}
        return cls({path: found[path] for path in brought if path in found}, others)


def _used_by_what_stays(
    there: Iterable[str], stays: Mapping[str, str], mine: Sequence[WorkOrder], code: _CodeAround
) -> dict[str, str]:
    """Return the files that were to go and that a file which stays uses, and why they stay."""
    remaining = {
        **code.others,
        **{path: text for path, text in code.brought.items() if path in stays},
    }
    found = {}
    for path in there:
        if path in stays or language_of(path) is None:
            continue
        declared = {name for (of, name), _ in _declared(mine) if of == path}
        uses = _user_of(path, declared)
        if user := next((each for each, text in remaining.items() if uses(text)), ""):
            found[path] = f"{user} uses it"
    return found


def _user_of(path: str, names: Collection[str]) -> Callable[[str], bool]:
    """Return what says whether a text imports the file at `path`, or uses a name that it has."""
    stem = posixpath.splitext(posixpath.basename(path))[0]
    word = re.compile(rf"(?<!\w){re.escape(stem)}(?!\w)")
    used = [re.compile(rf"(?<!\w){re.escape(each.rpartition('.')[2])}(?!\w)") for each in names]

    def uses(text: str) -> bool:
        if stem in text and any(
            _IMPORTING.search(line) for line in text.splitlines() if word.search(line)
        ):
            return True
        return any(each.search(text) for each in used)

    return uses


def _declared(orders: Iterable[WorkOrder]) -> Iterator[tuple[tuple[str, str], WorkOrder]]:
    """Yield file and name of each declaration, with its order."""
    for order in orders:
        for each in order.interfaces:
            for name in _outlined(each.path, each.stub):
                yield (each.path, name), order


def _outlined(path: str, text: str) -> tuple[str, ...]:
    return tuple(each.name for each in outline_of(path, text))


def _names(
    mine: Sequence[WorkOrder], rest: Sequence[WorkOrder], stays: Collection[str], code: _CodeAround
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names that go from files that stay, and words on those that stay there."""
    others = {key: order.id for key, order in _declared(rest)}
    gone: dict[str, None] = {}
    kept: dict[str, None] = {}
    for (path, name), order in _declared(mine):
        if path not in stays:
            continue
        label, last = f"{path}: {name}", name.rpartition(".")[2]
        word = re.compile(rf"(?<!\w){re.escape(last)}(?!\w)")
        users = (each for each, text in code.others.items() if word.search(text))
        if (path, name) in others:
            kept[f"{label} stays: {others[path, name]} declares it too"] = None
        elif name in order.changes:
            kept[f"{label} stays: it was there before {order.id}"] = None
        elif user := next(users, ""):
            kept[f"{label} stays: {user} uses it"] = None
        elif len(word.findall(code.brought.get(path, ""))) > 1:
            kept[f"{label} may stay: other code of the file names it"] = None
        else:
            gone[label] = None
    return tuple(gone), tuple(kept)


def _tests(
    mine: Sequence[WorkOrder], rest: Sequence[WorkOrder], stays: Collection[str]
) -> Iterator[str]:
    """Yield the tests that only removed requirements brought into files that stay."""
    others = {
        (each.path, name)
        for order in rest
        for each in order.acceptance_files
        for name in _outlined(each.path, each.text)
    }
    for each in (one for order in mine for one in order.acceptance_files):
        if each.path in stays:
            for name in dict.fromkeys(_outlined(each.path, each.text)):
                if (each.path, name) not in others:
                    yield f"{each.path}: {name}"


def standing_commands(orders: Sequence[WorkOrder], removal: Removal) -> tuple[str, ...]:
    """Return the acceptance commands that prove what remains, nearest to what goes first.

    An order counts whose requirements no later order carries out again. A command that names a
    file which goes proves nothing any more.
    """
    goes = set(removal.files)
    folders = {posixpath.dirname(each) for each in goes}
    found: list[tuple[int, str]] = []
    again = _carried_out_again(orders)
    gone = again.union(removal.orders)
    for each in orders:
        if each.id in gone:
            continue
        near = folders.isdisjoint(posixpath.dirname(path) for path in files_of(each))
        found += [(near, command) for command in each.acceptance_commands]
    stems = {each: posixpath.splitext(each)[0].replace("/", ".") for each in goes}
    kept = (
        command
        for _, command in sorted(found, key=lambda pair: pair[0])
        if not any(_names_file(command, path, stem) for path, stem in stems.items())
    )
    return tuple(dict.fromkeys(kept))[:_MOST_COMMANDS]


def _carried_out_again(orders: Sequence[WorkOrder]) -> set[str]:
    """Return the orders some of whose requirements a later order covers, too."""
    later: set[str] = set()
    found = set()
    for each in reversed(orders):
        if not later.isdisjoint(each.covers):
            found.add(each.id)
        later.update(each.covers)
    return found


def removal_of(
    plan: Plan,
    removed: Collection[str],
    landed: Collection[str] | None = None,
    texts: Mapping[str, str] | None = None,
    paths: Sequence[str] = (),
) -> Removal:
    """Return what goes with requirements of a plan, of its orders that `landed`, or of all."""
    orders = [
        each.order
        for each in plan.drafts
        if each.order is not None and (landed is None or each.label in landed)
    ]
    facts = StoredManifest(plan.document).facts
    base = [each.path for each in facts.base_files] if facts and not facts.lineage else ()
    return find_removal(orders, removed, base, texts, paths)


def removal_order(orders: Sequence[WorkOrder], removal: Removal, number: int) -> dict[str, Any]:
    """Return the order that takes whole files away, which no model carries out; {} if none can.

    Its commands are those of orders that remain, so that these are proven again.
    """
    commands = standing_commands(orders, removal)
    if not removal.is_of_whole_files or not commands:
        return {}
    what = ", ".join(removal.requirements)
    return {
        "id": order_id(number),
        "title": f"Remove what only {what} brought",
        "intent": f"The specification has no {what} any more, and nothing else uses these files.",
        "covers": list(removal.requirements),
        "allowed_files": [],
        "removed_files": list(removal.files),
        "context_files": [],
        "forbidden": [],
        "acceptance_commands": list(commands),
        "regression": list(commands),
    }


def commands_again(
    orders: Sequence[WorkOrder], removing: WorkOrder, removed: Collection[str]
) -> tuple[str, ...]:
    """Return the commands that prove anew what an order touches which removes something.

    They are those of the other orders that wrote the same files, and stand.
    """
    touched = {*files_of(removing), *removing.removed_files}
    beside = [each for each in orders if not touched.isdisjoint(files_of(each))]
    gone = tuple(each.id for each in orders if set(each.covers) <= {*removed})
    others = (each.id for each in orders if each not in beside)
    removal = Removal((), (*gone, *others), files=removing.removed_files)
    known = removing.acceptance_commands
    return tuple(each for each in standing_commands(orders, removal) if each not in known)


Added = tuple[str, str, str]
"""An order, a field of it, and what was added there."""


def with_removals(
    plan: Plan, task: FollowUp, texts: Mapping[str, str], paths: Sequence[str]
) -> tuple[Plan, tuple[Added, ...]]:
    """Return a reply with what it lacks of orders that remove something, and what was added.

    An order that removes code proves again what others wrote in its files. Where the reply forgets
    a requirement of which only whole files are left, an order is added that takes these away.
    """
    said = plan.document if isinstance(plan.document, dict) else {}
    listed, before = said.get("work_orders"), task.predecessor
    if not task.removed_ids or not isinstance(listed, list) or (listed and plan.problems):
        return plan, ()
    landed = [each.order for each in before.plan.drafts if each.landed and each.order is not None]
    orders: list[JsonValue] = [*listed]
    added: list[Added] = []
    for draft in plan.drafts:
        if draft.order is None or task.removed_ids.isdisjoint(draft.order.covers):
            continue
        if again := commands_again(landed, draft.order, task.removed_ids):
            proof = {key: [*dict.fromkeys((*_strings(draft, key), *again))] for key in _PROOF}
            more: JsonObject = {key: [*texts] for key, texts in proof.items()}
            orders[draft.position - 1] = {**draft.raw, **more}
            added.append((draft.label, "regression", "; ".join(again)))
    covered = {name for each in plan.drafts for name in covers_of(each)}
    left, _ = parse_entries(NotRemoved, "not_removed", said.get("not_removed"))
    if forgotten := task.removed_ids - covered - {each.requirement for each in left}:
        removal = removal_of(before.plan, forgotten, before.landed, texts, paths)
        numbers = (order_number(each.label) or 0 for each in plan.drafts)
        number = max((before.last_number, *numbers)) + 1
        if order := removal_order(landed, removal, number):
            orders.append(order)
            added.append((order_id(number), "removed_files", ", ".join(removal.files)))
    if not added:
        return plan, ()
    made = parse_plan({**said, "work_orders": orders})
    return replace(made, unknown=plan.unknown, is_json=plan.is_json), tuple(added)


_PROOF: Final = ("acceptance_commands", "regression")


def _strings(draft: Draft, key: str) -> list[str]:
    return [text for _, text in strings(draft.raw.get(key))]
