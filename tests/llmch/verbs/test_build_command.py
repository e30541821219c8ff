"""`llmch build`: a spec becomes commits, and the same command again goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from factory.preflight import hold
from tests.harness import commit_all, git
from tests.llmch.command_line import Said, Say, model_server, plan_reply, snapshot, write_reply
from tests.planner.plans import creating, exists, plan

PLAN = plan_reply(plan(creating(1, "1.txt"), creating(2, "2.txt")))
ONE, TWO = (write_reply({f"{number}.txt": "text\n"}) for number in (1, 2))
STRAY = write_reply({"stray.txt": "text\n"})

Build = Callable[..., Said]


@pytest.fixture
def spec(cwd: Path) -> Path:
    path = cwd.parent / "spec.md"
    path.write_text("# Two files\n")
    return path


@pytest.fixture
def build(say: Say, repo: Path, spec: Path) -> Build:
    """Builds the spec in the repo, commands without a sandbox, one attempt an order."""

    def build(*flags: str | Path) -> Said:
        return say(
            *("build", "--spec", spec, "--repo", repo, "--sandbox", "off", "--no-review", "--yes"),
            *("--reply-format", "json", "--max-attempts", "1", *flags),
        )

    return build


@pytest.mark.rest
def test_a_spec_becomes_commits_on_a_branch_of_the_plans_own(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, ONE, TWO) as server:
        said = build("--json")
    assert said.code == 0
    assert [each.path.rpartition("/")[2] for each in server.received] == [
        "responses",
        "completions",
        "completions",
    ]
    assert said.document["verdict"] == "PASS"
    assert said.document["branch"].startswith("factory/")
    assert git(repo, "rev-parse", said.document["branch"]) == said.document["tip"]
    assert git(repo, "status", "--porcelain", "--ignored") == ""
    assert said.err.count("sandbox off") == 1, "it was said before planning"


@pytest.mark.rest
def test_the_same_command_again_plans_nothing_anew_and_goes_on(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, ONE, STRAY, STRAY):
        first = build("--json")
    assert (first.code, first.document["verdict"]) == (1, "FAIL")
    with model_server(monkeypatch, TWO) as server:
        again = build("--json")
    assert again.code == 0
    assert [each["state"] for each in again.document["orders"]] == ["skipped", "landed"]
    assert again.document["branch"] == first.document["branch"]
    assert len(server.received) == 1


@pytest.mark.rest
def test_the_clean_up_after_a_run_that_was_cut_off_is_reported_once(
    build: Build, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, ONE, STRAY, STRAY):
        assert build().code == 1
    journal = repo / ".git/llmch/journal.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    (record,) = (cwd / "artifacts/factory").glob("*/run.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "status": "running"}))
    with model_server(monkeypatch, TWO):
        said = build()
    assert (said.code, said.out.count("cleaning up after it")) == (0, 1)


@pytest.mark.rest
def test_another_spec_is_another_plan(
    build: Build, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, ONE, TWO):
        assert build().code == 0
    spec.write_text("# Two other files\n")
    with model_server(monkeypatch, PLAN) as server:
        build()
    assert server.received[0].path == "/v1/responses"


@pytest.mark.rest
def test_a_changed_spec_is_followed_and_with_anew_it_is_planned_as_the_first_time(
    build: Build, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = (creating(each, f"{each}.txt", covers=["REQ-01"]) for each in (1, 2))
    reply, prompts = plan_reply(plan(*orders)), []
    for text, flags in (("there", ()), ("here", ()), ("here", ("--anew",))):
        spec.write_text(f"REQ-01: `1.txt` and `2.txt` are {text}.\n")
        with model_server(monkeypatch, reply, ONE, TWO) as server:
            build("--json", *flags)
        prompts.append(json.dumps(server.received[0].body["input"]))
    first, followed, anew = prompts
    assert "are there" in followed, "what changed is shown beside what it was"
    assert "are there" not in anew
    assert anew[:5_000] == first[:5_000] != followed[:5_000]


@pytest.mark.rest
def test_a_template_of_the_users_own_counts_by_its_text(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = tmp_path / "template.md"
    template.write_text("Plan this:\n{{PRODUCT_SPEC}}\n")
    with model_server(monkeypatch, PLAN, ONE, TWO):
        assert build("--template", template).code == 0
    template.write_text("Plan that:\n{{PRODUCT_SPEC}}\n")
    with model_server(monkeypatch, PLAN) as server:
        build("--template", template)
    assert server.received[0].path == "/v1/responses"


@pytest.fixture
def required(spec: Path) -> Path:
    """Return a spec whose one requirement has an id of its own."""
    document = {"name": "One", "summary": "A file.", "requirements": [{"id": "R1", "text": "Is."}]}
    path = spec.with_suffix(".json")
    path.write_text(json.dumps(document))
    return path


@pytest.mark.rest
def test_another_demand_on_the_plan_is_another_plan(
    build: Build, required: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, ONE, TWO):
        assert build("--spec", required).code == 0
    with model_server(monkeypatch, PLAN, PLAN) as server:
        said = build("--spec", required, "--require-coverage", "--json")
    assert len(server.received) == 2, "the plan on file was not held to this"
    assert (said.code, said.document["ok"]) == (2, False)
    assert [each["code"] for each in said.document["findings"]] == ["E302"]


@pytest.mark.rest
def test_a_plan_that_had_to_cover_each_requirement_is_found_again(
    build: Build, required: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    covering = plan_reply(plan(creating(1, "1.txt", covers=["R1"])))
    with model_server(monkeypatch, PLAN, covering, ONE):
        assert build("--spec", required, "--require-coverage").code == 0
    with model_server(monkeypatch) as server:
        again = build("--spec", required, "--require-coverage", "--json")
    assert (again.code, server.received) == (0, [])


def test_an_invalid_plan_is_never_executed(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(repo)
    unmet = plan_reply(plan(creating(1, "1.txt", preconditions=exists("none"))))
    with model_server(monkeypatch, *[unmet] * 5):
        said = build("--json")
    assert (said.code, said.document["ok"]) == (2, False)
    assert snapshot(repo) == before


def test_a_repo_that_is_not_ready_is_refused_before_planning_is_paid_for(
    build: Build, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "README.md").write_text("changed\n")
    with model_server(monkeypatch) as server:
        said = build("--json")
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")
    assert (server.received, list(cwd.iterdir())) == ([], [])


@pytest.mark.rest
def test_a_plan_that_has_landed_is_built_again_without_a_key(
    build: Build, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, ONE, TWO):
        tip = build("--json").document["tip"]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    again = build("--json")
    assert (again.code, again.document["tip"]) == (0, tip), again.err
    assert build("--json", "--branch", "elsewhere").error["name"] == "MODEL"
    spec.write_text("# Two other files\n")
    assert build("--json").error["name"] == "MODEL"


def test_without_a_key_nothing_begins(build: Build, repo: Path, cwd: Path) -> None:
    before = snapshot(repo)
    assert build("--json").code == 3
    assert (snapshot(repo), list(cwd.iterdir())) == (before, [])


def test_a_protected_branch_is_refused_before_planning_is_paid_for(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_all(repo)
    with model_server(monkeypatch, PLAN) as server:
        said = build("--branch", "main", "--json")
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")
    assert server.received == []


def test_an_export_into_the_repo_is_refused_before_planning_is_paid_for(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN) as server:
        said = build("--out", repo / "out", "--json")
    assert said.code == 2
    assert server.received == []


# The base is verified before planning is paid for


@pytest.fixture
def verified(repo: Path) -> Callable[[], list[str]]:
    """Returns the files at the root of each tree that the repo's script has verified."""
    seen = repo.parent / "verified"
    script = f"echo $(ls) >> {seen}\n"
    commit_all(repo, {"scripts/verify.sh": script})
    return lambda: seen.read_text().splitlines()


