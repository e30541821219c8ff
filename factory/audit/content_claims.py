"""Looks into what a commit holds: its parent, its files, and the reply that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from factory.attempt.placing import show_acceptance_files
from factory.audit.case import Case
from factory.audit.claims import Claim, Ruling, contradicted, not_provable, proven
from factory.landing.order_change import faults_of_change, paths_of
from factory.orders.reply_record import ReplyRecord
from factory.proposal.focus import focus_of
from factory.proposal.read_reply import ProposalInvalid
from factory.proposal.reply_reader import ReplyReader
from factory.proposal.scope import FileKind, FileState
from factory.proposal.show_request import parse_show_request
from factory.proposal.shown import ShownFile
from factory.repo.path_names import name_paths
from factory.statement.document import Predicate
from shared.git import index, patches, trees
from shared.git.client import Git
from shared.git.object_ids import is_id_of
from shared.work_order.hashing import EMPTY_SHA256, sha256_bytes
from shared.work_order.schemas import WorkOrder

SHALLOW = "its parent is not in this repo, which is a shallow clone"
_NO_FILTER = ("", "unset", "unspecified")
UNSHALLOW = "`git fetch --unshallow`"


def rule_on_parent(case: Case) -> Ruling:
    """Return whether the parent is the base on which the commit was judged."""
    claim, stated = Claim.PARENT, case.stated
    if stated is None:
        return not_provable(claim, "what it was judged on stands in the statement")
    base, parents = stated.base, case.commit.parents
    # A person's commit may be a merge.
    if (parents if case.statement else parents[:1]) != (base.commit,):
        return contradicted(claim, f"it was judged on {base.commit[:12]}, which is not its parent")
    if not case.has_parent:
        return not_provable(claim, SHALLOW, UNSHALLOW)
    if trees.tree_of(case.git, base.commit) != base.tree:
        return contradicted(claim, f"its parent does not have the tree {base.tree[:12]} it names")
    return proven(claim, f"judged on {base.commit[:12]}")


def rule_on_files(case: Case) -> Ruling:
    """Return whether the commit changes what its order allows, and what its statement lists."""
    claim = Claim.FILES
    if case.order is None:
        return not_provable(claim, "what it may change stands in the order, which is not at hand")
    if not case.has_parent or not case.parent:
        return not_provable(claim, SHALLOW, UNSHALLOW)
    for fault in faults_of_change(case.git, case.order, case.parent, case.commit.id):
        return contradicted(claim, fault)
    if case.statement is None:
        return not_provable(claim, "it changes what its order allows; what was judged is not known")
    if fault := _unlike_stated(case, case.statement.predicate):
        return contradicted(claim, fault)
    written = len(case.statement.predicate.change.written)
    return proven(claim, f"{written} written, {len(case.order.removed_files)} removed")


def _unlike_stated(case: Case, predicate: Predicate) -> str:
    """Return which files are not those of the statement; "" if all are."""
    order = case.order
    assert order is not None, "there is an order to compare with"
    stated = {each.path: each.sha256 for each in predicate.change.written}
    changed = patches.files_between(case.git, case.parent, case.commit.id)
    known = {*stated, *order.removed_files}
    if silent := sorted(changed - known):
        return f"its statement does not say that it writes {name_paths(silent)}"
    if other := sorted(known - paths_of(order)):
        return f"its statement writes what the order does not allow: {name_paths(other)}"
    now = trees.hashes_of(case.git, case.commit.id, sorted(stated))
    if other := sorted(path for path, digest in stated.items() if now.get(path) != digest):
        return f"its files are not those that were judged: {name_paths(other)}"
    if sorted(predicate.change.removed) != sorted(order.removed_files):
        return "its statement removes other files than its order"
    return ""


def rule_on_reply(case: Case) -> Ruling:
    """Return whether the recorded replies, read on the parent, give exactly the commit's files."""
    claim, statement, order = Claim.REPLY, case.statement, case.order
    if statement is None or order is None:
        return not_provable(claim, "which reply it comes from stands in the statement")
    replies = statement.predicate.replies
    if not order.asks_model:
        if replies:
            return contradicted(claim, "its order asks no model, and its statement names a reply")
        return proven(claim, "its order only removes files, so no model was asked")
    if not replies:
        return contradicted(claim, "its statement names no reply")
    if not case.has_parent:
        return not_provable(claim, SHALLOW, UNSHALLOW)
    known = case.evidence.replies_of_run(statement.predicate.tool.run)
    missing = [each.sha256 for each in replies if each.sha256 not in known]
    if missing:
        return not_provable(
            claim,
            f"the reply {missing[0][:12]} is in no record here",
            "bring the run's records (`--artifacts-dir DIR`) or its transcript "
            "(`--transcript FILE`)",
        )
    texts = [known[each.sha256] for each in replies]
    return _read_again(case, order, replies, texts)


