"""Takes bootstrap orders out of a plan, puts a person's edits into it, and completes orders by
what follows from their fields.
"""

from __future__ import annotations

import itertools
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Final

from planner.plan.parse_plan import (
    Draft,
    Plan,
    Reply,
    parse_plan,
    read_reply,
    strings,
    unreadable_plan,
)
from shared.files.paths import VERIFY_SCRIPT, can_be_named
from shared.files.strict_documents import JsonObject, JsonValue, at
from shared.languages.capabilities import NewTest
from shared.languages.registry import is_test_file, language_of, outline_of
from shared.work_order.parse_order import SchemaProblem
from shared.work_order.plan_folder import (
    MANIFEST_NAME,
    FileMalformed,
    PlanFacts,
    StoredManifest,
    read_stored_plan,
)
from shared.work_order.work_order import MAX_CONTEXT_FILES, order_id, order_number

_NAMES: Final = 6
"""The most names that a question for a test lists."""


def new_test_for(source: str, text: str, asked: str, repo_files: Collection[str]) -> NewTest | None:
    """Return the test file of a source file, which is not there yet.

    `text` is what the source has now, and `asked` what is asked for. Returns `None` where its
    language does not say, and where no code can be imported by its path.
    """
    language, path = language_of(source), PurePosixPath(source)
    if language is None or language.new_test is None:
        return None
    parts = [each for each in path.with_suffix("").parts if each != language.new_test.folder_stem]
    if not parts or not all(each.isidentifier() for each in parts):
        return None
    names = [each for each in _defined(source, text) if each[:1] != "_"][:_NAMES]
    values = {
        "folder": source.removesuffix(path.name),
        "module": ".".join(parts).removeprefix("src."),
        "names": ", ".join(names) or "*",
    }
    for number in itertools.count(1):
        values["stem"] = parts[-1] if number == 1 else f"{parts[-1]}_{number}"
        values["path"] = language.new_test.path.format(**values)
        if values["path"] not in repo_files:
            break
    new, made = language.new_test, language.new_test.examples
    return replace(
        new,
        path=values["path"],
        command=new.command.format(**values),
        asked=new.asked.format(**values),
        names=(*names,),
        folder_stem="",
        examples=None,
        code=made.test_of_examples(text, asked, values["module"]) if made else "",
    )


