"""Implements `Notes` for Python: what a person would point out in code.

It also makes tests of what docstrings show, and leaves out imports that never succeed.
The message comes from a command that ran code of a model: it is only ever compared with what the
sources say.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from shared.languages.capabilities import Unwritten
from shared.languages.declared import declared_edits
from shared.languages.declared.declared_edits import EmptyFunction, offer
from shared.languages.planned_code import file_does_not_parse
from shared.languages.python.assertion_marker import is_literal
from shared.languages.python.code_facts import names_read
from shared.languages.python.module_views import ModuleHistory, Source
from shared.languages.python.python_code import last_part, name_behind, parse_code
from shared.languages.python.stubs import BoundName, FunctionNode, declarations, qualified
from shared.languages.read_commands import CodeProblem

_MAX_ERRORS: Final = 20
_NAME: Final = r"[A-Za-z_]\w{0,99}"
_DOTTED: Final = rf"{_NAME}(?:\.{_NAME}){{0,20}}"
_OF_TYPING: Final = (
    "Any", "Callable", "ClassVar", "Dict", "Final", "FrozenSet", "Generator", "Iterable",
    "Iterator", "List", "Literal", "Mapping", "NamedTuple", "Optional", "Protocol", "Sequence",
    "Set", "Tuple", "Type", "TypeVar", "TypedDict", "Union",
)  # fmt: skip
# Names that code often uses without importing them, and the modules that have them.
_OF_MODULES: Final = {
    **dict.fromkeys(_OF_TYPING, "typing"),
    "Counter": "collections",
    "OrderedDict": "collections",
    "defaultdict": "collections",
    "deque": "collections",
    "dataclass": "dataclasses",
    "timedelta": "datetime",
    "Decimal": "decimal",
    "Enum": "enum",
    "lru_cache": "functools",
    "reduce": "functools",
    "Path": "pathlib",
}


def names_in(source: str) -> frozenset[str] | None:
    """Return the names that a module declares, members of classes qualified.

    They are not known where the source does not parse or makes names as it runs.
    """
    parsed = Source(source)
    tree = parsed.parsed
    if not isinstance(tree, ast.Module) or parsed.is_dynamic:
        return None
    return qualified(declarations(tree.body))


def note_errors(output: str, sources: Mapping[str, str], files: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each error in `output` about a name that does not exist.

    `sources` has the texts of files by path, and `files` all paths of the repository. An error that
    the sources do not explain has no sentence.
    """
    known = _KnownSources(sources, tuple(files))
    notes = (
        note(known, found)
        for pattern, note in _ERRORS
        for found in islice(re.finditer(pattern, output), _MAX_ERRORS)
    )
    return tuple(dict.fromkeys(filter(None, notes)))


class _KnownSources:
    """Answer what the sources declare."""

    def __init__(self, sources: Mapping[str, str], files: Sequence[str]) -> None:
        self.files = tuple(dict.fromkeys((*sources, *files)))
        self._paths = [each for each in sources if each.endswith(".py")]
        self._history = ModuleHistory(self._paths, sources, [])

    def declared(self, path: str) -> Mapping[str, BoundName]:
        """Return the declarations of a file; none if it does not parse or is not known."""
        module = self._history.module(path, 0)
        return module.declared if module is not None else {}

    def path_of(self, module: str) -> str | None:
        """Return the known file of a module, by its dotted name."""
        found = self._history.find(module, 0)
        return found.path if found is not None else None

    def places_of(self, name: str) -> Iterator[str]:
        for path in self._paths:
            declaration = self.declared(path).get(name)
            if declaration and declaration.kind != "import":
                yield path

    def classes(self, name: str) -> Iterator[tuple[str, BoundName]]:
        for path in self.places_of(name):
            declaration = self.declared(path)[name]
            if declaration.kind == "class":
                yield path, declaration


def _missing_in_module(known: _KnownSources, found: re.Match[str]) -> str:
    path = known.path_of(found["module"])
    if path is None:
        return ""
    name, declared = found["name"], known.declared(path)
    if name in declared:
        circle = "partially initialized" in found[0] or "circular import" in found.string
        return (
            f"{path} has `{name}`, but the modules import each other in a circle." if circle else ""
        )
    elsewhere = [each for each in known.places_of(name) if each != path]
    if elsewhere:
        return f"{path} has no `{name}`: it is in {elsewhere[0]}."
    return f"{path} has no `{name}`. {_offer(name, declared)}"


