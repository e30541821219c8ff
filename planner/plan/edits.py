"""Works out what a person edited in the files of a plan, and takes it as one document. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from shared.files.strict_json import JsonObject, JsonValue
from shared.plan_folder.names import MANIFEST_NAME
from shared.plan_folder.read import PlanFacts, StoredManifest

_Orders = Mapping[str, JsonObject]


class EditKind(StrEnum):
    """Say what a person did with an order."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class OrderEdit:
    """Name an edited order, and the fields that differ from the order as it was planned.

    `source` is the file that counts. `fields` is empty where nothing says how the order was.
    """

    order: str
    kind: EditKind
    source: str
    fields: tuple[str, ...] = ()

    def render(self) -> str:
        """Return the edit on one line."""
        fields = f": {', '.join(self.fields)}" if self.fields else ""
        return f"{self.order} {self.kind} in {self.source}{fields}"

    def to_json(self) -> dict[str, object]:
        """Return the edit as an entry of `edits` in the document of `check`."""
        return {
            "order": self.order,
            "change": str(self.kind),
            "source": self.source,
            "fields": list(self.fields),
        }


@dataclass(frozen=True, slots=True)
class EditedPlan:
    """Hold a plan as a person edited it.

    `document` is the whole plan: each edited order says so in its provenance, and the plan follows
    the one that was edited. `plan` is the identity of that one, `None` where it has none.
    """

    document: JsonObject
    edits: tuple[OrderEdit, ...]
    plan: PlanFacts | None


def take_edits(documents: Mapping[str, JsonValue]) -> EditedPlan | None:
    """Return the plan that a person edited, from the documents of its files by name.

    The order files count where the manifest is as it was planned. The manifest counts where the
    files are as they were planned. Where neither is, the files count, and the manifest where there
    are none. The result is `None` where nothing was edited, and where there is no manifest that
    could be made to agree.
    """
    manifest = documents.get(MANIFEST_NAME)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("work_orders"), list):
        return None
    stored = StoredManifest(manifest)
    entries = {each.name: each.document for each in stored.orders}
    files = {name: each for name, each in documents.items() if name != MANIFEST_NAME}
    if not stored.was_edited and (not files or files == entries):
        return None
    if len(entries) < len(stored.entries) or not all(isinstance(e, dict) for e in files.values()):
        return None  # the rules say what is wrong with these
    return _taken(stored, manifest, _objects(entries), _objects(files))


def _taken(
    stored: StoredManifest, manifest: JsonObject, entries: _Orders, files: _Orders
) -> EditedPlan:
    planned: JsonObject = {**manifest, "work_orders": list(files.values())}
    in_manifest = bool(files) and stored.was_edited and not StoredManifest(planned).was_edited
    if in_manifest:
        now, before, source = entries, files, MANIFEST_NAME
    else:
        now, before, source = files or entries, entries, "" if files else MANIFEST_NAME
        planned = manifest
    edits = tuple(_edits(now, before, source))
    if stored.was_edited and not edits:  # nothing says which orders were edited
        edits = tuple(
            OrderEdit(_id(each), EditKind.CHANGED, MANIFEST_NAME) for each in now.values()
        )
    edited = {each.order for each in edits}
    orders = [
        _marked(each, before.get(name, {}), manifest) if _id(each) in edited else before[name]
        for name, each in now.items()
    ]
    document: JsonObject = {**manifest, "work_orders": list(orders)}
    facts = StoredManifest(planned).stated_facts
    return EditedPlan(_following(document, facts) if edits else document, edits, facts)


def _edits(now: _Orders, before: _Orders, source: str) -> Iterator[OrderEdit]:
    for name, order in now.items():
        if name not in before:
            yield OrderEdit(_id(order), EditKind.ADDED, source or name)
        elif fields := tuple(_differing(before[name], order)):
            yield OrderEdit(_id(order), EditKind.CHANGED, source or name, fields)
    for name, order in before.items():
        if name not in now:
            yield OrderEdit(_id(order), EditKind.REMOVED, source or name)


def _differing(before: JsonObject, now: JsonObject) -> Iterator[str]:
    for key in dict.fromkeys((*before, *now)):
        if key != "provenance" and (key in before, before.get(key)) != (key in now, now.get(key)):
            yield key


def _marked(order: JsonObject, before: JsonObject, manifest: JsonObject) -> JsonObject:
    """Return an order that says that a person edited it, where its plan says where it is from."""
    origin = before.get("provenance") or manifest.get("provenance")
    if not isinstance(origin, dict):
        return order
    # The new plan vouches for the order; the plan that was edited no longer does.
    return {**order, "provenance": {**origin, "manifest_sha256": "", "edited": True}}


def _following(document: JsonObject, plan: PlanFacts | None) -> JsonObject:
    """Return the plan as one that follows the plan that was edited.

    So the branch stays the same, and what has landed counts as landed.
    """
    if plan is None:
        return document
    supersedes: JsonObject = {
        "manifest_sha256": plan.manifest_sha256,
        "earlier": list(plan.lineage),
        "title": plan.title,
    }
    return {**document, "supersedes": supersedes}


def _objects(documents: Mapping[str, JsonValue]) -> _Orders:
    return {name: each for name, each in documents.items() if isinstance(each, dict)}


def _id(order: JsonObject) -> str:
    given = order.get("id")
    return given if isinstance(given, str) else "an order without an id"
