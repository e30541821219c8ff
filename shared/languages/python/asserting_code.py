"""Says whether code of Python can fail, what its tests assert, and whether one may be skipped."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from shared.languages.python.python_code import is_test_file, last_part, parse_code
from shared.languages.read_commands import CodeProblem, Weakness

# Calls, by their last name, that fail where they find something wrong.
_FAILING_CALLS: Final = frozenset(
    {"exit", "_exit", "abort", "fail", "check_call", "check_output", "check_returncode", "raises"}
)
_CATCH_ALL: Final = frozenset({"Exception", "BaseException", "AssertionError"})
_EXISTENCE_CALLS: Final = frozenset(
    {"hasattr", "callable", "exists", "is_file", "is_dir", "isfile", "isdir", "isfunction",
     "isclass", "ismodule", "find_spec"}
)  # fmt: skip


def weakness_of_code(source: str, *, optimised: bool) -> Weakness | None:
    """Return why code that compiles can hardly fail, if its text shows a reason."""
    tree = parse_code(source)
    if isinstance(tree, CodeProblem):
        return None
    nodes = list(ast.walk(tree))
    asserts = [each for each in nodes if isinstance(each, ast.Assert)]
    failing = [each for each in nodes if _can_fail(each)]
    if asserts and not failing and optimised:
        return Weakness("W232", "runs with assertions switched off")
    if (asserts or failing) and _swallowed(tree):
        return Weakness("W232", "swallows the failure of its own assertions")
    if failing:
        return None
    if asserts:
        return _weak_assertions(asserts, _imported(nodes))
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    if any(last_part(each.func) != "print" for each in calls):
        return Weakness("W231", "calls without asserting anything of the result")
    return Weakness("W230", "only imports or prints")


def _can_fail(node: ast.AST) -> bool:
    match node:
        case ast.Raise():
            return True
        case ast.Call(func=function, keywords=keywords):
            name = last_part(function)
            given = {each.arg for each in keywords if getattr(each.value, "value", None) is True}
            checked = not given.isdisjoint({"check", "raise_on_error"})
            return checked or name in _FAILING_CALLS or "assert" in name.lower()
        case _:
            return False


_ASSERTING_NAME: Final = re.compile(r"(?:check|verify|expect|ensure|should|warns|require)", re.I)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def asserting_text(path: str, text: str, product: Collection[str]) -> str:
    """Return what `Plans.asserting_text` does: the names and texts of such code, one a line."""
    tree = parse_code(text)
    if isinstance(tree, CodeProblem):
        return ""
    nodes = list(ast.walk(tree))
    functions = [each for each in nodes if isinstance(each, _Function)]
    asserting = _asserting_functions(functions, frozenset(_foreign(path, nodes, product)))
    tests = [each for each in functions if each.name.startswith("test")]
    passing = _passing(nodes)
    idle = {each for each in tests if each not in asserting or each in passing}
    if not (tests and len(idle) < len(tests)) and (tests or not any(map(_asserts, nodes))):
        return ""
    left_out: set[ast.AST] = {*idle}
    for each in nodes:
        if isinstance(each, ast.ClassDef) and not idle.isdisjoint(each.body):
            if idle.issuperset(set(each.body).intersection(tests)):
                left_out.add(each)
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
            left_out.add(each)  # a docstring
    used = {each.id for each in nodes if isinstance(each, ast.Name) and _is_read(each)}
    left_out |= {each for each in tree.body if _is_idle_constant(each, used)}
    return "\n".join(_words(tree, left_out))


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_idle_constant(statement: ast.stmt, used: Collection[str]) -> bool:
    """Return whether a statement gives names that nothing reads values that nothing computes."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            names = [each.id for each in targets if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            targets, names = [statement.target], [name]
        case _:
            return False
    calls = (ast.Call, ast.Await, ast.NamedExpr)
    is_plain = not any(isinstance(each, calls) for each in ast.walk(value))
    return is_plain and len(names) == len(targets) and not any(each in used for each in names)


def _asserting_functions(functions: Sequence[_Function], foreign: frozenset[str]) -> set[_Function]:
    """Return the functions that can fail, themselves or by another one that they use.

    Calls for nothing but their effect may assert, of `foreign` names and of fixtures of others.
    """
    own = {each.name for each in functions} | _IDLE_FIXTURES
    asserting = {
        each
        for each in functions
        if any(map(_asserts, ast.walk(each)))
        or not (foreign | _fixtures(each) - own).isdisjoint(_called_for_effect(each))
    }
    others = {e: frozenset(_words(e, ())) - {e.name} for e in functions if e not in asserting}
    names: set[str] = set()
    while more := {each.name for each in asserting} - names:
        names |= more
        asserting |= {each for each, used in others.items() if not names.isdisjoint(used)}
    return asserting


