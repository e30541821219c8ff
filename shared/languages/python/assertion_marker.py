"""Puts calls into code that keep the values of its assertions; part of the observer.

Like `observer.py` this runs in the sandbox, on Python 3.9 and later.
"""

from __future__ import annotations

import ast

from shared.languages.python.shown_values import shortened

RECORDER = "__llmch_recorder__"
OPERATORS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
MAX_CODE = 120
MAX_NAMES = 4


class Slot:
    """Describe an expression whose value is kept: its code, and what kind of code it is."""

    def __init__(self, node: ast.expr, code: str) -> None:
        self.code = code
        self.is_call = isinstance(node, ast.Call)
        self.is_literal = is_literal(node)
        self.names: list[int] = []


class Test:
    """Describe a test: `and`, `or`, `all` with its parts, or an operator with its operands.

    `result` and `operands` are the numbers of slots.
    """

    def __init__(self, operators: list[str], result: int) -> None:
        self.operators = operators
        self.result = result
        self.operands: list[int] = []
        self.parts: list[Test] = []


class Statement:
    """Describe a statement: its code, its place, and the test of an assertion."""

    def __init__(self, code: str, function: str, first: int, last: int) -> None:
        self.code = code
        self.function = function
        self.lines = range(first, last + 1)
        self.test: Test | None = None


class Marker:
    """Put calls of the recorder into the tree of a piece of code."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.slots: list[Slot] = []
        self.statements: list[Statement] = []

    def mark_block(self, body: list[ast.stmt], function: str) -> list[ast.stmt]:
        """Return the statements, each after a call that notes its beginning."""
        marked: list[ast.stmt] = []
        for node in body:
            if stands_first(node):
                marked.append(node)
                continue
            number = len(self.statements)
            last = getattr(node, "end_lineno", None) or node.lineno
            code = self.code_of(node)
            self.statements.append(Statement(code, function, node.lineno, last))
            before: list[ast.expr] = [call("begin", ast.Constant(number))]
            if isinstance(node, ast.Assert):
                before.append(self.mark_assertion(node, number))
            self.mark_below(node, function)
            marked += [ast.copy_location(ast.Expr(each), node) for each in before]
            marked.append(node)
        return marked

    def mark_below(self, node: ast.AST, function: str) -> None:
        """Mark the blocks of a compound statement, of its handlers and of its cases."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            function = node.name
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, self.mark_block(block, function))
        for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            self.mark_below(each, function)

    def mark_assertion(self, node: ast.Assert, number: int) -> ast.expr:
        """Mark an assertion, and return the call that drops the values of its earlier runs."""
        first = len(self.slots)
        test, node.test = self.mark_test(node.test)
        self.statements[number].test = test
        message = [node.msg] if node.msg else []
        node.msg = call("fail", ast.Constant(number), *message)
        return call("forget", ast.Constant(first), ast.Constant(len(self.slots)))

    def mark_test(self, node: ast.expr) -> tuple[Test, ast.expr]:
        """Return what a test consists of, and the code that keeps its values."""
        result = self.slot(node)
        if isinstance(node, ast.BoolOp):
            test = Test(["and" if isinstance(node.op, ast.And) else "or"], result)
            values = [self.mark_part(each, test) for each in node.values]
            return test, keep(result, ast.BoolOp(node.op, values))
        if isinstance(node, ast.Compare):
            test = Test([OPERATORS[type(each)] for each in node.ops], result)
            sides = [self.mark_operand(each, test) for each in (node.left, *node.comparators)]
            return test, keep(result, ast.Compare(sides[0], node.ops, sides[1:]))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            test = Test(["not"], result)
            return test, keep(result, ast.UnaryOp(node.op, self.mark_operand(node.operand, test)))
        if asked := call_of("isinstance", node, 2):
            test = Test(["isinstance"], result)
            sides = [self.mark_operand(each, test) for each in asked.args]
            return test, keep(result, ast.Call(asked.func, sides, []))
        every = call_of("all", node, 1)
        if every and isinstance(generator := every.args[0], ast.GeneratorExp):
            test = Test(["all"], result)
            tests = ast.GeneratorExp(self.mark_part(generator.elt, test), generator.generators)
            return test, keep(result, ast.Call(every.func, [tests], []))
        test = Test(["true"], result)
        return test, keep(result, self.mark_operand(node, test))

    def mark_part(self, node: ast.expr, whole: Test) -> ast.expr:
        part, marked = self.mark_test(node)
        whole.parts.append(part)
        return marked

    def mark_operand(self, node: ast.expr, test: Test) -> ast.expr:
        """Return the code of an operand that keeps its value, and those of the names in it."""
        number = self.slot(node)
        test.operands.append(number)
        if isinstance(node, (ast.Name, ast.Constant)):
            return keep(number, node)
        marked = NamesMarker(self, self.slots[number]).visit(node)
        return keep(call("enter", ast.Constant(number)), marked)

    def slot(self, node: ast.expr) -> int:
        self.slots.append(Slot(node, self.code_of(node)))
        return len(self.slots) - 1

    def code_of(self, node: ast.AST) -> str:
        code = ast.get_source_segment(self.code, node) or ""
        return shortened(" ".join(code.split()), MAX_CODE)


class NamesMarker(ast.NodeTransformer):
    """Mark the variables in an expression; functions that are called are not values."""

    def __init__(self, marker: Marker, slot: Slot) -> None:
        self.marker = marker
        self.slot = slot

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or len(self.slot.names) >= MAX_NAMES:
            return node
        number = self.marker.slot(node)
        self.slot.names.append(number)
        return keep(number, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Return the call with its arguments visited, and the object of a method."""
        if not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        node.args = [self.visit(each) for each in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def leave_as_it_is(self, node: ast.expr) -> ast.expr:
        """Return an expression whose variables are its own."""
        return node

    visit_Lambda = visit_ListComp = visit_SetComp = leave_as_it_is  # noqa: N815  # likewise
    visit_DictComp = visit_GeneratorExp = visit_JoinedStr = leave_as_it_is  # noqa: N815


def stands_first(node: ast.stmt) -> bool:
    """Return whether nothing may be put before a statement of this kind."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def call_of(name: str, node: ast.expr, count: int) -> ast.Call | None:
    """Return an expression that calls the built-in function with so many arguments, else None."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return node if (node.func.id, len(node.args)) == (name, count) else None
    return None


def call(name: str, *arguments: ast.expr) -> ast.Call:
    method = ast.Attribute(ast.Name(RECORDER, ast.Load()), name, ast.Load())
    return ast.Call(method, list(arguments), [])


def keep(number: int | ast.expr, value: ast.expr) -> ast.expr:
    return call("keep", ast.Constant(number) if isinstance(number, int) else number, value)


def is_literal(node: ast.expr) -> bool:
    """Return whether an expression is its own value."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
