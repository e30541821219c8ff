"""What it costs to judge the TypeScript of a plan: its tests, in views of a growing project."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from unittest import mock

from benchmarks.measure import cpu_seconds_of, interleave, run_child, seconds_of
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.setting import Bench
from factory.workbench.judging_tools import SandboxRunner
from planner.plan.parse_plan import parse_plan
from planner.repo.planned_repo import read_repo_hints
from planner.rules.judge_plan import judge
from shared.files.text_sources import TreeSources
from shared.languages.ecmascript.definitions import read_source
from shared.languages.language_tools import Tools
from shared.processes.pinned_tools import TSC, installed_program, tools_root
from shared.settings.settings import SandboxSettings

FETCHED: Final = tools_root()  # before the bench has a home of its own
_ORDERS: Final = 10
_TESTS: Final = 5  # of each order
_COLD_MS: Final = 6000
_WARM_MS: Final = 1500
_FILES: Final = 2_000
_OUTLINES_MS: Final = 6000
_MANIFEST: Final = {"package.json": '{"type": "module", "scripts": {"test": "node --test"}}'}


def measure_typescript(bench: Bench) -> Section:
    """Return the rows of judging 50 tests in 10 views, and of the outlines of many files."""
    rows = (*_judging(bench), _outlines(bench))
    return Section("Plans in TypeScript", rows)


def _judging(bench: Bench) -> Iterator[Row]:
    what = f"{_ORDERS * _TESTS} test files in {_ORDERS} views"
    with mock.patch.dict(os.environ, {"LLMCH_TOOLS": str(FETCHED)}):
        program = installed_program(TSC)
        if program is None:
            note = "needs `llmch doctor --fetch tsc`"
            yield Row(f"{what}, all new", None, "ms", aim=Aim(extra=_COLD_MS), notes=note)
            yield Row(f"{what}, warm", None, "ms", aim=Aim(extra=_WARM_MS), notes=note)
            return
        seeds = itertools.count()
        with Tools(SandboxRunner(SandboxSettings())) as warm:
            _judge(next(seeds), warm)
            cases = {
                "cold": lambda: seconds_of(lambda: _judge_anew(next(seeds))),
                "bare": lambda: _bare(bench, program, next(seeds)),
                "warm": lambda: seconds_of(lambda: _judge(next(seeds), warm)),
            }
            taken = interleave(cases, bench.rounds(7))
    floor_name = "bare tsc, last view"
    for name, case, most in (("all new", "cold", _COLD_MS), ("warm", "warm", _WARM_MS)):
        yield timed(f"{what}, {name}", taken[case], taken["bare"], floor_name, Aim(extra=most))


def _judge_anew(seed: int) -> None:
    with Tools(SandboxRunner(SandboxSettings())) as tools:
        _judge(seed, tools)


def _judge(seed: int, tools: Tools) -> None:
    """Judge a plan that no compiler has seen: its tests hold the `seed`."""
    plan = parse_plan({"work_orders": [_order(number, seed) for number in range(1, _ORDERS + 1)]})
    report = judge(plan, _MANIFEST, _MANIFEST, tools=tools)
    assert report.findings == (), report.render()


def _order(number: int, seed: int) -> dict[str, Any]:
    path = f"src/part{number}.ts"
    tests = {
        f"test/part{number}-{index}.test.ts": _test(number, seed, index) for index in range(_TESTS)
    }
    return {
        "id": f"WO-{number:02d}",
        "title": f"Part {number}",
        "intent": "Add a part that builds on the one before.",
        "allowed_files": [path],
        "forbidden": [],
        "context_files": [],
        "postconditions": [{"kind": "file_exists", "path": path}],
        "interfaces": [{"path": path, "stub": _stub(number)}],
        "acceptance_files": [{"path": name, "content": text} for name, text in tests.items()],
        "acceptance_commands": [f"node --test {' '.join(tests)}"],
    }


def _stub(number: int) -> str:
    imported = (
        f"import {{ Part{number - 1} }} from './part{number - 1}.ts';\n" if number > 1 else ""
    )
    below = f"Part{number - 1}" if number > 1 else "string"
    return (
        f"{imported}export interface Part{number} {{\n  readonly name: string;\n"
        f"  readonly below: {below} | null;\n  walk(): Iterable<string>;\n}}\n"
        f"export function build{number}(name: string, size?: number): Part{number};\n"
        f"export function count{number}(parts: Part{number}[]): Map<string, number>;\n"
    )


def _test(number: int, seed: int, index: int) -> str:
    return (
        "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n"
        f"import {{ build{number}, count{number} }} from '../src/part{number}.ts';\n\n"
        f"test('part {seed} {index}', () => {{\n"
        f"  const part = build{number}('{seed}', {index});\n"
        f"  assert.equal(part.name.toUpperCase(), '{seed}');\n"
        f"  assert.deepEqual([...part.walk()], ['{seed}']);\n"
        f"  assert.equal(count{number}([part, part]).get('{seed}'), {index});\n}});\n"
    )


def _bare(bench: Bench, program: Path, seed: int) -> float:
    """Return the seconds of one run of the compiler on all files, by nobody else's hands."""
    folder = bench.folder("tsc")
    for number in range(1, _ORDERS + 1):
        order = _order(number, seed)
        _write(folder / f"src/part{number}.d.ts", _stub(number))
        for each in order["acceptance_files"]:
            _write(folder / each["path"], each["content"])
    modules = "declare module 'node:test';\ndeclare module 'node:assert/strict';\n"
    _write(folder / "modules.d.ts", modules)
    options = {
        "noEmit": True,
        "module": "preserve",
        "moduleResolution": "bundler",
        "allowImportingTsExtensions": True,
        "lib": ["esnext", "dom", "dom.iterable"],
        "target": "esnext",
        "types": [],
        "skipLibCheck": True,
    }
    config = {"compilerOptions": options, "include": ["modules.d.ts", "src", "test"]}
    _write(folder / "tsconfig.json", json.dumps(config))
    ended = run_child([str(program), "-p", str(folder)], bench.environment)
    assert ended.exit_code == 0, ended.stdout
    return ended.seconds


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _outlines(bench: Bench) -> Row:
    """Return the row of what a model is shown of many files, beside the outlines of all of them."""
    files = {f"src/part{n}/index.ts": _code(n) for n in range(_FILES)}
    tree = _Tree(files)
    cases = {
        "hints": lambda: cpu_seconds_of(lambda: read_repo_hints(tree, "Part 7 again.", 60_000)),
        "all": lambda: cpu_seconds_of(
            lambda: [read_source(path, text) for path, text in files.items()]
        ),
    }
    taken = interleave(cases, bench.rounds(3))
    return timed(
        f"what a model is shown of {_FILES} files of 190 lines",
        taken["hints"],
        taken["all"],
        "outlines of all",
        Aim(extra=_OUTLINES_MS),
        notes="processor time",
    )


class _Tree(TreeSources):
    """Offer texts as if they were read of a tree."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__(texts)
        self._given = texts

    def _read_all(self, paths: Sequence[str]) -> Mapping[str, str | None]:
        return {path: self._given[path] for path in paths}


def _code(number: int) -> str:
    one = "export function f{0}(a: number, b = ''): number {{\n  return a + b.length + {0};\n}}\n\n"
    return "".join(one.format(f"{number}_{each}") for each in range(47))
