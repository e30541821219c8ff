"""Whoever changes a commit, its statement or its place is contradicted, and by name."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from factory.audit.audit_evidence import Claim
from factory.orders.documents import reply_sha256
from factory.statement.statement import PROOF_REF
from shared.work_order.parse_order import order_key, parse_document
from shared.work_order.work_order import WorkOrder
from tests.factory.audit.forging import Forger
from tests.factory.audit.honest import Auditor, contradictions, describe
from tests.harness import Json, git

ONE, TWO, THREE, FOUR = range(4)


# Commits that were changed, with the statements as they are


def another_message(forger: Forger) -> None:
    forger.on(THREE)
    forger.amend("--message=WO-03: Something else")


def another_subject_above_the_same_trailers(forger: Forger) -> None:
    message = forger.text(forger.commits[THREE]).partition("\n\n")[2]
    forger.remade(forger.commits[THREE], message=message.replace("Say hello", "Say nothing"))


def one_byte_more(forger: Forger) -> None:
    forger.on(THREE)
    forger.amend(files={"three.txt": "three\n\n"})


def one_byte_more_under_the_same_date(forger: Forger) -> None:
    commit = forger.commits[THREE]
    forger.remade(commit, tree=forger.tree_with(commit, {"three.txt": "three\n\n"}))


def another_date(forger: Forger) -> None:
    forger.on(THREE)
    forger.amend("--no-edit", "--date=@1000000000 +0000")


def another_author(forger: Forger) -> None:
    forger.on(THREE)
    forger.amend("--no-edit", "--author=Eve <eve@example.org>")


def rebased(forger: Forger) -> None:
    git(forger.repo, "switch", "--quiet", "main")
    git(forger.repo, "commit", "--quiet", "--allow-empty", "--message=more")
    git(forger.repo, "rebase", "--quiet", "main", "work")


def rebased_under_the_same_date(forger: Forger) -> None:
    git(forger.repo, "switch", "--quiet", "main")
    git(forger.repo, "commit", "--quiet", "--allow-empty", "--message=more")
    forger.remade(forger.commits[ONE], parent=git(forger.repo, "rev-parse", "main"))


def squashed(forger: Forger) -> None:
    forger.on(FOUR)
    messages = git(forger.repo, "log", "--format=%B", "main..work")
    git(forger.repo, "reset", "--quiet", "--soft", "main")
    git(forger.repo, "commit", "--quiet", f"--message={messages}")


def squashed_without_trailers(forger: Forger) -> None:
    forger.on(FOUR)
    git(forger.repo, "reset", "--quiet", "--soft", "main")
    git(forger.repo, "commit", "--quiet", "--message=All of it")


def an_order_left_out(forger: Forger) -> None:
    forger.on(FOUR)
    git(forger.repo, "rebase", "--quiet", "--onto", forger.commits[ONE], forger.commits[TWO])


def orders_in_another_sequence(forger: Forger) -> None:
    git(forger.repo, "switch", "--quiet", "--detach", forger.commits[ONE])
    git(forger.repo, "cherry-pick", forger.commits[FOUR], forger.commits[TWO])
    git(forger.repo, "update-ref", "refs/heads/work", "HEAD")


def an_order_twice(forger: Forger) -> None:
    forger.on(FOUR)
    git(forger.repo, "revert", "--no-edit", forger.commits[FOUR])
    git(forger.repo, "cherry-pick", forger.commits[FOUR])


def the_trailers_of_another_order(forger: Forger) -> None:
    message = forger.text(forger.commits[ONE]).partition("\n\n")[2]
    forger.remade(forger.commits[TWO], message=message)


def work_of_a_person_with_the_trailers_of_an_order(forger: Forger) -> None:
    message = forger.text(forger.commits[THREE]).partition("\n\n")[2]
    forger.on(TWO)
    (forger.repo / "three.txt").write_text("mine\n")
    git(forger.repo, "add", "three.txt")
    git(forger.repo, "commit", "--quiet", f"--message={message}")


def without_its_trailers(forger: Forger) -> None:
    forger.on(THREE)
    forger.amend("--message=Say hello")


def a_file_beside_the_allowed_ones(forger: Forger) -> None:
    forger.on(THREE)
    forger.amend(files={"evil.py": "import os\n"})


def a_link_in_the_place_of_a_file(forger: Forger) -> None:
    forger.on(THREE)
    (forger.repo / "three.txt").unlink()
    (forger.repo / "three.txt").symlink_to("/etc/passwd")
    forger.amend()


def the_plans_test_made_weaker(forger: Forger) -> None:
    forger.on(TWO)
    forger.amend(files={"tests/wanted.txt": "anything\n"})


def a_file_kept_that_the_order_removes(forger: Forger) -> None:
    forger.on(FOUR)
    forger.amend(files={"README.md": "# A project\n"})


def a_second_parent(forger: Forger) -> None:
    raw = forger.text(forger.commits[THREE])
    main = git(forger.repo, "rev-parse", "main")
    forger.write(raw.replace("\nauthor ", f"\nparent {main}\nauthor ", 1))


def a_header_that_nobody_looks_at(forger: Forger) -> None:
    raw = forger.text(forger.commits[THREE])
    forger.write(raw.replace("\n\n", "\nnote anything\n\n", 1))


def shown_as_the_honest_commit_by_a_replacement(forger: Forger) -> None:
    forger.on(THREE)
    forged = forger.amend(files={"three.txt": "three\n\n"})
    git(forger.repo, "replace", forged, forger.commits[THREE])


AMENDED: dict[Callable[[Forger], None], Claim] = {
    another_message: Claim.STATEMENT,
    another_subject_above_the_same_trailers: Claim.STATEMENT,
    one_byte_more: Claim.STATEMENT,
    one_byte_more_under_the_same_date: Claim.STATEMENT,
    another_date: Claim.STATEMENT,
    another_author: Claim.STATEMENT,
    rebased: Claim.STATEMENT,
    rebased_under_the_same_date: Claim.STATEMENT,
    squashed: Claim.ORDER,
    squashed_without_trailers: Claim.STATEMENT,
    an_order_left_out: Claim.STATEMENT,
    orders_in_another_sequence: Claim.STATEMENT,
    an_order_twice: Claim.CHAIN,
    the_trailers_of_another_order: Claim.STATEMENT,
    work_of_a_person_with_the_trailers_of_an_order: Claim.STATEMENT,
    without_its_trailers: Claim.STATEMENT,
    a_file_beside_the_allowed_ones: Claim.STATEMENT,
    a_link_in_the_place_of_a_file: Claim.STATEMENT,
    the_plans_test_made_weaker: Claim.STATEMENT,
    a_file_kept_that_the_order_removes: Claim.STATEMENT,
    a_second_parent: Claim.COMMIT,
    a_header_that_nobody_looks_at: Claim.COMMIT,
    shown_as_the_honest_commit_by_a_replacement: Claim.STATEMENT,
}


# Statements that were moved or changed; nobody has signed them


def a_statement_taken_along(forger: Forger) -> None:
    forger.on(THREE)
    forged = forger.amend(files={"three.txt": "three\n\n"})
    git(forger.repo, "notes", f"--ref={PROOF_REF}", "copy", forger.commits[THREE], forged)


def the_statement_of_another_order(forger: Forger) -> None:
    git(
        forger.repo, "notes", f"--ref={PROOF_REF}", "copy", "--force",
        forger.commits[ONE], forger.commits[TWO],
    )  # fmt: skip


def a_byte_more_and_a_statement_for_it(forger: Forger) -> None:
    commit = forger.commits[THREE]
    forged = forger.remade(commit, tree=forger.tree_with(commit, {"three.txt": "three\n!\n"}))
    forger.state_of(THREE, forged, forger.rehash(forged))


def an_allowed_file_more_and_a_statement_for_it(forger: Forger) -> None:
    commit = forger.commits[THREE]
    forged = forger.remade(commit, tree=forger.tree_with(commit, {"may.txt": "more\n"}))
    forger.state_of(THREE, forged)


def a_forbidden_file_and_a_statement_for_it(forger: Forger) -> None:
    commit = forger.commits[THREE]
    forged = forger.remade(commit, tree=forger.tree_with(commit, {"evil.py": "import os\n"}))
    forger.state_of(THREE, forged)


def other_hashes_of_files(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        statement["predicate"]["change"]["written"][0]["sha256"] = "0" * 64

    forger.restate(forger.commits[THREE], edit)


def a_file_that_the_statement_passes_over(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        del statement["predicate"]["change"]["written"][0]

    forger.restate(forger.commits[THREE], edit)


def a_path_that_git_would_not_take(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        written = {"path": "/etc/\0passwd", "sha256": "0" * 64}
        statement["predicate"]["change"]["written"].append(written)

    forger.restate(forger.commits[THREE], edit)


def an_order_that_allows_more(forger: Forger) -> None:
    forger.restate(forger.commits[THREE], lambda each: _allow(each, "evil.py"))


def an_order_of_nobodys_plan(forger: Forger) -> None:
    commit = forger.commits[THREE]
    before = forger.statement(commit)["predicate"]["order"]["key"]
    statement = forger.statement(commit)
    _allow(statement, "evil.py")
    now = statement["predicate"]["order"]["key"]
    tree = forger.tree_with(commit, {"evil.py": "import os\n"})
    message = forger.text(commit).partition("\n\n")[2].replace(before, now)
    forged = forger.remade(commit, tree=tree, message=message)
    forger.state_of(THREE, forged, lambda each: _allow(each, "evil.py"))


def _allow(statement: Json, path: str) -> None:
    part = statement["predicate"]["order"]
    part["document"]["allowed_files"].append(path)
    part["key"] = order_key(parse_document(WorkOrder, part["document"]))


def another_base(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        statement["predicate"]["base"]["commit"] = forger.commits[ONE]

    forger.restate(forger.commits[THREE], edit)


def another_tree_of_the_base(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        tree = git(forger.repo, "rev-parse", "main^{tree}")
        statement["predicate"]["base"]["tree"] = tree

    forger.restate(forger.commits[THREE], edit)


def another_summary(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        statement["predicate"]["terms"]["summary"] = "reviewed by Ada"

    forger.restate(forger.commits[THREE], edit)


def other_requirements(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        statement["predicate"]["requirements"] = ["R1", "R2"]

    forger.restate(forger.commits[ONE], edit)


def acceptance_that_cannot_fail(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        statement["predicate"]["commands"][-1]["command"] = ["true"]

    forger.restate(forger.commits[THREE], edit)


def a_command_that_failed(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        statement["predicate"]["commands"][-1]["exit_code"] = 1

    forger.restate(forger.commits[THREE], edit)


def a_command_outside_of_any_sandbox(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        statement["predicate"]["commands"][-1]["sandbox"] = -1

    forger.restate(forger.commits[THREE], edit)


def the_reply_of_an_attempt_that_failed(forger: Forger) -> None:
    rejected = (forger.run_folder / "WO-02/attempt_1/raw_llm_response.txt").read_text()

    def edit(statement: Json) -> None:
        statement["predicate"]["replies"][0]["sha256"] = reply_sha256(rejected)

    forger.restate(forger.commits[TWO], edit)


def no_reply_at_all(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        statement["predicate"]["replies"] = []

    forger.restate(forger.commits[THREE], edit)


def a_signature_that_is_not_there(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        statement["predicate"]["signed"] = "ssh"

    forger.restate(forger.commits[THREE], edit)


def a_note_of_anything(forger: Forger) -> None:
    forger.note(forger.commits[THREE], "verified, trust me\n")


def a_payload_of_another_type(forger: Forger) -> None:
    text = git(forger.repo, "notes", f"--ref={PROOF_REF}", "show", forger.commits[THREE])
    forger.note(forger.commits[THREE], json.dumps({**json.loads(text), "payloadType": "text/x"}))


def a_predicate_of_another_type(forger: Forger) -> None:
    def edit(statement: Json) -> None:
        statement["predicateType"] = "https://slsa.dev/provenance/v1"

    forger.restate(forger.commits[THREE], edit)


STATED: dict[Callable[[Forger], None], Claim] = {
    a_statement_taken_along: Claim.STATEMENT,
    the_statement_of_another_order: Claim.STATEMENT,
    a_byte_more_and_a_statement_for_it: Claim.REPLY,
    an_allowed_file_more_and_a_statement_for_it: Claim.REPLY,
    a_forbidden_file_and_a_statement_for_it: Claim.FILES,
    other_hashes_of_files: Claim.FILES,
    a_file_that_the_statement_passes_over: Claim.FILES,
    a_path_that_git_would_not_take: Claim.FILES,
    an_order_that_allows_more: Claim.ORDER,
    an_order_of_nobodys_plan: Claim.PLAN,
    another_base: Claim.PARENT,
    another_tree_of_the_base: Claim.PARENT,
    another_summary: Claim.COMMIT,
    other_requirements: Claim.ORDER,
    acceptance_that_cannot_fail: Claim.CHECKS,
    a_command_that_failed: Claim.CHECKS,
    a_command_outside_of_any_sandbox: Claim.CHECKS,
    the_reply_of_an_attempt_that_failed: Claim.REPLY,
    no_reply_at_all: Claim.REPLY,
    a_signature_that_is_not_there: Claim.SIGNATURE,
    a_note_of_anything: Claim.STATEMENT,
    a_payload_of_another_type: Claim.STATEMENT,
    a_predicate_of_another_type: Claim.STATEMENT,
}

FORGERIES = AMENDED | STATED


@pytest.mark.rest
@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_a_forgery_is_contradicted(forger: Forger, forge: Callable[[Forger], None]) -> None:
    auditor = Auditor(forger.repo, forger.artifacts)
    assert contradictions(auditor.look()) == []
    forge(forger)
    found = auditor.look()
    assert FORGERIES[forge] in contradictions(found), describe(found)


def test_there_are_at_least_thirty() -> None:
    assert len(FORGERIES) >= 30
