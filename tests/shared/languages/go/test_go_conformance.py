"""Whether Go keeps its contracts: code that does, however it is written, and code that does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from shared.languages.go.go_language import GO
from shared.languages.go.go_source import read_go
from shared.languages.language_tools import CheckerFailed, Tools
from shared.work_order.work_order import Interface, WorkOrder
from tests.shared.languages.tool_runner import SandboxRunner, runner_for

MODULE = {"go.mod": "module example.org/play\n\ngo 1.21\n"}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> SandboxRunner:
    return runner_for(tmp_path_factory, "go")


def names_that_differ(
    runner: SandboxRunner | None,
    stubs: Mapping[str, str],
    code: Mapping[str, str],
) -> list[str]:
    """Return the names that break the contracts; those without a head are of the package game."""
    interfaces = [Interface(path=at, stub=headed(text)) for at, text in stubs.items()]
    sources = {at: headed(text) if at.endswith(".go") else text for at, text in code.items()}
    assert GO.conformance is not None
    with Tools(runner) as tools:
        found = GO.conformance.check_conformance(interfaces, {**MODULE, **sources}, tools)
    return [each.name for each in found]


def headed(text: str) -> str:
    return text if "package " in text else f"package game\n{text}"


def test_what_has_no_name_is_not_compared(runner: SandboxRunner) -> None:
    types = "type S interface{ Get() string }\ntype M struct{}\nvar _ S = (*M)(nil)\n"
    stub = f"{types}func (m *M) Get() string\nfunc init()\n"
    code = f'{types}func (m *M) Get() string {{ return "" }}\nfunc init() {{}}\n'
    assert names_that_differ(runner, {"game.go": stub}, {"game.go": code}) == []


@pytest.mark.parametrize(
    ("stub", "code", "names"),
    [
        ("B", 'B `json:",inline"`', []),
        ("*B", '*B `json:",inline"`', []),
        ("*B", "B", ["P.* B"]),
        ("B", "C", ["P.B"]),
    ],
)
def test_an_embedded_field_may_have_a_tag(stub: str, code: str, names: list[str]) -> None:
    stubs, written = ({"game.go": f"type P struct {{\n\t{each}\n}}\n"} for each in (stub, code))
    assert names_that_differ(None, stubs, written) == names


GROUP = "type (\n\tA struct{ X int }\n\tB struct{ Z int }\n)\n"


def in_force(first: str, second: str, *changes: str) -> str:
    assert GO.conformance is not None
    orders = [order("WO-01", first), order("WO-02", second, *changes)]
    (found,) = GO.conformance.contracts_in_force(orders)
    return found.stub


def order(name: str, stub: str, *changes: str) -> WorkOrder:
    interfaces = [{"path": "game.go", "stub": f"package game\n{stub}"}] if stub else []
    return WorkOrder.model_validate(
        {"id": name, "title": "t", "intent": "i", "allowed_files": ["game.go"], "forbidden": [],
         "acceptance_commands": ["go test ./..."], "context_files": [], "interfaces": interfaces,
         "changes": list(changes)}
    )  # fmt: skip


def test_each_declaration_of_a_group_may_be_declared_anew() -> None:
    changed = in_force(GROUP, "type A struct{ X string }\n", "A")
    assert changed == "package game\n\ntype A struct{ X string }\n\ntype B struct{ Z int }\n"
    assert in_force(GROUP, "", "A") == "package game\n\ntype B struct{ Z int }\n"
    kept = in_force("type A struct {\n\tX int\n\tY int\n}\n", GROUP)
    assert kept == "package game\n\ntype A struct{ X int\nY int\n}\n\ntype B struct{ Z int }\n"


def test_constants_that_count_stay_together() -> None:
    counted = "const (\n\tGrey = iota\n\tGreen\n)"
    assert in_force(counted, "const (\n\tMax = 5\n\tMin = 1\n)") == (
        f"package game\n\n{counted}\n\nconst Max = 5\n\nconst Min = 1\n"
    )


def test_the_skeleton_of_a_file_with_a_group_has_what_the_contract_declares() -> None:
    assert GO.conformance is not None
    stub = Interface(path="game.go", stub="package game\ntype A struct{ X string }\n")
    code = GO.conformance.build_skeleton([stub], {"game.go": f"package game\n{GROUP}"})["game.go"]
    assert code == "package game\n\ntype A struct{ X string }\n\ntype B struct{ Z int }\n"


def test_a_large_group_takes_bounded_memory() -> None:
    values = "".join(
        f"\tA{number} = {number} // a note about this one\n" for number in range(2_000)
    )
    for group in (values, f"\tB = iota\n{values}"):
        read = read_go(f"package game\n\nconst (\n{group})\n")
        texts = {id(each.text): len(each.text) for each in read.items}
        assert len(read.items) >= 2_000
        assert sum(texts.values()) < 200_000


@pytest.mark.parametrize("text", ["type A struct{}", "const (\n\tA = 1\n)", "var A int // é"])
def test_the_last_line_of_a_file_needs_no_end(text: str) -> None:
    assert read_go(f"package game\n\n{text}").fault is None


KINDS = """import "time"

