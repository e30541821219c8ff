from __future__ import annotations

import pytest

from tests.planner.plans import findings, messages, of_command, order, plan

# E003


@pytest.mark.parametrize(
    "command",
    [
        "cat a | grep b",
        "a && b",
        "a || b",
        "a; b",
        "a ; b",
        "a;",
        "a&&b",
        "a > out.txt",
        "a >> out.txt",
        "a 2>&1",
        "a < in.txt",
        "a <<EOF",
        "a &",
        "a|",
        "|",
        "pytest -k 'x' & echo",
        'python -c "print(1)";',
        'echo "a"|cat',
    ],
)
def test_an_operator_outside_quotes_is_found_also_where_it_is_glued(command: str) -> None:
    assert of_command(command) == ["E003"]


@pytest.mark.parametrize(
    "command",
    [
        'python -c "a = 1 | 2; assert a > 2 and a < 4"',
        "grep -E 'a|b' README.md",
        "pytest -k 'a and not (b or c)'",
        r"grep a\|b README.md",
        "grep a=b --x=1 a,b {x} ~ # %",
        "grep `date` $(date)",
    ],
)
def test_an_operator_within_quotes_is_text(command: str) -> None:
    assert of_command(command) == []


def test_a_command_with_several_operators_has_one_finding() -> None:
    document = plan(order(acceptance_commands=["a && b | c > d", "cat ok", "e;f"]))
    assert findings(document) == [
        "E003 WO-01 acceptance_commands[0]",
        "E003 WO-01 acceptance_commands[2]",
    ]


def test_the_operator_is_named() -> None:
    assert "`&&`" in messages(plan(order(acceptance_commands=["a&&b"])))[0]


# E006


@pytest.mark.parametrize(
    "command",
    [
        'python -c "for x in range(3) print(x)"',
        'python3 -c "x = ("',
        "python3.12 -c 'def'",
        "/usr/bin/python3 -c 'import'",
        ".venv/bin/python -c '1 +'",
        "env A=b python -c '1 +'",
        "python -I -B -c '1 +'",
        "python -Ic '1 +'",
        "python -W error -X dev -c '1 +'",
        "python -Werror -Xdev -c'1 +'",
        "python -c 'import sys; for a in sys.argv: pass'",
        "python -c 'return 1'",
        "python -c 'f(a=1, a=2)'",
    ],
)
def test_code_that_does_not_compile_is_found_behind_any_interpreter(command: str) -> None:
    assert of_command(command) == ["E006"]


@pytest.mark.parametrize(
    "command",
    [
        "python -c 'assert 1'",
        "python script.py -c 'not code'",
        "python -m json.tool -c '1 +'",
        "echo python -c '1 +'",
        "perl -c '1 +'",
        'python -c "import re\nfor a in range(3):\n    assert a < 3"',
        "python -c \"assert re.match('\\d', '1')\"",
        "python -c 'assert (1, 2)'",
        "python -c 'x = 1 if 1 is 1 else 2'",
    ],
)
def test_code_that_compiles_and_what_is_no_code_pass(command: str) -> None:
    assert "E006" not in of_command(command)
    assert "E215" not in of_command(command)


def test_the_compilers_words_and_line_are_told() -> None:
    command = 'python -c "x = 1\ny = = 2"'
    assert messages(plan(order(acceptance_commands=[command]))) == [
        "the code after `-c` does not compile: invalid syntax (line 2)"
    ]


def test_code_cut_off_by_an_operator_without_quotes_is_the_operators_fault() -> None:
    assert of_command("python -c assert x>1") == ["E003"]
    assert of_command("python -c import a;b") == ["E003"]


def test_broken_code_in_quotes_and_an_operator_behind_it_are_two_faults() -> None:
    assert of_command('python -c "x = (" && echo') == ["E003", "E006"]


# E007


@pytest.mark.parametrize(
    "command",
    [
        'python -c "print(1)',
        "echo 'a",
        "echo a\\",
        "",
        "   \t",
        "python -c",
        "python -Ic",
        "python -c ''",
        "python -c ' '",
        "bash -c",
        "python -m",
        "''",
        "cat a\0b",
    ],
)
def test_what_cannot_be_started_is_found(command: str) -> None:
    assert of_command(command) == ["E007"]


def test_no_other_rule_looks_at_such_a_command() -> None:
    assert of_command('python -c "import nowhere; x = ( && bash scripts/verify.sh') == ["E007"]


def test_a_command_that_is_no_string_is_for_the_schema() -> None:
    document = plan(order(acceptance_commands=[7, "a | b"]))
    assert findings(document) == [
        "E003 WO-01 acceptance_commands[1]",
        "E005 WO-01 acceptance_commands[0]",
    ]


# E215


@pytest.mark.parametrize(
    "code",
    ["x = 'a\0b'", "-" * 50_000 + "1", "x" + ".a" * 50_000, "x = 1 #" + "a" * 200_000],
    ids=["NUL", "unary", "attributes", "long"],
)
def test_code_that_the_compiler_gives_up_on_is_not_called_a_syntax_error(code: str) -> None:
    assert of_command(f'python -c "{code}"') == ["E215"]


def test_ordinary_code_can_be_judged() -> None:
    assert of_command('python -c "assert sum(range(1000)) == 499500"') == []
