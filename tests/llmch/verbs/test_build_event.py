"""`build --event`: from an issue to a pull request and its review, each event a job of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmch.ci import issue_calls
from llmch.ci.issue_calls import Board, Issue, parse_comment
from llmch.ci.issue_events import claimed, parse_event, read_record, this_job
from llmch.ci.pull_requests import GITHUB, GITLAB, Remote
from shared.errors import Busy, PreflightRefused
from shared.git.client import Git
from tests.harness import commit_all, git
from tests.llmch.command_line import Say, plan_reply
from tests.llmch.forges import BOT, EVE
from tests.llmch.issues import ASK_ID, FIRST, URL, Shop, again, open_shop, part
from tests.planner.plans import plan
from tests.planner.replanning import writing
from tests.shared.llm.edge import error_answer

# Of a collection that a community keeps (its source and its licence are beside it).
RECORDED = Path(__file__).parents[1] / "ci" / "recorded_payloads" / "github.json"
REVIEWED = "pull_request_review.submitted"


@pytest.fixture
def shop(repo: Path, tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch) -> Shop:
    return open_shop(repo, tmp_path, say, monkeypatch)


@pytest.mark.rest
def test_an_issue_becomes_a_pull_request_and_its_review_more_commits(shop: Shop) -> None:
    label = shop.labeled()
    planned = shop.job(label, FIRST)
    assert shop.said is not None and shop.said.code == 0, shop.said
    assert (planned["did"], planned["issue"], planned["verdict"]) == ("planned", 33, "NONE")
    (shown,) = shop.posted
    assert f"{ASK_ID}: Who may read?" in shown and "/llmch build" in shown
    assert "Everybody" in shown and "Not read of the issue: 1 hidden comment." in shown

    answered = shop.job(shop.commented(f"{ASK_ID}: Members."), again(1, "R1", ASK_ID))
    assert answered["did"] == "answered", answered
    (shown,) = shop.posted  # the same comment, as it is now
    assert "Questions" not in shown and "Again" in shown and "1 hidden comment" in shown

    go = shop.commented("/llmch build\n\nThanks!")
    built = shop.job(go, part(1), part(2))
    assert (built["did"], built["verdict"], built["pushed"]) == ("built", "PASS", True), built
    assert {"part_01.txt", "part_02.txt"} <= shop.files()
    (request,) = shop.forge.db["pulls"]
    assert (request["head"]["ref"], request["base"]["ref"]) == ("llmch/issue-33", "main")
    assert request["body"].startswith("Closes #33\n") and "2 of 2 orders" in request["body"]
    assert f"<{built['pull_request']['url']}>" in shop.posted[-1]

    review = shop.reviewed("A third part, too.", "It ends.")
    ids = [each["id"] for each in shop.forge.db["review_comments"]]
    done = shop.job(review, again(3, *(f"RC-{each}" for each in ids)), part(3))
    assert (done["did"], done["verdict"]) == ("carried out the review", "PASS"), done
    assert shop.server is not None
    asked = json.dumps(shop.server.bodies[0]["input"])
    assert "In `part_01.txt:1`: A third part, too." in asked
    assert "part_03.txt" in shop.files()
    tip = git(shop.bare, "rev-parse", "llmch/issue-33")
    replies = shop.forge.db["replies"]
    assert [each["to"] for each in replies] == ids
    assert all(tip in each["body"] for each in replies)
    assert git(shop.bare, "merge-base", "--is-ancestor", built["tip"], tip) == ""
    assert "3 of 3 orders" in shop.forge.db["pulls"][0]["body"]

    # Each of them delivered again is neither paid nor posted again.
    before, comments = shop.refs, shop.forge.db
    for event in (label, go, review):
        assert shop.job(event)["did"] == "dealt with already"
        assert shop.paid == 0
    assert (shop.refs, shop.forge.db) == (before, comments)
    assert not [*shop.folder.rglob("pwned")]
    assert shop.record["claim"] is None


def recorded(kind: str) -> dict[str, Any]:
    """Return a payload as GitHub sent it; people and the repository have the fake host's names."""
    text = json.dumps(json.loads(RECORDED.read_text())["payloads"][kind])
    names = {"Codertocat/Hello-World": "ada/shop", "Codertocat": "ada", "21031067": "1"}
    for theirs, own in names.items():
        text = text.replace(theirs, own)
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.rest
def test_recorded_events_of_github_are_planned_built_and_reviewed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMCH_ISSUE_LABEL", "bug")  # the one that the recorded event sets
    labeled, said = recorded("issues.labeled"), recorded("issue_comment.created")
    assert shop.job(recorded("issues.unlabeled"))["did"] == "nothing to do"
    shop.forge.db |= {"issues": {"1": labeled["issue"]}}
    planned = shop.job(labeled, plan_reply(plan(*(writing(each, "R-1021d1") for each in (1, 2)))))
    assert (planned["did"], planned["issue"]) == ("planned", 1), planned
    assert shop.server is not None
    assert labeled["issue"]["body"] in json.dumps(shop.server.bodies[0]["input"])

    shop.forge.db |= {"comments": [*shop.forge.db["comments"], said["comment"]]}
    assert (shop.job(said)["did"], shop.paid) == ("nothing to do", 0)
    assert (shop.job(recorded("issue_comment.edited"))["did"], shop.paid) == ("nothing to do", 0)
    go = {**said["comment"], "id": 5, "body": "/llmch build"}
    shop.forge.db |= {"comments": [*shop.forge.db["comments"], go]}
    built = shop.job({**said, "comment": go, "issue": labeled["issue"]}, part(1), part(2))
    assert (built["did"], built["verdict"]) == ("built", "PASS"), built

    # The recorded request is of another branch.
    of_line, whole = recorded("pull_request_review_comment.created"), recorded(REVIEWED)
    assert (shop.job(of_line)["did"], shop.job(whole)["did"]) == ("nothing to do", "nothing to do")
    text = {"body": "A third part, too.", "path": "part_01.txt"}
    comment = {**of_line["comment"], **text, "pull_request_review_id": whole["review"]["id"]}
    shop.forge.db |= {"review_comments": [comment], "reviews": [whole["review"]]}
    whole["pull_request"] |= {"number": 7}
    for side, ref in (("head", "llmch/issue-1"), ("base", "main")):
        whole["pull_request"][side]["ref"] = ref
    done = shop.job(whole, again(3, f"RC-{comment['id']}"), part(3))
    assert (done["did"], done["verdict"]) == ("carried out the review", "PASS"), done
    assert {f"part_0{each}.txt" for each in (1, 2, 3)} <= shop.files("llmch/issue-1")
    assert [each["to"] for each in shop.forge.db["replies"]] == [comment["id"]]


