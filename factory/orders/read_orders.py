"""Reads the orders that a user names: one file, or the folder of a plan."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from shared.errors import InvalidInput
from shared.files.paths import VERIFY_SCRIPT, fold_path, is_git_path
from shared.files.strict_documents import JsonObject, JsonValue, at
from shared.languages import registry
from shared.languages.appended_tests import tests_beside_code
from shared.processes.shell_words import UnsplittableError, split_words
from shared.work_order.parse_order import (
    DocumentInvalid,
    SchemaProblem,
    glob_paths,
    parse_document,
    unknown_keys,
)
from shared.work_order.plan_folder import (
    MANIFEST_NAME,
    PlanFacts,
    StoredManifest,
    edited_manifest,
    no_orders,
    read_document,
    read_manifest,
    read_stored_plan,
)
from shared.work_order.work_order import (
    Condition,
    Interface,
    Manifest,
    WorkOrder,
    order_id,
    order_number,
)


def binding_on(order: WorkOrder, earlier: Sequence[WorkOrder]) -> Iterator[WorkOrder]:
    """Yield the earlier orders that declare or change something in files that `order` may write.

    Each copy keeps only the interfaces for those files.
    """
    paths = {*order.allowed_files, *(each.path for each in order.interfaces)}
    for each in earlier:
        declared = tuple(interface for interface in each.interfaces if interface.path in paths)
        if declared or (each.changes and not paths.isdisjoint(each.allowed_files)):
            yield each.model_copy(update={"interfaces": declared})


def known_to(order: WorkOrder, earlier: Sequence[WorkOrder]) -> tuple[Interface, ...]:
    """Return the declared interfaces of what `order` needs.

    Files that an earlier order or the order itself removes have none. An interface stays word for
    word as declared, unless an earlier order with `changes` may write its file. For those files,
    the interfaces that are in force after all earlier orders are returned instead.
    """
    needed = {*order.context_files, *(each.path for each in order.preconditions)}
    removed = {path for each in (*earlier, order) for path in each.removed_files}
    declared = [
        interface
        for each in earlier
        for interface in each.interfaces
        if (interface.path in needed or each.id in order.depends_on)
        and interface.path not in removed
    ]
    changed = {path for each in earlier if each.changes for path in each.allowed_files}
    stale = changed.intersection(each.path for each in declared)
    if not stale:
        return tuple(declared)
    still = [
        each
        for language in registry.LANGUAGES
        if language.conformance is not None
        for each in language.conformance.contracts_in_force(earlier)
        if each.path in stale
    ]
    return (*(each for each in declared if each.path not in stale), *still)


_PROBLEMS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class LoadedOrder:
    """Hold a work order that is ready to be executed.

    `plan` is set only if the manifest beside the order recomputes to its own hash and contains
    this very order. The factory believes what an order says about its origin only if `plan` is set.
    """

    order: WorkOrder
    plan: PlanFacts | None
    warnings: tuple[str, ...] = ()
    known: tuple[Interface, ...] = ()
    """The interfaces that earlier orders of the plan declare for the files this order needs."""
    earlier: tuple[WorkOrder, ...] = ()
    """The earlier orders that declare or change something in the files this order may write."""
    replaceable: frozenset[str] = frozenset()
    """The acceptance files of earlier orders, which one of this order may replace."""
    hint: str = ""
    """The hint to the model from the person who runs the order."""

    @property
    def binding(self) -> tuple[WorkOrder, ...]:
        """Return the orders whose declarations bind the writes of this order, which comes last."""
        return (*self.earlier, self.order)


def read_order(path: Path) -> LoadedOrder:
    """Return the order in one file. Raises `InvalidInput` naming the field at fault."""
    document = _require_object(read_document(path, "work order"), path)
    loaded = _load(document, path, None)
    manifest = read_manifest(path.parent)
    if manifest is not None and document in manifest.entries:
        if manifest.was_edited:
            raise edited_manifest(path.parent)
        earlier = manifest.entries[: manifest.entries.index(document)]
        return _with_earlier(replace(loaded, plan=manifest.facts), _readable(earlier))
    return loaded


def read_workdir(folder: Path) -> tuple[LoadedOrder, ...]:
    """Return the orders of the plan in `folder`, in sequence.

    Raises `InvalidInput` if the folder contains no orders, if a number is missing that the manifest
    does not call withdrawn, if a file contains the order of another file, or if the manifest and
    the order files disagree.
    """
    stored = read_stored_plan(folder)
    if stored.manifest is not None:
        _check_manifest(stored.manifest, folder / MANIFEST_NAME)
        if stored.manifest.was_edited:
            raise edited_manifest(folder)
    if not stored.orders:
        raise no_orders(folder)
    plan = stored.manifest.facts if stored.manifest else None
    orders = []
    for file in stored.orders:
        path = folder / file.name
        orders.append(_load(_require_object(file.document, path), path, plan))
    loaded = _in_sequence(folder, orders, _withdrawn(stored.manifest))
    return tuple(_each_with_earlier(loaded))


def _each_with_earlier(loaded: Sequence[LoadedOrder]) -> Iterator[LoadedOrder]:
    telling: list[WorkOrder] = []
    for each in loaded:
        yield _with_earlier(each, telling)
        order = each.order
        if order.interfaces or order.changes or order.removed_files or order.acceptance_files:
            telling.append(order)


def _load(document: JsonObject, path: Path, plan: PlanFacts | None) -> LoadedOrder:
    order = _parse_order(document, str(path))
    unknown = unknown_keys(WorkOrder, document)
    warnings = tuple(f"{path.name}: unknown key {key!r} ignored" for key in unknown)
    return LoadedOrder(order, plan, warnings)


def _readable(entries: Sequence[JsonValue]) -> tuple[WorkOrder, ...]:
    orders: list[WorkOrder] = []
    for each in entries:
        with contextlib.suppress(DocumentInvalid):
            orders.append(parse_document(WorkOrder, each))
    return tuple(orders)


def _with_earlier(loaded: LoadedOrder, earlier: Sequence[WorkOrder]) -> LoadedOrder:
    order = loaded.order
    return replace(
        loaded,
        known=known_to(order, earlier),
        earlier=tuple(binding_on(order, earlier)),
        replaceable=frozenset(file.path for each in earlier for file in each.acceptance_files),
    )


@dataclass(frozen=True, slots=True)
class Exemption:
    """Hold what may exempt an order from verification. The tree that the order makes decides.

    `granted` names the word of a person, which no tree contradicts. `expected` says that the order
    expects an exemption, and that nothing verified the commit that its plan began on. `requires`
    is what the plan's verify contract waits for.
    """

    granted: str = ""
    expected: bool = False
    requires: tuple[Condition, ...] = ()

    def reason(self, before: TreeFacts, now: TreeFacts) -> str:
        """Return why an order that makes the tree `now` of `before` is exempt; "" if it is not.

        What verified the tree before holds, so an order that takes that away is not exempt.
        """
        if self.granted or not self.expected:
            return self.granted
        if not now.is_verified and not before.is_verified:
            return "nothing says how its tree is verified"
        waited = not before.is_verified or self._missing(before)
        missing = self._missing(now) if waited else ""
        return f"what verifies its tree still waits for {missing}" if missing else ""

    def _missing(self, tree: TreeFacts) -> str:
        for each in self.requires:
            if (each.path in tree.paths) is not (each.kind == "file_exists"):
                return f"`{each.path}`" + ("" if each.kind == "file_exists" else " to go")
        return ""


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """Hold the paths of a tree, and whether its files or the user say how it is verified."""

    paths: Sequence[str]
    is_verified: bool


NOT_EXEMPT: Final = Exemption()


def exemption_of(loaded: LoadedOrder, *, allow: bool, is_bare: Callable[[], bool]) -> Exemption:
    """Return what may exempt an order from verification.

    With `allow`, a person believes the order. `is_bare` says whether nothing verified the commit
    that the order's plan began on. It is asked only where that matters.
    """
    if not loaded.order.verify_exempt:
        return NOT_EXEMPT
    if allow:
        return Exemption(granted="--allow-verify-exempt")
    requires = loaded.plan.requires if loaded.plan else ()
    return Exemption(expected=True, requires=requires) if is_bare() else NOT_EXEMPT


def _require_object(document: JsonValue, path: Path) -> JsonObject:
    if not isinstance(document, dict):
        raise InvalidInput(
            f"{path} is not a JSON object",
            "`llmch explain E005` shows the form of a work order, `llmch explain E000` the form of "
            "a manifest",
        )
    return document


def _parse_order(document: JsonObject, where: str) -> WorkOrder:
    try:
        order = parse_document(WorkOrder, document)
    except DocumentInvalid as invalid:
        raise _invalid(where, invalid.problems) from invalid
    problems = (*_blockers(order), *_unusable(order))
    if problems:
        raise _invalid(where, problems)
    return order


def _blockers(order: WorkOrder) -> Iterator[SchemaProblem]:
    """Yield the faults that the schema accepts because the planner has rules for them."""
    if order_number(order.id) is None:
        yield SchemaProblem(at("id"), f"{order.id!r} is not of the form WO-01")
    for field, path in glob_paths(order):
        yield SchemaProblem(field, f"`{path}` has glob characters: name each file")


def _unusable(order: WorkOrder) -> Iterator[SchemaProblem]:
    """Yield the faults that fit the schema but would fail every attempt, whatever is proposed."""
    for field, paths in (
        ("allowed_files", order.allowed_files),
        ("context_files", order.context_files),
        ("removed_files", order.removed_files),
    ):
        for number, path in enumerate(paths):
            if is_git_path(path):
                yield SchemaProblem(at(field, number), f"`{path}` belongs to git")
    writable = {fold_path(path) for path in order.allowed_files}
    beside = tests_beside_code(order)
    for number, file in enumerate(order.acceptance_files):
        if fold_path(file.path) in writable and file.path not in beside:
            message = f"`{file.path}` is in allowed_files too: the model could change it"
            yield SchemaProblem(at("acceptance_files", number, "path"), message)
    yield from _used_removals(order)
    for number, command in enumerate(order.acceptance_commands):
        try:
            problem = "" if split_words(command).texts else "is empty"
        except UnsplittableError as unsplittable:
            problem = str(unsplittable)
        if problem:
            yield SchemaProblem(at("acceptance_commands", number), problem)


def _used_removals(order: WorkOrder) -> Iterator[SchemaProblem]:
    """Yield the removed files that the order itself uses, or that every order needs."""
    used = {fold_path(each.path): "acceptance_files" for each in order.acceptance_files}
    used |= {fold_path(each.path): "postconditions" for each in order.postconditions}
    used |= {fold_path(each): "context_files" for each in order.context_files}
    used |= {fold_path(each): "allowed_files" for each in order.allowed_files}
    for number, path in enumerate(order.removed_files):
        problem = f"is in {used[fold_path(path)]} too" if fold_path(path) in used else ""
        if fold_path(path) == VERIFY_SCRIPT:
            problem = "verifies the project: no order may remove it"
        if problem:
            yield SchemaProblem(at("removed_files", number), f"`{path}` {problem}")


def _invalid(where: str, problems: tuple[SchemaProblem, ...]) -> InvalidInput:
    lines = [f"  {each.field or 'document'}: {each.message}" for each in problems[:_PROBLEMS_SHOWN]]
    if len(problems) > _PROBLEMS_SHOWN:
        lines.append(f"  and {len(problems) - _PROBLEMS_SHOWN} more")
    return InvalidInput(
        f"{where} is not a valid work order:\n" + "\n".join(lines),
        "`llmch check DIR` judges a whole plan and says how to fix each fault",
    )


def _check_manifest(manifest: StoredManifest, path: Path) -> None:
    """Refuse a manifest if its orders cannot be read or if two of its orders share an id."""
    try:
        parse_document(Manifest, _require_object(manifest.document, path))
    except DocumentInvalid as invalid:
        # The other fields are for people, or believed only if their hash is right (`PlanFacts`).
        if problems := tuple(p for p in invalid.problems if p.at.parts[:1] == ("work_orders",)):
            raise _invalid(str(path), problems) from invalid
    names = {each.name for each in manifest.orders}
    if len(names) < len(manifest.orders):
        raise InvalidInput(
            f"{path}: two work orders have the same id",
            "work orders are numbered from WO-01 without gaps",
        )


def _withdrawn(manifest: StoredManifest | None) -> frozenset[int]:
    """Return the numbers of the orders that the plan has withdrawn, and that no file holds."""
    document = manifest.document if manifest is not None else None
    match document:
        case {"withdrawn": [*entries]}:
            ids = (each.get("id") for each in entries if isinstance(each, dict))
            numbers = (order_number(each) for each in ids if isinstance(each, str))
            return frozenset(each for each in numbers if each is not None)
        case _:
            return frozenset()


def _in_sequence(
    folder: Path, orders: list[LoadedOrder], withdrawn: frozenset[int]
) -> tuple[LoadedOrder, ...]:
    orders.sort(key=lambda each: order_number(each.order.id) or 0)
    expected = 1
    for each in orders:
        number = order_number(each.order.id)
        while expected in withdrawn and expected != number:
            expected += 1
        if number != expected:
            raise InvalidInput(
                f"{folder}: expected {order_id(expected)}, found {each.order.id}",
                "work orders are numbered from WO-01 without gaps",
            )
        expected += 1
    return tuple(orders)


_WORD = re.compile(r"(?:wo[-_]?)?([0-9]{1,9})", re.IGNORECASE)


def parse_order_word(text: str) -> str:
    """Return the id that is meant by `3`, `WO-03` or `wo-3`. Raises `InvalidInput` for others."""
    found = _WORD.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(f"{text!r} is not the id of an order", "give it as in WO-03, or as 3")
    return order_id(int(found[1]))
