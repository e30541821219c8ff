"""A plan is judged by one run of the compiler, as far as its parts cannot disturb each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shared.languages.ecmascript.typescript_compiler import ask
from shared.languages.language_tools import ToolResult, Tools
from tests.shared.languages.ecmascript.plans import Runner, chain, faults, needs_tsc


class CountingRunner(Runner):
    """Count the runs of the compiler."""

    runs = 0

    def run(self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float) -> ToolResult:
        self.runs += 1
        assert self.runs < 50, "the compiler is asked without end"
        return super().run(files, argv, seconds=seconds)


def part(number: int, stub: str, call: str, source: str = "") -> dict[str, Any]:
    """Return an order that declares one file and calls it in a test of its own."""
    path = f"test/part{number}.test.ts"
    source = source or f"../src/part{number}.ts"
    text = (
        f"import assert from 'node:assert';\nimport {{ test }} from 'node:test';\n"
        f"import {{ f{number} }} from '{source}';\n\n"
        f"test('it', () => {{\n  assert.equal({call}, 1);\n}});\n"
    )
    return {
        "interfaces": [{"path": f"src/part{number}.ts", "stub": stub}],
        "acceptance_files": [{"path": path, "content": text}],
        "acceptance_commands": [f"node --test {path}"],
    }


ALIASED = '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}'


def judged(orders: Sequence[dict[str, Any]], repo: Mapping[str, str]) -> tuple[list[str], int]:
    """Return the errors with the positions of their orders, and the runs of the compiler."""
    runner = CountingRunner()
    with Tools(runner) as tools:
        found = faults(chain(orders, {"package.json": '{"type": "module"}', **repo}), tools)
    texts = [f"{each.position} {each.code} {each.message}" for each in found if each.code[0] == "E"]
    return texts, runner.runs


@needs_tsc
def test_each_fault_is_that_of_its_own_order_by_one_run() -> None:
    orders = [
        part(1, "export function f1(a: string): number;\n", "f1('a', 2)"),
        part(2, "export function f2(a: string): number;\n", "f2('a')"),
        part(3, "export function f3(a: Missing): number;\n", "f3('a')"),
        part(4, "export class G { x: number }\nexport function f4(a: G): G;\n", "f4(7).y"),
    ]
    texts, runs = judged(orders, {})
    assert [each[:6] for each in texts] == ["1 E212", "3 E203", "4 E213", "4 E211"]
    assert not [each for each in texts if "llmch" in each]
    assert runs == 1


@needs_tsc
def test_the_same_file_may_be_declared_otherwise_by_a_later_order() -> None:
    first = part(1, "export function f1(a: string): number;\n", "f1('a')")
    again = part(1, "export function f1(a: string, b: number): number;\n", "f1('a', 2)")
    again["acceptance_files"][0]["path"] = "test/again.test.ts"
    again["acceptance_commands"] = ["node --test test/again.test.ts"]
    assert judged([first, again | {"changes": ["f1"]}], {}) == ([], 1)


@needs_tsc
def test_questions_with_aliases_and_global_declarations_are_asked_alone() -> None:
    stub = "export function f{}(a: string): number;\n"
    orders = [
        part(1, stub.format(1), "f1(1)", source="@/part1"),
        part(2, stub.format(2), "f2(2)", source="@/part2"),
        part(3, f"declare global {{ var shown: number }}\n{stub.format(3)}", "f3('a')"),
        part(4, stub.format(4), "f4(shown, 1)"),
    ]
    texts, runs = judged(orders, {"tsconfig.json": ALIASED})
    assert [each[:6] for each in texts] == ["1 E213", "2 E213", "4 E216", "4 E212"]
    assert runs == 4


@needs_tsc
def test_a_name_that_an_order_drops_is_not_there_for_later_orders() -> None:
    both = "export function f1(a: string): number;\nexport function g(): number;\n"
    drops = part(2, "export function f2(): number;\n", "f2()")
    drops["interfaces"].append({"path": "src/part1.ts", "stub": both.split("\n")[0]})
    drops["changes"] = ["g"]
    uses = part(3, "export function f3(): number;\n", "g()")
    text = uses["acceptance_files"][0]["content"]
    uses["acceptance_files"][0]["content"] = text.replace("{ f3 }", "{ g }").replace(
        "part3.ts", "part1.ts"
    )
    assert judged([part(1, both, "f1('a')"), uses], {})[0] == []
    (found,) = judged([part(1, both, "f1('a')"), drops, uses], {})[0]
    assert found.startswith("3 E211")


@needs_tsc
def test_a_file_that_does_not_parse_is_asked_about_once_though_others_import_it() -> None:
    runner = CountingRunner()
    files = {
        "tests/help.test.ts": "export function help() { return await 1; }\n",
        "tests/a.test.ts": 'import { help } from "./help.test";\nhelp();\n',
    }
    found = ask(runner, files, sorted(files), {})
    assert {each.path for each in found} == {"tests/help.test.ts"} and runner.runs == 2
