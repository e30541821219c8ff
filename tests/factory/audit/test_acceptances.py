"""Commits of people that stand for orders carry a statement of their own: judged, and no reply."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from factory.audit.audit_evidence import Claim, ClaimState
from factory.statement.statement import PROOF_REF, read_envelopes
from shared.git.client import Git
from shared.work_order.parse_order import order_key, parse_document
from shared.work_order.work_order import WorkOrder
from tests import provenance_schema
from tests.factory.audit.forging import Edit, Forger, MadeBranch, forger_of_copy, made_in
from tests.factory.audit.honest import PROVEN, Auditor, contradictions, describe, of_claim
from tests.factory.audit.test_rerun import checks, rerun
from tests.factory.batch.batching import each_writes, step
from tests.factory.batch.taking_over import Person
from tests.fakes import refused
from tests.harness import Factory, Json, git, manifest, write_plan

MADE, ACCEPTED, AFTER = range(3)
BEYOND = "notes/more.txt"
TEST = {"path": "tests/check.txt", "content": "by hand\n"}
OF_A_PERSON = PROVEN | {
    Claim.ORDER: ClaimState.NOT_PROVABLE,
    Claim.COMMIT: ClaimState.NOT_PROVABLE,
    Claim.REPLY: ClaimState.NOT_PROVABLE,
}


def take_over(factory: Factory) -> Person:
    """Run three orders, the second of which fails and is needed by the third."""
    git(factory.repo, "config", "user.name", "Ada")
    git(factory.repo, "config", "user.email", "ada@example.org")
    two = step(
        2,
        acceptance_files=[TEST],
        acceptance_commands=["grep -q hand 2.txt"],
        covers=["R-2"],
    )
    orders = [step(1), two, step(3, depends_on=["WO-02"])]
    replies = {**each_writes(1), "WO-02": [refused()] * 3}
    factory.run_all(manifest(orders), replies, max_attempts=1)
    return Person(factory)


def by_hand(person: Person) -> str:
    """Commit the work of the second order by hand, with a file more than it allows."""
    return person.commits("2.txt", TEST["path"], BEYOND)


def make_accepted_branch(factory: Factory) -> tuple[str, ...]:
    """Return three commits: llmch's, a person's that was accepted for the second order, llmch's."""
    person = take_over(factory)
    commit = by_hand(person)
    assert person.accept("WO-02", commit, allow_more=True).failure is None
    factory.run_all(factory.scratch / "plan", each_writes(3))
    return tuple(git(factory.repo, "rev-list", "--reverse", "main..work").split())