@pytest.mark.rest
def test_go_builds_what_was_not_planned_and_takes_the_readings(shop: Shop) -> None:
    event = shop.commented("llmch: go")
    built = shop.job(event, FIRST, part(1), part(2))
    assert (built["did"], built["verdict"]) == ("built", "PASS"), built
    assert "Everybody" in shop.forge.db["pulls"][0]["body"]
    paths = [each["argv"][-1].partition("?")[0] for each in shop.forge.calls]
    assert len(paths) == 5, paths  # comment, issue, whether a request is open, request, answer
    assert shop.job(event)["did"] == "dealt with already" and shop.paid == 0


@pytest.mark.rest
def test_an_answer_that_is_the_reading_taken_costs_nothing(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    answered = shop.job(shop.commented(f"- `{ASK_ID}`: everybody."))
    assert (answered["did"], shop.paid) == ("answered", 0), answered
    assert "Questions" not in shop.posted[0]
    before = len(shop.forge.calls)
    again_ = shop.job(shop.commented("/llmch plan"))
    assert (again_["did"], shop.paid) == ("planned already", 0), again_
    assert len(shop.posted) == 1
    assert len(shop.forge.calls) - before == 3  # the comment, the issue, the answers


@pytest.mark.rest
@pytest.mark.parametrize("is_deleted", [False, True])
def test_an_answer_that_was_edited_or_deleted_counts_no_more(shop: Shop, is_deleted: bool) -> None:
    shop.job(shop.labeled(), FIRST)
    answer = shop.commented(f"{ASK_ID}: Members.")["comment"]["id"]
    assert shop.job(shop.commented("/llmch plan"), again(1, "R1", ASK_ID))["did"] == "planned"
    assert str(answer) in shop.record["answered"]
    db = shop.forge.db
    (comment,) = (each for each in db["comments"] if each["id"] == answer)
    comment |= {"body": f"{ASK_ID}: Nobody.", "updated_at": "2026-01-09T00:00:00Z"}
    if is_deleted:
        db["comments"].remove(comment)
    shop.forge.db = db

    refused = shop.job(shop.commented("/llmch build"))
    assert (refused["error"]["code"], shop.paid) == (5, 0), refused
    assert f"edited or deleted after it was taken (comment {answer})" in shop.posted[-1]
    assert "answers.yaml" in git(shop.bare, "ls-tree", "--name-only", "refs/llmch-issues/33")
    planned = shop.job(shop.commented("/llmch plan"), again(1, "R1", title="Without"))
    assert (planned["did"], shop.paid) == ("planned", 1), planned
    assert shop.said is not None and f"comment {answer} is left out" in shop.said.err
    assert shop.record["answered"] == {}
    assert "answers.yaml" not in git(shop.bare, "ls-tree", "--name-only", "refs/llmch-issues/33")
    again_ = shop.job(shop.commented("/llmch plan"))
    assert (again_["did"], shop.paid) == ("planned already", 0), again_
    built = shop.job(shop.commented("/llmch build"), part(1), part(2))
    assert (built["did"], built["verdict"]) == ("built", "PASS"), built


@pytest.mark.rest
def test_a_new_answer_takes_the_place_of_one_that_was_edited(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    shop.job(shop.commented(f"{ASK_ID}: Members."), again(1, "R1", ASK_ID))
    db = shop.forge.db
    db["comments"][-1] |= {"body": f"{ASK_ID}: Eve.", "updated_at": "2026-01-09T00:00:00Z"}
    shop.forge.db = db
    new = shop.commented(f"{ASK_ID}: Guests.")
    answered = shop.job(new, again(1, "R1", ASK_ID, title="New"))
    assert (answered["did"], shop.paid) == ("answered", 1), answered
    spec = git(shop.bare, "cat-file", "blob", "refs/llmch-issues/33:answers.yaml")
    assert "Guests." in spec and "Members." not in spec and "Eve." not in spec
    assert [*shop.record["answered"]] == [str(new["comment"]["id"])]


@pytest.mark.rest
def test_an_issue_that_changed_is_planned_after_its_plan_and_not_built_unseen(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    shop.change(body="- R1: Lines are read.\n- R2: Lines end.\n- R3: Lines are counted.\n")
    refused = shop.job(shop.commented("/llmch build"))
    assert refused["error"]["code"] == 5 and shop.paid == 0
    assert "was edited after its plan was shown" in refused["error"]["message"]
    assert "was edited after its plan was shown" in shop.posted[-1]
    planned = shop.job(shop.commented("/llmch plan"), again(3, "R3"))
    assert (planned["did"], shop.paid) == ("planned", 1), planned
    assert "WO-03" in shop.posted[0] and len(shop.posted) == 2


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"body": "- R9: Something else."}, "was edited after it was asked for"),
        ({"body": "x" * 1_000_000}, "at most 100,000 are read"),
        ({"body": "![x](y)"}, "nothing but pictures"),
        ({"confidential": True}, "is confidential"),
    ],
)
def test_an_issue_that_cannot_be_planned_stops_by_name_and_says_so_once(
    shop: Shop, change: dict[str, Any], named: str
) -> None:
    event = shop.labeled()
    shop.change(**change)
    if "edited" not in named:
        event["issue"] = shop.issue | {"number": 33}
    for _ in range(2):
        refused = shop.job(event)
        assert named in refused["error"]["message"] and shop.paid == 0
    assert len(shop.posted) == 1 and named in shop.posted[0]
    assert shop.record["claim"] is None


