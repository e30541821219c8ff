from __future__ import annotations

import pytest

from tests.planner.plans import creating, findings, messages, of_command, order, plan


def python(code: str) -> list[str]:
    return [f'python -c "{code}"']


@pytest.mark.parametrize(
    "code",
    [
        "import json, os.path, xml.etree.ElementTree",
        "import pytest, pip",
        "from __future__ import annotations",
        "from . import a",
        "import sys; sys.path.insert(0, 'lib'); import anything",
        "try:\n    import fast\nexcept ImportError:\n    fast = None",
        "try:\n    import fast\nexcept (OSError, ModuleNotFoundError):\n    import slow as fast",
        "from contextlib import suppress\nwith suppress(ImportError):\n    import fast",
        "import pytest\nwith pytest.raises(ImportError):\n    import gone",
    ],
)
def test_what_is_always_there_or_allowed_to_be_missing_is_no_concern(code: str) -> None:
    assert of_command(*python(code)) == []


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("from game.score import score", "game.score"),
        ("import json, game", "game"),
        ("def f():\n    import game", "game"),
        ("try:\n    import game\nfinally:\n    pass", "game"),
        ("try:\n    import game\nexcept ValueError:\n    pass", "game"),
        ("if 1:\n    from game import (a, b)", "game"),
    ],
)
def test_an_import_that_nobody_provides_is_named(code: str, missing: str) -> None:
    document = plan(order(acceptance_commands=python(code)))
    assert findings(document) == ["W101 WO-01 acceptance_commands[0]"]
    assert f'imports "{missing}"' in messages(document)[0]


@pytest.mark.parametrize(
    "files",
    [
        ["game/score.py"],
        ["game/score/__init__.py"],
        ["game/score.pyi"],
        ["src/game/score.py"],
        ["src/game/score/__init__.py", "src/game/__init__.py"],
        ["game/score/points.py"],  # a namespace, and `points` a module in it
    ],
)
def test_a_module_can_be_provided_in_every_layout(files: list[str]) -> None:
    command = python("from game.score import points")
    document = plan(creating(1, *files, acceptance_commands=command))
    assert findings(document) == []
    assert findings(plan(order(acceptance_commands=command)), repo=files) == []


def test_a_folder_without_init_provides_only_the_modules_in_it() -> None:
    document = plan(
        creating(1, "game/score.py", acceptance_commands=python("from game import score, words"))
    )
    assert 'imports "game.words"' in messages(document)[0]


def test_a_package_may_define_any_name_itself() -> None:
    document = plan(
        creating(1, "game/__init__.py", acceptance_commands=python("from game import words"))
    )
    assert findings(document) == []


def test_what_a_later_order_provides_is_not_there_yet() -> None:
    document = plan(
        order(1, acceptance_commands=python("import game")),
        creating(2, "game.py", acceptance_commands=python("import game")),
    )
    assert findings(document) == ["E217 WO-01 acceptance_commands[0]"]


def test_an_order_without_promises_may_provide_what_it_is_allowed_to_write() -> None:
    document = plan(order(allowed_files=["game.py"], acceptance_commands=python("import game")))
    assert findings(document) == []


def test_one_missing_module_is_one_warning_for_an_order() -> None:
    document = plan(order(acceptance_commands=python("import game") + python("import game, ui")))
    assert findings(document) == [
        "W101 WO-01 acceptance_commands[0]",
        "W101 WO-01 acceptance_commands[1]",
    ]
    assert len(messages(document)) == 2


def test_the_search_path_given_in_the_command_is_followed() -> None:
    command = 'env PYTHONPATH=lib:../out python -c "import game"'
    document = plan(creating(1, "lib/game.py", acceptance_commands=[command]))
    assert findings(document) == []
    assert of_command(command) == ["W101"]


@pytest.mark.parametrize(
    "command", ["python tool.py", "bash ./tool.py -x", "./tool.py", "sh tool.py"]
)
def test_a_script_must_be_there_too(command: str) -> None:
    assert of_command(command) == ["E241"]
    document = plan(creating(1, "tool.py", acceptance_commands=[command]))
    starts_it = ["W236 WO-01 acceptance_commands[0]"] if command.startswith("./") else []
    assert findings(document) == starts_it


def test_a_folder_with_a_main_module_can_be_run() -> None:
    document = plan(creating(1, "tool/__main__.py", acceptance_commands=["python tool"]))
    assert findings(document) == []


@pytest.mark.parametrize(
    "command", ["python /opt/tool.py", "python", "python -V", "python -", "ls"]
)
def test_what_lies_outside_the_repo_is_no_concern(command: str) -> None:
    assert of_command(command) == []


def test_of_a_command_with_an_operator_only_what_is_certain_is_told() -> None:
    """It has to be rewritten: what is certain is told at once, a guess comes too early."""
    assert of_command("python -c 'import gone; assert gone.x' | grep x") == ["E003"]
    assert of_command("python -c 'import numpy; assert numpy.x' > out") == ["E003"]
    piped = "python -c 'from game.gone import x; assert x' | grep x"
    document = plan(creating(1, "game/__init__.py", acceptance_commands=[piped]))
    assert [each.split()[0] for each in findings(document)] == ["E003", "E210"]


def test_code_that_does_not_compile_has_no_imports_to_miss() -> None:
    assert of_command('python -c "import game; x = ("') == ["E006"]
