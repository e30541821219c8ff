"""Reads and writes the files of a plan, the manifest last.

The caller judges the content of the documents: `check` turns faults into findings, and the
factory refuses them.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from shared.errors import CommandFailed, InvalidInput
from shared.files import atomic_io
from shared.files.strict_documents import (
    MAX_DOCUMENT_BYTES,
    JsonObject,
    JsonProblem,
    JsonValue,
    parse_json,
)
from shared.files.text_sources import read_regular_file
from shared.work_order.parse_order import DocumentInvalid, manifest_sha256, parse_document
from shared.work_order.work_order import (
    Assumption,
    BaseFile,
    Condition,
    Manifest,
    RequirementEntry,
    Supersedes,
    VerifyContract,
    order_number,
)

E = TypeVar("E", BaseFile, RequirementEntry, Assumption)
P = TypeVar("P", Supersedes, VerifyContract)

MANIFEST_NAME: Final = "WORK_ORDERS_MANIFEST.json"

_ORDER_FILE = re.compile(r"WO-([0-9]+)\.json")


def order_file_name(order_id: str) -> str:
    return f"{order_id}.json"


def list_plan_files(folder: Path) -> tuple[str, ...]:
    """Return the names of a plan's files in `folder`, orders by number and the manifest last.

    Raises `InvalidInput` if the folder cannot be read.
    """
    try:
        return plan_file_names(each.name for each in folder.iterdir())
    except OSError as error:
        raise InvalidInput(
            f"{folder} cannot be read: {error.strerror}", "check your permission to read it"
        ) from error


def plan_file_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` that name a plan's files, orders by number and the manifest last."""
    found = set(names)
    orders = [match for name in found if (match := _ORDER_FILE.fullmatch(name))]
    by_number = [match[0] for match in sorted(orders, key=lambda match: (int(match[1]), match[0]))]
    return (*by_number, MANIFEST_NAME) if MANIFEST_NAME in found else tuple(by_number)


def holds_plan(folder: Path) -> bool:
    """Return whether `folder` is a directory with at least one of a plan's files.

    Raises `InvalidInput` if the folder cannot be read.
    """
    return folder.is_dir() and bool(list_plan_files(folder))


def edited_manifest(folder: Path) -> InvalidInput:
    return InvalidInput(
        f"{folder / MANIFEST_NAME} was edited since the plan was made: its hash does not recompute",
        takes_edits(folder),
    )


def takes_edits(folder: Path) -> str:
    """Return, as a hint, the command that takes what a person edited in a plan."""
    return f"`{accept_edits(folder)}` judges what you edited and takes it"


def accept_edits(folder: Path) -> str:
    """Return the command that takes what a person edited in the plan in `folder`."""
    return f"llmch check {shlex.quote(str(folder))} --accept-edits"


def plan_again(folder: Path | None) -> str:
    """Return the command that plans after the plan in `folder`, as far as its words are known.

    The record of the planning, in the folder above, names the specification.
    """
    spec = ""
    if folder is not None:
        with contextlib.suppress(InvalidInput, OSError):
            record = read_document(folder.absolute().parent / "run.json", "record")
            said = record.get("spec") if isinstance(record, dict) else None
            if isinstance(said, str) and said.isprintable() and Path(said).exists():
                spec = said
    plan = shlex.quote(str(folder or "PLAN"))
    return f"llmch plan --spec {shlex.quote(spec or 'SPEC')} --from {plan}"


_HASH = re.compile("[0-9a-f]{64}")


class FileMalformed(InvalidInput):
    """Say that a file holds no JSON document; `name` is the file's name, `problem` the reason."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}", "the file must hold one JSON object")
        self.name = path.name
        self.problem = problem


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """Hold the identity of a plan, as its manifest states it and as its hash confirms it.

    `title` says what the plan is about, in words of the plan; it may be long, or empty. `lineage`
    are the hashes of the plans that it follows, oldest first; the title is then the oldest one's.
    `base_files` are the files of the repo that the plan was made for, and `requires` is what its
    verify contract waits for. `requirements` are those of the specification that the plan lists,
    and `assumptions` are what its orders rest on.
    """

    manifest_sha256: str
    planner_run_id: str
    title: str = ""
    lineage: tuple[str, ...] = ()
    base_files: tuple[BaseFile, ...] = ()
    requires: tuple[Condition, ...] = ()
    requirements: tuple[RequirementEntry, ...] = ()
    assumptions: tuple[Assumption, ...] = ()

    @property
    def root(self) -> str:
        """Return the hash of the oldest plan of the lineage: of this one, if it follows none."""
        return self.lineage[0] if self.lineage else self.manifest_sha256


@dataclass(frozen=True, slots=True)
class OrderFile:
    """Hold an order's document and the name of the file that holds it, or would hold it."""

    name: str
    document: JsonValue


