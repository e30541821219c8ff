"""Reads work orders as a user hands them over: one file, or a plan's whole folder."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from factory.earlier_orders import binding_on, known_to
from shared.errors import InvalidInput, PreflightRefused
from shared.field_path import at
from shared.hashing import manifest_sha256
from shared.paths import is_git_path
from shared.schemas import (
    MANIFEST_NAME,
    MAX_DOCUMENT_BYTES,
    DocumentInvalid,
    Interface,
    Manifest,
    SchemaProblem,
    WorkOrder,
    blockers,
    order_id,
    order_number,
    parse_document,
    unknown_keys,
)
from shared.shell_words import UnsplittableError, split_words
from shared.strict_json import JsonProblem, parse_json
from shared.text_input import read_text_input

_ORDER_FILE = re.compile(r"WO-[0-9]+\.json")
_PROBLEMS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The plan an order belongs to, as its manifest tells it."""

    manifest_sha256: str
    planner_run_id: str


@dataclass(frozen=True, slots=True)
class LoadedOrder:
    """A work order ready to be executed.

    `plan` is there where a manifest beside the order recomputes to its own hash and holds this
    very order; only then is what the order says about its origin believed.
    """

    order: WorkOrder
    plan: PlanFacts | None
    warnings: tuple[str, ...] = ()
    known: tuple[Interface, ...] = ()
    """What earlier orders of the plan declare of the files that this one needs."""
    earlier: tuple[WorkOrder, ...] = ()
    """The earlier orders that declare something of the files that this one may write."""

    @property
    def binding(self) -> tuple[WorkOrder, ...]:
        """The orders whose declarations bind what this one writes, itself last."""
        return (*self.earlier, self.order)


def read_order(path: Path) -> LoadedOrder:
    """Return the order in one file. Raises `InvalidInput` naming the field at fault."""
    document = _read_object(path, "work order")
    order = _parse_order(document, str(path))
    warnings = tuple(f"{path.name}: unknown key {key!r} ignored" for key in _unknown(document))
    manifest = _read_manifest(path.parent)
    loaded = LoadedOrder(order, None, warnings)
    if manifest and document in _orders_of(manifest):
        plan = _plan_facts(manifest)
        return _after(replace(loaded, plan=plan), _earlier_orders(manifest, document))
    return loaded


def read_workdir(folder: Path) -> tuple[LoadedOrder, ...]:
    """Return a plan's orders in sequence.

    Raises `InvalidInput` where the folder holds no orders, has a gap, or where its manifest and
    its order files disagree.
    """
    names = _order_files(folder)
    manifest = _read_manifest(folder)
    documents = {name: _read_object(folder / name, "work order") for name in names}
    if manifest is not None:
        documents = _reconcile(folder, documents, manifest)
    if not documents:
        raise InvalidInput(
            f"{folder} holds no work orders", "make some: `llmch plan --spec SPEC --outdir DIR`"
        )
    plan = _plan_facts(manifest) if manifest else None
    orders = [
        LoadedOrder(
            _parse_order(document, str(folder / name)),
            plan,
            tuple(f"{name}: unknown key {key!r} ignored" for key in _unknown(document)),
        )
        for name, document in documents.items()
    ]
    loaded = _in_sequence(folder, orders)
    parsed = [each.order for each in loaded]
    return tuple(_after(each, parsed[:position]) for position, each in enumerate(loaded))


def _earlier_orders(
    manifest: Mapping[str, Any], document: Mapping[str, Any]
) -> tuple[WorkOrder, ...]:
    """Return the manifest's orders before this one, as far as they can be read."""
    documents = _orders_of(manifest)
    earlier: list[WorkOrder] = []
    for each in documents[: documents.index(document)]:
        with contextlib.suppress(DocumentInvalid):
            earlier.append(parse_document(WorkOrder, each))
    return tuple(earlier)


def _after(loaded: LoadedOrder, earlier: Sequence[WorkOrder]) -> LoadedOrder:
    """Return the order with what it has to know of those before it."""
    order = loaded.order
    return replace(
        loaded, known=known_to(order, earlier), earlier=tuple(binding_on(order, earlier))
    )


