"""Checks the claims of a commit about its identity, its files and its parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from factory.attempt.apply_proposal import show_acceptance_files
from factory.audit.audit_evidence import Case, Claim, Ruling, contradicted, not_provable, proven
from factory.landing.stand_in import faults_of_change, is_laid_out, paths_of, text_at
from factory.orders.documents import ReplyRecord
from factory.orders.order_commit import OrderIdentity, identify
from factory.preflight import name_paths
from factory.proposal.read_reply import ProposalInvalid, ReplyReader
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import ShownFile, focus_of, parse_show_request
from factory.statement.compose_statement import remake_commits
from factory.statement.statement import Judged, Predicate, Statement
from shared.git import trees
from shared.git.client import Git
from shared.git.commits import is_id_of
from shared.languages.appended_tests import CannotAppend, whole_tests
from shared.projects.project_tools import find_formatters
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes
from shared.work_order.work_order import WorkOrder


def rule_on_order(case: Case) -> Ruling:
    """Return whether the order that the message names is the one that is stated or planned."""
    claim, statement = Claim.ORDER, case.statement
    if len(case.named) > 1:
        names = ", ".join(each.work_order for each in case.named)
        return contradicted(claim, f"it names several orders ({names}), as a squashed commit does")
    identity = case.identity
    if identity is None:
        if statement is None:
            return not_provable(claim, "it names no order")
        stated = statement.predicate.order.id
        return contradicted(claim, f"its message names no order, and its statement {stated}")
    if statement is not None and (fault := _fault_of_stated_order(identity, statement)):
        return contradicted(claim, fault)
    if case.order is not None:
        return proven(
            claim, f"{identity.work_order}, whose content has the key {identity.key[:12]}"
        )
    if case.plan is not None and identity.plan in case.plan.hashes:
        return contradicted(
            claim, f"the plan in {case.plan.path} has no order {identity.work_order} of this key"
        )
    return not_provable(
        claim,
        f"the content of {identity.work_order} is not at hand",
        "name the plan: `--plan DIR`",
    )


def _fault_of_stated_order(identity: OrderIdentity, statement: Statement) -> str:
    """Return how the order of a statement is not the one that the message names; "" if it is."""
    stated = statement.predicate
    if fault := fault_of_order_part(stated):
        return fault
    computed = identify(stated.order.document, stated.plan.manifest_sha256 if stated.plan else "")
    if computed.work_order != identity.work_order:
        return f"its message names {identity.work_order}, and its statement {computed.work_order}"
    if computed.key != identity.key:
        return f"its message names another {identity.work_order} than its statement"
    if computed.plan != identity.plan:
        return "its message names another plan than its statement"
    return ""


def fault_of_order_part(stated: Judged) -> str:
    """Return what a statement says of its order that the order itself does not; "" if nothing."""
    computed = identify(stated.order.document, "")
    if computed.key != stated.order.key or computed.work_order != stated.order.id:
        return "the order in its statement does not have the key or the id that is stated for it"
    if stated.requirements != tuple(dict.fromkeys(stated.order.document.covers)):
        return "its statement names other requirements than its order"
    return ""


def rule_on_commit(case: Case) -> Ruling:
    """Return whether the commit is, byte for byte, what llmch makes of its order and its tree."""
    claim, commit, identity = Claim.COMMIT, case.commit, case.identity
    if not commit.is_intact:
        return contradicted(claim, "its bytes are not those that its id names: the repo is damaged")
    if fault := _fault_of_form(case):
        return contradicted(claim, fault)
    if identity is None:
        return not_provable(claim, "it names no order")
    if case.statement is None or case.order is None:
        return not_provable(claim, "what its message was made from is in the statement")
    terms = case.statement.predicate.terms
    made = remake_commits(case.order, identity, terms, commit.tree, case.parent)
    if commit.raw not in made:
        return contradicted(claim, "its message, author or date is not what llmch makes")
    return proven(claim, "made again from its order, tree and parent, it is the same commit")


def _fault_of_form(case: Case) -> str:
    """Return how the commit differs in form from all that llmch makes; "" if it does not."""
    commit = case.commit
    if not case.concerns_llmch:
        return ""
    if len(commit.parents) != 1:
        return f"it has {len(commit.parents)} parents, and a commit of an order has one"
    if commit.headers != ("tree", "parent", "author", "committer"):
        other = [each for each in commit.headers if each not in _HEADERS]
        return f"it has what llmch never writes into a commit: {', '.join(filter(None, other))}"
    if commit.author != commit.committer:
        return "author and committer differ: somebody amended, rebased or picked it"
    if not commit.author.endswith(" +0000"):
        return "its date is not in UTC"
    return ""


_HEADERS = ("tree", "parent", "author", "committer")


def rule_on_plan(case: Case) -> Ruling | None:
    """Return whether the order is one of its plan; `None` for an order that names no plan."""
    claim, identity, plan = Claim.PLAN, case.identity, case.plan
    named = plan is not None and plan.named
    if identity is None or not (identity.plan or named):
        return None
    if plan is None:
        return not_provable(
            claim, f"the plan {identity.plan[:12]} is not at hand", "name it: `--plan DIR`"
        )
    if identity.plan not in plan.hashes:
        if not named:
            return not_provable(
                claim,
                f"{plan.path} holds another plan now than {identity.plan[:12]}",
                "name the plan: `--plan DIR`",
            )
        stated = f"the plan {identity.plan[:12]}" if identity.plan else "no plan"
        return contradicted(claim, f"it names {stated}, which is not the one in {plan.path}")
    for each in plan.orders:
        if identify(each.order, identity.plan) == identity:
            return proven(claim, f"{each.order.id} of the plan in {plan.path}")
    return contradicted(
        claim, f"the plan in {plan.path} has no order {identity.work_order} of this key"
    )


SHALLOW = "its parent is not in this repo, which is a shallow clone"
_NO_FILTER = ("", "unset", "unspecified")
UNSHALLOW = "`git fetch --unshallow`"


def rule_on_parent(case: Case) -> Ruling:
    """Return whether the parent is the base on which the commit was judged."""
    claim, stated = Claim.PARENT, case.stated
    if stated is None:
        return not_provable(claim, "what it was judged on is in the statement")
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
        return not_provable(claim, "what it may change is in the order, which is not at hand")
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
    changed = trees.files_between(case.git, case.parent, case.commit.id)
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
        return not_provable(claim, "which reply it comes from is in the statement")
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
        now = trees.entries_of(git, case.commit.id, sorted(written))
        exact = all(is_id_of(now[path].object_id, written[path]) for path in written)
        how = "exactly these files" if exact else "these files but for their layout"
        return proven(claim, f"read again on the parent, it gives {how}")
    if formatter := _formatter_of(git, case.parent, other):
        return not_provable(claim, f"{formatter} may have changed {name_paths(other)} after it")
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
        if path not in now or not is_laid_out(git, path, now[path], content)
    ]
    rest = (path for path in order.allowed_files if path not in written)
    return sorted((*other, *(path for path in rest if now.get(path) != before.get(path))))


def _formatter_of(git: Git, parent: str, paths: Sequence[str]) -> str:
    """Return a formatter if the parent's files name one for each of the paths; "" if not."""

    def read(path: str) -> str:
        return (trees.content_of(git, parent, path) or b"").decode(errors="replace")

    found = find_formatters(trees.files_of(git, parent), read, paths)
    return found[paths[0]].name if len(found) == len(paths) else ""