def _read_again(
    case: Case, order: WorkOrder, replies: Sequence[ReplyRecord], texts: Sequence[str]
) -> Ruling:
    claim, git = Claim.REPLY, case.git
    try:
        written = _proposal_of(order, tuple(_shown(git, order, case.parent)), replies, texts)
        other = _unlike(git, case, order, written)
        wrong = f"its files are not those of the recorded reply: {name_paths(other)}"
    except ProposalInvalid as invalid:
        other = list(order.allowed_files)
        first = str(invalid).partition("\n")[0]
        wrong = f"the recorded reply is not a proposal on its parent: {first}"
    if not other:
        return proven(claim, "read again on the parent, it gives exactly these files")
    if filtered := _stored_by_a_filter(git, other):
        return not_provable(claim, f"a filter of git stores something else of {filtered}")
    return contradicted(claim, wrong)


def _unlike(git: Git, case: Case, order: WorkOrder, written: Mapping[str, bytes]) -> list[str]:
    """Return the order's files that are neither as a proposal writes them nor as they were."""
    before = trees.entries_of(git, case.parent, order.allowed_files)
    now = trees.entries_of(git, case.commit.id, order.allowed_files)
    other = [
        path
        for path, content in written.items()
        if path not in now or not is_id_of(now[path].object_id, content)
    ]
    rest = (path for path in order.allowed_files if path not in written)
    return sorted((*other, *(path for path in rest if now.get(path) != before.get(path))))


def _stored_by_a_filter(git: Git, paths: Sequence[str]) -> str:
    """Return the first path that a filter (git-lfs) rewrites on its way into a commit, or ""."""
    found = index.attributes_of(git, paths, ("filter",))
    return next((each for each in paths if found[each]["filter"] not in _NO_FILTER), "")


def _proposal_of(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    replies: Sequence[ReplyRecord],
    texts: Sequence[str],
) -> dict[str, bytes]:
    """Return the files of the proposal in the last of an attempt's replies.

    Raises `ProposalInvalid` where the last reply is none.
    """
    reader = ReplyReader(order)
    for number, (record, text) in enumerate(zip(replies, texts, strict=True), 1):
        if parse_show_request(text):
            continue
        focus = focus_of(order, shown) if record.focused else None
        try:
            parsed = reader.read(text, shown, record.asked, focus)
        except ProposalInvalid:
            if number == len(replies):
                raise
            continue
        if number == len(replies):
            return {each.path: each.content.encode() for each in parsed.proposal.writes}
    raise ProposalInvalid("the last reply asks to see more of a file")


def _shown(git: Git, order: WorkOrder, parent: str) -> Iterator[ShownFile]:
    """Yield the files as the prompt showed them, whole."""
    placed = show_acceptance_files(order)
    known = {each.path for each in placed}
    paths = dict.fromkeys((*order.context_files, *order.allowed_files))
    entries = trees.entries_of(git, parent, tuple(paths))
    blobs = trees.blobs(git, tuple({each.object_id for each in entries.values()}))
    for path in paths:
        if path in known:
            continue
        data = blobs.get(entries[path].object_id) if path in entries else None
        if data is None:
            yield ShownFile(path, FileState(FileKind.ABSENT, EMPTY_SHA256), "")
        else:
            state = FileState(FileKind.FILE, sha256_bytes(data))
            yield ShownFile(path, state, data.decode("utf-8", "replace"))
    yield from placed
