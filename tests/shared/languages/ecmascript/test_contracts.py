"""What stubs declare, where they contradict each other, and what is in force after all of them."""

from __future__ import annotations

import pytest

from shared.languages.ecmascript.declaration_stubs import (
    Stub,
    conflicts,
    contracts_in_force,
    is_meant,
    parse_stub,
)
from shared.languages.planned_code import TextFault
from shared.work_order.work_order import WorkOrder
from tests.planner.plans import order
from tests.shared.languages.ecmascript.plans import chain, faults, needs_tsc


def _stub(text: str) -> Stub:
    stub = parse_stub("a.ts", text)
    assert isinstance(stub, Stub)
    return stub


def test_a_stub_that_does_not_parse_names_its_line() -> None:
    fault = parse_stub("a.ts", "export function f(): void;\nexport function g(: number;")

    assert isinstance(fault, TextFault)
    assert fault.line == 2
    assert fault.excerpt == "export function g(: number;"


def test_members_are_declared_by_qualified_names() -> None:
    declared = _stub(
        "export class A { go(): void; static of(): A }\nexport const B: number;"
    ).declared

    assert set(declared) == {"A", "A.go", "A.of", "B"}


@pytest.mark.parametrize(
    ("earlier", "later", "names"),
    [
        ("export function f(a: string): void;", "export function f(b: string): void", []),
        ("export function f(a: string): void;", "export function f(a: number): void;", ["f"]),
        ("export class A { a(): void }", "export class A { b(): void }", []),
        ("export class A { a(): void }", "export class A { a(): number }", ["A.a"]),
        ("export type T = 'a' | 'b';", 'export type T = "a" | "b"', []),
        ("export const a: number;", "export declare const a: string;", ["a"]),
        (
            "export function f(a: string): void;",
            "export function f(a: string): void; export function f(a: number): void;",
            [],
        ),
    ],
)
def test_what_contradicts_an_earlier_stub(earlier: str, later: str, names: list[str]) -> None:
    assert [each.name for each in conflicts(_stub(earlier), _stub(later))] == names


@pytest.mark.parametrize("change", ["f", "f()", "a.f", "src/a.ts:f"])
def test_changes_name_what_is_meant(change: str) -> None:
    assert is_meant("f", "src/a.ts", {change})
    assert not is_meant("g", "src/a.ts", {change})


def _order(number: int, stub: str, **fields: object) -> WorkOrder:
    interfaces = [{"path": "a.ts", "stub": stub}] if stub else []
    return WorkOrder.model_validate(
        order(number, allowed_files=["a.ts"], interfaces=interfaces, **fields)
    )


def test_later_declarations_replace_earlier_ones_and_members_add_up() -> None:
    orders = [
        _order(1, "export function f(): void;\nexport class A { a(): void }"),
        _order(2, "export function f(): number;\nexport class A { b(): void }", changes=["f"]),
        _order(3, "", changes=["A.a"]),
    ]

    (interface,) = contracts_in_force(orders, (".ts",))

    stub = _stub(interface.stub)
    assert set(stub.declared) == {"f", "A", "A.b"}
    assert stub.declared["f"].shown == "function f(): number;"


@needs_tsc
def test_a_later_stub_passes_on_what_earlier_stubs_and_sources_have() -> None:
    plan = chain(
        [
            {
                "interfaces": [
                    {"path": "src/a.ts", "stub": "export declare class A { one(): number }"}
                ]
            },
            {
                "interfaces": [
                    {"path": "src/a.ts", "stub": "export declare class A { two(): number }"}
                ],
                "acceptance_files": [
                    {
                        "path": "a.test.ts",
                        "content": "import { test } from 'node:test';\n"
                        "import { A, old } from './src/a.ts';\n"
                        "const a = new A();\n"
                        "test('a', () => { if (a.one() + a.two() + old(1)) throw 1; });\n"
                        "test('b', () => { new A().three(); old('x', 2); throw 1; });\n",
                    }
                ],
            },
        ],
        {"src/a.ts": "export function old(n: number): number { return n; }\n"},
    )

    found = [f"{each.code} {each.message}" for each in faults(plan) if each.code[0] == "E"]

    assert len(found) == 2
    assert "E211 line 5, column 27: Property 'three' does not exist on type 'A'." in found[0]
    assert found[1].startswith("E212 line 5, column 45: Expected 1 arguments, but got 2.")


@needs_tsc
def test_a_stub_may_use_only_names_that_there_are() -> None:
    stub = (
        "import { X } from './x';\nexport function f(a: X, b: Date, c: Missing): Promise<Mine>;\n"
    )
    plan = chain(
        [{"interfaces": [{"path": "a.ts", "stub": f"{stub}export interface Mine {{ m: number }}"}]}]
    )

    (found,) = faults(plan)

    assert found.code == "E203"
    assert found.message == (
        'the stub of "a.ts" uses "Missing" in line 2, which it neither imports nor defines'
    )


def test_without_a_compiler_the_plan_stays_unjudged_and_valid() -> None:
    from shared.languages.language_tools import Tools

    plan = chain(
        [
            {
                "interfaces": [{"path": "a.js", "stub": "export function f(): void;"}],
                "acceptance_commands": ["node -e \"require('./a.js').g(); process.exit(1)\""],
            }
        ]
    )

    assert [each.code for each in faults(plan, Tools())] == ["W224"]