# Their calls assert nothing, or have a name that says that they do.
_IDLE_MODULES: Final = sys.stdlib_module_names | {"pytest", "_pytest", "hypothesis"}
_IDLE_FIXTURES: Final = frozenset(
    {"benchmark", "cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "cls",
     "freezer", "mocker", "monkeypatch", "pytestconfig", "pytester", "record_property", "recwarn",
     "request", "self", "tmp_path", "tmp_path_factory", "tmpdir", "tmpdir_factory"}
)  # fmt: skip


def _foreign(path: str, nodes: Iterable[ast.AST], product: Collection[str]) -> Iterator[str]:
    """Yield the names that are imported from what is neither product nor known."""
    folder = path.rpartition("/")[0]
    code = [f"/{each}" for each in product if not is_test_file(each)]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            around = folder.split("/")[: -(node.level - 1) or None]
            if is_test_file("/".join((*around, "a.py"))):
                yield from (each.asname or each.name for each in node.names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for each in node.names:
                module = node.module or "" if isinstance(node, ast.ImportFrom) else each.name
                top = module.partition(".")[0]
                is_product = any(f"/{top}/" in file or f"/{top}.py" in file for file in code)
                if not is_product and top not in _IDLE_MODULES:
                    yield each.asname or (top if isinstance(node, ast.Import) else each.name)


def _fixtures(function: _Function) -> set[str]:
    """Return what a test gets from fixtures: its parameters that no decorator names."""
    given = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
    named = " ".join(word for each in function.decorator_list for word in _words(each, ()))
    return given.difference(re.findall(r"\w+", named)) if function.name[:4] == "test" else set()


def _called_for_effect(function: _Function) -> Iterator[str]:
    """Yield the first names of calls whose results are dropped or passed on."""
    for node in ast.walk(function):
        value = node.value if isinstance(node, ast.Expr | ast.Return) else None
        while isinstance(value, ast.Await | ast.Yield | ast.YieldFrom):
            value = value.value
        called = value
        while isinstance(called, ast.Call | ast.Attribute | ast.Subscript):
            called = called.func if isinstance(called, ast.Call) else called.value
        if isinstance(value, ast.Call) and isinstance(called, ast.Name):
            yield called.id


def _asserts(node: ast.AST) -> bool:
    match node:
        case ast.Assert(test=test):
            return not _always_holds(test)
        case ast.Call(func=function):
            return _can_fail(node) or bool(_ASSERTING_NAME.match(last_part(function)))
        case _:
            return _can_fail(node)


_PASSES: Final = frozenset({"skip", "xfail", "expectedFailure"})
_PASSES_IF: Final = {"skipif": True, "skipIf": True, "skipUnless": False}
_PASSES_HERE: Final = frozenset({"pytest.skip", "pytest.xfail", "self.skipTest"})


def _passing(nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """Return what stands in functions, classes and modules whose tests pass whatever happens."""
    return {
        below
        for each in nodes
        if isinstance(each, _Function | ast.ClassDef | ast.Module)
        if any(map(_lets_pass, _marks(each))) or _gives_up(each.body)
        for below in ast.walk(each)
    }


def _marks(scope: _Function | ast.ClassDef | ast.Module) -> Iterator[ast.expr]:
    yield from () if isinstance(scope, ast.Module) else scope.decorator_list
    for each in scope.body:
        if isinstance(each, ast.Assign) and "pytestmark" in map(last_part, each.targets):
            yield from getattr(each.value, "elts", (each.value,))


def _lets_pass(mark: ast.expr) -> bool:
    """Return whether a test with this mark is never run, or passes where it fails."""
    given = mark if isinstance(mark, ast.Call) else ast.Call(mark, [], [])
    name = last_part(given.func)
    conditions = [*given.args[:1], *(e.value for e in given.keywords if e.arg == "condition")]
    value = getattr(conditions[0], "value", None) if conditions else True
    if name in _PASSES:
        return name != "xfail" or value is True
    return bool(conditions) and value is _PASSES_IF.get(name, ())


def _gives_up(body: Iterable[ast.stmt]) -> bool:
    """Return whether code ends with a skip before it can fail."""
    for each in body:
        match each:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(owner), name))) if (
                f"{owner}.{name}" in _PASSES_HERE
            ):
                return True
            case ast.Raise() if "SkipTest" in _words(each, ()):
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case _ if any(map(_asserts, ast.walk(each))):
                return False
            case _:
                continue
    return False


