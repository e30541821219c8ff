"""`llmch plan` through its real entry, with a real server for the model where one is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness import git
from tests.llmch.command_line import Said, Say, model_server, plan_reply, snapshot
from tests.planner.large_plan import details_of, large_plan, large_spec, outline_of
from tests.planner.plans import creating, exists, plan
from tests.shared.llm.edge import error_answer
from tests.shared.llm.scripted_server import Act, scripted_server

GOOD = plan(creating(1, "greet.py"), creating(2, "tests/test_greet.py"))
UNMET = plan(creating(1, "greet.py", preconditions=exists("missing.py")))
KEYS = {
    "ok",
    "attempts",
    "work_orders",
    "run_id",
    "run_dir",
    "output_dir",
    "findings",
    "usage",
    "assumptions",
    "forecast",
}


@pytest.fixture
def transcript(
    say: Say, spec: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> tuple[str, ...]:
    """The flags that replay a plan: refused once, then accepted."""
    path = tmp_path / "transcript.jsonl"
    with model_server(monkeypatch, plan_reply(UNMET), plan_reply(GOOD)):
        assert say("plan", "--spec", spec, "--no-review", "--transcript", path).code == 0
    monkeypatch.delenv("OPENAI_BASE_URL")
    return "--llm", "replay", "--transcript", str(path)


def test_the_worst_case_is_for_those_who_ask_for_details(
    say: Say, spec: Path, transcript: tuple[str, ...]
) -> None:
    command: tuple[str | Path, ...] = ("plan", "--spec", spec, "--no-review", *transcript)
    assert "worst case" not in say(*command).out
    worst = say(*command, "--verbose").out.splitlines()[-1]
    assert "worst case: 30 calls, " in worst
    assert "(2 orders x 5 attempts x 3 questions; " in worst


def test_a_plan_from_a_real_server(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, plan_reply(UNMET), plan_reply(GOOD)) as server:
        said = say("plan", "--spec", spec, "--no-review", "--outdir", "plan")
    assert (said.code, said.err) == (0, "")
    assert [each.path for each in server.received] == ["/v1/responses", "/v1/responses"]
    assert "[E101]" in json.dumps(server.bodies[1]["input"])
    assert "E101" in said.out
    assert "missing.py" in said.out
    assert "WO-02    to do     Check the sources" in said.out
    expected = said.out.splitlines()[-1]
    assert "expected cost of running the plan: 3 calls, " in expected
    assert "assumed: 1.2 calls an order" in expected
    assert "worst case" not in said.out
    assert sorted(each.name for each in (cwd / "plan").iterdir()) == [
        "WO-01.json",
        "WO-02.json",
        "WORK_ORDERS_MANIFEST.json",
    ]


def test_a_plan_is_made_in_stages_where_it_is_asked_for(
    say: Say, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec.write_text(large_spec(8))
    whole = large_plan(2, 4)
    staged = plan_reply(outline_of(whole)), plan_reply(details_of(whole, "WO-01", "WO-02"))
    with model_server(monkeypatch, *staged):
        said = say("plan", "--spec", spec, "--no-review", "--staged", "--no-repo")
    assert said.code == 0, said.err
    assert "outline accepted" in said.out and "details accepted" in said.out
    spec.write_text(large_spec(250))
    with model_server(monkeypatch, plan_reply(whole)):
        said = say("plan", "--spec", spec, "--no-review", "--no-staged", "--no-repo")
    assert said.code == 0, said.err
    assert "outline" not in said.out


@pytest.mark.parametrize("orders", [8, 9])
def test_a_plan_ends_with_what_it_will_do_whole_where_it_is_small(
    say: Say, spec: Path, monkeypatch: pytest.MonkeyPatch, orders: int
) -> None:
    many = plan(*(creating(number, f"{number}.txt") for number in range(1, orders + 1)))
    with model_server(monkeypatch, plan_reply(many)):
        said = say("plan", "--spec", spec, "--no-review", "--outdir", "plan")
    assert said.code == 0
    assert said.out.count("● WO-0") == orders
    assert said.out.count("    + ") == (orders if orders == 8 else 0)
    assert f"Plan: {orders} orders, {orders} to do; {orders} files new, " in said.out
    assert ("`llmch show plan` shows the files" in said.out) == (orders == 9)


def test_json_is_one_document_with_the_promised_keys(
    say: Say, spec: Path, transcript: tuple[str, ...]
) -> None:
    said = say("plan", "--spec", spec, "--json", *transcript)
    assert said.code == 0
    assert said.document.keys() >= KEYS
    assert (said.document["ok"], said.document["attempts"]) == (True, 2)
    assert said.document["work_orders"] == 2
    assert {each["severity"] for each in said.document["findings"]} <= {"warning"}
    assert said.document["usage"].keys() >= {
        "calls",
        "input_tokens",
        "cached_tokens",
        "output_tokens",
        "reasoning_tokens",
        "cost_usd",
    }
    assert said.document["forecast"]["expected"]["calls"] == 3
    assert said.document["forecast"]["worst_case"]["calls"] == 30
    assert Path(said.document["output_dir"], "WO-02.json").is_file()
    assert "replayed" in said.err


def test_quiet_is_the_verdict_alone(say: Say, spec: Path, transcript: tuple[str, ...]) -> None:
    said = say("plan", "--spec", spec, "--quiet", *transcript)
    assert (said.code, said.err) == (0, "")
    (line,) = said.out.splitlines()
    assert "PASS" in line


def test_the_summary_can_be_printed(say: Say, spec: Path, transcript: tuple[str, ...]) -> None:
    said = say("plan", "--spec", spec, "--print-summary", *transcript)
    assert '"compile_attempts": 2' in said.out


def test_records_go_where_they_are_asked_to(
    say: Say, spec: Path, cwd: Path, transcript: tuple[str, ...]
) -> None:
    said = say("plan", "--spec", spec, "--json", "--artifacts-dir", "records", *transcript)
    assert Path(said.document["run_dir"]).parent == cwd / "records" / "planner"


def test_a_replay_asks_nobody_and_needs_no_key(
    say: Say, spec: Path, transcript: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch) as server:
        assert say("plan", "--spec", spec, *transcript).code == 0
    assert server.received == []


def test_a_replay_of_another_question_says_what_changed(
    say: Say, spec: Path, transcript: tuple[str, ...]
) -> None:
    spec.write_text("# Something else\n")
    said = say("plan", "--spec", spec, "--json", *transcript)
    assert said.code == 3
    assert "prompt" in said.error["message"]


def test_a_plan_that_never_becomes_valid_is_invalid(
    say: Say, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, plan_reply(UNMET), plan_reply(UNMET)):
        said = say("plan", "--spec", spec, "--max-attempts", "2", "--json")
    assert said.code == 2
    assert (said.document["ok"], said.document["output_dir"]) == (False, None)
    assert "E101" in [each["code"] for each in said.document["findings"]]
    assert Path(said.document["run_dir"], "validation_errors.json").is_file()


def test_a_last_reply_without_json_has_an_exit_code_of_its_own(
    say: Say, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, plan_reply("I would rather not.")):
        said = say("plan", "--spec", spec, "--max-attempts", "1", "--json")
    assert (said.code, said.error["name"]) == (4, "UNPARSEABLE")


def test_a_last_reply_that_is_a_list_is_an_invalid_plan(
    say: Say, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, plan_reply("[]")):
        said = say("plan", "--spec", spec, "--max-attempts", "1", "--json")
    assert said.code == 2
    assert [each["code"] for each in said.document["findings"]] == ["E000"]


@pytest.mark.parametrize(
    "refusal",
    [
        error_answer(401, "wrong key", code="invalid_api_key"),
        error_answer(429, "no money", code="insufficient_quota"),
        error_answer(404, "no such model", code="model_not_found"),
    ],
    ids=["key", "quota", "model"],
)
def test_a_server_that_refuses_for_good_ends_the_command(
    say: Say, spec: Path, refusal: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, refusal) as server:
        said = say("plan", "--spec", spec, "--json")
    assert (said.code, said.error["name"]) == (3, "MODEL")
    assert len(server.received) == 1


def test_a_budget_that_is_too_small_for_the_first_call_asks_nothing(
    say: Say, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch) as server:
        said = say("plan", "--spec", spec, "--max-tokens", "100", "--json")
    assert (said.code, said.error["name"]) == (7, "BUDGET")
    assert server.received == []


def test_attempts_out_of_range_are_clamped_with_a_warning(
    say: Say, spec: Path, transcript: tuple[str, ...]
) -> None:
    said = say("plan", "--spec", spec, "--max-attempts", "1000", *transcript)
    assert said.code == 0
    assert "50" in next(line for line in said.out.splitlines() if "1000" in line)
    said = say("plan", "--spec", spec, "--max-attempts", "0", "--json", *transcript)
    assert said.code == 2
    assert "1" in next(line for line in said.err.splitlines() if "warning" in line)


# Bad input: nothing is asked, nothing is written


def refused(said: Said, cwd: Path, code: int = 2) -> str:
    """Return message and hint of a command that was refused and left nothing behind."""
    assert said.code == code
    assert said.error["hint"]
    assert list(cwd.iterdir()) == []
    return str(said.error["message"])


BAD_SPECS: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "does not exist"),
    "empty": (b"", "is empty"),
    "not UTF-8": (b"\xff\xfe\x00", "not UTF-8"),
    "too large": (b"x" * 1_000_001, "over the limit"),
}


@pytest.mark.parametrize(("content", "words"), BAD_SPECS.values(), ids=BAD_SPECS)
def test_a_bad_spec(
    say: Say,
    spec: Path,
    cwd: Path,
    content: bytes | None,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec.unlink() if content is None else spec.write_bytes(content)
    with model_server(monkeypatch) as server:
        message = refused(say("plan", "--spec", spec, "--json"), cwd)
    assert words in message
    assert str(spec) in message
    assert server.received == []


# Flags and what is said of them; `{here}` is the folder that the test fills.
BAD_FLAGS = {
    "a folder for a spec": (["--spec", "{here}/plan"], "is a directory"),
    "a template without the place": (["--template", "{here}/template.md"], "{{PRODUCT_SPEC}}"),
    "a repo that is none": (["--repo", "{here}"], "not a git working tree"),
    "a repo that is not there": (["--repo", "{here}/none"], "no such folder"),
    "a bare repo": (["--repo", "{here}/bare.git"], "not a git working tree"),
    "an export into the repo": (["--repo", "{here}/repo", "--outdir", "{here}/repo/x"], "inside"),
    "an export over a plan": (["--outdir", "{here}/plan"], "already holds a plan"),
    "an export to a file": (["--outdir", "{here}/template.md"], "is not a directory"),
    "an empty effort": (["--reasoning-effort", ""], "reasoning"),
    "no room for a reply": (["--max-output-tokens", "0"], "max-output-tokens"),
    "a cost that is no number": (["--max-cost", "much"], "max-cost"),
    "a negative cap": (["--max-tokens", "-1"], "max-tokens"),
    "a replay of nothing": (["--llm", "replay"], "needs a transcript"),
    "a replay of no file": (["--llm", "replay", "--transcript", "{here}/none"], "none"),
    "a flag that nobody knows": (["--frobnicate"], "--frobnicate"),
}


@pytest.mark.parametrize(("flags", "words"), BAD_FLAGS.values(), ids=BAD_FLAGS)
def test_bad_flags(
    say: Say,
    spec: Path,
    repo: Path,
    cwd: Path,
    flags: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = cwd.parent
    (here / "template.md").write_text("Plan something.")
    (here / "plan").mkdir()
    (here / "plan" / "WO-01.json").write_text("{}")
    git(here, "init", "--quiet", "--bare", "bare.git")
    before = snapshot(repo)
    arguments = [flag.format(here=here) for flag in flags]
    with model_server(monkeypatch) as server:
        message = refused(say("plan", "--spec", spec, *arguments, "--json"), cwd)
    assert words in message
    assert server.received == []
    assert snapshot(repo) == before


def test_without_a_key_nothing_begins(say: Say, spec: Path, cwd: Path) -> None:
    said = say("plan", "--spec", spec, "--json")
    assert "OPENAI_API_KEY is not set" in refused(said, cwd, code=3)
    assert "OPENAI_BASE_URL" in said.error["hint"]


@pytest.mark.parametrize("verb", [["plan"], ["build", "--yes"]])
def test_a_spec_that_is_not_there_is_told_before_a_missing_key(
    say: Say, cwd: Path, verb: list[str]
) -> None:
    assert "nowhere.md" in refused(say(*verb, "--spec", "nowhere.md", "--json"), cwd)


def test_a_base_url_that_is_none_is_refused(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8080")
    assert "not an http or https URL" in refused(say("plan", "--spec", spec, "--json"), cwd)


@pytest.mark.parametrize("where", ["file/below", "file"])
def test_a_root_of_records_that_cannot_be_written_ends_the_command(
    say: Say, spec: Path, cwd: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cwd.parent / "file").write_text("")
    with model_server(monkeypatch) as server:
        said = say("plan", "--spec", spec, "--artifacts-dir", cwd.parent / where, "--json")
    assert str(cwd.parent / where) in refused(said, cwd, code=1)
    assert "--artifacts-dir" in said.error["hint"]
    assert server.received == []


def test_no_key_ever_reaches_the_disk_or_the_screen(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-secret-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    leaking = plan(creating(1, "a.py", notes=f"The key is {key}."))
    with model_server(monkeypatch, error_answer(401, f"Incorrect key: {key}")):
        said = say("plan", "--spec", spec)
    assert said.code == 3
    with model_server(monkeypatch, plan_reply(leaking)):
        done = say("plan", "--spec", spec, "--verbose")
    assert done.code == 0
    assert key not in said.out + said.err + done.out + done.err
    written = [path for path in cwd.rglob("*") if path.is_file()]
    assert [path for path in written if key.encode() in path.read_bytes()] == []


# The review of a valid plan

CLAIM = {
    "work_order": "WO-01",
    "command": None,
    "claim": "greet.py has no tests",
    "evidence": "Check the sources",
}


def test_a_live_plan_is_reviewed_unless_that_is_declined(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = plan_reply(GOOD), plan_reply({"findings": [CLAIM]}), plan_reply(GOOD)
    record = cwd.parent / "reviewed.jsonl"
    with model_server(monkeypatch, *replies) as server:
        command = "plan", "--spec", spec, "--reviewer-model", "critic", "--transcript", record
        said = say(*command)
    assert said.code == 0
    assert [each["model"] == "critic" for each in server.bodies] == [False, True, False]
    assert "1 claim to answer" in said.out
    assert "greet.py has no tests" in said.out
    monkeypatch.delenv("OPENAI_BASE_URL")
    replayed = say(*command, "--llm", "replay")
    assert (replayed.code, "1 claim to answer" in replayed.out) == (0, True)


def test_a_reviewer_may_have_a_server_of_its_own(
    say: Say, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_server(plan_reply({"findings": []})) as other:
        monkeypatch.setenv("LLMCH_REVIEWER_BASE_URL", other.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        with model_server(monkeypatch, plan_reply(GOOD)) as server:
            assert say("plan", "--spec", spec, "--review").code == 0
    assert (len(server.received), len(other.received)) == (1, 1)


def temperatures(bodies: list[dict[str, object]]) -> list[object]:
    """Return the temperature that each request asked for; `None` where it named none."""
    return [each.get("temperature") for each in bodies]


def test_planner_and_reviewer_are_asked_at_their_own_temperature(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acts = (plan_reply(GOOD), plan_reply({"findings": []}))
    with model_server(monkeypatch, *acts) as server:
        assert say("plan", "--spec", spec, "--review").code == 0
    assert temperatures(server.bodies) == [0, 0]
    monkeypatch.setenv("LLMCH_PLANNER_TEMPERATURE", "0.25")
    monkeypatch.setenv("LLMCH_REVIEWER_TEMPERATURE", "0.75")
    with model_server(monkeypatch, *acts) as server:
        assert say("plan", "--spec", spec, "--review").code == 0
    assert temperatures(server.bodies) == [0.25, 0.75]


def test_a_temperature_that_the_server_refuses_is_not_sent_to_it_again(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = error_answer(400, "Unsupported parameter", "unsupported_value", "temperature")
    acts = (refusal, plan_reply(UNMET), plan_reply(GOOD))
    with model_server(monkeypatch, *acts) as server:
        assert say("plan", "--spec", spec, "--no-review").code == 0
    assert temperatures(server.bodies) == [0, None, None]


def test_what_run_all_would_refuse_is_said_before_the_first_call(
    say: Say, spec: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "package.json").write_text('{"devDependencies": {"ava": "^6.0.0"}}')
    git(repo, "add", "package.json")
    git(repo, "switch", "--quiet", "--detach")
    flags = ("--spec", spec, "--no-review", "--repo", repo, "--max-attempts", "1")
    with model_server(monkeypatch, error_answer(401)):
        said = say("plan", *flags)
        on_branch = say("plan", *flags, "--branch", "work")
    with model_server(monkeypatch, plan_reply(GOOD)):
        planned = say("plan", *flags, "--branch", "my work")
    assert said.out.index("uncommitted changes: package.json") < said.out.index("attempt   1")
    assert f"HEAD of {repo} is detached" in said.out
    assert "pass --deps auto, which installs what is declared" in said.out
    assert "is detached" not in on_branch.out
    assert planned.out.endswith(" --branch 'my work' --deps auto\n")


@pytest.mark.rest
def test_a_plan_that_cannot_run_here_is_refused_unless_that_is_declined(
    say: Say, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = {"path": "test_greet.py", "content": "def test_sum():\n    assert sum([1, 1]) == 2\n"}
    commands = ["python -m pytest -q --runslow test_greet.py"]
    bad = plan(creating(1, "a.py", acceptance_files=[test], acceptance_commands=commands))
    flags = "plan", "--spec", spec, "--no-review", "--json", "--max-attempts", "1"
    with model_server(monkeypatch, plan_reply(bad), plan_reply(bad)):
        refused, accepted = say(*flags), say(*flags, "--no-dry-run")
    assert (refused.code, accepted.code) == (2, 0)
    (found,) = (each for each in refused.document["findings"] if each["code"] == "E402")
    assert found["field"] == "acceptance_commands[0]"
    assert "unrecognized arguments: --runslow" in found["message"]


def test_a_plan_for_a_repo_ends_with_the_command_that_executes_it(
    say: Say, spec: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plan_reply(plan(creating(1, "a.py")))
    words = ("plan", "--spec", spec, "--no-review", "--repo", repo, "--outdir")
    with model_server(monkeypatch, made, made):
        said = say(*words, "a plan")
        named = say(*words, "other", "--model", "m", "--reasoning-effort", "low")
    assert said.code == named.code == 0, said.out
    step, other = (each.out.splitlines()[-1].strip() for each in (said, named))
    assert step == f"llmch run-all --repo {repo} --workdir 'a plan'"
    then = " --model m --reasoning-effort low"
    assert other == f"llmch run-all --repo {repo} --workdir other{then}"