@pytest.fixture(scope="module")
def accepted_branch(template_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> MadeBranch:
    """The folder of a repo with such a branch, its plan and its records; and the commits."""
    return made_in(tmp_path_factory.mktemp("accepted"), template_repo, make_accepted_branch)


@pytest.fixture
def forger(accepted_branch: MadeBranch, tmp_path: Path) -> Forger:
    return forger_of_copy(accepted_branch, tmp_path)


def notes_on(factory: Factory, commit: str) -> list[Json]:
    """Return the statements on a commit, in their sequence."""
    note = read_envelopes(Git(factory.repo)).get(commit, b"")
    forger = Forger(factory.repo, factory.artifacts, ())
    return [forger.payload(each.decode()) for each in note.splitlines() if each]


# What is proven


def test_a_persons_commit_is_proven_as_far_as_it_can_be(forger: Forger) -> None:
    found = Auditor(forger.repo, forger.artifacts).look()
    assert [each.accepted for each in found.commits] == [(), ("WO-02",), ()]
    ruled = {each.claim: each.standing for each in found.commits[ACCEPTED].rulings}
    assert {**ruled, Claim.CHAIN: found.chain.standing} == OF_A_PERSON, describe(found)
    assert "Ada <ada@example.org>" in of_claim(found, Claim.STATEMENT, ACCEPTED).text
    assert "a person" in of_claim(found, Claim.REPLY, ACCEPTED).text
    assert "beyond what the order allows" in of_claim(found, Claim.FILES, ACCEPTED).text


def test_a_clone_without_notes_says_that_it_may_have_been_accepted(
    forger: Forger, tmp_path: Path
) -> None:
    source = f"file://{forger.repo}"
    git(tmp_path, "clone", "--quiet", "--branch=work", source, "clone")
    clone = Auditor(tmp_path / "clone", forger.artifacts)
    ruling = of_claim(clone.look("origin/main..work"), Claim.STATEMENT, ACCEPTED)
    assert ruling.standing is ClaimState.NOT_PROVABLE and "may have been accepted" in ruling.text
    git(tmp_path / "clone", *ruling.remedy.split("`")[1].split()[1:])
    found = clone.look("origin/main..work")
    assert of_claim(found, Claim.STATEMENT, ACCEPTED).standing is ClaimState.PROVEN, describe(found)


def test_its_commands_pass_again(forger: Forger) -> None:
    found = rerun(forger.repo, forger.artifacts)
    assert {checks(found, each) for each in range(3)} == {ClaimState.PROVEN}, describe(found)


def test_its_statement_keeps_the_schema_and_names_no_reply(forger: Forger) -> None:
    statement = forger.statement(forger.commits[ACCEPTED])
    jsonschema.Draft202012Validator(json.loads(provenance_schema.PATH.read_text())).validate(
        statement
    )
    predicate = statement["predicate"]
    assert statement["predicateType"] == "urn:llmch:acceptance:v1"
    assert not {"replies", "models", "attempts", "terms"} & predicate.keys()
    assert predicate["beyond"] == [BEYOND]
    assert predicate["accepted_by"] == {"name": "Ada", "email": "ada@example.org"}
    assert [each["stage"] for each in predicate["commands"]] == ["verification", "acceptance"]


@pytest.mark.rest
def test_a_commit_stands_for_two_orders_with_a_statement_for_each(factory: Factory) -> None:
    either = {"allowed_files": ["1.txt", "2.txt"]}
    factory.run_all(
        manifest([step(1, **either), step(2, **either)]), {"WO-01": [refused()]}, max_attempts=1
    )
    git(factory.repo, "branch", "--force", "work", "main")
    person = Person(factory)
    commit = person.commits("1.txt", "2.txt")
    for name in ("WO-01", "WO-02", "WO-01"):
        assert person.accept(name, commit).failure is None
    found = Auditor(factory.repo, factory.artifacts).look("work")
    assert contradictions(found) == [], describe(found)
    assert found.commits[0].accepted == ("WO-02", "WO-01")
    person.take_back("WO-02")
    assert [each["predicate"]["order"]["id"] for each in notes_on(factory, commit)] == ["WO-01"]
    person.take_back("WO-01")
    assert notes_on(factory, commit) == []


@pytest.mark.rest
def test_another_commit_for_the_same_order_takes_the_first_ones_place(factory: Factory) -> None:
    person = take_over(factory)
    first = by_hand(person)
    assert person.accept("WO-02", first, allow_more=True).failure is None
    second = person.commits("2.txt", TEST["path"], text="by hand\nagain\n")
    second = person.commits("2.txt", TEST["path"], text=TEST["content"])
    assert person.accept("WO-02", second).failure is None
    assert (len(notes_on(factory, first)), len(notes_on(factory, second))) == (0, 1)
    assert contradictions(Auditor(factory.repo, factory.artifacts).look()) == []


def test_a_merge_that_was_accepted_is_proven(factory: Factory) -> None:
    person = take_over(factory)
    git(factory.repo, "branch", "side", "work")
    person.commits("2.txt", TEST["path"], branch="side")
    git(factory.repo, "switch", "--quiet", "work")
    git(factory.repo, "merge", "--quiet", "--no-ff", "--message=merged", "side")
    git(factory.repo, "switch", "--quiet", "main")
    assert person.accept("WO-02", "work").failure is None
    found = Auditor(factory.repo, factory.artifacts).look("work")
    assert {each.claim: each.standing for each in found.commits[0].rulings} == {
        claim: each for claim, each in OF_A_PERSON.items() if claim is not Claim.CHAIN
    }, describe(found)


def test_files_of_any_kind_and_name_are_stated(factory: Factory) -> None:
    person = take_over(factory)
    (factory.repo / "link").symlink_to("README.md")
    (factory.repo / os.fsdecode(b"b\xff\nad")).write_text("bytes\n")
    (factory.repo / "src/app.py").unlink()
    commit = by_hand(person)
    assert person.accept("WO-02", commit, allow_more=True).failure is None
    (statement,) = notes_on(factory, commit)
    assert statement["predicate"]["change"]["removed"] == ["src/app.py"]
    found = Auditor(factory.repo, factory.artifacts).look()
    assert of_claim(found, Claim.FILES).standing is ClaimState.PROVEN, describe(found)


@pytest.mark.rest
def test_the_word_of_a_trusted_person_proves_what_the_commit_stands_for(
    factory: Factory, tmp_path: Path
) -> None:
    key = tmp_path / "ada"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    (tmp_path / "allowed").write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "commit.gpgSign": "true",
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "gpg.ssh.allowedSignersFile": str(tmp_path / "allowed"),
    }.items():
        git(factory.repo, "config", "--global", name, value)
    person = take_over(factory)
    assert person.accept("WO-02", by_hand(person), allow_more=True).failure is None
    found = Auditor(factory.repo, factory.artifacts).look()
    assert of_claim(found, Claim.SIGNATURE).standing is ClaimState.PROVEN
    assert of_claim(found, Claim.ORDER).standing is ClaimState.PROVEN, describe(found)


