"""The race: tasks as they are published, tools in repositories of their own, hidden tests."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.race.__main__ import main
from benchmarks.race.contestants import has_given_up
from benchmarks.race.gateway import counting
from benchmarks.race.outcomes import Outcome, read_outcomes, render_race, sign_test
from benchmarks.race.tasks import read_tasks
from shared.errors import InvalidInput
from tests.harness import git
from tests.llmch.command_line import model_server, plan_reply
from tests.llmch.shop import writes
from tests.shared.llm.edge import chat_document
from tests.shared.llm.scripted_server import Send

HIDDEN = "def check(f):\n    assert f(2) == 4\n    assert f(-3) == 9\n"
STUB = 'def square(n):\n    """Return n times itself."""\n'
RIGHT = STUB + "    return n * n\n"
WRONG = STUB + "    return n + n\n"


def functions(folder: Path, *names: str) -> Path:
    rows = [
        {"task_id": each, "prompt": STUB, "entry_point": "square", "test": HIDDEN} for each in names
    ]
    file = folder / "tasks.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return file


def test_the_three_forms_of_tasks_are_read_without_their_tests(tmp_path: Path, repo: Path) -> None:
    exercise = tmp_path / "track/python/exercises/practice/square"
    for name, text in {
        ".meta/config.json": json.dumps(
            {"files": {"solution": ["square.py"], "test": ["square_test.py"]}}
        ),
        ".meta/example.py": RIGHT,
        ".docs/instructions.md": "Square a number.",
        "square.py": STUB,
        "square_test.py": HIDDEN,
    }.items():
        (exercise / name).parent.mkdir(parents=True, exist_ok=True)
        (exercise / name).write_text(text)
    change = tmp_path / "changes/guard"
    (change / "hidden/tests").mkdir(parents=True)
    (change / "hidden/tests/test_guard.py").write_text("def test(): ...\n")
    (change / "task.toml").write_text(
        f'text = "Guard it."\nrepo = "{repo}"\ncommit = "{git(repo, "rev-parse", "HEAD")}"\n'
        'targets = ["shop.py"]\ncommand = "python -m pytest -q tests"\n'
    )
    paths = [functions(tmp_path, "a"), tmp_path / "track", tmp_path / "changes"]
    found = {each.name: each for each in read_tasks(paths)}
    assert found.keys() == {"a", "python/square", "guard"}
    assert found["python/square"].files == {"square.py": STUB}
    assert found["python/square"].command == "python -m pytest -q square_test.py"
    assert found["guard"].hidden == {"tests/test_guard.py": "def test(): ...\n"}
    with pytest.raises(InvalidInput):
        read_tasks([repo])


@pytest.mark.rest
def test_each_tool_is_judged_by_hidden_tests_and_its_own_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plain prompt claims a wrong answer; `do` tries the test of its plan and gives up."""
    order = {
        "title": "Square",
        "notes": "",
        "allowed_files": ["solution.py"],
        "context_files": [],
        "acceptance_files": [
            {
                "path": "tests/test_square.py",
                "content": "import solution\n\n\ndef test():\n    assert solution.square(3) == 9\n",
            }
        ],
        "acceptance_commands": ["python -m pytest -q tests/test_square.py"],
    }
    fenced = f"solution.py\n```python\n{WRONG}```\n"
    words = (
        "--model",
        "m",
        "--tasks",
        str(functions(tmp_path, "T/1")),
        "--out",
        str(tmp_path / "o"),
    )
    with model_server(monkeypatch, Send(chat_document(fenced))):
        assert main([*words, "--tools", "plain"]) == 0
    with model_server(monkeypatch, plan_reply(order), writes({"solution.py": RIGHT})) as server:
        assert main([*words, "--tools", "plain,do"]) == 0
        assert len(server.received) == 2  # what is done is not done again
    do, plain = read_outcomes(tmp_path / "o/outcomes.jsonl")
    assert (plain.tool, plain.solved, plain.is_wrong_claim, plain.calls) == (
        "plain",
        False,
        True,
        1,
    )
    assert (do.tool, do.solved, do.is_wrong_claim, do.calls) == ("do", True, False, 2)
    assert (do.beside, do.input_tokens > 0, do.output_tokens > 0) == ((), True, True)
    assert (tmp_path / "o/m/do/T-1/left.patch").read_text().count("return n * n") == 1
    assert "| do | 1 | 1 (21% to 100%) | 0 (0% to 79%) |" in capsys.readouterr().out


def test_an_agent_that_names_what_stopped_it_claims_nothing() -> None:
    assert has_given_up("...\n\nExit:\nRepeatedFormatError\nSaved trajectory to 'x'\n")
    assert has_given_up("Exit:\nLimitsExceeded\n")
    assert has_given_up("Exit:\nlitellm.InternalServerError: no connection\n")
    assert not has_given_up("Exit:\nSubmitted\n")
    assert not has_given_up("I mended the ValueError.\n")


def test_the_published_table_is_that_of_the_published_outcomes() -> None:
    project = Path(__file__).resolve().parents[1]
    outcomes = read_outcomes(project / "benchmarks/race/outcomes.jsonl")
    assert render_race(outcomes).strip() in (project / "docs/race.md").read_text()


def test_pairs_that_differ_decide_and_not_those_that_agree() -> None:
    assert sign_test(0, 0) == 1
    assert sign_test(5, 0) == 0.0625
    assert sign_test(3, 3) == 1

    def outcome(tool: str, task: int, *, solved: bool) -> Outcome:
        return Outcome("m", tool, str(task), "k", solved, True, (), 1, 10, 5, 1.0)

    rows = [outcome("do", n, solved=n < 6) for n in range(8)]
    rows += [outcome("plain", n, solved=n in (0, 7)) for n in range(8)]
    assert "| 5, 1 | 0.22 |" in render_race(rows)


def test_a_tool_that_hangs_up_has_the_model_stop() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        with counting(f"http://127.0.0.1:{server.getsockname()[1]}/v1", "none") as (url, counted):
            place = urlsplit(url)
            assert place.hostname is not None and place.port is not None
            with socket.create_connection((place.hostname, place.port)) as tool:
                head = (
                    "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
                )
                tool.sendall(head.encode())
                asked, _ = server.accept()
                asked.settimeout(60)
                while b"\r\n\r\n{}" not in asked.recv(65536, socket.MSG_PEEK):
                    pass
                asked.recv(65536)
            assert asked.recv(1) == b"", "the gateway has hung up"
            asked.close()
        assert counted.calls == 0


def test_a_tool_that_goes_in_circles_gets_no_more_replies() -> None:
    said = [{"role": "assistant", "content": "ls"}, {"role": "user", "content": "a.py"}]
    body = json.dumps({"messages": [{"role": "user", "content": "Do it."}, *said * 6]})
    with counting("http://127.0.0.1:9/v1", "none") as (url, counted):
        asked = urllib.request.Request(f"{url}/chat/completions", body.encode())
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=60)
        refused.value.close()
    assert refused.value.code == 404 and counted.is_in_circles and not counted.calls
