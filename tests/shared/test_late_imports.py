"""A module runs when it is first used: not before, once, and for all threads alike."""

import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

import shared
from shared import LateModule, make_imports_late


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder whose modules belong to the package `shared` until the test ends."""
    monkeypatch.setattr(shared, "__path__", [*shared.__path__, str(tmp_path)])
    yield tmp_path
    for name in [each for each in sys.modules if each.startswith("shared.probe")]:
        del sys.modules[name]
        delattr(shared, name.rpartition(".")[2])


def found(folder: Path, code: str) -> ModuleType:
    """Return a module with this code as `from shared import probe` finds it."""
    (folder / "probe.py").write_text(code)
    return import_module("shared.probe")


def has_run(module: ModuleType) -> bool:
    return type(module) is ModuleType


def test_a_module_that_is_imported_as_a_module_runs_when_a_name_is_looked_up(folder: Path) -> None:
    module = found(folder, "answer = 41 + 1")
    assert not has_run(module)
    assert module.answer == 42
    assert has_run(module)


def test_a_name_that_is_imported_from_a_module_runs_it(folder: Path) -> None:
    (folder / "probe.py").write_text("answer = 42")
    names: dict[str, int] = {}
    exec("from shared.probe import answer", names)
    assert names["answer"] == 42


def test_a_second_import_does_not_run_a_module(folder: Path) -> None:
    module = found(folder, "raise AssertionError")
    import_module("shared.probe")
    assert not has_run(module)


def test_a_module_may_look_at_itself_while_it_runs(folder: Path) -> None:
    code = """
    import sys
    from dataclasses import dataclass

    @dataclass
    class Point:
        x: "int"

    own = sys.modules[__name__].Point
    """
    module = found(folder, "\n".join(line[4:] for line in code.split("\n")))
    assert module.own is module.Point


def test_a_module_that_fails_says_why_each_time(folder: Path) -> None:
    module = found(folder, "import no_such_library_anywhere")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_library_anywhere"):
            _ = module.answer


def test_a_module_that_failed_once_runs_again(folder: Path) -> None:
    module = found(folder, f"with open({str(folder / 'there')!r}): answer = 42")
    with pytest.raises(FileNotFoundError):
        _ = module.answer
    (folder / "there").touch()
    assert module.answer == 42


def test_a_name_that_a_module_does_not_have_is_an_attribute_error(folder: Path) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'question'"):
        _ = found(folder, "answer = 42").question


def test_threads_wait_until_a_module_has_run_whole(folder: Path) -> None:
    """A thread that saw the module while another runs it would miss `late`."""
    code = "import time\nruns = []\nearly = 1\ntime.sleep(0.05)\nlate = 2\nruns.append(1)"
    module = found(folder, code)
    seen: list[tuple[int, int, int]] = []

    def look(pause: float) -> None:
        time.sleep(pause)
        seen.append((module.early, module.late, len(module.runs)))

    threads = [threading.Thread(target=look, args=(0.005 * number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert seen == [(1, 2, 1)] * 8


def test_the_module_that_ran_knows_its_own_file(folder: Path) -> None:
    module = found(folder, "answer = 42")
    assert module.__file__ == str(folder / "probe.py")
    assert module.__spec__ is not None
    assert not has_run(module)
    assert module.__loader__ is module.__spec__.loader
    assert isinstance(module.__loader__, SourceFileLoader)


def test_what_is_not_of_this_program_is_imported_as_ever() -> None:
    assert not isinstance(import_module("colorsys"), LateModule)


def test_imports_are_made_late_once() -> None:
    finders = list(sys.meta_path)
    assert make_imports_late()
    assert sys.meta_path == finders
