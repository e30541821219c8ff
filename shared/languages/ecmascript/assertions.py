"""Judges whether a piece of code can fail if a result is wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import text_of, walk
from shared.languages.ecmascript.ecmascript_syntax import (
    arguments_of,
    find_fault,
    question_path,
    tree_of,
)
from shared.languages.ecmascript.node_commands import (
    CommandRuns,
    FileRun,
    NodeCodeRun,
    Run,
    TestRun,
    ToolRun,
)
from shared.languages.read_commands import Weakness

if TYPE_CHECKING:
    from tree_sitter import Node


_ASSERTING = re.compile(
    r"(?:^|\.)(?:assert\w*|expect\w*|ok|equal|deepEqual|strictEqual|fail|should\w*|verify\w*"
    r"|check\w*|throws|rejects|abort)\b|\bexpect\("
)
_REQUIRED_ASSERT = re.compile(r"""^require\(['"](?:node:)?assert(?:/strict)?['"]\)""")
_PRINTS: Final = frozenset(
    {"console.log", "console.info", "console.error", "console.warn", "console.debug",
     "console.table", "console.dir", "process.stdout.write", "process.stderr.write",
     "console.assert"}
)  # fmt: skip
_LOADS: Final = frozenset({"require", "import", "require.resolve"})
_EXISTENCE = re.compile(
    r"(?:^|[.!(])(?:existsSync|accessSync|statSync|hasOwn|hasOwnProperty|isFile|isDirectory)\("
)
_TYPE_TEST = re.compile(
    r"^!*\(?typeof [^=!]+ ?(?:===?|!==?) ?['\"](?:function|object|undefined)['\"]\)?$"
)
_CONSTANTS: Final = frozenset({"true", "false", "number", "string", "null", "undefined"})


def weakness_of_code(root: Node) -> Weakness | None:
    """Return why code that parses can hardly fail, if its text shows a reason."""
    calls = [each for each in walk(root) if each.type in {"call_expression", "new_expression"}]
    failing = [each for each in walk(root) if _can_fail(each)]
    asserting = [each for each in calls if _asserts(each)]
    if not failing and not asserting:
        called = {_called(each) for each in calls}
        if "console.assert" in called:
            return Weakness("W232", "calls `console.assert`, which only prints and fails nothing")
        if called <= _PRINTS | _LOADS:
            return Weakness("W230", "only imports or prints")
        return Weakness("W231", "calls without asserting anything of the result")
    if _all_swallowed(root):
        return Weakness("W232", "swallows the failure of its own assertions")
    if failing or not asserting:
        return None
    return weakness_of_assertions(_outermost(asserting))


def weakness_of_assertions(assertions: list[Node]) -> Weakness | None:
    """Return why these calls prove little, all of them for the same kind of reason."""
    if assertions and all(map(_is_tautology, assertions)):
        return Weakness("W232", "asserts what always holds")
    if assertions and all(_is_tautology(each) or _is_existence(each) for each in assertions):
        return Weakness("W233", "asserts only that something exists")
    return None


def assertions_in(root: Node) -> list[Node]:
    """Return the outermost calls below a node that may fail where a result is wrong."""
    return _outermost([e for e in walk(root) if e.type == "call_expression" and _asserts(e)])


def can_fail(root: Node) -> bool:
    """Return whether code throws, ends the process, or asserts anything at all."""
    return any(_can_fail(each) or _asserts(each) for each in walk(root))


def _can_fail(node: Node) -> bool:
    if node.type == "throw_statement":
        return True
    if node.type == "assignment_expression":
        return text_of(node.child_by_field_name("left")) == "process.exitCode"
    return node.type == "call_expression" and _called(node) in {"process.exit", "process.abort"}


def _asserts(node: Node) -> bool:
    if node.type == "member_expression":
        return text_of(node.child_by_field_name("property")) == "should"
    if node.type != "call_expression":
        return False
    called = _called(node)
    return called not in _PRINTS and _ASSERTING.search(called) is not None


def _called(node: Node) -> str:
    field = "constructor" if node.type == "new_expression" else "function"
    return _REQUIRED_ASSERT.sub("assert", text_of(node.child_by_field_name(field)))


def _outermost(nodes: list[Node]) -> list[Node]:
    """Return those nodes that are not within another one; `nodes` are in the order of the text."""
    found: list[Node] = []
    for each in nodes:
        if not found or each.start_byte >= found[-1].end_byte:
            found.append(each)
    return found


def _all_swallowed(root: Node) -> bool:
    """Say whether a `catch` drops the failure of every place that can fail."""
    waiting = [(root, False)]
    while waiting:
        node, is_caught = waiting.pop()
        if not is_caught and (_can_fail(node) or _asserts(node)):
            return False
        body = _caught_body(node)
        waiting += [(each, is_caught or each.id == body) for each in node.children]
    return True


def _caught_body(node: Node) -> int | None:
    """Return the block whose failures a `try` drops, by its id."""
    if node.type != "try_statement":
        return None
    body, handler = (node.child_by_field_name(name) for name in ("body", "handler"))
    if body is None or handler is None or can_fail(handler):
        return None
    return body.id


def _is_tautology(call: Node) -> bool:
    """Say whether an assertion holds whatever the code does."""
    called = _called(call)
    given = arguments_of(call)
    if called.startswith("expect(") and ")." in called:
        inner = _expected(call)
        values = [*(arguments_of(inner) if inner is not None else []), *given]
        if any(word in called for word in (".not.", ".resolves.", ".rejects.")):
            return False
        return bool(values) and all(map(_is_constant, values))
    if called == "expect":
        return True  # nothing is asked of the value
    if re.search(r"(?:^|\.)(?:assert|ok)$", called):
        return bool(given) and (text_of(given[0]) in {"true", "1"} or _ends_in_true(given[0]))
    is_equality = re.search(r"(?:^|\.)(?:equal|strictEqual|deepEqual|deepStrictEqual)$", called)
    if is_equality and len(given) > 1:
        same = text_of(given[0]) == text_of(given[1]) and not _works(given[0])
        return same or all(map(_is_constant, given[:2]))
    return False


def _expected(call: Node) -> Node | None:
    """Return the call of `expect` at the beginning of `expect(value).toBe(other)`."""
    node: Node | None = call
    while node is not None:
        if node.type == "call_expression" and _called(node) == "expect":
            return node
        field = "function" if node.type == "call_expression" else "object"
        node = node.child_by_field_name(field)
    return None


def _is_constant(node: Node) -> bool:
    return node.type in _CONSTANTS


def _works(node: Node) -> bool:
    return any(each.type in {"call_expression", "new_expression"} for each in walk(node))


def _ends_in_true(node: Node) -> bool:
    operator = text_of(node.child_by_field_name("operator"))
    right = node.child_by_field_name("right")
    return node.type == "binary_expression" and operator == "||" and text_of(right) == "true"


def _is_existence(call: Node) -> bool:
    """Say whether an assertion asks only whether a name or a file is there."""
    called, given = _called(call), arguments_of(call)
    if called.startswith("expect("):
        if called.endswith((".toBeDefined", ".toBeTruthy", ".toBeFunction")):
            inner = _expected(call)
            values = arguments_of(inner) if inner is not None else []
            return bool(values) and not any(
                _works(each) and not _EXISTENCE.search(text_of(each)) for each in values
            )
        return False
    if not re.search(r"(?:^|\.)(?:assert|ok|equal|strictEqual)$", called) or not given:
        return False
    asked = text_of(given[0])
    if _TYPE_TEST.match(asked) or _EXISTENCE.search(asked):
        return True
    return asked.startswith("typeof ") and len(given) > 1 and not _works(given[0])


def weakness_of_text(runs: CommandRuns) -> Weakness | None:
    """Return why a command can hardly fail, as far as its code or its options show."""
    found = [_weakness(each) for each in runs.runs]
    return found[0] if found and all(found) else None


def _weakness(run: Run) -> Weakness | None:
    match run:
        case NodeCodeRun(text=text):
            root = tree_of(question_path(typed=run.is_typed), text)
            return None if root is None or find_fault(root) else weakness_of_code(root)
        case FileRun(only_parses=True):
            return Weakness("W233", "proves only that a file parses")
        case TestRun(only_lists=True):
            return Weakness("W232", "only collects tests and runs none")
        case ToolRun(shows_only=True):
            return Weakness("W230", "only shows a version")
        case _:
            return None
