"""`llmch mcp`, asked by the official client: what the tools answer, and how calls begin and end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client as NewestClient
from mcp.client.stdio import stdio_client
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from factory.preflight import hold
from llmch.verbs.mcp.call import error_answer
from llmch.verbs.mcp.tools import TOOLS, Tool
from shared.errors import InvalidInput
from tests import processes
from tests.harness import commit_all, git, manifest, write_plan, writing
from tests.llmch.command_line import (
    model_server,
    own_environment,
    plan_reply,
    run,
    snapshot,
    write_reply,
)
from tests.llmch.mcp_client import Answer, Client, Mcp
from tests.planner.plans import creating, plan
from tests.shared.llm.scripted_server import Silence

ONE, TWO = (write_reply({f"{number}.txt": "text\n"}) for number in (1, 2))
PLAN = plan_reply(plan(creating(1, "1.txt"), creating(2, "2.txt")))
LOOKING = {"check", "show", "status", "diff", "verify", "drift"}


@pytest.fixture
def spec(cwd: Path) -> Path:
    path = cwd / "spec.md"
    path.write_text("# Two files\n")
    return path


@pytest.fixture
def workdir(cwd: Path) -> Path:
    return write_plan(cwd / "plan", manifest([writing("1.txt", 1), writing("2.txt", 2)]))


@pytest.fixture
def mcp(cwd: Path, repo: Path, tmp_path: Path) -> Mcp:
    """Serves the repo and the folder of the commands, which run without a sandbox."""
    options = (
        *("--repo", str(repo), "--folder", str(cwd), "--sandbox", "off", "--no-review"),
        *("--reply-format", "json", "--max-attempts", "1"),
    )
    return Mcp(cwd, options, tmp_path / "errors.txt")


def states(answer: Answer) -> list[str]:
    return [each["state"] for each in answer.document["orders"]]


@pytest.mark.rest
def test_the_tools_say_what_they_take_and_what_they_answer(mcp: Mcp, repo: Path) -> None:
    async def look(client: Client) -> None:
        tools = await client.tools()
        assert set(tools) == {each.name for each in TOOLS}
        for each in tools.values():
            jsonschema.Draft202012Validator.check_schema(each.input_schema)
            assert each.input_schema["additionalProperties"] is False
            assert each.input_schema["properties"]["repo"]["enum"] == [str(repo)]
            assert each.output_schema is not None
            assert each.description
            assert each.annotations is not None
            assert each.annotations.read_only_hint == (each.name in LOOKING)
        parameters = {name for each in tools.values() for name in each.input_schema["properties"]}
        assert not [each for each in parameters if _is_the_persons(each)]

    assert mcp.serve(look) == ""


def _is_the_persons(parameter: str) -> bool:
    words = (
        "sandbox",
        "allow",
        "python",
        "link",
        "deps",
        "max",
        "url",
        "transcript",
        "push",
        "llm",
    )
    return any(each in parameter for each in words) or parameter == "verify"


@pytest.mark.rest
def test_a_specification_becomes_verified_commits(
    mcp: Mcp, repo: Path, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def build(client: Client) -> None:
        assert (await client.call("status")).document["state"] == "none"
        planned = await client.call("plan", spec=str(spec))
        assert planned.document["ok"]
        assert any("accepted" in text for _, _, text in planned.progress)
        folder = planned.document["output_dir"]
        shown = await client.call("show", plan=folder, check=True)
        assert [each["state"] for each in shown.document["orders"]] == ["to_do"] * 2
        assert shown.document["findings"] is not None
        assert (await client.call("check", plan=folder)).document["ok"]

        landed = await client.call("run_all", plan=folder, branch="work")
        assert (landed.document["verdict"], states(landed)) == ("PASS", ["landed"] * 2)
        assert landed.document["tip"] == git(repo, "rev-parse", "work")
        assert "**run-all PASS**" in landed.text
        _rises(landed)
        assert landed.progress[-1][1] == 3

        assert (await client.call("status")).document["state"] == "ended"
        change = await client.call("diff", order="WO-02", attempt=1)
        assert [each["path"] for each in change.document["files"]] == ["2.txt"]
        assert "+text" in change.text
        proof = await client.call("verify", commits="main..work", require=["commit", "files"])
        assert (proof.is_error, proof.document["required_and_not_proven"]) == (False, [])
        claims = proof.document["commits"][0]["claims"]
        assert {"claim": "parent", "verdict": "proven"}.items() <= _of(claims, "parent").items()
        drift = (await client.call("drift", rev="work")).document
        assert {each["state"] for each in drift["requirements"]} == {"unproven"}, drift

    with model_server(monkeypatch, PLAN, ONE, TWO):
        assert mcp.serve(build) == ""
    assert git(repo, "branch", "--show-current") == "main"


def _of(claims: list[dict[str, str]], name: str) -> dict[str, str]:
    return next(each for each in claims if each["claim"] == name)


def _rises(answer: Answer) -> None:
    """Hold that progress rises with each report, as the protocol demands."""
    done = [each for each, _, _ in answer.progress]
    assert done == sorted(set(done))
    assert len(done) > 5
    assert all(total is None or each < total for each, total, _ in answer.progress)


@pytest.mark.rest
def test_replies_are_replayed_without_a_model(
    mcp: Mcp, spec: Path, tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = str(tmp_path / "transcript.jsonl")

    async def build(client: Client) -> None:
        planned = await client.call("plan", spec=str(spec))
        landed = await client.call("run_all", plan=planned.document["output_dir"], branch="work")
        tips.append(landed.document["tip"])

    tips: list[str] = []
    with model_server(monkeypatch, PLAN, ONE, TWO):
        mcp.serve(build, "--transcript", transcript, SOURCE_DATE_EPOCH="1700000000")
    monkeypatch.delenv("OPENAI_BASE_URL")
    git(repo, "branch", "--delete", "--force", "work")
    replay = ("--llm", "replay", "--transcript", transcript)
    mcp.serve(build, *replay, SOURCE_DATE_EPOCH="1700000000")
    assert tips[0] == tips[1]


@pytest.mark.rest
def test_a_plan_is_saved_where_that_is_allowed(
    mcp: Mcp, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def save(client: Client) -> None:
        planned = await client.call("plan", spec=str(spec), save_to=str(cwd / "saved"))
        assert planned.document["output_dir"] == str(cwd / "saved")
        again = await client.call("diff", plans=[str(cwd / "saved"), str(cwd / "saved")])
        assert again.document["equal"]

    with model_server(monkeypatch, PLAN):
        mcp.serve(save)
    assert (cwd / "saved" / "WO-02.json").is_file()


@pytest.mark.rest
def test_an_order_that_fails_is_an_answer_and_no_error(
    mcp: Mcp, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(client: Client) -> None:
        failed = await client.call("run_all", plan=str(workdir))
        assert not failed.is_error
        assert (failed.document["verdict"], states(failed)) == ("FAIL", ["failed", "pending"])
        rejected = await client.call("diff", order="WO-01")
        assert rejected.document["stage"] == "write_scope_violation"

    with model_server(monkeypatch, write_reply({"stray.txt": "text\n"})):
        mcp.serve(fail)


@pytest.mark.rest
def test_an_error_has_the_form_that_the_command_line_gives_it(mcp: Mcp, workdir: Path) -> None:
    async def fail(client: Client) -> None:
        (workdir / "WO-01.json").write_text("{")
        error = (await client.call("run_all", plan=str(workdir))).error
        assert (error["code"], error["name"]) == (2, "INVALID")
        assert "WO-01.json" in error["message"]
        assert error["hint"]

    assert mcp.serve(fail, OPENAI_BASE_URL="http://127.0.0.1:9/v1") == ""


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_an_error_fits_the_schema_of_the_answer(tool: Tool) -> None:
    """The clients of the TypeScript SDK throw away what does not, and the error with it."""
    schema = jsonschema.Draft202012Validator(tool.output_schema())
    assert schema.is_valid(error_answer(InvalidInput("no such plan", "name another")).document)
    assert schema.is_valid(dict.fromkeys(tool.keys))
    assert schema.is_valid({}) == (not tool.keys)


@pytest.mark.rest
def test_without_a_key_the_answer_says_what_to_set(mcp: Mcp, workdir: Path) -> None:
    async def fail(client: Client) -> None:
        error = (await client.call("run_all", plan=str(workdir))).error
        assert (error["name"], "OPENAI_API_KEY" in error["hint"]) == ("MODEL", True)

    mcp.serve(fail)


@pytest.mark.rest
def test_a_secret_of_the_environment_is_in_no_answer(mcp: Mcp, repo: Path, cwd: Path) -> None:
    secret = "sk-of-a-person-0123456789"
    commit_all(repo, {"notes.txt": f"the key is {secret}\n"})
    write_plan(cwd / "p", manifest([writing("a.txt", title=f"Use {secret}")]))

    async def look(client: Client) -> None:
        shown = await client.call("show", plan=str(cwd / "p"))
        assert secret not in json.dumps(shown.document) + shown.text
        assert "Use" in shown.text

    mcp.serve(look, OPENAI_API_KEY=secret)


# Calls that are cancelled, and calls beside each other


@pytest.mark.rest
def test_a_cancelled_run_keeps_its_state_and_the_next_call_goes_on(
    mcp: Mcp, workdir: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancel(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_call, client, "run_all", str(workdir))
            await client.until("WO-01 PASS")
            await _until(lambda: len(server.received) == 2)
            tasks.cancel_scope.cancel()
        again = await client.call("run_all", plan=str(workdir), branch="work")
        assert (again.document["verdict"], states(again)) == ("PASS", ["skipped", "landed"])

    with model_server(monkeypatch, ONE, Silence(), TWO) as server:
        assert mcp.serve(cancel) == ""
    assert server.left == 0
    assert git(repo, "worktree", "list").count("\n") == 0


async def _call(client: Client, name: str, folder: str) -> None:
    await client.call(name, plan=folder, branch="work")


async def _until(holds: Any) -> None:
    with anyio.fail_after(120):
        while not holds():
            await anyio.sleep(0.01)


@pytest.mark.rest
def test_one_call_that_may_be_paid_for_runs_at_a_time(
    mcp: Mcp, workdir: Path, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def call_twice(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_call, client, "run_all", str(workdir))
            await client.until("WO-01 order")
            for other in ({"name": "run_all", "plan": str(workdir)}, {"name": "plan", "spec": "s"}):
                error = (await client.call(**other)).error
                assert error["name"] == "BUSY" if other["name"] == "run_all" else "INVALID"
            busy = (await client.call("plan", spec=str(spec))).error
            assert (busy["code"], "run_all on" in busy["message"]) == (8, True)
            status = await client.call("status")
            assert status.document["state"] == "running"
            tasks.cancel_scope.cancel()

    with model_server(monkeypatch, Silence()):
        mcp.serve(call_twice)


@pytest.mark.rest
def test_a_run_that_somebody_else_began_makes_the_repo_busy(
    mcp: Mcp, workdir: Path, repo: Path
) -> None:
    async def call(client: Client) -> None:
        error = (await client.call("run_all", plan=str(workdir))).error
        assert (error["code"], error["name"]) == (8, "BUSY")

    with hold(repo / ".git"):
        mcp.serve(call, OPENAI_BASE_URL="http://127.0.0.1:9/v1")


@pytest.mark.rest
def test_a_client_of_the_newest_protocol_is_answered_too(mcp: Mcp, workdir: Path) -> None:
    """It asks without a handshake, and says in each request which version it speaks."""

    async def look() -> None:
        server = mcp.parameters()
        with mcp.errors.open("w") as errors:
            async with NewestClient(stdio_client(server, errors)) as client:
                assert client.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS
                shown = await client.call_tool("show", {"plan": str(workdir)})
                assert shown.structured_content is not None
                assert shown.structured_content["counts"]["to_do"] == 2
                refused = await client.call_tool("show", {"plan": "/etc"})
                assert refused.is_error

    anyio.run(look)


@pytest.mark.rest
def test_many_calls_that_only_look_are_all_answered(mcp: Mcp, workdir: Path) -> None:
    async def look(client: Client) -> None:
        answers: list[Answer] = []

        async def show() -> None:
            answers.append(await client.call("show", plan=str(workdir)))

        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(show)
        assert [each.document["counts"]["to_do"] for each in answers] == [2] * 6

    mcp.serve(look)


# Caps


@pytest.mark.rest
def test_the_token_cap_is_for_all_calls_together(
    mcp: Mcp, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that was refused and one that was cancelled count, the latter with its worst case."""

    async def spend(client: Client) -> None:
        first = await client.call("plan", spec=str(spec))
        usage = first.document["usage"]
        spent = usage["input_tokens"] + usage["output_tokens"]
        assert spent > 0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_plan, client, str(spec))
            await _until(lambda: len(server.received) == 2)
            tasks.cancel_scope.cancel()
        error = (await client.call("plan", spec=str(spec))).error
        assert (error["code"], error["name"]) == (7, "BUDGET")
        assert "of 70,000 tokens" in error["message"]

    with model_server(monkeypatch, PLAN, Silence(), PLAN) as server:
        mcp.serve(spend, "--max-tokens", "70000")
    assert server.left == 1


