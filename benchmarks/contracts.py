"""What it costs to judge Python commands against interfaces: views of a growing project."""

from __future__ import annotations

import itertools
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import interleave, run_child, seconds_of
from benchmarks.rows import Aim, Section, timed
from benchmarks.setting import Bench
from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import Report, judge
from shared.files.strict_documents import JsonValue
from shared.languages.python.type_checker import TypeChecker
from tests.warm_checker import tools_with

_ORDERS: Final = 10
_COMMANDS: Final = 5  # of each order
_COLD_MS: Final = 6000
_WARM_MS: Final = 1000
# What a checker has to do to judge commands, whoever asks it.
_FLAGS: Final = ("--config-file=", "--no-site-packages", "--follow-imports=silent")


def measure_contracts(bench: Bench) -> Section:
    """Return the rows of judging 50 commands in 10 views, with a new checker and a warm one."""
    seeds = itertools.count()
    with TypeChecker() as warm:
        _judge(next(seeds), warm)  # starts it
        cases = {
            "cold": lambda: seconds_of(lambda: _judge(next(seeds), None)),
            "bare": lambda: _bare_mypy(bench, next(seeds)),
            "warm": lambda: seconds_of(lambda: _judge(next(seeds), warm)),
            "one view": lambda: _one_view(warm, next(seeds)),
        }
        taken = interleave(cases, bench.rounds(7))
    what = f"{_ORDERS * _COMMANDS} commands in {_ORDERS} views"
    return Section(
        "Commands against interfaces",
        (
            timed(
                f"{what}, checker new",
                taken["cold"],
                taken["bare"],
                "bare mypy, last view",
                Aim(extra=_COLD_MS),
            ),
            timed(
                f"{what}, warm",
                taken["warm"],
                taken["one view"],
                "asked at once, last view",
                Aim(extra=_WARM_MS),
            ),
        ),
    )


def _judge(seed: int, checker: TypeChecker | None) -> Report:
    """Judge a plan that no checker has seen: its commands hold the `seed`."""
    tools = tools_with(checker) if checker is not None else None
    report = judge(parse_plan({"work_orders": _orders(seed)}), tools=tools)
    assert report.findings == (), report.render()
    return report


def _orders(seed: int) -> list[JsonValue]:
    return [_order(number, seed) for number in range(1, _ORDERS + 1)]


def _order(number: int, seed: int) -> dict[str, Any]:
    path = f"project/part{number}.py"
    return {
        "id": f"WO-{number:02d}",
        "title": f"Part {number}",
        "intent": "Add a part that builds on the one before.",
        "allowed_files": [path],
        "forbidden": [],
        "context_files": [],
        "postconditions": [{"kind": "file_exists", "path": path}],
        "interfaces": [{"path": path, "stub": _stub(number)}],
        "acceptance_commands": [f"python -c {shlex.quote(each)}" for each in _codes(number, seed)],
    }


def _stub(number: int) -> str:
    base = f"Part{number - 1}" if number > 1 else "object"
    imported = f"from project.part{number - 1} import {base}\n" if number > 1 else ""
    return f"""{imported}from collections.abc import Iterator
from dataclasses import dataclass

@dataclass(frozen=True)
class Part{number}:
    name: str
    below: {base} | None = None
    @property
    def size(self) -> int: ...
    def walk(self) -> Iterator[str]: ...

def build{number}(name: str, *, size: int = 1) -> Part{number}: ...
def count{number}(parts: list[Part{number}]) -> dict[str, int]: ...
"""


def _codes(number: int, seed: int) -> list[str]:
    start = f"from project.part{number} import Part{number}, build{number}, count{number}; "
    part = f"build{number}('{seed}', size={seed})"
    checks = (
        f"assert {part}.size == {seed}",
        f"assert list({part}.walk())[0].upper() == '{seed}'",
        f"assert count{number}([{part}])['{seed}'] == {seed}",
        f"one, other = {part}, Part{number}('x'); assert one.name != other.name",
        f"assert [each.size for each in ({part}, {part})] == [{seed}] * 2",
    )
    assert len(checks) == _COMMANDS
    return [start + each for each in checks]


def _last_view(seed: int) -> tuple[dict[str, str], list[str]]:
    """Return all files after the last order, commands included, and the paths of those."""
    numbers = range(1, _ORDERS + 1)
    stubs = {f"project/part{number}.pyi": _stub(number) for number in numbers}
    codes = [code for number in numbers for code in _codes(number, seed)]
    commands = {f"commands/c{index}.py": code for index, code in enumerate(codes)}
    return {**stubs, **commands}, list(commands)


def _one_view(checker: TypeChecker, seed: int) -> float:
    files, commands = _last_view(seed)
    return seconds_of(lambda: checker.check(files, commands))


def _bare_mypy(bench: Bench, seed: int) -> float:
    """Return the seconds of one run of mypy, without a cache, by nobody else's hands."""
    folder = bench.folder("mypy")
    files, commands = _last_view(seed)
    _write(folder, files)
    environment = {**bench.environment, "MYPYPATH": str(folder)}
    argv = [sys.executable, "-m", "mypy", *_FLAGS, f"--cache-dir={os.devnull}"]
    ended = run_child([*argv, *(str(folder / each) for each in commands)], environment)
    assert ended.exit_code == 0, ended.stdout
    return ended.seconds


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
