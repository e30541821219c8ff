"""`llmch mcp` and a client that wants more than it may, or does not keep to the protocol."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmch.verbs.mcp.tools import TOOLS, Grant
from shared.errors import InvalidInput
from shared.llm.budget import Budget
from tests.harness import git, manifest, write_plan, writing
from tests.llmch.command_line import model_server, plan_reply, snapshot, write_reply
from tests.llmch.mcp_client import Client, Mcp
from tests.planner.plans import creating, plan
from tests.shared.llm.scripted_server import Silence

pytestmark = pytest.mark.rest


PLAN = plan_reply(plan(creating(1, "1.txt")))
ONE = write_reply({"1.txt": "text\n"})


@pytest.fixture
def workdir(cwd: Path) -> Path:
    return write_plan(cwd / "plan", manifest([writing("1.txt", 1)]))


@pytest.fixture
def mcp(cwd: Path, repo: Path, tmp_path: Path) -> Mcp:
    options = (
        *("--repo", str(repo), "--folder", str(cwd), "--sandbox", "off", "--no-review"),
        *("--reply-format", "json", "--max-attempts", "1"),
    )
    return Mcp(cwd, options, tmp_path / "errors.txt")


SMUGGLED: list[tuple[str, dict[str, Any]]] = [
    ("run_all", {"sandbox": "off"}),
    ("run_all", {"--sandbox": "off"}),
    ("run_all", {"sandbox.backend": "off"}),
    ("run_all", {"allow_red": True}),
    ("run_all", {"allow_verify_exempt": True}),
    ("run_all", {"verify": ["true"]}),
    ("run_all", {"push": True}),
    ("run_all", {"max_cost": "1000000"}),
    ("run_all", {"max_tokens": 10**9}),
    ("run_all", {"jobs": 64}),
    ("run_all", {"on": "fleet"}),
    ("run_all", {"out": "/tmp"}),
    ("run_all", {"python": "/bin/sh"}),
    ("run_all", {"commit_hash": "HEAD"}),
    ("run_all", {"artifacts_dir": "/tmp"}),
    ("run_all", {"llm": "replay", "transcript": "/etc/passwd"}),
    ("run_all", {"keep_going": "--push"}),
    ("run_all", {"branch": ["work", "--push"]}),
    ("run_all", {"branch": "work\n--push"}),
    ("run_all", {"branch": "work\0"}),
    ("run_all", {"branch": ""}),
    ("run_all", {"branch": "b" * 10**6}),
    ("run_all", {"repo": "/"}),
    ("run_all", {"repo": "."}),
    ("run_all", {"repo": "--sandbox=off"}),
    ("run_all", {"repo": None, "plan": 7}),
    ("plan", {"spec": "spec.md", "template": "/etc/passwd"}),
    ("plan", {"spec": "spec.md", "base_url": "http://example.org"}),
    ("plan", {"spec": "spec.md", "overwrite": True}),
    ("plan", {"spec": "spec.md", "follows": {"$ref": "#"}}),
    ("check", {"fix": True}),
    ("check", {"accept_edits": True}),
    ("status", {"watch": True}),
    ("diff", {"order": "../../etc"}),
    ("diff", {"order": "WO-01", "run": "../../../tmp"}),
    ("diff", {"order": "WO-01", "run": "--repo=/"}),
    ("diff", {"order": "WO-01", "attempt": 0}),
    ("diff", {"order": "WO-01", "attempt": True}),
    ("diff", {"plans": ["plan"]}),
    ("diff", {"order": "WO-01", "plans": ["plan", "plan"]}),
    ("diff", {}),
    ("verify", {"transcript": ["/etc/passwd"]}),
    ("verify", {"require": ["everything"]}),
    ("drift", {"fail_on": "none"}),
    ("drift", {"sarif": "/tmp/x"}),
    ("drift", {"requirements": "R1"}),
    ("no_such_tool", {}),
    ("mcp", {}),
    ("reset", {}),
]


def test_no_parameter_says_what_only_the_person_may_say(
    mcp: Mcp, workdir: Path, repo: Path
) -> None:
    async def smuggle(client: Client) -> None:
        for name, parameters in SMUGGLED:
            needs = {"plan": str(workdir)} if name in ("run_all", "check") else {}
            error = (await client.call(name, **{**needs, **parameters})).error
            assert (name, parameters, error["name"]) == (name, parameters, "INVALID")
            assert len(error["message"]) < 2000

    before = snapshot(repo)
    assert mcp.serve(smuggle, OPENAI_BASE_URL="http://127.0.0.1:9/v1") == ""
    assert snapshot(repo) == before


VALUES_LIKE_OPTIONS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("run_all", {"branch": "main"}, {"PREFLIGHT"}),
    ("run_all", {"branch": "master"}, {"PREFLIGHT"}),
    ("run_all", {"branch": "--sandbox=off"}, {"PREFLIGHT"}),
    ("run_all", {"branch": "@{-1}"}, {"PREFLIGHT"}),
    ("run_all", {"branch": "refs/heads/main:x"}, {"PREFLIGHT"}),
    ("run_all", {"plan": "--push"}, {"INVALID"}),
    ("check", {"plan": "--fix"}, {"INVALID"}),
    ("diff", {"plans": ["--stat", "--stat"]}, {"INVALID"}),
    ("verify", {"commits": "--output=/tmp/x"}, {"INVALID"}),
    ("verify", {"commits": "--rerun"}, {"INVALID"}),
    ("verify", {"commits": "HEAD..--output=x"}, {"INVALID"}),
    ("verify", {"commits": ":/start"}, {"INVALID", "OK"}),
    ("drift", {"rev": "--sandbox=off"}, {"INVALID"}),
    ("drift", {"requirements": ["--plan=/etc"]}, {"INVALID"}),
]


def test_a_value_never_becomes_an_option_and_a_protected_branch_stays_one(
    mcp: Mcp, workdir: Path, repo: Path
) -> None:
    async def try_each(client: Client) -> None:
        for name, parameters, expected in VALUES_LIKE_OPTIONS:
            needs = {"plan": str(workdir)} if name in ("run_all", "check") else {}
            answer = await client.call(name, **{**needs, **parameters})
            became = answer.error["name"] if answer.is_error else "OK"
            assert (name, parameters, became in expected) == (name, parameters, True), answer.text

    before = snapshot(repo)
    mcp.serve(try_each, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert snapshot(repo) == before


def test_nothing_outside_is_read_or_written(
    mcp: Mcp, cwd: Path, tmp_path: Path, repo: Path
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# The plans of others\n")
    (cwd / "link.md").symlink_to(secret)
    (cwd / "folder").symlink_to(tmp_path)
    git(repo, "branch", "other")

    async def reach(client: Client) -> None:
        for path in (
            *(str(secret), "/etc/passwd", str(cwd / "link.md"), str(cwd / "folder" / "secret.md")),
            *(f"{cwd}/../secret.md", "../secret.md", ".git/config", str(repo / ".git/HEAD"), "~"),
            *(str(repo / ".GIT" / "config"), "/proc/self/environ", "/", str(cwd) + "x/spec.md"),
        ):
            refused = (await client.call("plan", spec=path)).error
            assert refused["name"] == "INVALID"
            assert "not within" in refused["message"] or path == "~"
            assert "plans of others" not in json.dumps(refused)
            assert (await client.call("run_all", plan=path)).error["name"] == "INVALID"
        (cwd / "spec.md").write_text("# A file\n")
        for path in (
            *(str(repo / "plan"), str(repo), "/tmp/plan", str(cwd / "folder" / "plan")),
            *(str(cwd / ".git" / "plan"), str(cwd / "artifacts" / "plan"), "plan"),
        ):
            refused = (await client.call("plan", spec=str(cwd / "spec.md"), save_to=path)).error
            assert "not in a folder where plans may be saved" in refused["message"]

    before = snapshot(repo)
    mcp.serve(reach, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert snapshot(repo) == before
    assert not (tmp_path / "plan").exists()


def test_settings_beside_a_spec_of_the_clients_choice_are_not_the_persons(
    mcp: Mcp, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = cwd / "aside"
    aside.mkdir()
    (aside / "spec.md").write_text("# A file\n")
    # If this were read, the plan would end by the cap.
    (aside / "llmch.toml").write_text('max_tokens = 1\n[planner]\nmodel = "chosen-by-the-client"\n')

    async def call(client: Client) -> None:
        assert (await client.call("plan", spec=str(aside / "spec.md"))).document["ok"]

    with model_server(monkeypatch, PLAN) as server:
        mcp.serve(call)
    assert server.bodies[0]["model"] != "chosen-by-the-client"


def test_the_persons_settings_are_those_of_the_folder_where_the_server_began(
    mcp: Mcp, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cwd / "llmch.toml").write_text('[planner]\nmodel = "chosen-by-the-person"\n')
    (cwd / "spec.md").write_text("# A file\n")

    async def call(client: Client) -> None:
        assert (await client.call("plan", spec=str(cwd / "spec.md"))).document["ok"]

    with model_server(monkeypatch, PLAN) as server:
        mcp.serve(call)
    assert server.bodies[0]["model"] == "chosen-by-the-person"


def test_names_that_are_no_unicode_are_served(mcp: Mcp, cwd: Path) -> None:
    """An old disk has such names. The protocol is Unicode, and one name would end the server."""
    old = Path(os.fsdecode(os.fsencode(cwd) + b"/caf\xe9"))
    old.mkdir()
    git(old, "init", "--quiet")

    async def look(client: Client) -> None:
        names = (await client.tools())["status"].input_schema["properties"]["repo"]["enum"]
        assert names[1:] == [f"{cwd}/caf\\udce9"]
        assert (await client.call("status", repo=names[1])).document["state"] == "none"
        error = (await client.call("show", plan="nowhere", repo=names[1])).error
        assert f"{cwd}/caf" in error["message"]

    assert mcp.serve(look, "--repo", old) == ""


# What a client may name, whatever it is


@pytest.fixture(scope="module")
def grant(tmp_path_factory: pytest.TempPathFactory) -> Grant:
    root = tmp_path_factory.mktemp("grant").resolve()
    repo, folder, artifacts = (root / each for each in ("repo", "folder", "artifacts"))
    for each in (repo, folder, artifacts):
        each.mkdir()
    (folder / "out").symlink_to(root)
    options = {each.verb: ("--sandbox=bwrap",) for each in TOOLS}
    return Grant((repo,), (folder,), artifacts, Budget(), options, False, root, {})


PIECES = ("..", ".", "out", "repo", "folder", "a", ".git", "//", "", "~", "-", "--push", "\\", "é")


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.booleans())
def test_a_path_that_is_granted_lies_within_what_is_granted(
    grant: Grant, pieces: list[str], absolute: bool
) -> None:
    name = "/".join(pieces)
    if absolute:
        name = f"{grant.folders[0]}/{name}"
    roots = (*grant.repos, *grant.folders, grant.artifacts)
    try:
        path = grant.readable(grant.repos[0], "plan", name)
    except InvalidInput:
        pass
    else:
        assert any(path.is_relative_to(each) for each in roots)
        assert ".git" not in path.parts
    try:
        path = grant.writable(grant.repos[0], "plan", name)
    except InvalidInput:
        return
    assert path.is_relative_to(grant.folders[0])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=5,
)
NAMES = sorted({name for each in TOOLS for name in each.asked.model_fields})
OPTIONS_OF_A_CLIENT = {
    *("--branch", "--check", "--spec", "--from", "--require-coverage", "--outdir", "--workdir"),
    *("--keep-going", "--plan", "--rerun", "--require", "--strict"),
}


@settings(max_examples=300)
@given(
    st.sampled_from(TOOLS),
    st.dictionaries(
        st.sampled_from(NAMES),
        st.sampled_from(["--push", "--sandbox=off", "a", "WO-01", "HEAD", True, 1]) | JSON,
        max_size=4,
    ),
)
def test_the_words_of_a_call_hold_the_persons_options_and_no_others(
    grant: Grant, tool: Any, parameters: dict[str, Any]
) -> None:
    try:
        repo, words = tool.command(parameters, grant)
    except InvalidInput as error:
        assert error.message.startswith(tool.name) or error.hint
        return
    before = list(words[: words.index("--")] if "--" in words else words)
    assert before[:3] == [tool.verb, "--json", f"--repo={repo}"]
    given_by_the_client = {each.split("=")[0] for each in before[3:]} - {"--sandbox"}
    assert given_by_the_client <= OPTIONS_OF_A_CLIENT
    assert [each for each in before if each.startswith("--sandbox")] == ["--sandbox=bwrap"]


# Beside the protocol


LINES = (
    b"not json\n",
    b"{}\n",
    b"[]\n",
    b"null\n",
    b"\xff\xfe\x00\n",
    b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call"}\n',
    b'{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": 3}}\n',
    b'{"jsonrpc": "2.0", "id": 9, "method": "no/such"}\n',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}\n',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": []}\n',
    b'{"jsonrpc": "1.0", "id": 1}\n',
    b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n',
    b"[" * 5_000 + b"\n",
    b"x" * 9_000_000 + b"\n",
    b"\n\n\r\n",
)
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def _ask(server: subprocess.Popen[bytes], message: dict[str, Any]) -> dict[str, Any]:
    """Send a request, and return its answer; every other line has to be of the protocol, too."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()
    while True:
        answer = json.loads(server.stdout.readline())
        assert answer["jsonrpc"] == "2.0"
        if answer.get("id") == message["id"]:
            return dict(answer)