def _missing_member(known: _KnownSources, found: re.Match[str]) -> str:
    name = found["name"]
    for path, declaration in known.classes(found["class"]):
        members = {*declaration.members, *_attributes(declaration)}
        if name not in members:
            return (
                f"The class `{found['class']}` in {path} has no `{name}`. {_offer(name, members)}"
            )
    return ""


def _missing_here(known: _KnownSources, found: re.Match[str]) -> str:
    name = found["name"]
    for path in known.places_of(name):
        if path in found.string:  # the file that defines it is where it was used, too early
            return ""
        parts = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").split("/")
        return (
            f"The name `{name}` is used where it is not defined. It is in {path}: "
            f"`from {'.'.join(parts)} import {name}`."
        )
    module = _OF_MODULES.get(name, "")
    if module:
        return f"The name `{name}` is used and not imported: `from {module} import {name}`."
    if name in sys.stdlib_module_names:
        return f"The module `{name}` is used and not imported: `import {name}`."
    return ""


def _missing_module(known: _KnownSources, found: re.Match[str]) -> str:
    module = found["module"]
    last = module.rpartition(".")[2]
    same = [
        path
        for path in known.files
        if path.endswith((f"/{last}.py", f"/{last}/__init__.py")) or path == f"{last}.py"
    ]
    if not same or known.path_of(module):
        return ""
    return f"There is no module `{module}`. The repository has {', '.join(same[:3])}."


def _wrong_call(known: _KnownSources, found: re.Match[str]) -> str:
    owner, _, name = found["function"].rpartition(".")
    for path in known.places_of(owner or name):
        declaration = known.declared(path)[owner or name]
        function = (declaration.members.get(name) if owner else declaration) or declaration
        node = function.nodes[-1]
        if isinstance(node, FunctionNode):
            return f"{path} defines `{found['function']}({ast.unparse(node.args)})`."
    return ""


def _attributes(declaration: BoundName) -> Iterator[str]:
    for node in declaration.nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
                owner = each.value
                if isinstance(owner, ast.Name) and owner.id == "self":
                    yield each.attr


def _offer(name: str, existing: Iterable[str]) -> str:
    names = [each for each in existing if not each.startswith("__")]
    return offer(name, names, [each for each in names if not each.startswith("_")])


_ERRORS: Final = (
    (
        rf"ImportError: cannot import name '(?P<name>{_NAME})' from "
        rf"(?:partially initialized module )?'(?P<module>{_DOTTED})'",
        _missing_in_module,
    ),
    (
        rf"AttributeError: (?:partially initialized )?module '(?P<module>{_DOTTED})' "
        rf"has no attribute '(?P<name>{_NAME})'",
        _missing_in_module,
    ),
    (
        rf"AttributeError: (?:type object )?'(?P<class>{_NAME})' (?:object )?"
        rf"has no attribute '(?P<name>{_NAME})'",
        _missing_member,
    ),
    (rf"NameError: name '(?P<name>{_NAME})' is not defined", _missing_here),
    (rf"ModuleNotFoundError: No module named '(?P<module>{_DOTTED})'", _missing_module),
    (
        rf"TypeError: (?P<function>{_DOTTED})\(\) "
        r"(?:takes |missing |got an unexpected |got multiple )",
        _wrong_call,
    ),
)
"""How each kind of error is said, and what is looked up for it."""


_MAX_SHOWN: Final = 120


def note_syntax(path: str, source: str) -> str:
    """Return a sentence that quotes the line that does not parse; empty if all does.

    It does not repeat the message of the parser, which differs between versions of Python.
    """
    problem = parse_code(source)
    if not isinstance(problem, CodeProblem):
        return ""
    lines = source.splitlines()
    if not 0 < problem.line <= len(lines):
        return file_does_not_parse(path)
    shown = lines[problem.line - 1].strip()[:_MAX_SHOWN]
    return file_does_not_parse(path, problem.line, shown)


_NOT_MEANT_TO_HAVE_A_BODY = frozenset({"abstractmethod", "overload", "abstractproperty"})
_UNWRITTEN_MAX_SHOWN = 60


