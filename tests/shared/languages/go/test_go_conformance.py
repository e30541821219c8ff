"""Whether Go keeps its contracts: code that does, however it is written, and code that does not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shared.languages.go.go_language import GO
from shared.languages.go.go_source import read_go
from shared.languages.language_tools import Tools
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
    """Return the names that break the contracts in `stubs`, by path; both leave out the head."""
    interfaces = [Interface(path=at, stub=f"package game\n{text}") for at, text in stubs.items()]
    sources = {path: f"package game\n{text}" for path, text in code.items()}
    assert GO.conformance is not None
    with Tools(runner) as tools:
        found = GO.conformance.check_conformance(interfaces, {**MODULE, **sources}, tools)
    return [each.name for each in found]


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
