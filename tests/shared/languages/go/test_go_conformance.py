"""Whether Go keeps its contracts: code that does, however it is written, and code that does not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shared.languages.go.go_language import GO
from shared.languages.language_tools import Tools
from shared.work_order.work_order import Interface
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
