"""Has the Go compiler compare the tests of a plan with its contracts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from shared.languages.capabilities.chain import AcceptanceText, Fault, OrderCode
from shared.languages.capabilities.tools import ToolMissing, ToolResult, ToolRunner, Tools
from shared.languages.declared.planned import folder_of
from shared.languages.declared.unjudged import unaskable, unjudged
from shared.languages.fault_words import at_place, declared_by, declared_only_by, has_no_definition
from shared.languages.go.modules import module_folder
from shared.languages.go.planned import SUFFIX, PlannedGo
from shared.languages.go.source import read_go
from shared.languages.go.verdicts import Complaint, Verdict, judge, read_complaints
from shared.languages.go.view import build_view
from shared.work_order.field_path import at

# The first question compiles the standard library, which took 21 seconds on a loaded machine.
_SECONDS: Final = 120.0
# All errors are wanted, and no test is to run: each test program is given to `true`.
_COMMAND: Final = (
    "go", "test", "-run", "^$", "-vet=off", "-exec=true", "-gcflags=-e",
)  # fmt: skip
_FAILED: Final = re.compile(r"^(?:go: |no Go files|go\.mod:).*$", re.MULTILINE)


def use_faults(planned: PlannedGo, tools: Tools) -> Iterator[Fault]:
    """Yield how the tests of a plan use Go otherwise than it is declared."""
    asked = 0
    for order in planned.chain.orders:
        tests = [each for each in order.acceptance_files if each.path.endswith(SUFFIX)]
        tests = [each for each in tests if read_go(each.text).fault is None]
        if not tests or planned.code.is_blind(order.position):
            continue
        view = build_view(planned, order.position)
        folders = dict.fromkeys(module_folder(each.path, planned.modules) for each in tests)
        for folder in folders:
            asked += 1
            if problem := unaskable(tools, asked, view, "modules"):
                yield unjudged("Go", problem)
                return
            assert tools.runner is not None, "checked above"
            mine = [e for e in tests if module_folder(e.path, planned.modules) == folder]
            try:
                result = _ask(view, mine, folder, tools.runner)
            except ToolMissing as missing:
                yield unjudged("Go", str(missing))
                return
            if result.exit_code is None:
                yield unjudged("Go", f"the compiler did not answer within {_SECONDS:.0f} seconds")
                return
            yield from _faults(result, order, mine, folder, planned)


def _ask(
    view: dict[str, str], tests: Sequence[AcceptanceText], inner: str, runner: ToolRunner
) -> ToolResult:
    """Ask about the tests of the module in the folder `inner`; other modules may be there, too."""
    folders = dict.fromkeys(folder_of(each.path) for each in tests)
    where = ("-C", inner) if inner else ()
    named = [f"./{each[len(inner) :].strip('/')}".rstrip("/") for each in folders]
    command = (*_COMMAND[:1], *where, *_COMMAND[1:], *named)
    return runner.run(view, command, seconds=_SECONDS)


def _faults(
    result: ToolResult,
    order: OrderCode,
    tests: Sequence[AcceptanceText],
    inner: str,
    planned: PlannedGo,
) -> Iterator[Fault]:
    by_path = {each.path: each for each in tests}
    reported: set[tuple[str, int, str]] = set()
    complaints = list(read_complaints(f"{result.stdout}\n{result.stderr}"))
    for each in complaints:
        path = f"{inner}/{each.path}" if inner else each.path
        test = by_path.get(path)
        verdict = judge(each.message)
        if test is None or verdict is None:
            continue
        weighed = _weighed(verdict, each, test, order.position, planned)
        if weighed is None:
            continue
        code, addition = weighed
        if (path, each.line, code) not in reported:
            reported.add((path, each.line, code))
            said = has_no_definition(verdict.name) if code == "E216" else each.message
            message = at_place(said, each.line, each.column, addition)
            yield Fault(
                code, order.position, at("acceptance_files", test.index, "content"), message
            )
    failed = _FAILED.search(f"{result.stderr}\n{result.stdout}")
    if result.exit_code and failed and not complaints:
        yield unjudged("Go", failed[0])


def _weighed(
    verdict: Verdict, complaint: Complaint, test: AcceptanceText, position: int, planned: PlannedGo
) -> tuple[str, str] | None:
    """Return the code of a finding, and what its message adds to the compiler's.

    It is `None` for a name of a package of which nothing is known: that its files have no readable
    contract is the finding.
    """
    code, folder = verdict.code, _package_of(verdict, test, planned)
    if folder is None:
        # A name that stands alone in a test from outside its package is one of the test's own.
        return code, ""
    paths = [
        each for each in planned.code.paths(len(planned.chain.orders)) if folder_of(each) == folder
    ]
    if verdict.lacking:
        later = planned.code.declared_later(paths, verdict.name, position)
        if later is not None:
            return "E217", declared_only_by(planned.chain.source(later))
        if planned.is_open(folder, position, with_tests=not verdict.package):
            return ("W222", "") if planned.names_of_package(folder, position) else None
        if code == "E216" and not _is_qualifier(complaint, test):
            code = "E211"
    if not verdict.name:
        return code, ""
    for path in paths:
        name = verdict.name if not verdict.lacking else verdict.name.rpartition(".")[0]
        by = planned.code.declared_by(path, name, position) if name else None
        if by is not None:
            return code, declared_by(planned.chain.source(by), path)
    return code, ""


def _package_of(verdict: Verdict, test: AcceptanceText, planned: PlannedGo) -> str | None:
    """Return the folder of the package that a complaint is about; `None` where it is no own one."""
    read = read_go(test.text)
    if verdict.package:
        imported = (each.source for each in read.imports if each.name == verdict.package)
        return planned.folder_of_import(next(imported, ""))
    if not read.package.endswith("_test"):
        return folder_of(test.path)
    if verdict.code == "E216":
        return None
    own = (planned.folder_of_import(each.source) for each in read.imports)
    return next((each for each in own if each is not None), folder_of(test.path))


def _is_qualifier(complaint: Complaint, test: AcceptanceText) -> bool:
    """Return whether the name at a place stands before a dot, as a package does."""
    lines = test.text.split("\n")
    if complaint.line > len(lines):
        return False
    line = lines[complaint.line - 1].encode("utf-8", "replace")[complaint.column - 1 :]
    return re.match(rb"[a-z]\w*\s*\.", line) is not None
