"""The bench of models asks and runs its tasks, against a server that has a script."""

from __future__ import annotations

import gzip
import json
import signal
from pathlib import Path

import pytest

from benchmarks.model.first_prompts import FIRST_PROMPTS
from benchmarks.model.problems import CHECK, PATH, read_problems
from benchmarks.model.ran import result_of
from benchmarks.model.results import read_results
from benchmarks.model.tasks import Kind, sample
from shared.llm.budget import least_tokens
from tests.llmch.command_line import ROOT, Said, run, start
from tests.shared.llm.edge import chat_document, chat_stream, error_answer
from tests.shared.llm.scripted_server import Act, Send, Silence, refused_port, scripted_server

STUB = 'def double(number):\n    """Return twice the number."""\n'
RIGHT = f"{STUB}    return 2 * number\n"
WRONG = f"{STUB}    return number\n"
NO_BLOCK = "Double it."


def problem(number: int) -> dict[str, str]:
    return {
        "task_id": f"HumanEval/{number}",
        "prompt": STUB,
        "entry_point": "double",
        "canonical_solution": "    return 2 * number\n",
        "test": "def check(candidate):\n    assert [candidate(2), candidate(3)] == [4, 6]\n",
    }


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    """A file of two problems, and of one that is held back."""
    return write_problems(tmp_path, 1, 2, 28)


def write_problems(folder: Path, *numbers: int) -> Path:
    file = folder / "problems.jsonl.gz"
    lines = [json.dumps(problem(number)) for number in numbers]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    return file


def fenced(code: str) -> str:
    return f"```python\n{code}```\n"


def replies(*texts: str) -> list[Act]:
    return [Send(chat_document(text)) for text in texts]


def bench(tmp_path: Path, url: str, *arguments: str | Path) -> Said:
    file = tmp_path / "results.jsonl"
    given = ("--model", "small-1", "--results", file, "--kinds", "function", *arguments)
    return run(*given, cwd=ROOT, module="benchmarks.model", OPENAI_BASE_URL=url)


def test_every_fourteenth_problem_is_held_back(tmp_path: Path) -> None:
    tasks = read_problems(write_problems(tmp_path, *range(30)))
    numbers = {int(task.name.split(" ")[0].split("/")[1]) for task in tasks}
    assert numbers == set(range(30)) - {0, 14, 28}
    assert len(tasks) == 2 * len(numbers)


def test_a_problem_is_a_new_file_with_its_stub_in_the_notes_or_a_file_to_complete(
    problems: Path,
) -> None:
    by_kind = {task.kind: task for task in read_problems(problems)}
    new, stub = by_kind[Kind.FUNCTION], by_kind[Kind.STUB]
    assert (set(new.files), stub.files[PATH]) == ({CHECK}, STUB)
    assert STUB.strip() in new.order["notes"]
    assert new.solution == stub.solution == {PATH: RIGHT}


def test_a_larger_sample_contains_the_smaller_one(tmp_path: Path) -> None:
    tasks = read_problems(write_problems(tmp_path, *range(1, 14)))
    assert sample(tasks, 8)[:5] == sample(list(reversed(tasks)), 5)
    assert sorted(task.name for task in sample(tasks, None)) == sorted(each.name for each in tasks)


def test_each_first_prompt_shows_the_function(problems: Path) -> None:
    task = read_problems(problems)[0]
    for name, variant in FIRST_PROMPTS.items():
        prompt = variant.render(task)
        assert "Return twice the number." in prompt, name
        assert task.path in prompt or variant.completes, name


@pytest.mark.rest
def test_each_way_to_ask_is_judged_by_the_tests_of_the_problem(
    tmp_path: Path, problems: Path
) -> None:
    script = replies(fenced(RIGHT), fenced(WRONG), NO_BLOCK, f"```other.py\n{RIGHT}```\n")
    ways = ("--variants", "plain,short", "--problems", problems)
    with scripted_server(*script) as server:
        said = bench(tmp_path, server.base_url, *ways)
        assert said.code == 0, said.err
        again = bench(tmp_path, server.base_url, *ways)
        prompts = [body["messages"][0]["content"] for body in server.bodies]
    results = read_results(tmp_path / "results.jsonl")
    assert [(each.variant, each.failures) for each in results] == [
        ("plain", ()),
        ("short", ("tests",)),
        ("plain", ("format",)),
        ("short", ("scope",)),
    ]
    assert [body["temperature"] for body in server.bodies] == [0.0] * 4
    assert prompts[0] == FIRST_PROMPTS["plain"].render(read_problems(problems)[0])
    assert (again.code, again.out) == (0, said.out), "what is on file is not asked again"
    assert "| small-1 | function | plain | 2 | 1 (9% to 91%) |" in said.out