_SKIPS = re.compile(r"skip|xfail|expected_?failure|pytestmark|mark\.(?!parametrize)", re.IGNORECASE)
_DEFINED = re.compile(r"\bdef\s+\w+|#[^\n]*")
_DECORATED = re.compile(
    r"^[ \t]*@(?!(?:[\w.]+\.)?(?:parametrize|fixture|given|settings|example|patch|property"
    r"|staticmethod|classmethod|dataclass|contextmanager)\b)"
    # Neither what a class has from a base of the repo's, nor helpers, nor a missing plugin.
    r"|^[ \t]*class\s+\w+\s*\((?!\s*(?:unittest\.)?(?:TestCase|IsolatedAsyncioTestCase)?\s*\))"
    r"|^[ \t]*from\s+(?:\.|tests?\b|conftest\b)|^[ \t]*async\s+def\s+test",
    re.MULTILINE,
)


def speaks_of_skips(text: str) -> bool:
    """Return whether code skips tests, as far as its words say."""
    return _SKIPS.search(text) is not None


def may_skip(text: str) -> bool:
    """Return whether a test file may skip a test; names of functions and comments say nothing."""
    return speaks_of_skips(_DEFINED.sub("", text)) or _DECORATED.search(text) is not None


def _words(root: ast.AST, left_out: Collection[ast.AST]) -> Iterator[str]:
    """Yield the names and texts of code in its order, without those of some of its parts."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node not in left_out:
            yield from (each for _, each in ast.iter_fields(node) if isinstance(each, str))
            pending.extend(reversed([*ast.iter_child_nodes(node)]))


def _imported(nodes: Iterable[ast.AST]) -> frozenset[str]:
    return frozenset(
        each.asname or each.name.split(".", 1)[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in node.names
    )


def _swallowed(tree: ast.Module) -> bool:
    """Say whether the failure of every assertion is caught and dropped."""
    exposed = False
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, caught = pending.pop()
        if isinstance(node, ast.Assert) or _can_fail(node):
            exposed |= not caught
        children = ast.iter_child_nodes(node)
        pending += [(each, caught or _drops_failures(node, each)) for each in children]
    return not exposed


def _drops_failures(node: ast.AST, child: ast.AST) -> bool:
    match node:
        case ast.Try(body=body, handlers=handlers) if child in body:
            return any(_catches_all(each.type) and not _fails_again(each) for each in handlers)
        case ast.With(items=items) if child not in items:
            calls = (e.context_expr for e in items if isinstance(e.context_expr, ast.Call))
            suppressed = (each.args for each in calls if last_part(each.func) == "suppress")
            return any(_catches_all(argument) for each in suppressed for argument in each)
        case _:
            return False


def _catches_all(expression: ast.expr | None) -> bool:
    match expression:
        case None:
            return True
        case ast.Tuple(elts=elements):
            return any(map(_catches_all, elements))
        case _:
            return last_part(expression) in _CATCH_ALL


def _fails_again(handler: ast.ExceptHandler) -> bool:
    """Say whether a handler may pass the failure on: it raises, exits, asserts or stores it."""
    return any(
        isinstance(node, ast.Assert | ast.Assign | ast.AugAssign | ast.NamedExpr) or _can_fail(node)
        for statement in handler.body
        for node in ast.walk(statement)
    )


def _weak_assertions(asserts: list[ast.Assert], imported: frozenset[str]) -> Weakness | None:
    """Judge the assertions together: one that can fail for a reason makes up for the others."""
    left = [each.test for each in asserts if not _always_holds(each.test)]
    if not left:
        return Weakness("W232", "asserts what always holds")
    if all(_is_existence(each, imported) for each in left):
        return Weakness("W233", "asserts only that something exists")
    return None


def _always_holds(test: ast.expr) -> bool:
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return bool(elements) and not any(isinstance(e, ast.Starred) for e in elements)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_always_holds, values))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(map(_always_holds, values))
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _holds_by_itself(left, op, right)
        case _:
            return False


def _holds_by_itself(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool:
    same = ast.dump(left) == ast.dump(right)
    if same and isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE):
        # Calling twice and comparing tests that results repeat.
        return not any(isinstance(each, ast.Call) for each in ast.walk(left))
    is_zero = isinstance(right, ast.Constant) and right.value == 0 and right.value is not False
    is_length = isinstance(left, ast.Call) and last_part(left.func) == "len"
    return is_length and is_zero and isinstance(op, ast.GtE)


def _is_existence(test: ast.expr, imported: frozenset[str]) -> bool:
    match test:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name)):
            return name in imported
        case ast.Call(func=function):
            return last_part(function) in _EXISTENCE_CALLS
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_is_existence(each, imported) for each in values)
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return _is_existence(left, imported)
        case ast.Compare(ops=[ast.In()], comparators=[ast.Call(func=ast.Name(id="dir"))]):
            return True
        case _:
            return False