def _order_files(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise InvalidInput(f"--workdir {folder}: no such folder", "name a folder of WO-NN.json")
    try:
        return sorted(each.name for each in folder.iterdir() if _ORDER_FILE.fullmatch(each.name))
    except OSError as error:
        raise InvalidInput(
            f"--workdir {folder} cannot be read: {error.strerror}", "check your permission"
        ) from error


def decide_exempt(loaded: LoadedOrder, *, allow: bool) -> tuple[bool, str]:
    """Return whether the order is verified by compiling alone, and a warning where it is.

    Raises `PreflightRefused` where it asks for that and nothing vouches for it.
    """
    order = loaded.order
    if not order.verify_exempt:
        return False, ""
    if allow:
        return True, f"{order.id}: verification reduced to compiling, by --allow-verify-exempt"
    if _vouched_for(loaded):
        return True, f"{order.id}: verification reduced to compiling: it bootstraps verification"
    raise PreflightRefused(
        f"{order.id} asks to be exempt from verification, and no manifest beside it vouches for it",
        f"keep the order beside its {MANIFEST_NAME}, or pass --allow-verify-exempt",
    )


def _vouched_for(loaded: LoadedOrder) -> bool:
    provenance = loaded.order.provenance
    return (
        loaded.plan is not None
        and provenance is not None
        and provenance.bootstrap
        and provenance.manifest_sha256 == loaded.plan.manifest_sha256
    )


def _read_object(path: Path, what: str) -> Mapping[str, Any]:
    text = read_text_input(path, what, MAX_DOCUMENT_BYTES).text
    try:
        document = parse_json(text)
    except JsonProblem as problem:
        raise InvalidInput(f"{what} {path}: {problem}", "it must hold one JSON object") from problem
    if not isinstance(document, dict):
        raise InvalidInput(f"{what} {path} is no JSON object", "see examples/ for the form")
    return document


def _parse_order(document: Mapping[str, Any], where: str) -> WorkOrder:
    try:
        order = parse_document(WorkOrder, document)
    except DocumentInvalid as invalid:
        raise _invalid(where, invalid.problems) from invalid
    problems = (*blockers(order), *_unusable(order))
    if problems:
        raise _invalid(where, problems)
    return order


def _unusable(order: WorkOrder) -> Iterator[SchemaProblem]:
    """Find what fits the schema but would fail every attempt, however good the proposal."""
    for field, paths in (
        ("allowed_files", order.allowed_files),
        ("context_files", order.context_files),
    ):
        for number, path in enumerate(paths):
            if is_git_path(path):
                yield SchemaProblem(at(field, number), f"`{path}` is git's own")
    for number, command in enumerate(order.acceptance_commands):
        try:
            problem = "" if split_words(command).texts else "is empty"
        except UnsplittableError as unsplittable:
            problem = str(unsplittable)
        if problem:
            yield SchemaProblem(at("acceptance_commands", number), problem)


def _invalid(where: str, problems: tuple[SchemaProblem, ...]) -> InvalidInput:
    lines = [f"  {each.field or 'document'}: {each.message}" for each in problems[:_PROBLEMS_SHOWN]]
    if len(problems) > _PROBLEMS_SHOWN:
        lines.append(f"  and {len(problems) - _PROBLEMS_SHOWN} more")
    return InvalidInput(
        f"{where} is no valid work order:\n" + "\n".join(lines),
        "`llmch check DIR` judges a whole plan and says how to mend each fault",
    )


def _unknown(document: Mapping[str, Any]) -> tuple[str, ...]:
    return unknown_keys(WorkOrder, document)


def _read_manifest(folder: Path) -> Mapping[str, Any] | None:
    path = folder / MANIFEST_NAME
    return _read_object(path, "manifest") if os.path.lexists(path) else None


def _orders_of(manifest: Mapping[str, Any]) -> list[Any]:
    orders = manifest.get("work_orders")
    return orders if isinstance(orders, list) else []


def _plan_facts(manifest: Mapping[str, Any]) -> PlanFacts | None:
    """Return the plan's identity if the manifest recomputes to the hash it claims."""
    provenance = manifest.get("provenance")
    claimed = provenance.get("manifest_sha256") if isinstance(provenance, dict) else None
    run_id = provenance.get("planner_run_id") if isinstance(provenance, dict) else None
    if isinstance(claimed, str) and isinstance(run_id, str):
        try:
            if manifest_sha256(manifest) == claimed:
                return PlanFacts(claimed, run_id)
        except ValueError:
            return None
    return None


def _reconcile(
    folder: Path, documents: Mapping[str, Mapping[str, Any]], manifest: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """Return the manifest's orders by file name, having seen that the files say the same."""
    try:
        parse_document(Manifest, manifest)
    except DocumentInvalid as invalid:
        # The rest is for people, or believed only where its hash is true (see `_plan_facts`).
        if problems := tuple(p for p in invalid.problems if p.at.parts[:1] == ("work_orders",)):
            raise _invalid(str(folder / MANIFEST_NAME), problems) from invalid
    orders = _orders_of(manifest)
    planned = {f"{order['id']}.json": order for order in orders}
    if len(planned) < len(orders):
        raise InvalidInput(
            f"{folder / MANIFEST_NAME}: two work orders have the same id",
            "work orders are numbered from WO-01 without gaps",
        )
    if documents:
        for name in sorted(planned.keys() | documents.keys()):
            if planned.get(name) != documents.get(name):
                raise InvalidInput(
                    f"{folder}: {name} and {MANIFEST_NAME} disagree",
                    "plan again, or remove the manifest to run the files as they are",
                )
    return planned


def _in_sequence(folder: Path, orders: list[LoadedOrder]) -> tuple[LoadedOrder, ...]:
    orders.sort(key=lambda each: order_number(each.order.id) or 0)
    for expected, each in enumerate(orders, 1):
        if order_number(each.order.id) != expected:
            raise InvalidInput(
                f"{folder}: expected {order_id(expected)}, found {each.order.id}",
                "work orders are numbered from WO-01 without gaps",
            )
    return tuple(orders)
