"""Every Python gives the same verdict on code, and f-strings are those of Python 3.11."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from shared.languages.python.python_code import OLDEST, f_string_fault, read_code
from tests.shared.languages.python.f_strings import f_strings

ROOT = Path(__file__).resolve().parents[4]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")

# Code that only a newer Python reads, by the version that brought it.
NEWER = {
    "3.12: quotes within quotes": "names = []; assert f'{', '.join(names)}' == ''",
    "3.12: a key in the same quotes": 'd = {}; print(f"{d["a"]}")',
    "3.12: a backslash within braces": "print(f'{\"\\n\".join([])}')",
    "3.12: a comment within braces": "x = f'''{\n1 # one\n}'''",
    "3.12: a line break within braces": "x = f'{\n1}'",
    "3.12: blanks after a conversion": "x = 1; f'{x!r }'",
    "3.12: formats three deep": "x = y = z = 1; f'{x:{y:{z}}}'",
    "3.12: a nested f-string in the same quotes": "f'{f'{1}'}'",
    "3.12: a type alias": "type Names = list[str]",
    "3.12: a generic function": "def first[T](names: list[T]) -> T: ...",
    "3.12: a generic class": "class Box[T]: ...",
    "3.13: a default of a type parameter": "class Box[T = int]: ...",
    "3.14: several exceptions without parentheses": "try: pass\nexcept KeyError, ValueError: pass",
    "3.14: a template string": "t'{1}'",
}
# Code that each Python has read since 3.11.
OLD_ENOUGH = {
    "other quotes": "names = []; assert f\"{', '.join(names)}\" == ''",
    "triple quotes around single ones": "x = f'''{'a'}'''",
    "a hash in a string": "x = f\"{'#'}\"",
    "doubled braces": "x = f'{{{1}}}'",
    "a named character": "x = f'\\N{DIGIT ONE}{1}'",
    "an escape in the text": "x = f'{1}\\n{2}\\''",
    "a raw one": "x = rf'{1}\\d{{2}}'",
    "a format": "x = w = 1; f'{x:>{w}}{x!r:^{w}}{x=}{x = !s}{x:%H:%M}'",
    "a format two deep": "x = y = z = 1; f'{x:{y:z}}'",
    "comparisons": "x = 1; f'{x != 1}{x >= 1}{x<2:>5}'",
    "a lambda in brackets": "f'{(lambda x: x)(1)}'",
    "an f-string in an f-string": "f'{f\"{1}\"}'",
    "not an f-string": "x = '{' + b'{'.decode() + r'\\{'; iff = 1; iff",
    "an f-string in a comment": "x = 1  # f'{'",
    "an f-string in a string": "x = \"f'{'\"; y = '''\nf'{'\n'''",
    "a group of exceptions": "try: pass\nexcept* ValueError: pass",
    "a match": "match 1:\n  case 1: pass",
    "brackets around with": "with (open('a') as a, open('b') as b): pass",
}
# Code that no Python reads, or that not every release of one does.
BROKEN = {
    "a brace that never closes": "x = f'{1'",
    "a brace that never opens": "x = f'1}'",
    "no expression": "x = f'{}'",
    "a string that never closes": "x = f'a",
    "brackets that do not match": "x = f'{(1]}'",
    "another conversion": "x = f'{1!x}'",
    "an equals sign in a format (fails on 3.12.1)": "x = 1; f'{x:{x=}}'",
}

_VERDICTS = """
import json, sys
from shared.languages.python.python_code import read_code
found = [read_code(each).problem for each in json.load(sys.stdin)]
print(json.dumps([each is None or ["limit", "syntax"][each.is_syntax] for each in found]))
"""


@cache
def interpreters() -> dict[str, str]:
    """Return the Pythons of this machine that llmch runs on, by their version."""
    found: dict[str, str] = {}
    named = [path for name in VERSIONS if (path := shutil.which(f"python{name}"))]
    # Installers of several Pythons put them side by side, in folders named for their versions.
    beside = Path(sys.base_prefix).parent.glob("3.*/bin/python")
    installed = [str(each) for each in sorted(beside)]
    for path in (sys.executable, *installed, *named):
        script = "import sys; print('%d.%d' % sys.version_info[:2])"
        said = subprocess.run([path, "-c", script], capture_output=True, text=True)
        if said.returncode == 0 and said.stdout.strip() in VERSIONS:
            found.setdefault(said.stdout.strip(), path)
    return found


def verdicts(version: str, sources: Sequence[str]) -> list[object]:
    """Return what the Python of that version says: true where code is good, else why not."""
    path = interpreters().get(version)
    if path is None:
        pytest.skip(f"Python {version} is not on this machine")
    said = subprocess.run(
        [path, "-W", "ignore", "-c", _VERDICTS],
        input=json.dumps(sources),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[object] = json.loads(said.stdout)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_refuses_what_the_oldest_does_not_read(version: str) -> None:
    said = verdicts(version, list(NEWER.values()))
    assert dict(zip(NEWER, said, strict=True)) == dict.fromkeys(NEWER, "syntax")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_takes_what_the_oldest_reads(version: str) -> None:
    said = verdicts(version, list(OLD_ENOUGH.values()))
    assert dict(zip(OLD_ENOUGH, said, strict=True)) == dict.fromkeys(OLD_ENOUGH, True)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_refuses_what_is_broken(version: str) -> None:
    said = verdicts(version, list(BROKEN.values()))
    assert dict(zip(BROKEN, said, strict=True)) == dict.fromkeys(BROKEN, "syntax")


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_any_python_judges_random_f_strings_as_the_one_that_runs_this(version: str) -> None:
    sources = f_strings(random.Random(7), 2000)
    here = [
        problem is None or ("syntax" if problem.is_syntax else "limit")
        for problem in (read_code(each).problem for each in sources)
    ]
    there = verdicts(version, sources)
    assert [each for each in zip(sources, here, there, strict=True) if each[1] != each[2]] == []
    assert 0.2 < here.count(True) / len(here) < 0.8


@pytest.mark.rest
@pytest.mark.skipif(sys.version_info[:2] != OLDEST, reason="only the oldest Python knows")
def test_the_scan_says_what_the_compiler_of_the_oldest_python_says() -> None:
    sources = f_strings(random.Random(11), 4000)
    wrong = [each for each in sources if f_string_fault(each) and "=" not in each and reads(each)]
    assert wrong == []


def reads(source: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<test>", "exec", dont_inherit=True)
        except SyntaxError:
            return False
    return True


def test_the_scan_depends_on_the_text_alone() -> None:
    """Only what concerns f-strings is found by the scan: on every Python the same."""
    of_f_strings = [name for name in NEWER if "f'" in NEWER[name] or 'f"' in NEWER[name]]
    assert len(of_f_strings) == 8
    assert all(f_string_fault(NEWER[name]) for name in of_f_strings)
    assert {name for name in OLD_ENOUGH if f_string_fault(OLD_ENOUGH[name])} == set()


def test_a_fault_says_why_and_in_which_line_its_f_string_begins() -> None:
    fault = f_string_fault("x = 1\r\ny = f'''\n{x}{\n'''\nz = f'{x:{x:{x}}}'")
    assert fault is not None
    assert (fault.reason, fault.line) == (
        "the braces of an f-string do not close before its own quotes do",
        2,
    )


@pytest.mark.rest
@pytest.mark.parametrize("unit", ["f'", "f'{", "f'{a:", "f'{a!r:{", "f\"{f'{", "f'''{{", "\\", "'"])
def test_a_hostile_megabyte_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    for opening in ("", "f'''{", "f'"):
        f_string_fault(opening + unit * (1_000_000 // len(unit)))
    assert time.process_time() - started < 20
