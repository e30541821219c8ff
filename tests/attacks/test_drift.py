"""A state is computed from what runs here: no note, kept file or softened test decides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.drift.kept_answers import KeptAnswers
from factory.preflight import find_repo
from factory.statement.statement import ACCEPTANCE_TYPE
from shared.files import atomic_io
from shared.work_order.parse_order import order_key, parse_document
from shared.work_order.work_order import WorkOrder
from tests.factory.audit.forging import Forger
from tests.factory.drift.landed_shop import (
    CONFTEST,
    GREETING,
    GREETING_TEST,
    RUN_GREETING,
    claims_of,
    drift_of,
    make_shop,
    row,
    states,
)
from tests.harness import Json, commit_all, git

SOFT = "def test_greet():\n    pass\n\n\ndef test_greet_nobody():\n    pass\n"
WRONG = GREETING.replace("{WORD}!", "{WORD}?")


@pytest.fixture
def shop(repo: Path) -> Path:
    """A repo with a landed shop, in which a greeting is wrong."""
    make_shop(repo)
    commit_all(repo, {"greeting.py": WRONG})
    return repo


@pytest.mark.rest
def test_a_note_that_names_a_softer_test_changes_no_state(shop: Path) -> None:
    """The honest note is the control: with it the requirement is read and broken."""
    assert row(drift_of(shop), "R2").state == "broken"
    commit = next(each for each in claims_of(shop).orders if each.landed.name == "WO-02")

    def soften(statement: Json) -> None:
        document = statement["predicate"]["order"]["document"]
        document["acceptance_files"][0]["content"] = SOFT

    commit_all(shop, {"tests/test_greeting.py": SOFT})
    assert row(drift_of(shop), "R2").state == "broken"
    Forger(shop, shop.parent, ()).restate(commit.landed.commit, soften)
    found = claims_of(shop)
    assert "R2" not in {each.id for each in found.requirements} and not found.is_whole


def test_an_acceptance_of_nobody_replaces_no_test(shop: Path) -> None:
    """A note says that a person's commit was accepted for an order whose test is softer."""
    commit = commit_all(shop, {"tests/test_greeting.py": SOFT})
    forger = Forger(shop, shop.parent, ())
    honest = next(each for each in claims_of(shop).orders if each.landed.name == "WO-02")
    statement = forger.statement(honest.landed.commit)
    predicate = statement["predicate"]
    for name in ("terms", "attempts", "models", "replies"):
        del predicate[name]
    document = predicate["order"]["document"] | {"id": "WO-09"}
    document["acceptance_files"] = [{"path": "tests/test_greeting.py", "content": SOFT}]
    order = parse_document(WorkOrder, document)
    predicate["order"] = {"id": "WO-09", "key": order_key(order), "document": document}
    predicate |= {"accepted_by": {"name": "A", "email": "a@b"}, "beyond": []}
    tree = git(shop, "rev-parse", f"{commit}^{{tree}}")
    predicate["result"] = {"commit": commit, "tree": tree}
    statement |= {"predicateType": ACCEPTANCE_TYPE, "predicate": predicate}
    statement["subject"][0]["digest"]["gitCommit"] = commit
    statement["subject"][1]["digest"]["gitTree"] = tree
    forger.attach(commit, statement)
    claims = claims_of(shop)
    assert [each.landed.name for each in claims.orders].count("WO-09") == 1
    (test,) = next(each for each in claims.orders if each.landed.name == "WO-02").tests
    assert test.pieces[0].text == GREETING_TEST


@pytest.mark.rest
@pytest.mark.parametrize("place", ["git folder", "form of another version"])
def test_a_kept_answer_of_a_stranger_is_not_read(shop: Path, place: str) -> None:
    common_dir = find_repo(shop).common_dir
    honest = drift_of(shop)
    kept = KeptAnswers.of(common_dir)
    forged = kept.path.read_text().partition("\n")[2].replace('"broken"', '"proven"')
    assert forged.count('"proven"') == len(("R1", "R2", "R3"))
    atomic_io.keep(kept.path, forged.encode(), 5)  # the control: by the user's own hand
    assert states(drift_of(shop))["R2"] == "proven"
    kept.path.unlink()
    if place == "git folder":
        (common_dir / "llmch").mkdir(exist_ok=True)
        (common_dir / "llmch" / "drift.json").write_text(forged)
    else:
        atomic_io.keep(kept.path, forged.replace('"version":1', '"version":7').encode(), 5)
    assert states(drift_of(shop)) == states(honest)


@pytest.mark.rest
def test_a_patch_beside_the_tests_that_makes_them_pass_is_found(shop: Path) -> None:
    patch = "\nimport greeting\n\ngreeting.greet = lambda n: f'Hello, {n}!' if n else 'Hello!'\n"
    commit_all(shop, {"tests/conftest.py": CONFTEST + patch})
    found = row(drift_of(shop), "R2")
    assert found.state == "weakened"
    assert f"`{RUN_GREETING}` also passes where the code does nothing" in found.detail
    commit_all(shop, {"tests/conftest.py": CONFTEST, "greeting.py": GREETING})
    assert row(drift_of(shop), "R2").state == "proven"