@pytest.mark.rest
def test_a_run_is_a_user_s_run_with_its_attempts_told_apart(tmp_path: Path) -> None:
    script = [chat_stream(fenced(WRONG)), chat_stream(fenced(RIGHT))]
    with scripted_server(*script) as server:
        said = bench(
            tmp_path, server.base_url, "--problems", write_problems(tmp_path, 1), "--limit", "1"
        )
    assert said.code == 0, said.err
    (found,) = read_results(tmp_path / "results.jsonl")
    assert (found.passed, found.failures) == (True, ("acceptance_failed",))
    assert found.texts == (fenced(WRONG), fenced(RIGHT))
    # The server reports 5 for each, which is less than such a text can take.
    assert (found.calls, found.output_tokens) == (
        2,
        least_tokens(fenced(WRONG)) + least_tokens(fenced(RIGHT)),
    )
    assert "| run | 1 | 0 (0% to 79%) | 1 (21% to 100%) | 1 (21% to 100%) |" in said.out


def test_replies_are_in_the_order_they_came_and_repeated_ones_are_counted(
    tmp_path: Path, problems: Path
) -> None:
    for name, text in {
        "attempt_1/raw_llm_response.txt": "one",
        "attempt_2/raw_llm_response.txt": "two",
        "attempt_2/raw_llm_response_again_1.txt": "one",
        "attempt_2/raw_llm_response_again_2.txt": "three",
        "attempt_10/raw_llm_response.txt": "two",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "attempt_1/failure_brief.json").write_text('{"stage": "verify_failed"}')
    usage = {"input_tokens": 9, "output_tokens": 8, "calls": 5}
    summary = {"run_dir": str(tmp_path), "verdict": "PASS", "usage": usage}
    found = result_of("m", "run", read_problems(problems)[0], summary, 1.0)
    assert found.texts == ("one", "two", "one", "three", "two")
    assert (found.repeated, found.calls, found.failures) == (2, 5, ("verify_failed",))


@pytest.mark.rest
def test_an_interrupted_bench_keeps_what_was_measured(tmp_path: Path, problems: Path) -> None:
    file = tmp_path / "results.jsonl"
    words = ("--model", "m", "--kinds", "function", "--variants", "plain")
    with scripted_server(*replies(fenced(RIGHT)), Silence()) as server:
        process = start(
            *(*words, "--results", file, "--problems", problems),
            cwd=ROOT,
            module="benchmarks.model",
            OPENAI_BASE_URL=server.base_url,
        )
        with process:
            assert process.stderr is not None
            while "passed" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert f"interrupted; {file} keeps what was measured" in told
    assert "Traceback" not in told
    assert [each.passed for each in read_results(file)] == [True]


@pytest.mark.rest
def test_a_refused_key_and_no_model_are_said_in_words(tmp_path: Path, problems: Path) -> None:
    url = f"http://127.0.0.1:{refused_port()}/v1"
    with scripted_server(*[error_answer(401)] * 9) as server:
        nowhere = bench(tmp_path, server.base_url, "--problems", problems, "--variants", "run")
    assert nowhere.code == 1
    assert nowhere.err.startswith("a run ended with exit code 3: ")
    assert "the same command goes on" in nowhere.err
    cases: tuple[tuple[list[str], int, str], ...] = (
        (["--table"], 0, ""),
        ([], 2, "no model is named"),
        (["--model", "m", "--kinds", "stub", "--problems", str(tmp_path / "none")], 2, "installed"),
        (["--variants", "loud"], 2, "no 'loud' here: there are run, "),
        (["--limit", "0"], 2, "'0' is not a number above 0"),
    )
    for arguments, code, words in cases:
        own = ["--results", str(tmp_path / "own.jsonl"), *arguments]
        said = run(*own, cwd=ROOT, module="benchmarks.model", OPENAI_BASE_URL=url)
        assert said.code == code, said.err
        assert words in said.err
        assert "Traceback" not in said.err + nowhere.err