def test_lines_beside_the_protocol_do_not_end_the_server(mcp: Mcp) -> None:
    with mcp.start() as server:
        assert server.stdin is not None
        for line in LINES:
            server.stdin.write(line)
        assert _ask(server, INITIALIZE)["result"]["serverInfo"]["name"] == "llmch"
        for line in LINES:
            server.stdin.write(line)
        listed = _ask(server, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert len(listed["result"]["tools"]) == len(TOOLS)
        out, err = server.communicate(timeout=60)
    assert server.returncode == 0
    assert b"Traceback" not in err
    assert all(json.loads(each)["jsonrpc"] == "2.0" for each in out.splitlines())


def test_standard_output_holds_the_protocol_alone(
    mcp: Mcp, workdir: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where commands of the target print, and where the settings make llmch warn."""
    (repo / "pyproject.toml").write_text('[tool.llmch]\npython = "/bin/false"\n')
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=more")
    printing = writing("1.txt", acceptance_commands=["echo noise; echo more noise >&2"[:10]])
    write_plan(workdir, manifest([printing]))
    call = {"name": "run_all", "arguments": {"plan": str(workdir)}, "_meta": {"progressToken": 5}}
    with model_server(monkeypatch, ONE), mcp.start() as server:
        _ask(server, INITIALIZE)
        answer = _ask(server, {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call})
        assert answer["result"]["structuredContent"]["verdict"] == "PASS"
        out, err = server.communicate(timeout=60)
    assert (out, err, server.returncode) == (b"", b"", 0)


def _running(mcp: Mcp, workdir: Path) -> subprocess.Popen[bytes]:
    """Start a server whose client has begun a run, and return it once the run has begun."""
    server = mcp.start()
    _ask(server, INITIALIZE)
    call = {
        "jsonrpc": "2.0",
        "id": 4,
        "method": "tools/call",
        "params": {
            "name": "run_all",
            "arguments": {"plan": str(workdir), "branch": "work"},
            "_meta": {"progressToken": "t"},
        },
    }
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(call).encode() + b"\n")
    server.stdin.flush()
    while b"WO-01 attempt" not in server.stdout.readline():
        pass
    return server


@pytest.mark.parametrize("end", ["end of input", "SIGTERM", "SIGINT", "twice", "SIGKILL"])
def test_a_server_that_ends_leaves_no_process_and_the_run_goes_on_next_time(
    mcp: Mcp, workdir: Path, repo: Path, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(repo)
    with model_server(monkeypatch, Silence()), _running(mcp, workdir) as server:
        match end:
            case "end of input":
                pass
            case "twice":
                server.send_signal(signal.SIGTERM)
                server.send_signal(signal.SIGTERM)
            case _:
                server.send_signal(signal.Signals[end])
        _, err = server.communicate(timeout=120)
    assert server.returncode == (-signal.SIGKILL if end == "SIGKILL" else 0)
    assert err == b""
    _wait_for_the_lock(repo)
    assert snapshot(repo) == before

    async def go_on(client: Client) -> None:
        assert (await client.call("status")).document["state"] != "running"
        done = await client.call("run_all", plan=str(workdir), branch="work")
        assert done.document["verdict"] == "PASS"

    with model_server(monkeypatch, ONE):
        mcp.serve(go_on)


def _wait_for_the_lock(repo: Path) -> None:
    """Wait until the process of the call has ended: it holds the lock of the repo."""
    import fcntl

    with (repo / ".git" / "llmch" / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def test_a_client_that_never_reads_does_not_keep_the_server_from_ending(mcp: Mcp) -> None:
    reader, writer = os.pipe()
    with mcp.start() as server:
        assert server.stdin is not None
        _ask(server, INITIALIZE)
        request = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        for _ in range(100):  # the answers are more than a pipe holds
            server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0
    os.close(reader)
    os.close(writer)


def test_the_end_of_a_call_by_force_is_an_error_in_words(
    mcp: Mcp, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def kill(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, client)
            await client.until("WO-01 attempt")
            status = (await client.call("status")).document
            os.kill(status["pid"], signal.SIGKILL)

    async def call(client: Client) -> None:
        error = (await client.call("run_all", plan=str(workdir))).error
        assert (error["name"], "exit code -9" in error["message"]) == ("FAILED", True)

    with model_server(monkeypatch, Silence()):
        assert mcp.serve(kill) == ""