def find_unwritten(path: str, before: str, after: str) -> tuple[Unwritten, ...]:
    """Return the functions and methods of `after` that have nothing in them, in their order.

    `before` is the text of the same file until now. Nothing is found in a stub file, in a protocol,
    in what is abstract, and in code that does not parse.
    """
    if path.endswith(".pyi"):
        return ()
    return declared_edits.find_unwritten(path, _unwritten(before), _unwritten(after))


def _unwritten(text: str) -> Iterator[EmptyFunction]:
    tree = Source(text).parsed
    if isinstance(tree, ast.Module):
        yield from _unwritten_in(declarations(tree.body), "")


def _unwritten_in(declared: Mapping[str, BoundName], owner: str) -> Iterator[EmptyFunction]:
    for name, each in declared.items():
        last = each.nodes[-1]
        if isinstance(last, FunctionNode):
            problem = _problem(last)
            if problem:
                yield f"{owner}{name}", problem, _is_certain(last, problem)
        elif isinstance(last, ast.ClassDef) and not _is_protocol(last):
            yield from _unwritten_in(each.members, f"{owner}{name}.")


def _problem(function: FunctionNode) -> str:
    """Return what is wrong with the body of a function as a predicate; empty if nothing is."""
    is_special = function.name.startswith("__") and function.name.endswith("__")
    decorators = {last_part(each) for each in function.decorator_list}
    if is_special or decorators & _NOT_MEANT_TO_HAVE_A_BODY:
        return ""
    documented = ast.get_docstring(function, clean=False) is not None
    match function.body[1:] if documented else function.body:
        case []:
            return "has no body: after its docstring there is no statement, so it returns None"
        case [ast.Pass()]:
            return "has only `pass` for a body, so it returns None"
        case [ast.Expr(value=ast.Constant(value=value))] if value is ...:
            return "has only `...` for a body, so it returns None"
        case [ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name)))] if (
            name == "NotImplementedError"
        ):
            return "only raises NotImplementedError"
        case [ast.Return(value=value)] if _parameters(function) and (
            value is None or is_literal(value)
        ):
            shown = ast.unparse(value) if value else "None"
            return f"returns {shown[:_UNWRITTEN_MAX_SHOWN]}, whatever it is given"
        case _:
            return ""


def _is_certain(function: FunctionNode, problem: str) -> bool:
    """Return whether nobody would write such a function on purpose.

    A function that returns nothing may have nothing to do, and one may return a constant.
    """
    returns = function.returns
    returns_nothing = isinstance(returns, ast.Constant) and returns.value is None
    return not returns_nothing and not problem.startswith("returns ")


def _parameters(function: FunctionNode) -> Sequence[ast.arg]:
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [each for each in parameters if each.arg not in ("self", "cls")]


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(name_behind(each).endswith("Protocol") for each in node.bases)


_WORD: Final = re.compile(r"\w+")
_NAMED: Final = re.compile(r"[`'\"]([\w.]+)(?:\(\))?[`'\"]|\b(\w+)\(|\b(\w+_\w+)\b")
# As `doctest` reads them; it would be slow to import. Prose often shows a call without a prompt.
_EXAMPLE: Final = re.compile(
    r"^[ \t]*>>>[ ]?(?P<code>.*(?:\n[ \t]*\.\.\.(?:[ ].*)?$)*)"
    r"(?P<shown>(?:\n(?![ \t]*>>>)[ \t]*\S.*)*)"
    r"|^[ \t]*(?P<call>[^\W\d]\w{0,99}\(.{0,400}\))"
    r"[ \t]*(?:={1,2}>|-{1,2}>|==|→|➞|➔|⇒|returns)[ \t]*(?P<value>\S.{0,400})$",
    re.MULTILINE,
)
_MOST_EXAMPLES: Final = 50
_CONTINUED: Final = re.compile(r"^[ \t]*\.\.\.[ ]?", re.MULTILINE)


