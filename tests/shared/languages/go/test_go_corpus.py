"""Wrong and right Go, written from the documentation of Go: what is caught, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.languages.go.go_language import GO
from tests.shared.languages.chains import Case, Order, read_corpus
from tests.shared.languages.declared.corpora import (
    assert_told_apart,
    codes_of_commands,
    codes_of_tests,
    planned,
)
from tests.shared.languages.tool_runner import runner_for

CORPUS = Path(__file__).parent / "corpus"
CONTRACT = (CORPUS / "contract.txt").read_text()
TESTS = read_corpus((CORPUS / "tests.txt").read_text())
COMMANDS = read_corpus((CORPUS / "commands.txt").read_text())

_KNOWN = ("bytes", "errors", "fmt", "reflect", "sort", "strings", "testing", "time")
_REPO = {"go.mod": "module example.org/words\n\ngo 1.21\n"}


def file_of(number: int, case: Case) -> str:
    imports = [each for each in _KNOWN if f"{each}." in case.text or each == "testing"]
    scorer = "type fixedScorer struct{}\n\nfunc (fixedScorer) Score(string) []Mark { return nil }\n"
    extra = scorer if "fixedScorer" in case.text else ""
    lines = "\n".join(f'\t"{each}"' for each in imports)
    body = f"func TestCase{number}(t *testing.T) {{\n{case.text}}}\n"
    return f"package words\n\nimport (\n{lines}\n)\n\n{extra}{body}"


def test_the_compiler_tells_wrong_tests_from_right_ones(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    tests = {f"words/case{n}_test.go": file_of(n, each) for n, each in enumerate(TESTS)}
    code = planned(GO, _REPO, Order({"words/words.go": CONTRACT}, tests))
    found = codes_of_tests(code, TESTS, runner_for(tmp_path_factory, "go"))
    assert_told_apart("Go tests", TESTS, found)


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
    found = codes_of_commands(GO, _REPO, order, COMMANDS)
    assert_told_apart("Go commands", COMMANDS, found)
