"""Wrong and right Go, written from the documentation of Go: what is caught, and what is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shared.commands.commands import analyse_command
from shared.languages.capabilities.chain import ChainCode
from shared.languages.capabilities.tools import Tools
from shared.languages.go.language import GO
from tests.shared.languages.chains import Case, Order, chain_of, read_corpus
from tests.shared.languages.tool_runner import runner_for

CORPUS = Path(__file__).parent / "corpus"
CONTRACT = (CORPUS / "contract.txt").read_text()
TESTS = read_corpus((CORPUS / "tests.txt").read_text())
COMMANDS = read_corpus((CORPUS / "commands.txt").read_text())

_KNOWN = ("bytes", "errors", "fmt", "reflect", "sort", "strings", "testing", "time")
_REPO = {"go.mod": "module example.org/words\n\ngo 1.21\n"}


def planned(*orders: Order) -> ChainCode:
    assert GO.plans is not None
    return GO.plans.read_chain(chain_of(*orders, repo=_REPO))


def file_of(number: int, case: Case) -> str:
    imports = [each for each in _KNOWN if f"{each}." in case.text or each == "testing"]
    scorer = "type fixedScorer struct{}\n\nfunc (fixedScorer) Score(string) []Mark { return nil }\n"
    extra = scorer if "fixedScorer" in case.text else ""
    lines = "\n".join(f'\t"{each}"' for each in imports)
    body = f"func TestCase{number}(t *testing.T) {{\n{case.text}}}\n"
    return f"package words\n\nimport (\n{lines}\n)\n\n{extra}{body}"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[set[str]]:
    """Return the codes that are reported for each case; one look at all of them."""
    tests = {f"words/case{n}_test.go": file_of(n, each) for n, each in enumerate(TESTS)}
    with Tools(runner_for(tmp_path_factory, "go")) as tools:
        code = planned(Order({"words/words.go": CONTRACT}, tests))
        assert not list(code.interface_faults())
        faults = list(code.use_faults(tools))
    reported: list[set[str]] = [set() for _ in TESTS]
    for each in faults:
        index = each.at.parts[1]
        assert isinstance(index, int)
        reported[index].add(each.code)
    return reported


def test_the_compiler_tells_wrong_tests_from_right_ones(found: list[set[str]]) -> None:
    pairs = list(zip(TESTS, found, strict=True))
    wrong, right = [e for e in pairs if e[0].code], [e for e in pairs if not e[0].code]
    caught = [case for case, codes in wrong if codes == {case.code}]
    false = [(case.name, codes) for case, codes in right if codes]
    figures = f"{len(caught)} of {len(wrong)} caught, {len(false)} of {len(right)} false"
    sys.stdout.write(f"Go tests: {figures}\n")
    assert len(wrong) >= 30
    assert len(right) >= 30
    assert not false
    assert [(c.name, c.code, codes) for c, codes in wrong if codes != {c.code}] == []


def test_commands_that_prove_nothing_are_told_from_those_that_do() -> None:
    head = 'package words\n\nimport "testing"\n\n'
    fails = 'func TestScore(t *testing.T) { t.Run("green", func(t *testing.T) { t.Fatal() }) }\n'
    more = "func TestParse(t *testing.T) { if len(Score()) != 1 { t.Error() } }\n"
    examples = "func ExampleJoin() {\n\tJoin()\n\t// Output: a\n}\n"
    fuzz = "func FuzzParse(f *testing.F) { f.Fatal() }\n"
    skipped = 'func TestLater(t *testing.T) {\n\tt.Skip("later")\n\tt.Fatal("never")\n}\n'
    quiet = 'func TestQuiet(t *testing.T) { Score(); t.Log("done") }\n'
    order = Order(
        stubs=dict.fromkeys(("words/words.go", "plain/plain.go"), "package words\n"),
        tests={
            "words/words_test.go": head + fails + more + examples + fuzz,
            "later/later_test.go": head + skipped,
            "quiet/quiet_test.go": head + quiet,
        },
        writes=["cmd/play/main.go"],
    )
    chain = chain_of(order, repo=_REPO)
    assert GO.plans is not None
    code = GO.plans.read_chain(chain)
    found: list[tuple[Case, str]] = []
    for case in COMMANDS:
        command = analyse_command(case.text.strip())
        assert GO.commands is not None
        paths = GO.commands.needed_paths(command)
        missing = [
            each
            for each in paths
            if not chain.is_there(each, 1) and not chain.files.may_be_folder(each, 1)
        ]
        weak = GO.commands.weakness(command) or code.weakness(1, command)
        found.append((case, "E241" if missing else weak.code if weak else ""))
    wrong = [each for each in found if each[0].code]
    right = [each for each in found if not each[0].code]
    caught = [case for case, code in wrong if case.code == code]
    sys.stdout.write(f"Go commands: {len(caught)} of {len(wrong)} caught\n")
    assert len(wrong) >= 30
    assert len(right) >= 30
    assert [(case.name, code) for case, code in found if case.code != code] == []