async def _plan(client: Client, spec: str) -> None:
    await client.call("plan", spec=spec)


def test_a_read_only_server_has_no_tool_that_writes_or_is_paid_for(mcp: Mcp, workdir: Path) -> None:
    async def look(client: Client) -> None:
        assert set(await client.tools()) == LOOKING
        error = (await client.call("run_all", plan=str(workdir))).error
        assert error["name"] == "INVALID"
        assert (await client.call("show", plan=str(workdir))).document["problems"] == []

    mcp.serve(look, "--read-only")


# Before a client is served


@pytest.mark.rest
@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--repo", "/nowhere"), 2, "no such folder"),
        (("--folder", "/nowhere"), 2, "no such folder"),
        (("--sandbox", "none"), 2, "invalid choice"),
        (("--max-tokens", "many"), 2, "many"),
        (("--branch", "work"), 2, "unrecognized arguments"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_served(
    mcp: Mcp, options: tuple[str, ...], code: int, words: str
) -> None:
    said = run("mcp", *mcp.options, *options, cwd=mcp.cwd)
    assert (said.code, said.out) == (code, "")
    assert words in said.err
    assert "Traceback" not in said.err


@pytest.mark.rest
def test_standard_output_has_no_other_form(mcp: Mcp) -> None:
    said = run("mcp", *mcp.options, "--json", cwd=mcp.cwd)
    assert (said.code, said.error["name"]) == (2, "INVALID")


@pytest.mark.rest
@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_closed_streams_are_refused_in_words(mcp: Mcp, closed: str) -> None:
    with processes.start(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "llmch", "mcp"],
        cwd=mcp.cwd,
        env=own_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"standard input or output is closed" in err


@pytest.mark.rest
def test_outside_of_a_repo_one_has_to_be_named(cwd: Path) -> None:
    said = run("mcp", cwd=cwd)
    assert (said.code, said.out) == (5, "")
    assert "is not a git repo" in said.err


@pytest.mark.rest
def test_a_missing_package_is_named_with_the_command_that_installs_it(mcp: Mcp) -> None:
    program = mcp.cwd / "without.py"
    program.write_text(
        "import sys; sys.modules['mcp'] = None\nfrom llmch.cli import main\nsys.exit(main())\n"
    )
    said = run("mcp", *mcp.options, cwd=mcp.cwd, module="without")
    assert (said.code, said.out) == (1, "")
    assert "pip install '.[mcp]'" in said.err
    assert "Traceback" not in said.err


@pytest.mark.rest
def test_a_client_that_goes_away_at_once_leaves_nothing(mcp: Mcp, repo: Path) -> None:
    before = snapshot(repo)
    with mcp.start() as server:
        out, err = server.communicate(b"", timeout=60)
    assert (server.returncode, out, err) == (0, b"", b"")
    assert snapshot(repo) == before
