"""The bench of models asks, runs, keeps and sums up, against a server that has a script."""

from __future__ import annotations

import gzip
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidInput
from tests.bench_model.figures import Rate, latest, rows_of
from tests.bench_model.first_prompts import FIRST_PROMPTS
from tests.bench_model.problems import CHECK, PATH, read_problems
from tests.bench_model.ran import result_of
from tests.bench_model.results import Result, append_result, read_results
from tests.bench_model.table import render_tables
from tests.bench_model.tasks import Kind, sample
from tests.llmch.command_line import ROOT, Said, run, start
from tests.shared.llm.edge import chat_document, chat_stream
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
    return run(*given, cwd=ROOT, module="tests.bench_model", OPENAI_BASE_URL=url)


def result(**changes: Any) -> Result:
    fields: dict[str, Any] = {
        "model": "small-1",
        "variant": "run",
        "task": "one function",
        "kind": "function",
        "passed": True,
        "failures": (),
        "input_tokens": 100,
        "output_tokens": 10,
        "seconds": 1.5,
    }
    return Result(**fields | changes)


# Tasks


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


# Measuring


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
    assert (found.calls, found.output_tokens) == (2, 10)
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


def test_an_interrupted_bench_keeps_what_was_measured(tmp_path: Path, problems: Path) -> None:
    file = tmp_path / "results.jsonl"
    words = ("--model", "m", "--kinds", "function", "--variants", "plain")
    with scripted_server(*replies(fenced(RIGHT)), Silence()) as server:
        process = start(
            *(*words, "--results", file, "--problems", problems),
            cwd=ROOT,
            module="tests.bench_model",
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


def test_no_server_and_no_model_are_said_in_words(tmp_path: Path, problems: Path) -> None:
    url = f"http://127.0.0.1:{refused_port()}/v1"
    nowhere = bench(tmp_path, url, "--problems", problems, "--variants", "run")
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
        said = run(*own, cwd=ROOT, module="tests.bench_model", OPENAI_BASE_URL=url)
        assert said.code == code, said.err
        assert words in said.err
        assert "Traceback" not in said.err + nowhere.err


# Results


@given(
    st.lists(
        st.builds(
            Result,
            model=st.text(),
            variant=st.text(),
            task=st.text(),
            kind=st.text(),
            passed=st.booleans(),
            failures=st.lists(st.text()).map(tuple),
            input_tokens=st.integers(),
            output_tokens=st.integers(),
            seconds=st.floats(allow_nan=False, allow_infinity=False),
            repeated=st.integers(),
            calls=st.integers(),
            prompt=st.text(),
            texts=st.lists(st.text()).map(tuple),
        ),
        max_size=4,
    ),
    st.binary(max_size=20).filter(lambda data: b"\n" not in data),
)
def test_results_are_read_back_also_after_a_line_that_was_cut_off(
    tmp_path_factory: pytest.TempPathFactory, results: list[Result], rest: bytes
) -> None:
    file = tmp_path_factory.mktemp("results") / "results.jsonl"
    for each in results:
        append_result(file, each)
        with file.open("ab") as opened:
            opened.write(rest)
    assert read_results(file) == results


@pytest.mark.parametrize("line", ["no JSON", "{}", "[]", '{"model": "m"}', "3"])
def test_a_line_that_is_no_result_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "results.jsonl"
    append_result(file, result())
    with file.open("a") as opened:
        opened.write(f"{line}\n")
    with pytest.raises(InvalidInput, match="line 2 is not a result"):
        read_results(file)


# Figures


@pytest.mark.parametrize(
    ("rate", "low", "high"),
    # From R's prop.test(x, n, correct = FALSE), to three places.
    [(Rate(10, 12), 0.552, 0.953), (Rate(0, 10), 0.0, 0.278), (Rate(50, 100), 0.404, 0.596)],
)
def test_intervals_are_wilson_s(rate: Rate, low: float, high: float) -> None:
    assert [round(each, 3) for each in rate.interval] == [low, high]


@given(st.integers(1, 2000).flatmap(lambda n: st.builds(Rate, st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_rate_and_is_a_part_of_0_to_1(rate: Rate) -> None:
    low, high = rate.interval
    assert 0 <= low <= rate.passed / rate.n + 1e-12
    assert rate.passed / rate.n - 1e-12 <= high <= 1
    assert low < high


def test_passes_count_from_the_attempt_that_passed_and_tokens_of_all_calls_are_shared() -> None:
    failed = ("verify_failed", "acceptance_failed", "acceptance_failed")
    results = [
        result(),
        result(task="two", failures=("acceptance_failed",), repeated=1, calls=2),
        result(task="three", passed=False, failures=failed, input_tokens=500, calls=3),
    ]
    (row,) = rows_of(results)
    assert [rate.passed for rate in row.within] == [1, 2, 2]
    assert {rate.n for rate in row.within} == {3}
    assert (row.input_per_pass, row.output_per_pass) == (350, 15)
    assert (row.calls, row.repeated) == (6, 1)
    assert row.failures == (("acceptance_failed", 3), ("verify_failed", 1))


def test_the_last_result_of_a_measurement_counts() -> None:
    assert latest([result(passed=False), result(task="two"), result()]) == [
        result(),
        result(task="two"),
    ]


def test_prompts_and_runs_have_tables_of_their_own() -> None:
    prompt = result(variant="plain", passed=False, failures=("tests",))
    other = result(model="other", kind="edit")
    assert render_tables(rows_of([result(), prompt, other])) == (
        "| model | tasks | prompt | n | passed | tokens in, out per pass | failed replies |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| small-1 | function | plain | 1 | 0 (0% to 79%) | none passed | 1 tests |\n"
        "\n"
        "| model | tasks | variant | n | passed at attempt 1 | within 2 | within 3 "
        "| tokens in, out per pass | calls | repeated | failed attempts |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| other | edit | run | 1 | 1 (21% to 100%) | 1 (21% to 100%) | 1 (21% to 100%) "
        "| 100, 10 | 1 | 0 | none |\n"
        "| small-1 | function | run | 1 | 1 (21% to 100%) | 1 (21% to 100%) | 1 (21% to 100%) "
        "| 100, 10 | 1 | 0 | none |\n"
    )


def test_nothing_measured_is_no_table() -> None:
    assert render_tables(rows_of([])) == ""