def test_a_refused_note_keeps_no_commit_from_being_accepted(factory: Factory) -> None:
    person = take_over(factory)
    git(factory.repo, "update-ref", "-d", PROOF_REF)
    git(factory.repo, "update-ref", f"{PROOF_REF}/in-the-way", "HEAD")
    assert person.accept("WO-02", by_hand(person), allow_more=True).failure is None
    found = Auditor(factory.repo, factory.artifacts).look()
    assert contradictions(found) == []


@pytest.mark.rest
def test_a_statement_of_the_run_that_made_a_commit_stays(factory: Factory) -> None:
    """A commit of one plan may stand for an order of another one."""
    take_over(factory)
    made = factory.tip()
    other = manifest([step(1, title="Write one")])
    factory.run_all(
        write_plan(factory.scratch / "other", other), {"WO-01": [refused()]}, max_attempts=1
    )
    person = Person(factory)
    git(factory.repo, "branch", "--force", "work", "main")
    git(factory.repo, "branch", "--force", "work", made)
    accepted = person.accept("WO-01", made)
    assert accepted.failure is None, accepted.failure
    kinds = [each["predicateType"] for each in notes_on(factory, made)]
    assert kinds == ["urn:llmch:provenance:v1", "urn:llmch:acceptance:v1"]
    found = Auditor(factory.repo, factory.artifacts).look(made)
    assert contradictions(found) == [], describe(found)
    assert (found.commits[0].order, found.commits[0].accepted) == ("WO-01", ("WO-01",))


# Forgeries


def restated(edit: Edit) -> Callable[[Forger], None]:
    return lambda forger: forger.restate(forger.commits[ACCEPTED], edit)


def amended(forger: Forger) -> None:
    forger.on(ACCEPTED)
    forger.amend("--message=something else")


def taken_along_by_one_byte_more(forger: Forger) -> None:
    forger.on(ACCEPTED)
    forged = forger.amend(files={"2.txt": "by hand\n\n"})
    git(forger.repo, "notes", f"--ref={PROOF_REF}", "copy", forger.commits[ACCEPTED], forged)


def a_byte_more_under_a_statement_about_it(forger: Forger) -> None:
    forger.on(ACCEPTED)
    forged = forger.amend(files={"2.txt": "by hand\n\n"})
    forger.state_of(ACCEPTED, forged)


def a_file_more_and_its_hash(forger: Forger) -> None:
    forger.on(ACCEPTED)
    forged = forger.amend(files={"evil.py": "import os\n"})

    def edit(statement: Json) -> None:
        written = statement["predicate"]["change"]["written"]
        written.append({"path": "evil.py", "sha256": "0" * 64})
        forger.rehash(forged)(statement)

    forger.state_of(ACCEPTED, forged, edit)


def the_plans_test_made_weaker(forger: Forger) -> None:
    forger.on(ACCEPTED)
    forged = forger.amend(files={TEST["path"]: "anything\n"})
    forger.state_of(ACCEPTED, forged, forger.rehash(forged))


def on_another_parent(forger: Forger) -> None:
    git(forger.repo, "switch", "--quiet", "--detach", "main")
    git(forger.repo, "cherry-pick", forger.commits[ACCEPTED])
    forged = git(forger.repo, "rev-parse", "HEAD")
    git(forger.repo, "update-ref", "refs/heads/work", forged)
    base = forger.statement(forger.commits[ACCEPTED])["predicate"]["base"]
    forger.state_of(ACCEPTED, forged, lambda each: each["predicate"].update(base=base))


def said_to_be_llmchs(forger: Forger) -> None:
    """A person's commit as one that llmch made: with a statement of its own."""
    forger.on(ACCEPTED)
    statement = forger.statement(forger.commits[MADE])
    accepted = forger.statement(forger.commits[ACCEPTED])
    made = statement["predicate"]
    kept = {name: made[name] for name in ("terms", "attempts", "models", "replies")}
    statement["subject"] = accepted["subject"]
    statement["predicate"] = accepted["predicate"] | kept
    forger.attach(forger.commits[ACCEPTED], statement)


def llmchs_said_to_be_a_persons(forger: Forger) -> None:
    """A changed commit of llmch's: as a person's, it need not be what llmch makes of its reply."""
    forger.on(AFTER)
    forged = forger.amend(files={"3.txt": "evil\n"})
    forger.state_of(AFTER, forged, forger.rehash(forged))
    statement = forger.statement(forged)
    predicate = statement["predicate"]
    for name in ("terms", "attempts", "models", "replies"):
        del predicate[name]
    predicate |= {"beyond": [], "accepted_by": {"name": "Ada", "email": "ada@example.org"}}
    statement["predicateType"] = "urn:llmch:acceptance:v1"
    forger.attach(forged, statement)