def test_an_issue_is_free_for_the_next_job_where_no_comment_could_be_written(shop: Shop) -> None:
    shop.forge.install("gh", rules=[("--method POST", 1, "gh: Forbidden (HTTP 403)")])
    refused = shop.job(shop.labeled(), FIRST)
    assert (refused["error"]["code"], shop.record["claim"]) == (5, None), refused
    shop.forge.install("gh")
    planned = shop.job(shop.commented("/llmch plan"))
    assert (planned["did"], shop.paid, len(shop.posted)) == ("planned", 0, 1), planned
    assert shop.job(shop.commented("/llmch plan"))["did"] == "planned already"


def test_what_a_model_failed_at_is_begun_again_by_the_same_event(shop: Shop) -> None:
    event = shop.labeled()
    failed = shop.job(event, error_answer(401, "bad key"))
    assert failed["error"]["code"] == 3, failed
    assert shop.job(event, FIRST)["did"] == "planned"


def test_of_two_events_at_once_the_second_is_told_that_it_is(shop: Shop, repo: Path) -> None:
    git(repo, "remote", "set-url", "origin", "git@github.com:ada/shop.git")
    first = read_record(Git(repo), 33)
    event = shop.labeled()
    holding = claimed(first, "comment-1")
    busy = shop.job(event)
    assert (busy["error"]["code"], shop.paid) == (8, 0)
    assert "is being dealt with" in shop.posted[0]
    with pytest.raises(Busy, match="has moved refs/llmch-issues/33 on"):
        claimed(first, "label-2")  # it was read before the other claimed it
    # The job that holds it can go on, since nobody took its claim away.
    holding.moved(holding.state.model_copy(update={"claim": None}))
    assert shop.job(event, FIRST)["did"] == "planned"
    with pytest.raises(Busy):
        holding.moved(holding.state)