type Score int
type Handle func(name string) error
type Grid [Size]int
type Stack[T any] []T
type Short = int
type Wait time.Duration
type Rank Score
type Store interface{ Get() string }
type Empty struct{}
type Number interface{ ~int | ~float64 }
type Small Number

const Size = 3
const Max = 10
const Pi = 3.14159
const Word, Letters = "a \\"b\\"", len(Word)
const Limit time.Duration = 5 * time.Second
const (
	Grey Score = iota
	Green
)

var Total int
"""


OF_KINDS: Final[Sequence[tuple[str, str, list[str]]]] = (
    ("", "", []),
    ("Score int", "Score string", ["Score"]),
    ("Handle func(name string) error", "Handle func(string) error", []),
    ("Handle func(name string) error", "Handle func(int)", ["Handle"]),
    ("Grid [Size]int", "Grid [3]int", []),
    ("Grid [Size]int", "Grid [4]int", ["Grid"]),
    ("Stack[T any] []T", "Stack[E any] []E", []),
    ("Stack[T any] []T", "Stack[T any] map[string]T", ["Stack"]),
    ("Stack[T any] []T", "Stack []int", ["Stack"]),
    ("Short = int", "Short int", ["Short"]),
    ("Short = int", "Short = string", ["Short"]),
    ("Wait time.Duration", "Wait int64", []),
    ("Wait time.Duration", "Wait time.Time", ["Wait"]),
    ("Rank Score", "Rank int", []),
    ("type Store interface{ Get() string }", "var Store = 3", ["Store"]),
    ("Store interface{ Get() string }", "Store struct{ Get func() string }", ["Store"]),
    ("Empty struct{}", "Empty int", ["Empty"]),
    ("Max = 10", "Max = 20", ["Max"]),
    ("Max = 10", "Max = 2*3 + 4", []),
    ("Max = 10", "Max int = 10", []),
    ("const Max = 10", 'const Max = "a"', ["Max"]),
    ("const Max = 10", "var Max = 10", ["Max"]),
    ("Pi = 3.14159", "Pi = 3.14", ["Pi"]),
    ('"a \\"b\\"", len(Word)', '`a "b"`, 5', []),
    ('"a \\"b\\"", len(Word)', '"a", 1', ["Word"]),
    ("5 * time.Second", "5e9", []),
    ("Limit time.Duration = 5 * time.Second", "Limit int64 = 5e9", ["Limit"]),
    ("var Total int", "var Total = 3", []),
    ("var Total int", "const Total int = 3", ["Total"]),
)


def test_types_constants_and_variables_are_compared(runner: SandboxRunner) -> None:
    assert all(old in KINDS for old, _, _ in OF_KINDS)
    paths = [f"case{at}/game.go" for at in range(len(OF_KINDS))]
    texts = [KINDS.replace(old, new) if old else KINDS for old, new, _ in OF_KINDS]
    interfaces = [Interface(path=path, stub=headed(KINDS)) for path in paths]
    sources = {path: headed(text) for path, text in zip(paths, texts, strict=True)}
    assert GO.conformance is not None
    with Tools(runner) as tools:  # all are compiled together
        found = GO.conformance.check_conformance(interfaces, {**MODULE, **sources}, tools)
    for path, (old, new, names) in zip(paths, OF_KINDS, strict=True):
        assert [each.name for each in found if each.path == path] == names, f"{old} -> {new}"


def test_a_function_is_no_variable() -> None:
    code = {"game.go": "var F = func() int { return 1 }\n"}
    assert names_that_differ(None, {"game.go": "func F() int\n"}, code) == ["F"]


def test_code_for_an_old_go_may_have_types(runner: SandboxRunner) -> None:
    code = "type Score int\nfunc F(n Score) Score { return n }\n"
    interface = Interface(path="game.go", stub="package game\n" + code.replace("{ return n }", ""))
    sources = {"go.mod": "module a\n\ngo 1.16\n", "game.go": f"package game\n{code}"}
    assert GO.conformance is not None
    with Tools(runner) as tools:
        assert GO.conformance.check_conformance([interface], sources, tools) == ()


@pytest.mark.parametrize("given", ["time.Duration", "int"])
def test_a_contract_may_use_an_import_of_its_file(runner: SandboxRunner, given: str) -> None:
    stub = "func Add(d time.Duration) time.Duration\n"
    code = f'import "time"\nfunc Add(d {given}) time.Duration {{ return time.Duration(d) }}\n'
    found = names_that_differ(runner, {"game.go": stub}, {"game.go": code})
    assert found == ([] if given == "time.Duration" else ["Add"])


@pytest.mark.parametrize("kind", ["A", "B"])
def test_packages_of_two_contracts_may_have_one_name(runner: SandboxRunner, kind: str) -> None:
    tables = {
        f"{each}/table/a.go": "package table\ntype A struct{}\ntype B struct{}\n" for each in "ab"
    }
    stubs, code = {}, {}
    for path, folder in (("game.go", "a"), ("more.go", "b"), ("two/two.go", "b")):
        name = path.removesuffix(".go").rpartition("/")[2].title()
        head = f'import "example.org/play/{folder}/table"\n'
        stubs[path] = f"{head}func {name}(t *table.A)\n"
        code[path] = f"{head}func {name}(t *table.{kind}) {{}}\n"
    found = names_that_differ(runner, stubs, {**tables, **code})
    assert found == ([] if kind == "A" else ["Game", "More", "Two"])


@pytest.mark.parametrize("kind", ["*lib.Conn", "lib.Conn"])
@pytest.mark.parametrize("name", ["", "lib "])
def test_a_package_may_have_another_name_than_its_folder(
    runner: SandboxRunner, kind: str, name: str
) -> None:
    library = {"lib.go/a.go": "package lib\ntype Conn struct{}\n"}
    stub = 'import "example.org/play/lib.go"\nfunc F(c *lib.Conn) error\n'
    code = f'import {name}"example.org/play/lib.go"\nfunc F(c {kind}) error {{ return nil }}\n'
    found = names_that_differ(runner, {"game.go": stub}, {**library, "game.go": code})
    assert found == ([] if kind == "*lib.Conn" else ["F"])


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("clear_windows.go", "package game\n"),
        ("clear_plan9_arm_test.go", "package game_test\n"),
        ("clear.go", "//go:build integration\n\npackage game\n"),
        ("clear.go", "// A comment.\n\n// +build ignore\n\npackage main\n"),
    ],
)
def test_a_file_that_is_not_built_is_compared_by_its_text(
    runner: SandboxRunner, path: str, head: str
) -> None:
    stub = 'import "io"\nfunc Clear(a any, w io.Writer) error\nfunc Fill(n byte)\ntype H func()\n'
    right = (
        'import other "io"\nfunc Clear(b interface{}, w other.Writer) error { return nil }\n'
        "func Fill(n uint8) {}\ntype H func()\n"
    )
    rest = {"game.go": "package game\nfunc G() int { return 1 }\n"}
    stubs = {"game.go": "func G() int\n", path: stub}
    assert names_that_differ(runner, stubs, {**rest, path: head + right}) == []
    for old, new, name in (("uint8", "string", "Fill"), ("other.Writer)", "any)", "Clear")):
        code = {**rest, path: head + right.replace(old, new)}
        assert names_that_differ(runner, stubs, code) == [name]


def test_a_name_that_is_not_built_here_is_no_difference(runner: SandboxRunner) -> None:
    stub = "type T struct{}\nfunc (t *T) Get() int\nfunc F() int\n"
    code = 'import "C"\n' + stub.replace("Get() int", "Get() int { return 1 }")
    code = code.replace("F() int", "F() int { return 1 }")
    assert names_that_differ(runner, {"_a.go": stub}, {"_a.go": code, "b.go": ""}) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"go.mod": "module example.org/play\n\ngo 1.99\n"}, "go.mod requires go >= 1.99"),
        ({"play/words.go": 'package play\n\nimport _ "example.org/gone"\n'}, "example.org/gone"),
    ],
)
def test_what_the_compiler_did_not_get_to_is_not_taken_for_kept(
    runner: SandboxRunner, changed: dict[str, str], said: str
) -> None:
    files = {
        "go.mod": "module example.org/play\n\ngo 1.21\n",
        "play/play.go": "package play\n\nfunc Score(n uint16) uint16 {\n\treturn n\n}\n",
    }
    stub = Interface(path="play/play.go", stub="package play\n\nfunc Score(n uint8) uint8\n")
    assert GO.conformance is not None
    with Tools(runner) as tools, pytest.raises(CheckerFailed) as refused:
        GO.conformance.check_conformance([stub], files | changed, tools)
    assert "did not compile play/play.go: " in refused.value.message
    assert said in refused.value.message


def test_what_is_embedded_need_not_be_there_to_compare_types(runner: SandboxRunner) -> None:
    embeds = '//go:embed a.txt "b c.txt" web/*.html [0-9]*.sql *.go\n'
    embeds += "//go:embed all:static web\nvar kept embed.FS\n"
    code = {
        "game/game.go": "func Score(n uint16) uint16 {\n\treturn n\n}\n",
        "game/kept.go": f'import "embed"\n\n{embeds}',
    }
    assert names_that_differ(runner, {"game/game.go": "func Score(n uint8) uint8"}, code) == [
        "Score"
    ]


def test_a_package_that_imports_another_with_a_contract_is_compared_as_well(
    runner: SandboxRunner,
) -> None:
    code = {
        "game/game.go": 'import "unsafe"\n\nvar size = unsafe.Sizeof(0)\n\n'
        "func Score(n uint8) uint8 {\n\treturn n\n}\n",
        "play/play.go": 'package play\n\nimport "example.org/play/game"\n\n'
        "func Play(n uint16) uint8 {\n\treturn game.Score(uint8(n))\n}\n",
    }
    stubs = {
        "game/game.go": "func Score(n uint8) uint8",
        "play/play.go": "package play\n\nfunc Play(n uint8) uint8",
    }
    assert names_that_differ(runner, stubs, code) == ["Play"]


def test_a_package_that_both_import_is_imported_once(runner: SandboxRunner) -> None:
    code = {
        "game/game.go": 'import u "unsafe"\n\nfunc At(p u.Pointer) uint8 {\n\treturn 1\n}\n',
        "play/play.go": 'package play\n\nimport "example.org/play/game"\n\n'
        "func Play(n uint16) uint8 {\n\treturn game.At(nil)\n}\n",
    }
    stubs = {
        "game/game.go": 'import "unsafe"\n\nfunc At(p unsafe.Pointer) uint8',
        "play/play.go": "package play\n\nfunc Play(n uint8) uint8",
    }
    assert names_that_differ(runner, stubs, code) == ["Play"]


@pytest.mark.parametrize(
    "code",
    [
        'func F(a string) struct{ A int "could not import" } { panic(1) }\n',
        "type int []byte\ntype string = float64\nfunc F(a int) string { return 1.5 }\n",
    ],
)
def test_neither_words_in_a_type_nor_names_of_types_hide_a_difference(
    runner: SandboxRunner, code: str
) -> None:
    stub = "func F(a int) string\n"
    assert names_that_differ(runner, {"game.go": stub}, {"game.go": code}) == ["F"]


def test_types_of_the_language_are_those_of_the_contract(runner: SandboxRunner) -> None:
    listed = "a int, b string, c bool, d float64, e complex128, f rune, g byte, h uint8, i int32"
    code = f"func F({listed}) error {{ return nil }}\n"
    assert (
        names_that_differ(runner, {"game.go": f"func F({listed}) error\n"}, {"game.go": code}) == []
    )


def test_a_package_with_assembly_keeps_no_other_one_from_being_compared(
    runner: SandboxRunner,
) -> None:
    code = {
        "fast/fast.go": "package fast\n\nfunc Add(a, b int) int\n",
        "fast/fast.s": "TEXT ·Add(SB), $0-24\n\tRET\n",
        "game.go": 'import "example.org/play/fast"\n'
        "func F(a int) string { fast.Add(a, 1); panic(1) }\n",
    }
    assert names_that_differ(runner, {"game.go": "func F(a int) int\n"}, code) == ["F"]