BASE = "README.md scripts src"


def test_a_red_base_is_refused_before_planning_is_paid_for(
    build: Build, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_all(repo, {"scripts/verify.sh": "echo 'two is not three' >&2; exit 3\n"})
    before = snapshot(repo)
    with model_server(monkeypatch) as server:
        said = build("--json")
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")
    assert "before any order: `bash scripts/verify.sh` ended with exit code 3" in said.out
    assert "two is not three" in said.error["message"]
    assert "--allow-red" in said.error["hint"]
    assert (server.received, snapshot(repo), list(cwd.iterdir())) == ([], before, [])
    assert list(Path(os.environ["LLMCH_WORKSPACES"]).glob("*/*")) == []


@pytest.mark.rest
def test_the_base_is_verified_once_for_plan_and_orders(
    build: Build, verified: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, ONE, TWO):
        assert build().code == 0
    assert verified()[0] == BASE
    assert verified().count(BASE) == 1


@pytest.mark.rest
def test_a_base_that_may_be_red_is_left_to_the_orders(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_all(repo, {"scripts/verify.sh": "exit 3\n"})
    with model_server(monkeypatch, PLAN, ONE, TWO):
        said = build("--allow-red", "--json")
    assert (said.code, said.document["verdict"]) == (0, "PASS")


@pytest.mark.rest
def test_the_base_is_that_of_the_branch_that_is_named(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repo, "switch", "--quiet", "--create", "red")
    commit_all(repo, {"scripts/verify.sh": "exit 3\n"})
    git(repo, "switch", "--quiet", "main")
    with model_server(monkeypatch) as server:
        assert build("--branch", "red").code == 5
    assert server.received == []
    with model_server(monkeypatch, PLAN, ONE, TWO):
        assert build("--branch", "green").code == 0


@pytest.mark.rest
def test_the_plan_is_made_for_the_commit_that_the_orders_start_from(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_all(repo, {"earlier.txt": "x\n"})
    start = git(repo, "rev-parse", "HEAD")
    git(repo, "rm", "--quiet", "earlier.txt")
    commit_all(repo, {"later.txt": "x\n"})
    with model_server(monkeypatch, PLAN, ONE, TWO) as server:
        assert build("--commit-hash", start).code == 0
    asked = json.dumps(server.received[0].body)
    assert "earlier.txt" in asked
    assert "later.txt" not in asked


@pytest.mark.rest
@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({}, 0),
        ({"main.go": "package main\n"}, 0),
        ({"src/app.py": "x = 1\n"}, 0),
        ({"src/app.py": "def (:\n"}, 5),
        ({"test_app.py": "def test_no():\n    assert False\n"}, 5),
    ],
)
def test_a_repo_without_a_verification_of_its_own_may_be_planned_for(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], code: int
) -> None:
    git(repo, "rm", "--quiet", "-r", ".")
    commit_all(repo, files)
    with model_server(monkeypatch, PLAN, ONE, TWO) as server:
        assert build().code == code
    assert len(server.received) == (0 if code else 3)


@pytest.mark.rest
def test_a_plan_on_file_has_its_base_verified_by_the_orders(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, STRAY, STRAY):
        assert build().code == 1
    commit_all(repo, {"scripts/verify.sh": "exit 3\n"})
    with model_server(monkeypatch) as server:
        said = build("--json")
    assert (said.code, server.received) == (5, [])
    assert "continuing with the plan" in said.err


@pytest.mark.rest
def test_a_replayed_plan_verifies_no_base(
    build: Build,
    repo: Path,
    tmp_path: Path,
    verified: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transcript = tmp_path / "transcript.jsonl"
    with model_server(monkeypatch, PLAN, ONE, TWO):
        assert build("--transcript", transcript).code == 0
    (repo / ".git/llmch/plans.json").unlink()
    (repo / ".git/llmch/verified.json").unlink()
    said = build("--llm", "replay", "--transcript", transcript, "--branch", "again")
    assert (said.code, verified().count(BASE)) == (0, 1)


def test_a_repo_in_use_is_refused_before_planning_is_paid_for(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hold(repo / ".git"), model_server(monkeypatch) as server:
        assert build("--json").code == 8
    assert server.received == []