@dataclass(frozen=True, slots=True)
class StoredManifest:
    """Hold a manifest as it was read; its content is not judged."""

    document: JsonValue

    @property
    def entries(self) -> tuple[JsonValue, ...]:
        """Return the entries of `work_orders`; none if `work_orders` is not a list."""
        match self.document:
            case {"work_orders": [*entries]}:
                return tuple(entries)
            case _:
                return ()

    @property
    def orders(self) -> tuple[OrderFile, ...]:
        """Return the entries that are objects, each with the name of its file."""
        return tuple(
            OrderFile(order_file_name(str(each.get("id"))), each)
            for each in self.entries
            if isinstance(each, dict)
        )

    @property
    def stated_hash(self) -> str:
        """Return the hash that the manifest states for itself, right or wrong; "" for none."""
        match self.document:
            case {"provenance": {"manifest_sha256": str(claimed)}} if _HASH.fullmatch(claimed):
                return claimed
            case _:
                return ""

    @property
    def was_edited(self) -> bool:
        """Return whether the manifest states a hash that is not its own."""
        return bool(self.stated_hash) and self._hash() != self.stated_hash

    @property
    def facts(self) -> PlanFacts | None:
        """Return the plan's identity; `None` if the manifest states no hash or a wrong one."""
        match self.document:
            case {"provenance": {"manifest_sha256": str(claimed), "planner_run_id": str(run_id)}}:
                return self._facts(claimed, run_id) if self._hash() == claimed else None
            case _:
                return None

    @property
    def stated_facts(self) -> PlanFacts | None:
        """Return the plan's identity as the manifest states it; `None` if it states no hash."""
        match self.document:
            case {"provenance": {"planner_run_id": str(run_id)}} if self.stated_hash:
                return self._facts(self.stated_hash, run_id)
            case _:
                return None

    def _facts(self, digest: str, run_id: str) -> PlanFacts:
        follows = self._part("supersedes", Supersedes)
        contract = self._part("verify_contract", VerifyContract)
        lineage = follows.lineage if follows else ()
        title = follows.title if follows else ""
        return PlanFacts(
            digest,
            run_id,
            title or self._title(),
            lineage,
            tuple(self._entries("base_files", BaseFile)),
            contract.requires if contract else (),
            tuple(self._entries("requirements", RequirementEntry)),
            tuple(self._entries("assumptions", Assumption)),
        )

    def _part(self, key: str, schema: type[P]) -> P | None:
        """Return the object at a key of the manifest; `None` if there is none to be read."""
        stated = self.document.get(key) if isinstance(self.document, dict) else None
        if isinstance(stated, dict):
            with contextlib.suppress(DocumentInvalid):
                return parse_document(schema, stated)
        return None

    def _entries(self, key: str, schema: type[E]) -> Iterator[E]:
        """Yield those entries of a list of the manifest that can be read."""
        listed = self.document.get(key) if isinstance(self.document, dict) else None
        for each in listed if isinstance(listed, list) else ():
            with contextlib.suppress(DocumentInvalid):
                yield parse_document(schema, each)

    def _title(self) -> str:
        match self.document:
            case {"name": str(name)} if name.strip():
                return name
            case {"system_overview": str(overview) | [str(overview), *_]} if overview.strip():
                return overview
            case {"work_orders": [{"title": str(title)}, *_]}:
                return title
            case _:
                return ""

    def _hash(self) -> str | None:
        assert isinstance(self.document, dict), "a document with a provenance is an object"
        try:
            return manifest_sha256(self.document)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """Hold a plan's folder as it was read: its manifest, its order files, or both in agreement."""

    folder: Path
    manifest: StoredManifest | None
    files: tuple[OrderFile, ...]

    @property
    def document(self) -> JsonValue:
        """Return the plan as one document: the manifest, else a document with the orders alone."""
        if self.manifest is not None:
            return self.manifest.document
        return {"work_orders": [each.document for each in self.files]}

    @property
    def orders(self) -> tuple[OrderFile, ...]:
        """Return the orders in sequence: the manifest's where there is one, else the files'."""
        return self.files if self.manifest is None else self.manifest.orders


