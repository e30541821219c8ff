"""Reads a Python file as its declarations.

Python's own parser reads it. Unlike tree-sitter it gives nothing for a text with a fault. So a file
that does not parse is read in chunks: a statement that needs a newer Python than the running one
leaves the definitions beside it readable.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import CaseTable, ContractViolation
from shared.languages.declared import declared_edits
from shared.languages.declared.declarations import Declarations, Declared, Imported, Kind, Offsets
from shared.languages.planned_code import TextFault
from shared.languages.python.merge_stubs import is_meant
from shared.languages.python.python_code import is_test_file, parse_as_here
from shared.languages.python.stubs import BINDING_BLOCKS, Definition, bindings, declarations, flat
from shared.languages.read_commands import CodeProblem

if TYPE_CHECKING:
    from shared.languages.capabilities import OutlineEntry

_KINDS: Final[dict[str, Kind]] = {"function": "function", "class": "type"}
_ACCESSORS: Final = frozenset({"setter", "getter", "deleter"})
OVERLOAD: Final = "overload"


@dataclass(frozen=True, slots=True)
class PythonDeclared(Declared):
    """Represent a name that a statement binds in a module or a class, or a definition anywhere.

    `key` tells overloads and the accessors of a property apart, which share their name. `around` is
    empty unless a function, a loop, a handler or the like surrounds the statement. `owner_line` is
    the line of the definition that the statement is in, and 0 at the top level.
    """

    node: ast.stmt = field(default_factory=ast.Pass)
    indent: str = ""
    owner_line: int = 0

    @property
    def first(self) -> int:
        """Return the first line, from 0, which is the first decorator's if there is one."""
        return first_line(self.node) - 1

    @property
    def after(self) -> int:
        return last_line(self.node)


@dataclass(frozen=True, slots=True)
class PythonDeclarations(Declarations):
    """Hold what a Python file declares, and those of its statements that parse.

    `unread` has, for each part that does not parse, the names that are defined in it.
    """

    items: tuple[PythonDeclared, ...] = ()
    body: tuple[ast.stmt, ...] = ()
    unread: tuple[frozenset[str], ...] = ()


def first_line(node: ast.stmt) -> int:
    """Return the first line of a statement, from 1, with its decorators."""
    decorators = node.decorator_list if isinstance(node, Definition) else ()
    return min([node.lineno, *(each.lineno for each in decorators)])


def last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is a string alone, as docstrings are."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case _:
            return False


def is_ellipsis(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=value)):
            return value is ...
        case _:
            return False


def indentation_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


@lru_cache(maxsize=8)
def read_python(text: str, *, is_package: bool = False) -> PythonDeclarations:
    """Return the declarations of a module, which may be that of a package. Never raises."""
    return read_once(text, is_package=is_package)


def read_once(text: str, *, is_package: bool = False) -> PythonDeclarations:
    """Return what `read_python` does of a text that is not read again: it is not kept."""
    tree = parse_as_here(text)
    fault: TextFault | None = None
    unread: tuple[frozenset[str], ...] = ()
    if isinstance(tree, ast.Module):
        body = tree.body
    else:
        fault = TextFault(tree.message, tree.line)
        body, unread = _readable(text)
    public = frozenset(_public(body, is_package=is_package))
    return PythonDeclarations(
        text,
        tuple(_ItemReader(text, public, frozenset(_plain(body))).items(body, "", 0)),
        tuple(each for node in flat(body) for each in _imports(node)),
        fault,
        body=tuple(body),
        unread=unread,
    )


def _readable(text: str) -> tuple[list[ast.stmt], tuple[frozenset[str], ...]]:
    """Return the statements of the chunks that parse, and the names defined in each other one."""
    body: list[ast.stmt] = []
    unread: list[frozenset[str]] = []
    for chunk in split_chunks(text):
        tree = parse_as_here(chunk.text)
        if isinstance(tree, CodeProblem):
            unread.append(frozenset(_DEFINITION.findall(f"\n{chunk.text}")))
        else:
            body += [ast.increment_lineno(each, chunk.lines_above) for each in tree.body]
    return body, tuple(unread)


