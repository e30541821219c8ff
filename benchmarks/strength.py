"""What it costs to measure how strong the tests of an order are."""

from __future__ import annotations

import time
from dataclasses import replace

from benchmarks.rows import Aim, Row, Section
from benchmarks.run_all import run_options
from benchmarks.setting import Bench, git, make_repo
from factory.judging.run_checks import parse_check, run_to_its_end
from factory.judging.strength import Measured, measure, written_since
from factory.preflight import find_repo
from factory.run.reproduce import open_pool_beside_runs
from factory.sandbox.policy import Backend
from shared.settings.settings import SandboxSettings, StrengthSettings
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder

_TEST_RUNS = 30
_COMMAND = "python -m pytest -q tests/test_marks.py"
_FUNCTION = """\
def mark_{number}(points, most):
    if points < 0 or points > most:
        return "none"
    share = points * 100 // most
    return "good" if share >= 50 + {number} else "bad"


"""
_TEST = """\
def test_mark_{number}():
    assert mark_{number}(9, 9) == "good" and mark_{number}(1, 9) == "bad"
    assert mark_{number}(-1, 9) == mark_{number}(10, 9) == "none"


"""


def measure_strength(bench: Bench) -> Section:
    """Return the row of a small order of Python, beside one run of its test in the sandbox."""
    functions, mutants = (2, 10) if bench.quick else (12, 100)
    repo = make_repo(bench.folder("repo") / "repo", 10)
    parent = git(repo, "rev-parse", "HEAD")
    (repo / "tests").mkdir()
    (repo / "marks.py").write_text("".join(_FUNCTION.format(number=n) for n in range(functions)))
    tests = "".join(_TEST.format(number=n) for n in range(functions))
    (repo / "tests/test_marks.py").write_text(f"from marks import *\n\n\n{tests}")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=marks")
    commit = git(repo, "rev-parse", "HEAD")
    options = run_options(bench, repo)
    settings = replace(options.settings, sandbox=SandboxSettings(backend=Backend.AUTO))
    options = replace(options, settings=settings)
    document = {
        "id": "WO-01", "title": "Add marks", "intent": "Mark points.",
        "allowed_files": ["marks.py"], "forbidden": [],
        "context_files": ["marks.py"], "preconditions": [], "postconditions": [],
        "acceptance_commands": [_COMMAND],
    }  # fmt: skip
    place = find_repo(repo)
    with open_pool_beside_runs(commit, place, options, lambda _: None) as (_, pool):
        with pool.lend(commit) as lent:
            started = time.perf_counter()
            log = bench.scratch / "test-run"
            ended = run_to_its_end(parse_check(_COMMAND), lent.sandbox, seconds=600, log=log)
            one = time.perf_counter() - started
            assert ended.ok, ended
        asked = Measured(
            place.git,
            parse_document(WorkOrder, document),
            commit,
            written_since(place.git, parent, commit),
            pool.lend,
            StrengthSettings(mutants=mutants),
            seconds=600,
            jobs=2,
        )
        started = time.perf_counter()
        found = measure(asked)
        taken = time.perf_counter() - started
    row = Row(
        name=f"{mutants} mutants of a small Python order, two at a time",
        value=taken,
        unit="s",
        floor=one,
        floor_name="one test run",
        aim=Aim(factor=_TEST_RUNS),
        notes=f"strength {found.killed} of {found.of}",
    )
    return Section("How strong tests are: measured", (row,))
