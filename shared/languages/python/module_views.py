"""Holds a project's Python files after each order of a plan."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Final

from shared.languages.python.merge_stubs import (
    copied,
    exactly_meant,
    loosened,
    merge,
    with_outer_types,
)
from shared.languages.python.python_code import (
    ROOTS,
    absolute_module,
    package_of,
    parse_as_here,
    parse_code,
)
from shared.languages.python.stubs import (
    BoundName,
    declarations,
    depth_exceeds,
    plain_declarations,
    qualified,
)
from shared.languages.read_commands import CodeProblem

# This is deeper than any code that a person writes, and shallow enough for recursive visitors.
_MAX_DEPTH: Final = 200
# These make the members of an enumeration names of its module.
_ENUM_EXPORTS: Final = frozenset({"global_enum", "_convert_"})


@dataclass(frozen=True)
class Source:
    """Represent the text of an existing Python file.

    Where it is `portable`, every Python reads it alike, as the oldest supported one does. Else it
    is read as the running Python reads it.
    """

    text: str
    portable: bool = False

    @cached_property
    def parsed(self) -> ast.Module | CodeProblem:
        tree = parse_code(self.text) if self.portable else parse_as_here(self.text)
        if isinstance(tree, ast.Module) and depth_exceeds(tree, _MAX_DEPTH):
            return CodeProblem("it is nested too deep", False)
        return tree

    @cached_property
    def is_dynamic(self) -> bool:
        """Return whether the file may have names that its syntax tree does not show."""
        parsed = self.parsed
        return isinstance(parsed, CodeProblem) or _may_have_more(parsed)


def _may_have_more(tree: ast.Module) -> bool:
    """Return whether a module may have names that its code does not show."""
    return "__getattr__" in declarations(tree.body) or any(map(_makes_names, ast.walk(tree)))


def _makes_names(node: ast.AST) -> bool:
    match node:
        case ast.ImportFrom(names=[ast.alias(name="*")]) | ast.Name(id="__path__"):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _ENUM_EXPORTS:
            return True
        case ast.Subscript(value=ast.Attribute(attr="modules"), slice=key, ctx=use):
            # `sys.modules[__name__]`, or a module that puts another object in its place
            return isinstance(use, ast.Store) or (
                isinstance(key, ast.Name) and key.id == "__name__"
            )
        case ast.Call(args=args) if any(map(_is_of_module, args)):
            return True  # whatever gets the namespace may fill it
        case ast.Assign(value=value) if _is_of_module(value):
            return True
        case _:
            return fills_names(node, _is_of_module)


def fills_names(node: ast.AST, is_namespace: Callable[[ast.expr], bool]) -> bool:
    """Return whether a node adds names to a namespace by their texts, and does not only read it."""
    match node:
        case ast.Subscript(value=space, ctx=ast.Store()):
            return is_namespace(space)
        case ast.Call(
            func=ast.Attribute(value=space, attr="update" | "setdefault" | "__setitem__")
        ):
            return is_namespace(space)
        case ast.Call(func=ast.Name(id="exec")):
            return True
        case _:
            return False


def _is_of_module(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="vars" | "globals" | "locals"), args=[]):
            return True
        case _:
            return False


ANYTHING: Final = "from typing import Any\ndef __getattr__(name: str) -> Any: ...\n"


@dataclass(frozen=True)
class Module:
    """Represent a file at one point of the chain of orders.

    `contract` has the statements that interfaces declare for the file. `loose` has the qualified
    names that an order changes without declaring how. `is_written` is true once an order wrote to
    the file without declaring anything: the file may then have more names than are known, and
    names known from the source alone may have changed.
    """

    path: str
    source: Source | None = None
    contract: tuple[ast.stmt, ...] | None = None
    loose: frozenset[str] = frozenset()
    is_written: bool = False

    def declare(self, stub: Sequence[ast.stmt]) -> Module:
        contract = tuple(merge(self.contract or (), stub))
        names = qualified(declarations(stub))
        return replace(self, contract=contract, loose=self.loose - names)

    def write(self) -> Module:
        return replace(self, is_written=True)

    @cached_property
    def body(self) -> Sequence[ast.stmt] | None:
        parsed = self.source.parsed if self.source else None
        source = parsed.body if isinstance(parsed, ast.Module) else None
        if source is None and self.contract is None:
            return None
        body = merge(source, self.contract or ()) if source is not None else self.contract or ()
        return loosened(body, self.loose) if self.loose else body

    @cached_property
    def declared(self) -> dict[str, BoundName]:
        return declarations(self.body or ())

    @cached_property
    def contracted(self) -> frozenset[str]:
        """Return the qualified names that a contract declares, except loose ones."""
        return qualified(declarations(self.contract or ())) - self.loose

    @cached_property
    def is_open(self) -> bool:
        """Return whether the file may have names beyond the known ones."""
        dynamic = self.source is not None and self.source.is_dynamic
        return self.body is None or self.is_written or dynamic or "__getattr__" in self.declared

    @cached_property
    def unseen(self) -> frozenset[str]:
        """Return names that the code may have where a checker sees none.

        They are bound in a block, which may be meant for another system or version than the
        checker's, or a function binds them by `global`.
        """
        nodes = (node for statement in self.body or () for node in ast.walk(statement))
        by_functions = (name for e in nodes if isinstance(e, ast.Global) for name in e.names)
        in_blocks = self.declared.keys() - plain_declarations(self.body or ()).keys()
        return frozenset((*by_functions, *in_blocks))

    @cached_property
    def imports(self) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
        """Return level, module and names of each import in the file; `import a` has no names."""
        found: list[tuple[int, str, tuple[str, ...]]] = []
        for statement in self.body or ():
            for node in ast.walk(statement):
                match node:
                    case ast.Import(names=names):
                        found += [(0, each.name, ()) for each in names]
                    case ast.ImportFrom(module=base, names=names, level=level):
                        found.append((level, base or "", tuple(each.name for each in names)))
                    case _:
                        pass
        return tuple(found)

    @property
    def problem(self) -> CodeProblem | None:
        """Return why the source cannot be read; `None` if it can or is not there."""
        parsed = self.source.parsed if self.source else None
        return parsed if isinstance(parsed, CodeProblem) else None

    @property
    def checked_path(self) -> str:
        """Return the path for a type checker: that of a stub, unless there is readable source."""
        if self.source is not None and isinstance(self.source.parsed, ast.Module):
            return self.path
        return self.path.removesuffix(".pyi").removesuffix(".py") + ".pyi"

    @cached_property
    def text(self) -> str:
        if self.body is None:
            return ANYTHING
        if self.source is not None and self.contract is None and not self.loose:
            return self.source.text
        body = with_outer_types(self.body)
        return render_stub(body) if self.checked_path.endswith(".pyi") else unparsed(body)


def render_stub(body: Sequence[ast.stmt]) -> str:
    """Return stub code in which each import is visible from outside.

    PEP 484 hides `from .a import f` in a stub, although the module behind the stub has `f`.
    """
    return unparsed([_visible(each) for each in body])


def _visible(statement: ast.stmt) -> ast.stmt:
    match statement:
        case ast.ImportFrom(module="__future__"):
            return statement
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            named = ((each, each.name if each.name.isidentifier() else None) for each in names)
            shown = [ast.alias(each.name, each.asname or own) for each, own in named]
            return copied(statement, names=shown)
        case _:
            return statement


def unparsed(body: Sequence[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(list(body), []))) + "\n"


# So many files can be checked in a second or two. Files beyond them count as unknown.
MAX_VIEW_FILES: Final = 300
# The limit for one file, because each declaration is merged over all those before it.
MAX_DECLARATIONS: Final = 50

# What the interpreter runs comes before a stub beside it, which may say less than the code has.
_ENDINGS: Final = ("/__init__.py", "/__init__.pyi", ".py", ".pyi")


@dataclass(frozen=True, slots=True)
class Change:
    """Hold what one order does to the project's Python files.

    `writes` has the paths that the order may write, `stubs` its declarations by path, and `changed`
    the names that it says it changes. A changed name that is not
    declared anew is forgotten. `removes` has the paths of the files that the order removes.
    """

    writes: Collection[str] = ()
    stubs: Mapping[str, Sequence[ast.stmt]] = field(default_factory=dict)
    changed: Collection[str] = ()
    removes: Collection[str] = ()


class ModuleHistory:
    """Hold the project's Python files after each order; position 0 is the repo itself."""

    def __init__(
        self,
        files: Collection[str],
        sources: Mapping[str, str],
        changes: Sequence[Change],
        *,
        portable: bool = False,
    ) -> None:
        """Apply `changes` in order, the first at position 1.

        `files` has the paths of the repo, and `sources` the texts that could be read. Only the
        texts that are needed are looked up in `sources`. With `portable`, every Python reads them
        alike.
        """
        self._portable = portable
        self._files = files if isinstance(files, dict | set | frozenset) else frozenset(files)
        self._sources = sources
        self._repo: dict[str, Module] = {}
        self._versions: dict[str, list[tuple[int, Module]]] = {}
        self._removed: dict[str, int] = {}
        for position, change in enumerate(changes, 1):
            self._removed.update(dict.fromkeys(change.removes, position))
            for path in sorted({*change.writes, *change.stubs}):
                if path.endswith((".py", ".pyi")):
                    versions = self._versions.setdefault(path, [])
                    before = self.module(path, position)
                    if len(versions) < MAX_DECLARATIONS:
                        versions.append((position, _changed(before, path, change)))
                    elif len(versions) == MAX_DECLARATIONS:
                        versions.append((position, (before or Module(path)).write()))

    def module(self, path: str, after: int) -> Module | None:
        """Return the file at `path` after the order at position `after`; `None` for no file."""
        if self._removed.get(path, after + 1) <= after:
            return None
        for position, module in reversed(self._versions.get(path, ())):
            if position <= after:
                return module
        if path not in self._files:
            return None
        if path not in self._repo:
            text = self._sources.get(path)
            self._repo[path] = Module(path, None if text is None else Source(text, self._portable))
        return self._repo[path]

    def find(self, name: str, after: int, roots: Sequence[str] = ROOTS) -> Module | None:
        """Return the file behind a dotted module name; for a package that is its `__init__`."""
        found = (self.module(path, after) for path in _paths_of(name, roots))
        return next((each for each in found if each is not None), None)

    def provided_later(self, name: str, after: int, roots: Sequence[str] = ROOTS) -> int | None:
        """Return the position of the first order after `after` that writes a new module `name`."""
        found = [
            position
            for path in _paths_of(name, roots)
            for position, _ in self._versions.get(path, ())[:1]
            if position > after and path not in self._files
        ]
        return min(found, default=None)

    def declared_later(self, path: str, name: str, after: int) -> int | None:
        """Return the position of the first order after `after` that declares `name` in `path`."""
        later = (each for each in self._versions.get(path, ()) if each[0] > after)
        return next((at for at, module in later if name in module.contracted), None)

    def declared_by(self, path: str, name: str, after: int) -> int | None:
        """Return the position of an order whose declaration of `name` holds at `after`, if any."""
        found: int | None = None
        for position, module in self._versions.get(path, ()):
            if position > after or name not in module.contracted:
                break
            found = found if found is not None else position
        return found