def read_plan_files(folder: Path) -> Mapping[str, JsonValue]:
    """Return the documents in a plan's files by name, orders by number and the manifest last.

    They may disagree. Raises as `read_stored_plan` does otherwise.
    """
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a directory", "name the directory of a plan's files")
    names = list_plan_files(folder)
    if not names:
        raise no_orders(folder)
    return {name: read_document(folder / name, _described(name)) for name in names}


def read_stored_plan(folder: Path) -> StoredPlan:
    """Return the plan in `folder`.

    Raises `FileMalformed` for a file that holds no JSON. Raises `InvalidInput` if the folder
    has no files of a plan, one of them cannot be read, an order is in the file of another one, or
    the manifest and the order files disagree.
    """
    documents = dict(read_plan_files(folder))
    manifest = None
    if MANIFEST_NAME in documents:
        manifest = StoredManifest(documents.pop(MANIFEST_NAME))
    files = tuple(OrderFile(*each) for each in documents.items())
    if manifest is None:
        _refuse_misplaced(folder, files)
    else:
        _refuse_disagreement(folder, manifest, documents)
    return StoredPlan(folder, manifest, files)


def read_manifest(folder: Path) -> StoredManifest | None:
    """Return the manifest in `folder`, or `None`. Raises as `read_stored_plan` does."""
    path = folder / MANIFEST_NAME
    return StoredManifest(read_document(path, "manifest")) if os.path.lexists(path) else None


def read_document(path: Path, what: str) -> JsonValue:
    """Return the JSON document in the file that messages call `what`.

    Raises `FileMalformed` if the file holds no JSON or more than 10 MB. Raises `InvalidInput`
    if the file is missing, not a regular file, or unreadable. A FIFO is refused without waiting
    for it.
    """
    data = read_regular_file(path, what, MAX_DOCUMENT_BYTES + 1).data
    try:
        return parse_json(data)
    except JsonProblem as problem:
        raise FileMalformed(path, str(problem)) from problem


def unreadable_plan_in(folder: Path) -> InvalidInput:
    return InvalidInput(
        f"the plan in {folder} cannot be read", f"`llmch check {shlex.quote(str(folder))}` says why"
    )


def no_orders(folder: Path) -> InvalidInput:
    return InvalidInput(
        f"{folder} holds no work orders", "make a plan: `llmch plan --spec SPEC --outdir DIR`"
    )


def _described(name: str) -> str:
    return "manifest" if name == MANIFEST_NAME else "work order"


def _refuse_misplaced(folder: Path, files: tuple[OrderFile, ...]) -> None:
    """Refuse an order in the file of another order; an id of another form is not judged here."""
    for file in files:
        match file.document:
            case {"id": str(given)} if order_number(given) is not None:
                if order_file_name(given) != file.name:
                    raise InvalidInput(
                        f"{folder / file.name} holds the order {given}",
                        f"rename the file to {order_file_name(given)}, or correct the order's id",
                    )
            case _:
                pass


def _refuse_disagreement(
    folder: Path, manifest: StoredManifest, files: Mapping[str, JsonValue]
) -> None:
    """Refuse a manifest that disagrees with the order files beside it."""
    match manifest.document:
        case {"work_orders": [*_]} if files:
            pass
        case _:
            return
    for position, entry in enumerate(manifest.entries):
        if isinstance(entry, dict) and not isinstance(entry.get("id"), str):
            raise InvalidInput(
                f"{folder / MANIFEST_NAME}: work_orders[{position}] has no id that names its file",
                "plan again, or remove the order files to judge the manifest alone",
            )
    planned = {each.name: each.document for each in manifest.orders}
    for name in sorted(planned.keys() | files.keys()):
        if planned.get(name) != files.get(name):
            said = f"{name} and {MANIFEST_NAME} disagree"
            if name not in files:
                said = f"{name} is missing: {MANIFEST_NAME} has its order"
            raise InvalidInput(
                f"{folder}: {said}",
                f"{takes_edits(folder)}; without the manifest, the order files count as they are",
            )