def _stored_by_a_filter(git: Git, paths: Sequence[str]) -> str:
    """Return the first path that a filter (git-lfs) rewrites on its way into a commit, or ""."""
    found = trees.attributes_of(git, paths, ("filter",))
    return next((each for each in paths if found[each]["filter"] not in _NO_FILTER), "")


def _proposal_of(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    replies: Sequence[ReplyRecord],
    texts: Sequence[str],
) -> dict[str, bytes]:
    """Return the files of the proposal in the last of an attempt's replies.

    Raises `ProposalInvalid` if the last reply is not a proposal.
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
    try:
        tests = tuple(whole_tests(order.acceptance_files, partial(text_at, git, parent)))
    except CannotAppend as refused:
        raise ProposalInvalid(f"{refused.path} {refused}") from None
    placed = show_acceptance_files(order, tests)
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


def rule_on_chain(commits: Sequence[Sequence[Case]], *, shallow: bool) -> Ruling:
    """Return whether each commit follows the one before it, and each order is made once.

    `commits` has the cases of each, oldest first. A commit that a person made in between has no
    proof, so the range is not proven, unless that commit was accepted for an order.
    """
    claim = Claim.CHAIN
    seen: dict[OrderIdentity, str] = {}
    first = [each[0] for each in commits]
    for before, case, cases in zip((None, *first), first, commits, strict=False):
        name = _name(case)
        if before is not None and case.parent != before.commit.id:
            return contradicted(claim, f"{name} does not follow {_name(before)}")
        bases = (each.stated.base.commit for each in cases if each.stated)
        if other := next((each for each in bases if each != case.parent), ""):
            return contradicted(claim, f"{name} was judged on {other[:12]}, which is not before it")
        for each in case.named:
            if earlier := seen.get(each):
                return contradicted(claim, f"{name} carries out {each.work_order} after {earlier}")
            seen[each] = name
    bare = [_name(each[0]) for each in commits if not any(case.stated for case in each)]
    if bare:
        return not_provable(claim, f"no statement says on what it was judged: {', '.join(bare)}")
    if shallow and not first[0].has_parent:
        return not_provable(
            claim, "this is a shallow clone: nothing before it is here", "`git fetch --unshallow`"
        )
    number = len(commits)
    return proven(claim, f"{number} commit{'' if number == 1 else 's'}, each judged on its parent")


def _name(case: Case) -> str:
    return case.commit.id[:12]
