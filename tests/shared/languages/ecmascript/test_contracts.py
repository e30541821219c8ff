"""What stubs declare, where they contradict each other, and what is in force after all of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shared.languages.ecmascript.declaration_stubs import (
    Stub,
    conflicts,
    contracts_in_force,
    is_meant,
    parse_stub,
)
from shared.languages.ecmascript.ecmascript_syntax import find_fault, tree_of
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


_PARSE = "export function parse(s: string): number { return 1; }\n"
_LIB = {"package.json": '{"name": "lib", "devDependencies": {"vitest": "3"}}', "src/m.ts": _PARSE}


def _found(repo: Mapping[str, str], code: str, *, writes: str = "src/x.ts", stub: str = "") -> str:
    """Return the codes of the errors in a test of `code`, in an order that writes a file."""
    test = f"import {{ test, expect }} from 'vitest';\n{code}\n"
    one = {
        "allowed_files": [writes],
        "interfaces": [{"path": writes, "stub": stub}] if stub else [],
        "acceptance_files": [{"path": "tests/a.test.ts", "content": test}],
        "acceptance_commands": ["npx vitest run tests/a.test.ts"],
    }
    found = faults(chain([one], {**_LIB, **repo}))
    return " ".join(dict.fromkeys(each.code for each in found if each.code[0] == "E"))


@needs_tsc
@pytest.mark.parametrize(
    ("barrel", "writes", "codes"),
    [
        ("export * from './m';", "src/m.ts", ""),  # what the order may add is not known
        ("export * from './m';\nexport * from 'a-package';", "src/x.ts", ""),
        ("export * from './m';\nexport * from './generated/all';", "src/x.ts", ""),
        ("export * from './inner';", "src/m.ts", ""),
        ("export * from './m';", "src/x.ts", "E211"),
        ("export * from './inner';", "src/x.ts", "E211"),
        ("export { parse } from './m';", "src/m.ts", "E211"),
    ],
)
def test_a_barrel_has_whatever_it_passes_on(barrel: str, writes: str, codes: str) -> None:
    repo = {"src/index.ts": barrel, "src/inner.ts": "export * from './m';"}
    use = "import { parse, added } from '../src/index';\nexpect(parse('a')).toBe(added);"
    assert _found(repo, use, writes=writes) == codes


@needs_tsc
def test_a_member_that_a_stub_adds_to_a_type_is_there_whoever_returns_it() -> None:
    repo = {
        "src/m.ts": "export interface Opts { a: string }\n"
        "export function same(o: Opts): Opts { return o; }\n"
    }
    for member, codes in (("c", ""), ("d", "E211")):
        use = f"import {{ same }} from '../src/m';\nexpect(same({{ a: 'x' }}).{member}).toBe(1);"
        stub = "export interface Opts { c?: number }"
        assert _found(repo, use, writes="src/m.ts", stub=stub) == codes


@needs_tsc
@pytest.mark.parametrize(
    ("source", "writes", "codes"),
    [
        ("import { Base } from 'a-package';\nexport class K extends Base {}", "src/x.ts", ""),
        ("import { Base } from './base';\nexport class K extends Base {}", "src/base.ts", ""),
        ("import { Base } from './base';\nexport class K extends Base {}", "src/x.ts", "E212"),
        (
            "import { Base } from 'a-package';\n"
            "export class K extends Base { constructor() { super(1); } }",
            "src/x.ts",
            "E212",
        ),
        ("export class K {}", "src/x.ts", "E212"),
    ],
)
def test_a_class_may_have_the_constructor_of_one_that_is_not_known(
    source: str, writes: str, codes: str
) -> None:
    repo = {"src/k.ts": source, "src/base.ts": "export class Base { a = 1; }"}
    use = "import { K } from '../src/k';\nexpect(new K(1, 2)).toBe(1);"
    assert _found(repo, use, writes=writes) == codes


@needs_tsc
@pytest.mark.parametrize(
    ("path", "text", "codes"),
    [
        ("src/global.d.ts", "declare const given: string;\ndeclare type Given = string;", ""),
        ("src/global.d.ts", "// given Given", "E203 E216"),
        ("vitest.setup.ts", "globalThis.given = 1; globalThis.Given = 2;", ""),
        ("vite.config.ts", "export default { define: { given: 1, Given: 1 } };", ""),
        ("src/other.ts", "const given = 1; type Given = string;", "E203 E216"),
    ],
)
def test_a_name_may_be_global_by_a_file_that_nobody_imports(
    path: str, text: str, codes: str
) -> None:
    use = "import { f } from '../src/x';\nexpect(f(given)).toBe(1);"
    stub = "export declare function f(a: Given): JSX.Element;"
    assert _found({path: text}, use, stub=stub) == codes


def test_a_line_behind_a_test_file_chooses_a_test_of_it() -> None:
    one = {
        "acceptance_files": [{"path": "tests/a.test.ts", "content": "test('a', () => {});"}],
        "acceptance_commands": ["npx vitest run tests/a.test.ts:1", "npx vitest run b.test.ts:1"],
    }
    codes = [
        (each.code, each.at.parts[1]) for each in faults(chain([one], _LIB)) if "E" in each.code
    ]
    assert codes == [("E241", 1)]


def test_a_name_that_a_configuration_maps_is_no_package_of_others() -> None:
    test = "import { f } from 'app/m';\ntest('a', () => expect(f()).toBe(1));"
    one = {"acceptance_files": [{"path": "a.test.ts", "content": test}]}
    for name, codes in (("app", []), ("apple", ["W221"])):
        config = {
            "jest.config.js": f"module.exports = {{moduleNameMapper: {{'^{name}/(.*)$': ''}}}}"
        }
        found = faults(chain([one], {**_LIB, **config}))
        assert [each.code for each in found if each.code == "W221"] == codes


@pytest.mark.parametrize(
    "code",
    [
        "export type * from './a';",
        "f<[Options?], string>(1);",
        "class A { accessor x = 1; }",
        "class A<in T, out U, in out V> {}",
        "let f: import('./a').B<string>;",
        "import defer * as x from './a';",
        "import a from './a.json' assert { type: 'json' };",
    ],
)
def test_code_that_a_grammar_does_not_know_parses_all_the_same(code: str) -> None:
    root = tree_of("a.ts", f"{code}\nlet after = 1;")
    assert root is not None
    assert find_fault(root) is None
    assert root.named_children[-1].start_point.row == 1


@pytest.mark.parametrize("code", ["a ? , b;", "export type from './a'", "f(in T, out U)"])
def test_other_code_that_does_not_parse_is_found(code: str) -> None:
    root = tree_of("a.ts", code)
    assert root is not None
    assert find_fault(root) is not None