@pytest.mark.rest
def test_a_branch_that_somebody_moved_meanwhile_is_not_overwritten(shop: Shop, repo: Path) -> None:
    shop.job(shop.labeled(), FIRST)
    shop.job(shop.commented("/llmch build"), part(1), part(2))
    git(repo, "fetch", "--quiet", str(shop.bare), "llmch/issue-33")
    git(repo, "switch", "--quiet", "--detach", "FETCH_HEAD")
    theirs = commit_all(repo, {"by_hand.txt": "x\n"})
    git(repo, "push", "--quiet", str(shop.bare), f"{theirs}:refs/heads/llmch/issue-33")
    review = shop.reviewed("A third part.")
    (comment,) = shop.forge.db["review_comments"]
    done = shop.job(review, again(3, f"RC-{comment['id']}"), part(3))
    assert done["verdict"] == "PASS", done
    assert git(shop.bare, "merge-base", "--is-ancestor", theirs, "llmch/issue-33") == ""


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("labeled otherwise", "was not given the label"),
        ("an edited comment", "an edited comment starts nothing"),
        ("a word", "its first line is none of"),
        ("a bot's", "a program wrote the comment"),
        ("a comment on a pull request", "is changed by a review of it"),
        ("an approval", "the review asks for no change"),
        ("an answer in a thread", "an answer in a thread"),
        ("another branch", "is none that llmch made for an issue"),
    ],
)
def test_what_asks_for_nothing_asks_nobody(shop: Shop, kind: str, why: str) -> None:
    match kind:
        case "labeled otherwise":
            event = shop.labeled("bug")
        case "an edited comment":
            event = shop.commented("/llmch plan", action="edited")
        case "a bot's":
            event = shop.commented("/llmch plan", user=BOT)
        case "a comment on a pull request":
            event = shop.commented("/llmch plan")
            event["issue"] = shop.issue | {"pull_request": {"url": "x"}}
        case "an approval":
            event = shop.reviewed("Fine.")
            event["review"]["state"] = "approved"
        case "an answer in a thread":
            event = shop.reviewed("So what?", of_comment=True, in_reply_to_id=9)
        case "another branch":
            event = shop.reviewed("Other.")
            event["pull_request"]["head"]["ref"] = "ada-patch-1"
        case _:
            event = shop.commented("Please /llmch build this")
    said = shop.job(event)
    assert (said["did"], said["verdict"]) == ("nothing to do", "NONE") and why in said["why"]
    assert shop.forge.calls == [] and "llmch-issues" not in shop.refs