@dataclass(frozen=True, slots=True)
class Change:
    """Hold a change that a person asks for, to be carried out by one order.

    `files` are paths that matter to it. `tests` are the commands that the person tests it with;
    without any, the model writes a test. With `new_test` it is asked for that file alone, and the
    order follows: small models write code in a fence and not in JSON. So it does without a model,
    if `is_for_small` and the test is there.
    """

    text: str
    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    new_test: NewTest | None = None
    is_for_small: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the files that are no tests: a model may write these where it names none."""
        return tuple(each for each in self.files if not is_test_file(each))

    def render(self, shown: Collection[str] = ()) -> str:
        """Return what was asked for as a text; files that are `shown` beside it are not named."""
        parts = [self.text.strip()]
        if files := [each for each in self.files if each not in shown]:
            parts.append(f"Files that matter: {', '.join(files)}")
        parts += [f"It is tested by `{each}`." for each in self.tests]
        return "\n\n".join(parts) + "\n"


def completed(plan: Plan) -> Plan:
    """Return the plan of a reply, each order with what `completed_order` derives."""
    document = plan.document
    entries = document.get("work_orders") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(entries, list):
        return plan
    whole = [completed_order(each) if isinstance(each, dict) else each for each in entries]
    if whole == entries:
        return plan
    parsed = parse_plan({**document, "work_orders": whole})
    return replace(parsed, problems=plan.problems, is_json=plan.is_json)


def completed_order(order: JsonObject) -> dict[str, JsonValue]:
    """Return an order with the fields that a reply may leave out.

    Its postconditions promise its allowed files; a path that is not valid gets no promise, since it
    is a finding by itself.
    """
    promised: list[JsonValue] = [
        {"kind": "file_exists", "path": path}
        for _, path in strings(order.get("allowed_files"))
        if can_be_named(path)
    ]
    derived = {"context_files": [], "forbidden": [], "postconditions": promised}
    return {**order, **{key: each for key, each in derived.items() if key not in order}}


_FENCE: Final = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)")
_SUBJECT_CHARACTERS: Final = 72
_MOST_LINES_CUT: Final = 50
_MOST_LINES_REPEATED: Final = 500


def read_test_reply(text: str, change: Change, test: NewTest) -> Reply:
    """Return the order that follows from a reply to the question for a test file alone.

    Its longest fenced block is the file; of a block without an end, what is whole of it. A reply
    that is an order is taken as one.
    """
    blocks = list(_fenced(text))
    if not blocks and "```" in text:
        begun = text.partition("```")[2].partition("\n")[2]
        blocks = [_as_far_as_whole(test.path, begun)]
    reply = read_reply(text)
    if reply.plan.is_json:
        return reply
    if not any(each.strip() for each in blocks):
        return Reply("", unreadable_plan("the reply has no fenced block with a whole test"))
    code = max(blocks, key=len)
    if copied := [each for each in _defined(test.path, code) if each in test.names]:
        message = f"the test defines {copied[0]} itself: it has to test that of the file"
        return Reply("", unreadable_plan(message))
    return _order_of(change, {test.path: code}, (test.command,))


def _fenced(text: str) -> Iterator[str]:
    """Yield the text of each fenced block that has an end."""
    mark, block = "", list[str]()
    for line in text.splitlines(keepends=True):
        found = _FENCE.fullmatch(line.rstrip("\n"))
        if mark and found and found["mark"] == mark and not found["info"].strip():
            yield "".join(block)
            mark = ""
        elif mark:
            block.append(line)
        elif found:
            mark, block = found["mark"], []


def order_without_model(change: Change | None) -> Reply | None:
    """Return the order of a change whose files and tests are known; `None` for any other one."""
    if change is None or not (change.is_for_small and change.sources):
        return None
    if change.tests:  # `plan_of_change` gives them to the order
        return _order_of(change, {}, ())
    new = change.new_test
    return _order_of(change, {new.path: new.code}, (new.command,)) if new and new.code else None


def _order_of(change: Change, tests: Mapping[str, str], commands: Sequence[str]) -> Reply:
    subject, _, _ = change.text.strip().partition("\n")
    order: dict[str, JsonValue] = {
        "title": _shortened(subject.split(". ")[0].rstrip(". ")),
        "notes": "",
        "allowed_files": [*change.sources],
        "acceptance_files": [{"path": path, "content": code} for path, code in tests.items()],
        "acceptance_commands": [*commands],
    }
    return Reply(json.dumps(order), parse_plan(order))


def _defined(path: str, code: str) -> tuple[str, ...]:
    """Return the names of the definitions that are in no other one."""
    names = (each.name for each in outline_of(path, code))
    return (*dict.fromkeys(each for each in names if "." not in each),)


def _as_far_as_whole(path: str, text: str) -> str:
    """Return the longest beginning of whole lines that parses; a last line without end is cut.

    Of lines that repeat themselves at the end, the first ones stay: so replies reach their limit.
    """
    lines = text.splitlines(keepends=True)
    lines = _said_once(lines if text.endswith("\n") else lines[:-1])
    for kept in range(len(lines), max(0, len(lines) - _MOST_LINES_CUT), -1):
        code = "".join(lines[:kept])
        if outline_of(path, code):
            return code
    return ""


def _said_once(lines: list[str]) -> list[str]:
    """Return lines without the repetitions of those at their end, of some hundred lines each."""
    fewest, found = len(lines), dict[int, int]()
    for period in range(1, min(len(lines) // 2, _MOST_LINES_REPEATED) + 1):
        if any(period % each == 0 and period <= far for each, far in found.items()):
            continue  # what repeats itself so far does so with each multiple as well
        alike = 0  # how many lines at the end are those so many lines before
        while alike + period < len(lines) and lines[-alike - 1] == lines[-alike - 1 - period]:
            alike += 1
        if alike >= period:
            found[period] = alike
            fewest = min(fewest, len(lines) - alike // period * period)
    return lines[:fewest]


def _shortened(text: str) -> str:
    if len(text) <= _SUBJECT_CHARACTERS:
        return text
    return text[:_SUBJECT_CHARACTERS].rpartition(" ")[0] or text[:_SUBJECT_CHARACTERS]


def plan_of_change(
    plan: Plan, change: Change, repo_files: Collection[str], regression: Sequence[str]
) -> Plan:
    """Return the plan of one order in a model's reply to a request for `change`.

    The reply is the order alone, without what the harness can say itself; an order that is
    complete, in a plan or alone, stays as it is but for the person's words. `regression` are those
    of the person's tests that verify the repo anyway, so they pass before the order, too.
    """
    document = plan.document
    if not isinstance(document, dict):
        return plan
    entries = document.get("work_orders", [document])
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
        problem = SchemaProblem(at("work_orders"), "must hold one order: a change is one commit")
        return replace(parse_plan({"work_orders": entries}), problems=(problem,))
    order = _completed(entries[0], change, frozenset(repo_files))
    if change.tests:
        order |= {"acceptance_files": [], "acceptance_commands": [*change.tests]}
        order["regression"] = [*regression]
    return parse_plan({"verify_contract": None, "work_orders": [order]})


def _completed(
    given: JsonObject, change: Change, repo_files: frozenset[str]
) -> dict[str, JsonValue]:
    """Return the order with what follows from its fields; a field of another form stays."""
    order = completed_order(given)
    allowed, context = order.get("allowed_files"), order["context_files"]
    if isinstance(allowed, list) and isinstance(context, list):
        wanted = (*allowed, *context, *change.files)
        paths = [each for each in wanted if isinstance(each, str)]
        there = dict.fromkeys(each for each in paths if each in repo_files)
        others = [each for each in context if not (isinstance(each, str) and each in there)]
        order["context_files"] = [*there, *others][:MAX_CONTEXT_FILES]
    return {**order, "id": order_id(1), "intent": change.text.strip()}


_NOTHING_LEFT = SchemaProblem(
    at("work_orders"), f"has no order left: the repo already has {VERIFY_SCRIPT}"
)
_NOTHING_NEEDED = SchemaProblem(
    at("work_orders"), f"has no order left: the repo is verified without {VERIFY_SCRIPT}"
)


def skip_bootstrap(plan: Plan, repo_files: Collection[str], *, verified: bool = False) -> Plan:
    """Return the plan without the orders that create a `scripts/verify.sh` the repo has.

    Where the repo is `verified` by other commands, orders that create nothing but the script are
    left out, and with them the contract that waits for it.

    The orders after them move up: ids, and the ids in `depends_on`, are renumbered in the plan's
    document. Each number falls by the count of dropped orders below it, so that the rules still
    find a gap or a duplicate.
    """
    dropped = left_out(plan, repo_files, verified=verified)
    if not dropped or not isinstance(plan.document, dict):
        return plan
    gone = sorted(_number(draft.label) or draft.position for draft in dropped)
    positions = {draft.position for draft in dropped}
    document = without_orders(plan.document, positions, gone)
    if VERIFY_SCRIPT not in repo_files:
        document["verify_contract"] = None
    shorter = parse_plan(document)
    if shorter.drafts:
        return shorter
    nothing = _NOTHING_LEFT if VERIFY_SCRIPT in repo_files else _NOTHING_NEEDED
    return replace(shorter, problems=(nothing,))


def without_orders(
    document: JsonObject, positions: Collection[int], gone: Sequence[int]
) -> dict[str, JsonValue]:
    """Return a plan's document without the orders at these positions; later ids move up.

    `gone` has the numbers of these orders, in sequence.
    """
    kept = [
        _moved_up(entry, gone)
        for position, entry in enumerate(_entries(document), 1)
        if position not in positions
    ]
    return resting_on(
        {**document, "work_orders": kept},
        lambda name: None if _number(name) in gone else str(_renumbered(name, gone)),
    )


def resting_on(document: JsonObject, renamed: Callable[[str], str | None]) -> dict[str, JsonValue]:
    """Return a plan's document whose assumptions name orders as `renamed` does; `None` for none.

    An assumption on which no order is left is left out.
    """
    listed = document.get("assumptions")
    if not isinstance(listed, list):
        return {**document}
    kept: list[JsonValue] = []
    for each in listed:
        names = each.get("work_orders") if isinstance(each, dict) else None
        if isinstance(each, dict) and isinstance(names, list) and names:
            now: list[JsonValue] = [renamed(e) if isinstance(e, str) else e for e in names]
            texts = dict.fromkeys(name for name in now if isinstance(name, str))
            others = (name for name in now if name is not None and not isinstance(name, str))
            once: list[JsonValue] = [*texts, *others]
            if once:
                kept.append({**each, "work_orders": once})
        else:
            kept.append(each)
    return {**document, "assumptions": kept}


def left_out(
    plan: Plan, repo_files: Collection[str], *, verified: bool = False
) -> tuple[Draft, ...]:
    """Return the orders of `plan` that `skip_bootstrap` leaves out."""
    if not isinstance(plan.document, dict):
        return ()
    creating = [draft for draft in plan.drafts if _creates_verify_script(draft)]
    if VERIFY_SCRIPT in repo_files:
        return tuple(creating)
    if not verified:
        return ()
    alone = (VERIFY_SCRIPT,)
    return tuple(each for each in creating if each.order and each.order.allowed_files == alone)


def render_left_out(draft: Draft, *, verified: bool = False) -> str:
    """Return a sentence on an order that is left out; it names the files left out with it."""
    title = f" ({draft.order.title})" if draft.order else ""
    files = draft.order.allowed_files if draft.order else ()
    others = ", ".join(sorted({*files} - {VERIFY_SCRIPT}))
    why = "the repo is verified without it" if verified else "which the repo has"
    sentence = f"{draft.label}{title} is left out: it creates {VERIFY_SCRIPT}, {why}"
    return f"{sentence}; these files are not written either: {others}" if others else sentence


def _creates_verify_script(draft: Draft) -> bool:
    """Say whether the order creates the script: it promises it, but does not require or read it.

    An order that removes files as well is still needed.
    """
    if draft.order is None or draft.order.removed_files:
        return False
    known = VERIFY_SCRIPT in draft.order.context_files or any(
        each.kind == "file_exists" and each.path == VERIFY_SCRIPT
        for each in draft.order.preconditions
    )
    return not known and any(each.path == VERIFY_SCRIPT for each in draft.order.postconditions)


def _entries(document: JsonValue) -> list[JsonValue]:
    match document:
        case {"work_orders": [*entries]}:
            return entries
        case _:
            return []


def _moved_up(entry: JsonValue, gone: Sequence[int]) -> JsonValue:
    if not isinstance(entry, dict):
        return entry
    moved = dict(entry)
    if "id" in moved:
        moved["id"] = _renumbered(moved["id"], gone)
    if isinstance(needed := moved.get("depends_on"), list):
        dropped = set(gone)
        moved["depends_on"] = [
            _renumbered(each, gone) for each in needed if _number(each) not in dropped
        ]
    return moved


def _renumbered(value: JsonValue, gone: Sequence[int]) -> JsonValue:
    number = _number(value)
    return value if number is None else order_id(number - bisect_left(gone, number))


def _number(value: JsonValue) -> int | None:
    return order_number(value) if isinstance(value, str) else None


_Orders = Mapping[str, JsonObject]


class EditKind(StrEnum):
    """Say what a person did with an order."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class OrderEdit:
    """Name an edited order, and the fields that differ from the order as it was planned.

    `source` is the file that counts. `fields` is empty if nothing says how the order was.
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
    the one that was edited. `plan` is the identity of that one, `None` if it has none.
    """

    document: JsonObject
    edits: tuple[OrderEdit, ...]
    plan: PlanFacts | None


def take_edits(documents: Mapping[str, JsonValue]) -> EditedPlan | None:
    """Return the plan that a person edited, from the documents of its files by name.

    If only the order files were edited, they count. If only the manifest was edited, it counts. If
    both were, the files count, or the manifest if there are no files. The result is `None` if
    nothing was edited, or if the folder has no manifest that could be made to agree.
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


def read_plan_folder(folder: Path) -> Plan:
    """Return the plan in `folder`: its manifest's orders, else those of its `WO-NN.json` files.

    Raises `InvalidInput` if there is nothing to judge, a file cannot be read, an order is in
    the file of another order, or the manifest and the order files disagree.
    """
    try:
        return parse_plan(read_stored_plan(folder).document)
    except FileMalformed as malformed:
        return unreadable_plan(f"{malformed.name}: {malformed.problem}")