def test_of_examples(source: str, asked: str, module: str) -> str:
    """Return a test file of the examples in the docstrings of functions that are to be written.

    These are the functions of `source`, as yet without a body, which `asked` names as code: a word
    like `add` may mean another thing. Returns an empty text where there are none, or where one of
    them has no example that can be asserted: so the file shows all that is asked for, or nothing.
    `module` is what the file imports.
    """
    tree, words = Source(source).parsed, _names_in(asked)
    if not isinstance(tree, ast.Module):
        return ""
    wanted = {
        name for name, _, certain in _unwritten(source) if certain and {*name.split(".")} & words
    }
    there = declarations(tree.body).keys()
    tests = {
        each.name: tuple(dict.fromkeys(islice(_assertions(each, there), _MOST_EXAMPLES)))
        for each in tree.body
        if isinstance(each, ast.FunctionDef) and each.name in wanted
    }
    if not tests or tests.keys() != wanted or not all(map(_asserts, tests.values())):
        return ""
    said = frozenset(_WORD.findall("\n".join(line for each in tests.values() for line in each)))
    if not said & there:  # examples of something else
        return ""
    code = [f"from {module} import {', '.join(sorted(said & there))}"]
    for name, lines in tests.items():
        code += ["", "", f"def test_{name}():", *(f"    {each}" for each in lines)]
    return "\n".join(code) + "\n"


def _names_in(asked: str) -> frozenset[str]:
    found = _NAMED.findall(asked)
    return frozenset(part for each in found for name in each for part in name.split("."))


def _asserts(lines: Sequence[str]) -> bool:
    return any(each.startswith("assert ") for each in lines)


def _assertions(function: ast.FunctionDef, there: Collection[str]) -> Iterator[str]:
    """Yield the statements of a docstring's examples, up to one that does not parse."""
    for found in _EXAMPLE.finditer(ast.get_docstring(function) or ""):
        code, shown = found["call"], found["value"]
        if code is None:
            code, shown = _CONTINUED.sub("", found["code"]), found["shown"]
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError):
            if found["call"] is None:
                return
            continue
        if found["call"] and not _is_call(tree, function.name, there):
            continue
        match tree.body:
            case [ast.Expr(value)]:
                yield from _asserted(value, shown.strip()).splitlines()
            case body:
                yield from (line for each in body for line in ast.unparse(each).splitlines())


def _is_call(tree: ast.Module, name: str, there: Collection[str]) -> bool:
    """Return whether code in prose is a call of the function with values that are there."""
    match tree.body:
        case [ast.Expr(ast.Call(ast.Name(called)))] if called == name:
            return not names_read(tree) - {*there, *dir(builtins)}
        case _:
            return False


def _asserted(value: ast.expr, shown: str) -> str:
    """Return the assertion that an expression has a value as shown; empty if that is no literal."""
    code = ast.unparse(value)
    if not shown:
        return f"assert {code}" if isinstance(value, ast.Compare) else code
    try:
        expected = ast.parse(shown, mode="eval").body
        ast.literal_eval(expected)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return ""
    is_one = isinstance(expected, ast.Constant) and (
        expected.value is None or isinstance(expected.value, bool)
    )
    return f"assert {code} {'is' if is_one else '=='} {ast.unparse(expected)}"


def without_own_imports(path: str, text: str) -> str:
    """Return a file without imports of functions and classes that it defines itself.

    Such an import ends with an `ImportError`: the module is only half there. Small models copy it
    from a test.
    """
    tree = Source(text).parsed if "import" in text else None
    if not isinstance(tree, ast.Module):
        return text
    defined = {each.name for each in tree.body if isinstance(each, (FunctionNode, ast.ClassDef))}
    lines = io.StringIO(text, newline="").readlines()  # as Python counts them
    for each in reversed(tree.body):
        if not isinstance(each, ast.ImportFrom) or not _is_own(path, each):
            continue
        whole = "".join(lines[each.lineno - 1 : each.end_lineno]).strip()
        names = {name.name for name in each.names if name.asname in (None, name.name)}
        if len(names) == len(each.names) and names <= defined and whole == _segment(text, each):
            del lines[each.lineno - 1 : each.end_lineno]
    return "".join(lines)


def _is_own(path: str, statement: ast.ImportFrom) -> bool:
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    if statement.level:
        return statement.level == 1 and statement.module == parts[-1]
    return statement.module in (".".join(parts), ".".join(parts).removeprefix("src."))


def _segment(text: str, node: ast.AST) -> str:
    return ast.get_source_segment(text, node) or ""
