"""`llmch drift --bisect` through the real entry: what it prints, and with which exit code."""

from __future__ import annotations

from pathlib import Path

from tests.factory.drift.landed_shop import SHOP, make_shop
from tests.harness import commit_all, git
from tests.llmch.command_line import Say


def test_the_commit_is_one_document_and_one_sentence(say: Say, repo: Path) -> None:
    landed = make_shop(repo)
    commit_all(repo, {"notes.txt": "nothing\n"})
    (repo / "shop.py").write_text(SHOP.replace("3 * n", "4 * n"))
    git(repo, "commit", "--quiet", "--all", "--author=\x1b[31mEve <eve@example.org>",
        "--message=Charge more\x1b[0m")  # fmt: skip
    broke = git(repo, "rev-parse", "HEAD")
    commit_all(repo, {"notes.txt": "more\n"})
    where = ("--repo", repo, "--sandbox", "off")
    one = ("drift", "--requirement", "R1", *where, "--bisect")
    said = say(*one, "broken", "--json")
    assert said.code == 1, said.err
    assert {"requirement": "R1", "what": "broken", "commit": broke}.items() <= said.document.items()
    assert said.document["author"].endswith("Eve <eve@example.org>")
    assert "test_" in said.document["case"] and said.document["work_order"] == "WO-01"
    assert (said.document["landed"], said.document["latest"]) == (landed[0], True)
    said = say(*one, "broken")
    assert f"R1 broken by {broke[:10]}" in said.out, said.out
    assert "Eve <eve@example.org>" in said.out and "\x1b" not in said.out
    said = say(*one, "landed", "--json")
    assert (said.code, said.document["commit"], said.document["case"]) == (0, landed[0], None)
    said = say(*one, "weakened")
    assert (said.code, "R1 is broken at" in said.out) == (1, True), said.out
    said = say("drift", "--requirement", "R2", *where, "--bisect", "broken", "--json")
    assert (said.code, said.document["commit"], said.document["state"]) == (0, None, "proven")
    one_more = ("--requirement", "R1")
    for words in (("--requirement", "R9"), (), (*one_more, "--requirement", "R2"),
                  (*one_more, "--strength")):  # fmt: skip
        said = say("drift", *words, *where, "--bisect", "broken")
        assert (said.code, bool(said.err)) == (2, True), said.out