def _paths_of(name: str, roots: Sequence[str]) -> Iterator[str]:
    stem = name.replace(".", "/")
    return (f"{root}{stem}{ending}" for root in roots for ending in _ENDINGS)


def _changed(before: Module | None, path: str, change: Change) -> Module:
    stub = change.stubs.get(path)
    after = before or Module(path)
    after = after.write() if stub is None else after.declare(stub)
    if not change.changed:
        return after
    names = qualified(after.declared) - qualified(declarations(stub or ()))
    loose = {each for each in names if exactly_meant(each, path, change.changed)}
    return replace(after, loose=after.loose | loose)


@dataclass(frozen=True, slots=True)
class ModuleView:
    """Hold the files that some code can reach by its imports, by dotted name."""

    modules: Mapping[str, Module]
    roots: tuple[str, ...]

    @property
    def is_known(self) -> bool:
        return any(each.body is not None for each in self.modules.values())

    @property
    def files(self) -> dict[str, str]:
        return {each.checked_path: each.text for each in self.modules.values()}


def reachable(history: ModuleHistory, imported: Iterable[str], after: int) -> ModuleView:
    """Return the project's modules that the dotted names `imported` lead to, also indirectly.

    A file must not be reached under two names, as `src.app` and `app`. Where a module is imported
    by a name in `src`, modules are looked up in the root of the repo alone.
    """
    names = sorted(set(imported))
    found = _reach(history, names, after, ROOTS)
    if any(each.split(".", 1)[0] == "src" for each in found):
        return ModuleView(_reach(history, names, after, ROOTS[:1]), ROOTS[:1])
    return ModuleView(found, ROOTS)


def _reach(
    history: ModuleHistory, names: Sequence[str], after: int, roots: Sequence[str]
) -> dict[str, Module]:
    found: dict[str, Module] = {}
    pending = list(names)
    seen: set[str] = set()
    while pending and len(found) < MAX_VIEW_FILES:
        following: list[str] = []
        for name in pending:
            for part in accumulate(name.split("."), "{}.{}".format):
                if part in seen:
                    continue
                seen.add(part)
                module = history.find(part, after, roots)
                if module is not None and len(found) < MAX_VIEW_FILES:
                    found[part] = module
                    following += imports_of(module, part)
        pending = following
    return found


def imports_of(module: Module, name: str) -> list[str]:
    """Return the dotted names that a module may import, with relative imports made absolute."""
    package = package_of(module.path, name)
    found: dict[str, None] = {}
    for level, base, names in module.imports:
        stem = absolute_module(package, base, level)
        found[stem] = None
        found.update((f"{stem}.{each}", None) for each in names if stem)
    return [each for each in found if each and "*" not in each]