def _plain(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements outside of loops, handlers and functions."""
    pending = [*reversed(body)]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            pending += reversed([*node.body, *getattr(node, "orelse", ())])
        elif isinstance(node, ast.ClassDef):
            pending += reversed(node.body)


class _ItemReader:
    def __init__(self, text: str, public: Collection[str], plain: Collection[ast.stmt]) -> None:
        self._lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._public = public
        self._plain = plain

    def items(
        self, body: Sequence[ast.stmt], prefix: str, owner_line: int
    ) -> Iterator[PythonDeclared]:
        for node in flat(body):
            for name, kind in bindings(node):
                yield self._item(node, prefix + name, _KINDS.get(kind, "value"), owner_line)
            if isinstance(node, Definition):
                inner = node.body
                if not isinstance(node, ast.ClassDef):  # its variables are its own affair
                    inner = [each for each in flat(inner) if isinstance(each, Definition)]
                yield from self.items(inner, f"{prefix}{node.name}.", node.lineno)

    def _item(self, node: ast.stmt, name: str, kind: Kind, owner_line: int) -> PythonDeclared:
        first, last = first_line(node) - 1, last_line(node) - 1
        indent = indentation_of(self._lines[node.lineno - 1])
        return PythonDeclared(
            name=name,
            kind=kind,
            head=self._lines[node.lineno - 1].strip(),
            key=role_of(node),
            line=node.lineno,
            start=self._starts[first] + len(indent),
            end=self._starts[last] + len(self._lines[last].rstrip("\r")),
            is_public=name in self._public,
            around="" if node in self._plain else "block",
            node=node,
            indent=indent,
            owner_line=owner_line,
        )


def role_of(node: ast.stmt) -> str:
    """Return "overload", "setter" and the like; empty for a definition that is not one of them."""
    if not isinstance(node, Definition):
        return ""
    for decorator in node.decorator_list:
        match decorator:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name == OVERLOAD:
                return OVERLOAD
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (
                owner == node.name and name in _ACCESSORS
            ):
                return name
            case _:
                pass
    return ""


def _imports(statement: ast.stmt) -> Iterator[Imported]:
    """Yield each name that an import binds, with the text of an import of this name alone."""
    match statement:
        case ast.Import(names=names):
            for each in names:
                name = each.asname or each.name.split(".")[0]
                text = f"import {_alias(each)}"
                yield Imported(name, each.name, statement.lineno, text, 0, 0)
        case ast.ImportFrom(module=module, names=names, level=level):
            source = "." * level + (module or "")
            for each in names:
                text = f"from {source} import {_alias(each)}"
                yield Imported(each.asname or each.name, source, statement.lineno, text, 0, 0)
        case _:
            return


def _alias(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _public(body: Sequence[ast.stmt], *, is_package: bool) -> Iterator[str]:
    exported = _exported(body)
    seen = [each for each in body if not _is_main_block(each)]
    incidental = _incidental_variables(seen)
    for name, declared in declarations(seen).items():
        if exported is not None:
            is_public = name in exported
        else:
            relative = is_package and any(_is_relative(each) for each in declared.nodes)
            is_public = (
                name[0] != "_"
                and (declared.kind != "import" or relative)
                and (declared.kind != "variable" or name not in incidental)
            )
        if is_public:
            yield name
            yield from (
                f"{name}.{member}"
                for member, each in declared.members.items()
                if member[0] != "_" and each.kind == "function"
            )


def _is_main_block(statement: ast.stmt) -> bool:
    """Return whether this is `if __name__ == "__main__":`, which an import never runs."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()]), orelse=[]):
            return True
        case _:
            return False


def _incidental_variables(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Return the variables that nobody imports.

    These are the variables of loops and `with`, the substitutes for an absolute import that failed,
    and the variables of a script. A script is a module that declares no function or class and ends
    with a statement that does something. Its upper-case names are not among them.
    """
    declared = declarations(body)
    imported = {
        name
        for each in flat(body)
        if isinstance(each, ast.Import | ast.ImportFrom) and not _is_relative(each)
        for name, _ in bindings(each)
    }
    defines = any(each.kind in ("function", "class") for each in declared.values())
    is_script = not defines and any(map(_does_something, body[-1:]))
    return frozenset(
        name
        for name, each in declared.items()
        if name in imported
        or all(isinstance(node, BINDING_BLOCKS) for node in each.nodes)
        or (is_script and not name.isupper())
    )


def _does_something(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.While | ast.For | ast.With)


def _is_relative(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.level > 0


def _exported(body: Sequence[ast.stmt]) -> frozenset[str] | None:
    """Return the names in `__all__`; `None` if it is not a plain list."""
    found: frozenset[str] | None = None
    for statement in body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id="__all__")], value=ast.List(elts=names) | ast.Tuple(elts=names)
            ) if all(isinstance(each, ast.Constant) for each in names):
                found = frozenset(
                    each.value
                    for each in names
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )
            case ast.AugAssign(target=ast.Name(id="__all__")):
                return None
            case _:
                pass
    return found


def outline(text: str) -> tuple[OutlineEntry, ...]:
    """Return the functions and classes outside of functions, loops and handlers."""
    read = read_python(text)
    return declared_edits.outline(
        replace(read, items=tuple(each for each in read.items if not each.around))
    )


def check_rewrite(
    path: str, before: str, after: str, changes: Sequence[str] = ()
) -> tuple[ContractViolation, ...]:
    """Return a violation for each loss of the file at `path` that `changes` do not name.

    A member is not lost where its class has other bases than before: it may come from there.
    """
    is_package = path.endswith(("/__init__.py", "/__init__.pyi")) or path == "__init__.py"
    old, new = (read_python(each, is_package=is_package) for each in (before, after))
    if old.fault is None and new.fault is not None:
        problem = parse_as_here(after)
        if isinstance(problem, CodeProblem) and not problem.is_syntax:  # it may run all the same
            message = f"cannot be read any more: {problem.message}"
            return (ContractViolation(path, "", message),)
    found = declared_edits.check_rewrite(
        path, old, new, changes, is_test=is_test_file(path), meant=is_meant
    )
    return tuple(each for each in found if not _may_be_inherited(each.name, old, new))


def _may_be_inherited(name: str, old: PythonDeclarations, new: PythonDeclarations) -> bool:
    owner = name.rpartition(".")[0]
    if not owner:
        return False
    bases = _bases(new, owner)
    return bases is None or bases != _bases(old, owner)


def _bases(read: PythonDeclarations, owner: str) -> list[str] | None:
    """Return the bases of a class; `None` if it is not a class any more, or cannot be read."""
    match [each.node for each in read.items if each.name == owner][-1:]:
        case [ast.ClassDef(bases=bases)]:
            try:
                return [ast.dump(each) for each in bases]
            except RecursionError:
                return None
        case _:
            return None


# A comment or a string. Possessive repetitions keep the time linear; a string that never closes
# ends with its line, or with the text if its quotes are triple.
_STRING_OR_COMMENT: Final = re.compile(
    r"#[^\n]*+"
    r'|"""(?:[^\\"]++|\\.|"(?!""))*+(?:""")?'
    r"|'''(?:[^\\']++|\\.|'(?!''))*+(?:''')?"
    r'|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'(?:[^'\\\n]++|\\.)*+'?",
    re.DOTALL,
)
_AT_MARGIN: Final = re.compile(r"\n(?:(?P<decorator>@)|(?:async[ \t]+)?(?:def|class)[ \t])")
_DEFINITION: Final = re.compile(r"\n[ \t\f]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Hold some top-level statements of a module, and the number of lines above."""

    text: str
    lines_above: int


def split_chunks(source: str) -> tuple[Chunk, ...]:
    """Return the chunks of a module in sequence: together they are the module.

    Each chunk but the first begins with a function or a class, its decorators included. The chunks
    of a module that parses do so each by itself, unless a line begins with the operator `@`.
    """
    strings = multiline_strings(source)
    starts = [0]
    decorator: int | None = None
    for found in _AT_MARGIN.finditer(f"\n{source}"):
        start = found.start()  # in `source`, which lacks the first line end
        if _is_within(start, strings):
            continue
        if found["decorator"]:
            decorator = start if decorator is None else decorator
            continue
        starts.append(start if decorator is None else decorator)
        decorator = None
    ends = (*starts[1:], len(source))
    return tuple(
        Chunk(source[start:end], source.count("\n", 0, start))
        for start, end in zip(starts, ends, strict=True)
    )


def multiline_strings(source: str) -> tuple[tuple[int, int], ...]:
    """Return the start and the end of each string of several lines in `source`, in sequence."""
    return tuple(found.span() for found in _STRING_OR_COMMENT.finditer(source) if "\n" in found[0])


def _is_within(position: int, spans: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(spans, (position, -1)) - 1
    return index >= 0 and spans[index][0] < position < spans[index][1]


_FRAGMENTS_DEFINITION: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?:async[ \t]+)?(?P<function>def)|class)[ \t]+(?P<name>\w+)",
    re.MULTILINE,
)


def defined_names(fragment: str) -> tuple[str, ...]:
    """Return the names of the functions and classes that begin in `fragment`, in sequence.

    Functions and classes within a function are left out: they are its own affair.
    """
    names: list[str] = []
    within: int | None = None
    for found in _FRAGMENTS_DEFINITION.finditer(fragment):
        depth = len(found["indent"])
        if within is not None and depth > within:
            continue
        within = depth if found["function"] else None
        names.append(found["name"])
    return tuple(names)


def find_tables(path: str, text: str) -> tuple[CaseTable, ...]:
    """Return the lists of `parametrize` and of variables, by the test (`A.test_a`) and variable."""
    module = parse_as_here(text)
    if isinstance(module, CodeProblem):
        return ()
    variables = {
        target.id: statement.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    named: dict[ast.expr, list[str]] = {value: [name] for name, value in variables.items()}
    for owner, function in _functions(module):
        for cases in map(_parametrized, function.decorator_list):
            found = variables.get(cases.id) if isinstance(cases, ast.Name) else cases
            if found is not None:
                names = named.setdefault(found, [])
                names += [function.name, *([f"{owner}.{function.name}"] if owner else ())]
    characters = _Characters(text)
    tables = (
        _table(names, node, characters)
        for node, names in named.items()
        if isinstance(node, ast.List | ast.Tuple)
    )
    return tuple(each for each in tables if text[each.start - 1] in "[(")


def _functions(
    module: ast.Module,
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for top in module.body:
        owner = top.name if isinstance(top, ast.ClassDef) else ""
        for each in top.body if isinstance(top, ast.ClassDef) else (top,):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                yield owner, each


def _parametrized(decorator: ast.expr) -> ast.expr | None:
    """Return what a decorator that is `pytest.mark.parametrize` takes the cases from."""
    if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Attribute):
        return None
    if decorator.func.attr != "parametrize":
        return None
    by_name = (each.value for each in decorator.keywords if each.arg == "argvalues")
    return decorator.args[1] if len(decorator.args) > 1 else next(by_name, None)


class _Characters:
    def __init__(self, text: str) -> None:
        lines = text.encode("utf-8", "replace").split(b"\n")
        self._starts = [0, *accumulate(len(each) + 1 for each in lines)]
        self._offsets = Offsets(text)

    def span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None, "it was parsed"
        ends = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        start, end = (self._offsets.character(self._starts[line - 1] + at) for line, at in ends)
        return start, end


def _table(names: Collection[str], node: ast.List | ast.Tuple, at: _Characters) -> CaseTable:
    start, end = at.span(node)
    places = tuple(map(at.span, node.elts))
    return CaseTable(frozenset(names), start + 1, end - 1, places, tuple(map(ast.dump, node.elts)))
