"""What may import what, and who may touch the world: the rules of the house, held by its code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import llmch

ROOT = Path(llmch.__file__).parents[1]
PACKAGES = ("llmch", "planner", "factory", "shared")


@dataclass(frozen=True)
class Module:
    """One module: its name, its file, and its code as a tree, which takes a while to read."""

    name: str
    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text("utf-8"))

    def imports(self, *, at_work: bool = True) -> tuple[str, ...]:
        """Return the full names it imports; with `at_work` also those that run later.

        These are the imports inside functions, and the modules that are imported as modules: they
        run when they are first used.
        """
        found = _imports(self, at_work)
        return found if at_work else tuple(each for each in found if each not in BY_NAME)


@cache
def _imports(module: Module, at_work: bool) -> tuple[str, ...]:
    found: list[str] = []
    for node in ast.walk(module.tree) if at_work else _at_import(module.tree):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name} imports by relative name"
            found += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(found)


def _at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a module is imported: no bodies of functions, no type checking."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        yield from _at_import(node)


def _modules() -> Iterator[Module]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            yield Module(name, path)


MODULES = tuple(_modules())
BY_NAME = {module.name: module for module in MODULES}


def importers(*libraries: str) -> set[str]:
    """Return the modules that import any of these libraries, wherever in their code."""
    return {
        module.name
        for module in MODULES
        for name in module.imports()
        if any(name == each or name.startswith(f"{each}.") for each in libraries)
    }


def test_there_are_modules_to_look_at() -> None:
    assert {module.name.partition(".")[0] for module in MODULES} == set(PACKAGES)
    assert len(MODULES) > 100


FLOORS = {"llmch": 2, "planner": 1, "factory": 1, "shared": 0}


def test_imports_only_go_down() -> None:
    """`planner` and `factory` are neighbours: they never import each other."""
    upward = [
        f"{module.name} imports {name}"
        for module in MODULES
        for name in module.imports()
        if (to := name.partition(".")[0]) in FLOORS
        and to != (own := module.name.partition(".")[0])
        and FLOORS[to] >= FLOORS[own]
    ]
    assert upward == []


def test_no_two_files_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for type checkers count as well."""
    files = {
        module.name: {
            each
            for name in module.imports()
            if (each := name if name in BY_NAME else name.rpartition(".")[0]) in BY_NAME
            and each != module.name
        }
        for module in MODULES
    }
    assert [*TopologicalSorter(files).static_order()]  # raises `CycleError`, which names the files


@pytest.mark.parametrize("floor", PACKAGES)
def test_no_two_files_of_a_floor_define_a_class_of_the_same_name(floor: str) -> None:
    """An underscore makes no other name: `_Place` beside `Place` is read as the same thing."""
    found: dict[str, set[str]] = {}
    for module in MODULES:
        if not module.name.startswith(f"{floor}."):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name.lstrip("_"), set()).add(module.name)
    assert {name: sorted(files) for name, files in found.items() if len(files) > 1} == {}


def test_processes_are_started_in_one_place() -> None:
    """The exceptions are programs of their own that run inside the sandbox."""
    assert importers("subprocess") - {"factory.sandbox.warden"} == {"shared.processes.process"}
    started_otherwise = [
        f"{module.name}: {ast.unparse(node.func)}"
        for module in MODULES
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).startswith(
            ("os.system", "os.popen", "os.spawn", "os.posix_spawn", "os.fork", "os.exec", "pty.")
        )
    ]
    inside = ("factory.sandbox", "shared.languages.python.mutant_runs")
    assert [each for each in started_otherwise if not each.startswith(inside)] == []


def test_the_sdk_is_imported_in_one_place_and_only_when_a_call_is_made() -> None:
    assert importers("openai", "httpx") == {"shared.llm.transport"}
    transport = BY_NAME["shared.llm.transport"]
    assert not [name for name in transport.imports(at_work=False) if name.startswith("openai")]


GRAMMARS = tuple(f"tree_sitter_{each}" for each in ("javascript", "typescript", "go", "rust"))
HEAVY = (
    *("openai", "langgraph", "langchain_core", "rich", "mypy", "httpx", "ulid", "yaml"),
    *("tree_sitter", *GRAMMARS),
    *("dbos", "psycopg", "sqlalchemy"),
    *("jinja2", "pygments", "markdown_it", "mdit_py_plugins"),
    *("acp", "anyio", "mcp", "starlette", "opentelemetry"),
)


# Imported as modules, so that they run only when they are needed.
LATE = (
    *(f"factory.attempt.{each}" for each in ("attempt_graph", "propose", "judge_attempt")),
    *(f"factory.agents.{each}" for each in ("acp_client", "known_agents", "launch", "run_agent")),
    "llmch.console.terminal",
    "llmch.verbs.mcp.server",
)


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    early = [
        f"{module.name} imports {name}"
        for module in MODULES
        if not module.name.startswith(LATE)
        for name in module.imports(at_work=False)
        if name.partition(".")[0] in HEAVY or name.startswith(tuple(f"{each}." for each in LATE))
    ]
    assert early == []