def widen(statement: Json, *, rekeyed: bool) -> None:
    part = statement["predicate"]["order"]
    part["document"]["allowed_files"].append(BEYOND)
    statement["predicate"]["beyond"] = []
    if rekeyed:
        part["key"] = order_key(parse_document(WorkOrder, part["document"]))


def change(statement: Json) -> Json:
    found: Json = statement["predicate"]["change"]
    return found


def last(statement: Json) -> Json:
    found: Json = statement["predicate"]["commands"][-1]
    return found


FORGERIES: dict[str, tuple[Callable[[Forger], object], Claim]] = {
    "amended": (amended, Claim.STATEMENT),
    "taken along by one byte more": (taken_along_by_one_byte_more, Claim.STATEMENT),
    "a byte more under a statement about it": (
        a_byte_more_under_a_statement_about_it,
        Claim.FILES,
    ),
    "a file more and its hash": (a_file_more_and_its_hash, Claim.FILES),
    "the plan's test made weaker": (the_plans_test_made_weaker, Claim.FILES),
    "on another parent": (on_another_parent, Claim.PARENT),
    "said to be llmch's": (said_to_be_llmchs, Claim.ORDER),
    "llmch's said to be a person's": (llmchs_said_to_be_a_persons, Claim.ORDER),
    "an order that allows more": (restated(lambda each: widen(each, rekeyed=False)), Claim.ORDER),
    "an order of nobody's plan": (restated(lambda each: widen(each, rekeyed=True)), Claim.PLAN),
    "a file beyond passed over": (
        restated(lambda each: each["predicate"].update(beyond=[])),
        Claim.FILES,
    ),
    "a file beyond that it does not change": (
        restated(lambda each: each["predicate"]["beyond"].append("else.txt")),
        Claim.FILES,
    ),
    "other hashes": (
        restated(lambda each: change(each)["written"][0].update(sha256="0" * 64)),
        Claim.FILES,
    ),
    "a file passed over": (restated(lambda each: change(each)["written"].pop()), Claim.FILES),
    "a file said to be removed": (
        restated(lambda each: change(each).update(removed=["README.md"])),
        Claim.FILES,
    ),
    "another base": (
        restated(lambda each: each["predicate"]["base"].update(commit="0" * 40)),
        Claim.PARENT,
    ),
    "another tree of the base": (
        restated(lambda each: each["predicate"]["base"].update(tree="0" * 40)),
        Claim.PARENT,
    ),
    "another tree": (
        restated(lambda each: each["predicate"]["result"].update(tree="0" * 40)),
        Claim.STATEMENT,
    ),
    "other requirements": (
        restated(lambda each: each["predicate"].update(requirements=["R-1", "R-2"])),
        Claim.ORDER,
    ),
    "acceptance that cannot fail": (
        restated(lambda each: last(each).update(command=["true"])),
        Claim.CHECKS,
    ),
    "a command that failed": (restated(lambda each: last(each).update(exit_code=1)), Claim.CHECKS),
    "outside of any sandbox": (restated(lambda each: last(each).update(sandbox=7)), Claim.CHECKS),
    "a signature that is not there": (
        restated(lambda each: each["predicate"].update(signed="ssh")),
        Claim.SIGNATURE,
    ),
    "a predicate that lacks a part": (
        restated(lambda each: each["predicate"].pop("accepted_by")),
        Claim.STATEMENT,
    ),
    "anything beside it": (
        lambda forger: git(
            forger.repo, "notes", f"--ref={PROOF_REF}", "append", "--message=verified",
            forger.commits[ACCEPTED],
        ),
        Claim.STATEMENT,
    ),
}  # fmt: skip


@pytest.mark.rest
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_contradicted(forger: Forger, name: str) -> None:
    forge, claim = FORGERIES[name]
    auditor = Auditor(forger.repo, forger.artifacts)
    assert contradictions(auditor.look()) == []
    forge(forger)
    found = auditor.look()
    assert claim in contradictions(found), describe(found)


def test_only_the_rerun_sees_that_a_forged_acceptance_does_not_pass(forger: Forger) -> None:
    forger.on(ACCEPTED)
    forged = forger.amend(files={"2.txt": "by nobody\n"})
    forger.state_of(ACCEPTED, forged, forger.rehash(forged))
    assert contradictions(Auditor(forger.repo, forger.artifacts).look()) == []
    assert contradictions(rerun(forger.repo, forger.artifacts)) == [Claim.CHECKS]