@pytest.mark.rest
def test_comments_of_a_review_are_found_with_their_lines_among_those_of_others(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    db = shop.forge.db
    repo = {"full_name": "ada/shop"}
    db["pulls"] = [{"number": 7, "state": "open", "head": {"ref": "llmch/issue-33", "repo": repo},
                    "base": {"ref": "main", "repo": repo}}]  # fmt: skip
    other = {"user": EVE, "path": "x", "line": 5, "pull_request_review_id": 1, "body": "Theirs."}
    db["review_comments"] = [{**other, "id": 9000 + n} for n in range(150)]
    shop.forge.db = db
    event = shop.reviewed("A third part.", "A fourth part.")
    db = shop.forge.db
    # To send a review changes its comments, too; who edits one does so later.
    db["review_comments"][-2]["updated_at"] = "2026-01-01T00:00:01Z"
    db["review_comments"][-1]["updated_at"] = "2026-01-01T00:09:00Z"
    shop.forge.db = db
    shop.job(event)
    assert shop.server is not None and shop.said is not None
    asked = json.dumps(shop.server.bodies[0]["input"])
    assert "In `part_01.txt:1`: A third part." in asked and "Theirs." not in asked
    assert "A fourth part." not in asked and "is left out: it was edited since" in shop.said.err


@pytest.mark.rest
def test_an_issue_of_gitlab_is_asked_by_glab(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """GitLab says nothing of rights in its payload: they are asked for."""
    from tests.llmch import issues

    url = "https://gitlab.com/ada/shop"
    monkeypatch.setattr(issues, "ORIGIN", "git@gitlab.com:ada/shop.git")
    db = shop.forge.db
    db["me"] = {"username": "project_1_bot", "id": 9}
    db["url"] = f"{url}/-/merge_requests"
    shop.forge.db = db
    user = {"username": "ada", "id": 1}
    both = {"project": {"web_url": url}, "user": user}
    label = {
        "object_kind": "issue", **both,
        "object_attributes": {**shop.issue, "id": 900, "action": "update"},
        "changes": {"labels": {"previous": [], "current": [{"title": "llmch"}]}},
    }  # fmt: skip
    assert shop.job(label | {"user": {"username": "eve", "id": 66}})["did"] == "nothing to do"
    planned = shop.job(label, FIRST)
    assert planned["did"] == "planned", planned
    comment = shop.add("comments", body="/llmch build", user=user)
    note = {
        "object_kind": "note", **both, "issue": shop.issue,
        "object_attributes": {**comment, "note": comment["body"], "action": "create"},
    }  # fmt: skip
    built = shop.job(note, part(1), part(2))
    assert (built["did"], built["verdict"]) == ("built", "PASS"), built
    (request,) = shop.forge.db["pulls"]
    assert request["description"].startswith("Closes #33")
    place = {"new_path": "part_01.txt", "new_line": 1}
    line = shop.add(
        "review_comments", body="A third part.", user=user, position=place, discussion_id="d1"
    )
    note |= {
        "object_attributes": {**line, "note": line["body"], "action": "create"},
        "merge_request": {"iid": 7, "source_branch": "llmch/issue-33", "source_project_id": 1,
                          "target_project_id": 1},
    }  # fmt: skip
    del note["issue"]
    done = shop.job(note, again(3, f"RC-{line['id']}"), part(3))
    assert (done["did"], done["verdict"]) == ("carried out the review", "PASS"), done
    (reply,) = shop.forge.db["replies"]
    assert reply["to"] == "d1" and git(shop.bare, "rev-parse", "llmch/issue-33") in reply["body"]
    # An answer in the thread has the place of the comment that it answers.
    thanks = shop.add(
        "review_comments", body="Thanks!", user=user, position=place, discussion_id="d1"
    )
    note["object_attributes"] = {**thanks, "note": thanks["body"], "action": "create"}
    said = shop.job(note)
    assert (said["did"], shop.paid) == ("nothing to do", 0) and "in a thread" in said["why"], said
    assert {each["program"] for each in shop.forge.calls} == {"glab"}


_URL = "https://gitlab.com/ada/shop"
_BODY = "Lines.\n![a](/uploads/1/a.png) ![b](doc/b.png) ![c](https://c.org/c.png)\n![d](uploads/d)"


@pytest.mark.parametrize(
    ("sent", "is_same"),
    [
        (_BODY, True),
        # As GitLab's webhooks have it, now and in older versions.
        (_BODY.replace("(/up", f"({_URL[:18]}/-/project/5/up").replace("(doc", f"({_URL[:18]}/doc")
         .replace("(up", f"({_URL[:18]}/-/project/5/up"), True),
        (_BODY.replace("(/up", f"({_URL}/up"), True),
        (_BODY.replace("/1/", "/2/"), False),
        (_BODY.replace("(/up", "(https://eve.org/up"), False),
        (_BODY.replace("Lines", f"{_URL[:18]}/Lines"), False),
    ],
)  # fmt: skip
def test_a_picture_in_an_issue_of_gitlab_is_no_edit(sent: str, is_same: bool) -> None:
    board = Board(GITLAB, Remote("gitlab.com", "ada/shop"))
    there = Issue(33, "x", _BODY)
    assert board.is_same_text(Issue(33, "x", sent), there) is is_same
    github = Board(GITHUB, Remote("github.com", "ada/shop"))
    assert github.is_same_text(Issue(33, "x", sent), there) is (sent == _BODY)


def test_a_long_line_of_brackets_is_compared_at_once() -> None:
    board = Board(GITLAB, Remote("gitlab.com", "ada/shop"))
    assert not board.is_same_text(Issue(33, "x", "![" * 500_000), Issue(33, "x", ""))


@pytest.mark.parametrize(
    ("username", "is_bot"),
    [
        ("project_1_bot", True), ("project_1_bot2", True), ("group_17_bot_0a1b2c3d", True),
        ("ada", False), ("project_bot", False), ("project_1_botanist_", False),
    ],
)  # fmt: skip
def test_who_writes_by_an_access_token_of_gitlab_is_a_program(username: str, is_bot: bool) -> None:
    assert parse_comment({"id": 1, "author": {"username": username}}).is_bot is is_bot


def test_a_job_of_gitlab_that_is_run_again_is_the_same_job() -> None:
    ids = {"CI_PIPELINE_ID": "5", "CI_JOB_ID": "9"}
    assert this_job(ids) == this_job(ids | {"CI_JOB_ID": "10"}) != this_job({"CI_PIPELINE_ID": "6"})


@pytest.mark.parametrize("said", [{"event_type": "confidential_note"}, {"internal": True}, {}])
def test_an_internal_note_of_gitlab_asks_for_nothing(said: dict[str, Any]) -> None:
    attributes = {"id": 5, "note": "/llmch plan", "action": "create", **said}
    event = parse_event(
        {
            "object_kind": "note", "project": {"web_url": "https://gitlab.com/ada/shop"},
            "user": {"username": "ada", "id": 1}, "object_attributes": attributes,
            "issue": {"iid": 33, "title": "x"}, **said,
        },
        "llmch",
    )  # fmt: skip
    assert (event.wish is None) == bool(said) == ("an internal note" in event.why)


@pytest.mark.rest
def test_an_internal_note_answers_nothing_whatever_the_payload_says(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    note = shop.commented(f"{ASK_ID}: Members.", internal=True)
    del note["comment"]["internal"]
    said = shop.job(note)
    assert (said["did"], shop.paid) == ("nothing to do", 0) and "internal note" in said["why"]
    said = shop.job(shop.commented("/llmch plan"))
    assert (said["did"], shop.paid) == ("planned already", 0), said
    assert shop.said is not None and "is left out: it is an internal note" in shop.said.err


@pytest.mark.rest
def test_an_answer_is_found_behind_a_thousand_comments(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    db = shop.forge.db
    db["comments"] += [{"user": EVE, "of": 33, "body": "+1", "id": 5000 + n} for n in range(1_100)]
    shop.forge.db = db
    shop.commented(f"{ASK_ID}: Members.")
    planned = shop.job(shop.commented("/llmch plan"), again(1, "R1", ASK_ID))
    assert (planned["did"], shop.paid) == ("planned", 1), planned


@pytest.mark.rest
def test_an_answer_counts_that_no_list_of_comments_has_yet(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    shop.forge.install("gh", rules=[("issues/33/comments?", 0, "[]")])
    done = shop.job(shop.commented(f"{ASK_ID}: Members."), again(1, "R1", ASK_ID))
    assert (done["did"], shop.paid) == ("answered", 1), done


def test_more_comments_than_are_read_are_an_error(shop: Shop) -> None:
    page = json.dumps([{"id": 1 + n, "body": "+1"} for n in range(100)])
    shop.forge.install("gh", rules=[("issues/33/comments?", 0, page)])
    board = issue_calls.open_board(Remote("github.com", "ada/shop"), GITHUB)
    with pytest.raises(PreflightRefused, match="issues/33/comments of ada/shop are more than 10,0"):
        list(board.comments(33))


@pytest.mark.parametrize(
    "document",
    [
        "[1]", "x", "{}", '{"action": "opened"}', '{"object_kind": "push", "project": {}}',
        json.dumps({"action": "opened", "repository": {"html_url": URL}, "issue": {}}),
        json.dumps({"action": "created", "repository": {"html_url": URL}, "pull_request": {"": 1}}),
        json.dumps({"action": "opened", "repository": {"html_url": "x"}, "issue": {"id": 1}}),
    ],
)  # fmt: skip
def test_a_file_that_is_no_event_is_refused(say: Say, cwd: Path, document: str) -> None:
    (cwd / "event.json").write_text(document)
    said = say("build", "--event", "event.json", "--json")
    assert said.code == 2 and said.error["message"], said.out


def test_a_branch_of_one_s_own_does_not_go_with_an_event(say: Say) -> None:
    for flags in (("--branch", "b"), ("--no-push",)):
        said = say("build", "--event", "event.json", *flags, "--json")
        assert said.code == 2 and "--event names the branch itself" in said.error["message"]
    assert "| --issue URL | --event FILE) [OPTIONS]" in say("build", "--help").out


@pytest.mark.rest
def test_five_hundred_comments_are_read_and_those_of_strangers_named(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    db = shop.forge.db
    one: dict[str, Any] = {"user": EVE, "author_association": "NONE", "of": 33, "body": "+1",
           "created_at": "x", "updated_at": "x"}  # fmt: skip
    db["comments"] += [{**one, "id": 5000 + n} for n in range(500)]
    db["comments"].append({**one, "id": 6000, "body": f"{ASK_ID}: Eve alone."})
    shop.forge.db = db
    before = len(shop.forge.calls)
    edited = shop.commented(f"{ASK_ID}: Once.", updated_at="2026-01-09T00:00:00Z")
    assert edited["action"] == "created"
    done = shop.job(shop.commented(f"{ASK_ID}: Members."), again(1, "R1", ASK_ID))
    assert done["did"] == "answered" and shop.said is not None
    assert "comment 6000 is left out: its author may not answer" in shop.said.err
    assert "is left out: it was edited" in shop.said.err
    assert len(shop.forge.calls) - before == 1 + 6 + 1 + 1  # itself, the pages, Eve, the plan
    spec = git(shop.bare, "cat-file", "blob", "refs/llmch-issues/33:answers.yaml")
    assert "Members." in spec and "Eve" not in spec


THREE = "- R1: Lines are read.\n- R2: Lines end.\n- R3: Lines are counted.\n"


@pytest.mark.rest
def test_an_edited_issue_without_a_valid_plan_has_no_plan_to_build(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    shop.change(body=THREE)
    bad = plan_reply({"work_orders": [{"id": "WO-99"}]})
    assert shop.job(shop.commented("/llmch plan"), *[bad] * 5)["did"] == "made no valid plan"
    shop.job(shop.commented("/llmch build"))
    assert shop.said is not None and shop.said.code == 5 and shop.paid == 0
    assert "was edited after its plan was shown" in shop.posted[-1]
    assert shop.job(shop.commented("/llmch plan"), again(3, "R3"))["did"] == "planned"


@pytest.mark.rest
def test_a_review_whose_run_died_is_carried_out_by_the_same_event(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    shop.job(shop.commented("/llmch build"), part(1), part(2))
    review = shop.reviewed("A third part.")
    (comment,) = shop.forge.db["review_comments"]
    shop.job(review, again(3, f"RC-{comment['id']}"), error_answer(401, "bad key"))
    assert shop.said is not None and shop.said.code == 3
    done = shop.job(review, part(3))
    assert (done["did"], done["verdict"], shop.paid) == ("carried out the review", "PASS", 1)
    assert "part_03.txt" in shop.files()
    assert shop.job(review)["did"] != "carried out the review" and shop.paid == 0


@pytest.mark.rest
def test_a_plan_that_could_not_be_shown_is_shown_before_it_is_built(shop: Shop) -> None:
    shop.job(shop.labeled(), FIRST)
    shop.change(body=THREE)
    shop.forge.install("gh", rules=[("--method PATCH", 1, "gh: rate limit (HTTP 429)")])
    event = shop.commented("/llmch plan")
    shop.job(event, again(3, "R3"))
    shop.job(shop.commented("/llmch build"))
    assert shop.said is not None and shop.said.code == 5 and shop.paid == 0
    shop.forge.install("gh")
    assert shop.job(event)["did"] == "planned" and shop.paid == 0
    assert "WO-03" in shop.posted[0]
    built = shop.job(shop.commented("/llmch build"), part(1), part(2), part(3))
    assert (built["did"], built["verdict"]) == ("built", "PASS")