def test_the_queue_and_the_database_of_a_fleet_are_known_in_few_files() -> None:
    assert importers("dbos", "sqlalchemy") == {
        "factory.fleet.job_claims",
        "factory.fleet.job_queue",
    }
    assert importers("psycopg") == {"factory.fleet.database"}


def test_the_library_of_each_protocol_is_known_in_one_file() -> None:
    assert importers("mcp") == {"llmch.verbs.mcp.server"}
    assert importers("acp") == {"factory.agents.acp_client"}


def test_traces_are_drawn_in_one_file() -> None:
    assert importers("opentelemetry") == {"llmch.telemetry"}


def test_the_terminal_library_stays_behind_one_door() -> None:
    assert importers("rich") == {"llmch.console.terminal"}


# Where the program starts, before there is a console or without need of one.
ENTRIES = {
    "llmch.cli",
    "llmch.entry.boundary",
    "llmch.entry.command_line",
    "planner.__main__",
    "factory.__main__",
}


def test_only_the_console_prints() -> None:
    printing = {
        module.name
        for module in MODULES
        for node in ast.walk(module.tree)
        if (isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "input"))
        or (isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr") and _is_sys(node))
    }
    assert {name for name in printing if not name.startswith("llmch.console")} <= ENTRIES


def _is_sys(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "sys"


PURE = {
    "factory.judging.failure_brief",
    "factory.judging.contract",
    "shared.languages.python.python_reports",
    "shared.languages.language_tools",
    "shared.languages.python.second_look",
    "factory.proposal.read_reply",
    "factory.proposal.prompt",
    "factory.orders.documents",
    "factory.proposal.scope",
    "factory.record.summary",
    "factory.orders.task",
    "planner.compile.judge_reply",
    "planner.plan.plan_edits",
    "planner.compile.compile_loop",
    "planner.rules.rule_model",
    "planner.plan.manifest",
    "planner.plan.parse_plan",
    "planner.plan.file_projection",
    "planner.rules.judge_plan",
    "planner.replan.merge_plans",
    "planner.replan.predecessor",
    "planner.replan.replan_prompt",
    "shared.languages.acceptance_commands",
    "shared.work_order.work_order",
    "shared.errors",
    "shared.work_order.parse_order",
    "shared.llm.model_client",
    "shared.llm.server_replies",
    "factory.proposal.reply_formats",
    "shared.llm.transcript_lines",
    "shared.files.paths",
    "shared.languages.python.python_code",
    "shared.processes.shell_words",
    "shared.files.strict_documents",
    *(name for name in BY_NAME if name.startswith("planner.rules.")),
}
WORLD = (
    *("os", "io", "shutil", "tempfile", "socket", "time", "datetime", "random", "secrets", "uuid"),
    *("subprocess", "signal", "sys", "pathlib", "glob", "fcntl", "logging", "urllib"),
    *(f"shared.git.{each}" for each in ("client", "commits", "index", "patches", "refs", "repos")),
    *("shared.git.trees", "shared.git.repos"),
    *("shared.processes.process", "shared.files.atomic_io", "shared.events.run_record"),
)
# What is there by nature and touches nothing: names of the standard library, path arithmetic.
HARMLESS = {
    *("os.path", "pathlib.Path", "pathlib.PurePosixPath"),
    *("sys.stdlib_module_names", "sys.version_info"),
    "shared.git.commits.CommitFacts",  # a value
}


@pytest.mark.parametrize("name", sorted(PURE))
def test_pure_modules_touch_nothing(name: str) -> None:
    """They neither import what reaches the world, nor open a file."""
    module = BY_NAME[name]
    reached = {
        each
        for each in module.imports()
        if any(each == world or each.startswith(f"{world}.") for world in WORLD)
    }
    uses_sys_for = {
        ast.unparse(node)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and _is_sys(node)
    }
    if uses_sys_for <= HARMLESS:
        reached.discard("sys")
    assert reached - HARMLESS == set()
    calls = {
        ast.unparse(node.func).rpartition(".")[2]
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
    }
    touching = {"open", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink", "iterdir"}
    assert calls & touching == set()


# The graph's library reads the variables that turn its traces off while it is imported.
SETS_ITS_ENVIRONMENT = {"factory.attempt.attempt_graph"}


def test_no_module_works_when_it_is_imported() -> None:
    """At the top of a module stand definitions, constants and the guard of a script."""
    allowed = (
        ast.Import
        | ast.ImportFrom
        | ast.FunctionDef
        | ast.AsyncFunctionDef
        | ast.ClassDef
        | ast.Assign
        | ast.AnnAssign
        | ast.AugAssign
    )
    odd = [
        f"{module.name}:{node.lineno}"
        for module in MODULES
        for node in module.tree.body
        if not isinstance(node, allowed)
        and module.name not in SETS_ITS_ENVIRONMENT
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        and not (isinstance(node, ast.If) and _is_guard(node))
    ]
    assert odd == []


def _is_guard(node: ast.If) -> bool:
    text = ast.unparse(node.test)
    return "TYPE_CHECKING" in text or "__name__" in text or "sys.version_info" in text
