"""The corpus: what is wrong is found, and what is right is left alone.

All cases of a project stand in one order, so that the compiler is asked once for each.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shared.languages.planned_code import Fault
from tests.shared.languages.ecmascript.plans import chain, faults, needs_tsc

CORPUS = Path(__file__).parent / "corpus"
# What nearly every small plan has, and what says only that a plan could be better.
QUALITY = frozenset({"W223"})

Case = Mapping[str, Any]


def _read(name: str) -> Any:
    return tomllib.loads((CORPUS / f"{name}.toml").read_text())


PROJECTS: Mapping[str, Any] = _read("projects")
KINDS: Mapping[str, Sequence[Case]] = {name: _read(name)["case"] for name in ("wrong", "right")}


@cache
def _judged(kind: str, name: str) -> Mapping[int, list[Fault]]:
    """Return the faults of all cases of a kind in one project, by the number of the case."""
    project = PROJECTS[name]
    commands: list[str] = []
    files: list[dict[str, str]] = []
    case_of: dict[tuple[str, int], int] = {}
    for number, case in enumerate(KINDS[kind]):
        if case["project"] != name:
            continue
        path = project["test"].replace(".test.", f"{number:03d}.test.")
        text = case.get("test") or ("given" in case and _right_test(name))
        if text:
            case_of["acceptance_files", len(files)] = number
            files.append({"path": path, "content": text})
        case_of["acceptance_commands", len(commands)] = number
        runner = project["runner"]
        commands.append(case.get("command", f"{runner} {{test}}").replace("{test}", path))
    order = {
        "allowed_files": project.get("allowed", []),
        "interfaces": [{"path": p, "stub": s} for p, s in project["interfaces"].items()],
        "acceptance_commands": commands,
        "acceptance_files": files,
    }
    later = [{"interfaces": [project["later"]]}] if "later" in project else []
    found: dict[int, list[Fault]] = {}
    for fault in faults(chain([order, *later], project["repo"])):
        if fault.code not in QUALITY:
            field, index = (*fault.at.parts, "", 0)[:2]
            found.setdefault(case_of.get((str(field), int(index)), -1), []).append(fault)
    return found


def _right_test(name: str) -> str:
    text: str = next(e["test"] for e in KINDS["right"] if e["project"] == name and "test" in e)
    return text


def _faults(kind: str, number: int) -> list[Fault]:
    case = KINDS[kind][number]
    found = _judged(kind, case["project"]).get(number, [])
    return [each for each in found if each.code not in case.get("unless", ())]


def _label(case: Case) -> str:
    return " ".join((case.get("command") or case["test"].split("\n")[-1])[:70].split())


def _cases(kind: str) -> list[Any]:
    return [
        pytest.param(number, id=f"{number} {_label(case)}")
        for number, case in enumerate(KINDS[kind])
    ]


@needs_tsc
@pytest.mark.parametrize("number", _cases("wrong"))
def test_what_is_wrong_is_found_once(number: int) -> None:
    found = _faults("wrong", number)

    assert [each.code for each in found] == KINDS["wrong"][number]["codes"], _shown(found)


@needs_tsc
@pytest.mark.parametrize("number", _cases("right"))
def test_what_is_right_is_left_alone(number: int) -> None:
    found = _faults("right", number)

    assert not found, _shown(found)


@pytest.mark.rest
@needs_tsc
def test_nothing_is_found_beside_the_cases() -> None:
    for kind in KINDS:
        for name in PROJECTS:
            assert not _judged(kind, name).get(-1), _shown(_judged(kind, name)[-1])


@needs_tsc
def test_recall_and_false_alarms_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    wrong, right = KINDS["wrong"], KINDS["right"]
    caught = sum(
        each["codes"] == [e.code for e in _faults("wrong", n)] for n, each in enumerate(wrong)
    )
    alarms = sum(e.code.startswith("E") for n in range(len(right)) for e in _faults("right", n))
    with capsys.disabled():
        sys.stdout.write(
            f"\nJavaScript and TypeScript: {caught} of {len(wrong)} wrong cases found, "
            f"{alarms} false errors in {len(right)} right cases\n"
        )

    assert caught >= 0.95 * len(wrong)
    assert alarms == 0


def test_the_corpus_is_large_enough() -> None:
    assert min(map(len, KINDS.values())) >= 60


def _shown(found: Sequence[Fault]) -> str:
    return "; ".join(f"{each.code} {each.message}" for each in found) or "nothing was found"