def plan_files(manifest: Manifest) -> dict[str, bytes]:
    """Return the contents of a plan's files by name, the manifest last."""
    files = {
        order_file_name(order.id): _encoded(order.model_dump(mode="json"))
        for order in manifest.work_orders
    }
    return {**files, MANIFEST_NAME: _encoded(manifest.model_dump(mode="json"))}


def write_plan(folder: Path, manifest: Manifest) -> None:
    """Write a plan's files into a folder that does not exist yet, all of them at once.

    Raises `CommandFailed` if the disk refuses.
    """
    atomic_io.write_folder(folder, plan_files(manifest))


def replace_plan(folder: Path, manifest: Manifest) -> None:
    """Write a plan's files into `folder`, in the place of the plan there.

    The old manifest is removed first and the new one is written last, so the folder never holds a
    manifest that disagrees with its orders. Raises `CommandFailed` if the disk refuses.
    """
    if not folder.exists():
        atomic_io.make_folder(folder.parent)
        write_plan(folder, manifest)
        return
    present = list_plan_files(folder) if folder.is_dir() else ()
    for name in reversed(present):
        try:
            (folder / name).unlink()
        except OSError as error:
            raise atomic_io.write_refused(folder / name, error) from error
    for name, data in plan_files(manifest).items():
        atomic_io.write_bytes(folder / name, data)


def rewrite_plan(folder: Path, before: JsonObject, after: JsonObject) -> None:
    """Replace the plan's document `before`, as it was read from `folder`, by `after`.

    The same kinds of files are written that are there: a manifest, order files, or both. A file
    whose content would not change is not written. Raises `CommandFailed` if the disk refuses;
    then nothing has changed.
    """
    names = list_plan_files(folder)
    then, now = _by_name(before, names, before), _by_name(after, names, before)
    changed = {name: document for name, document in now.items() if then.get(name) != document}
    _replace(folder, changed, sorted(then.keys() - now.keys()))


def write_edited_plan(folder: Path, read: Mapping[str, JsonValue], after: JsonObject) -> None:
    """Write the plan `after` over the documents `read` from `folder`, which may disagree.

    Order files are written where there are some. Raises as `rewrite_plan` does.
    """
    now: dict[str, JsonValue] = {}
    if read.keys() - {MANIFEST_NAME}:
        now = {order_file_name(str(each.get("id"))): each for each in _orders(after)}
    now[MANIFEST_NAME] = after
    changed = {name: each for name, each in now.items() if name not in read or read[name] != each}
    _replace(folder, changed, sorted(read.keys() - now.keys()))


def _replace(folder: Path, files: Mapping[str, JsonValue], gone: Sequence[str]) -> None:
    try:
        atomic_io.replace_files(
            folder, {name: _encoded(each) for name, each in files.items()}, gone
        )
    except CommandFailed as refused:
        raise CommandFailed(
            refused.message, "nothing was changed: make room, or make the folder writable"
        ) from refused


def _by_name(document: JsonObject, names: Sequence[str], read: JsonObject) -> JsonObject:
    """Return the document of each of the plan's files by name, the manifest last.

    `names` are the files on disk, and `read` is the document that was read from them. Orders keep
    their files until an order is renumbered; then every file is named by its order's id.
    """
    files = [each for each in names if each != MANIFEST_NAME]
    if not files:
        return {MANIFEST_NAME: document}
    orders = _orders(document)
    ids = [each.get("id") for each in orders]
    has_manifest = MANIFEST_NAME in names
    if has_manifest or ids != [each.get("id") for each in _orders(read)]:
        files = [order_file_name(str(each)) for each in ids]
    by_name: dict[str, JsonValue] = dict(zip(files, orders, strict=True))
    return {**by_name, MANIFEST_NAME: document} if has_manifest else by_name


def _orders(document: JsonObject) -> list[JsonObject]:
    match document:
        case {"work_orders": [*orders]}:
            return [each for each in orders if isinstance(each, dict)]
        case _:
            return []


def _encoded(document: JsonValue) -> bytes:
    return atomic_io.render_json(document).encode()
