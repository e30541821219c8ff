"""Brings named definitions into the text of a Python file."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shared.languages.capabilities import DefinitionEdit, EditRefused, NamedCode, Splice
from shared.languages.python.definition_blocks import (
    Block,
    Import,
    add_members,
    member_indent,
    merge_header,
    merge_statements,
    read_block,
    refuse_placeholders,
    source_of,
)
from shared.languages.python.merge_stubs import is_meant, normal_changes
from shared.languages.python.module_definitions import (
    Definition,
    Module,
    Place,
    Refused,
    count_overloads,
    group_nodes,
    group_places,
    is_docstring,
)
from shared.languages.python.stubs import bindings, flat

_FIRST_LINES: Final = re.compile(r"#!|#.*coding[:=]")


def missing_imports(module: Module, imports: Sequence[Import]) -> tuple[str, ...]:
    """Return a line for each import that the head of the module lacks.

    Raises `Refused` where the head binds the same name to something else: an added import would
    change what the rest of the file means by it.
    """
    head = list(flat(module.head()))
    there = {each for statement in head for each in _lines(statement)}
    taken = {name: statement.lineno for statement in head for name, _ in bindings(statement)}
    packages = {name for name, line in there if re.match(rf"import {name}(?:\.|$)", line)}
    missing: dict[str, None] = {}
    for name, line in (each for statement in imports for each in _lines(statement)):
        if (name, line) in there:
            continue
        # `import a.b` adds to what `import a` made of `a`, and changes nothing of it.
        extends = name in packages and re.match(rf"import {name}(?:\.|$)", line)
        if name in taken and not extends:
            reason = f"the block has `{line}`, but `{name}` is something else in the file"
            raise Refused(reason, taken[name])
        missing[line] = None
    return tuple(missing)


def add_imports(module: Module, lines: Sequence[str]) -> tuple[Splice, ...]:
    """Return the splices that add lines to the imports at the module's head."""
    future = [line for line in lines if line.startswith("from __future__ ")]
    others = [line for line in lines if line not in future]
    wanted = ((future, _is_future), (others, _is_import))
    splices = [_after_last(module, lines, kind) for lines, kind in wanted if lines]
    return tuple(splices)


def _after_last(module: Module, lines: list[str], is_kind: Callable[[ast.stmt], bool]) -> Splice:
    """Return the splice that adds lines after the last such statement of the head."""
    head = module.head()
    same = [each for each in head if is_kind(each)]
    if same:
        return module.inserting(same[-1].end_lineno or 0, lines)
    if head and is_docstring(head[0]):
        return module.inserting(head[0].end_lineno or 0, ["", *lines])
    if head:
        return module.inserting(head[0].lineno - 1, [*lines, ""])
    first = 0
    while _FIRST_LINES.match(module.lines[first]):
        first += 1
    return module.inserting(first, [*lines, "", ""])


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, Import)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _lines(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, with an import of this name alone."""
    match statement:
        case ast.Import(names=names):
            for each in names:
                yield each.asname or each.name.split(".")[0], f"import {_alias(each)}"
        case ast.ImportFrom(module=source, names=names, level=level):
            for each in names:
                line = f"from {'.' * level}{source or ''} import {_alias(each)}"
                yield each.asname or each.name, line
        case _:
            return


def _alias(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


_NAME: Final = re.compile(r"(?:async +)?(?:def +|class +)?(?P<name>[^\s(]+)\s*(?:\(.*\)?:?)?")
_OWN_ARGUMENTS: Final = frozenset({"self", "cls"})
_OWN_DECORATORS: Final = frozenset({"property", "staticmethod", "classmethod", "cached_property"})


def edit_definitions(
    path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
) -> tuple[DefinitionEdit | EditRefused, ...]:
    """Return for each edit how it changes the file at `path`, or why it cannot.

    A definition is replaced where it is, and added where it is not: a method after the last of its
    class, anything else at the end of the file, before `if __name__ == "__main__":`. All splices
    are for `text`. `changes` are the names that may give way to others.
    """
    changed = normal_changes(changes)
    try:
        module = Module(text)
    except Refused as refused:
        return tuple(EditRefused(refused.reason, refused.lines) for _ in edits)
    return tuple(_edit(module, path, each, changed) for each in edits)


def _edit(
    module: Module, path: str, edit: NamedCode, changed: Collection[str]
) -> DefinitionEdit | EditRefused:
    try:
        block = read_block(edit.code)
        return _Editing(module, path, changed, block).edit(_plain_name(edit.name))
    except Refused as refused:
        return EditRefused(refused.reason, refused.lines)
    except RecursionError:
        return EditRefused("the code is nested too deep")


def _plain_name(written: str) -> str:
    found = _NAME.fullmatch(written.strip())
    name = found["name"] if found else ""
    if not all(part.isidentifier() for part in name.split(".")):
        raise Refused(f"{written[:80]!r} is not a name: write Class.method, function or Class")
    return name


@dataclass(slots=True)
class _Editing:
    module: Module
    path: str
    changed: Collection[str]
    block: Block
    splices: list[Splice] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)

    def edit(self, name: str) -> DefinitionEdit:
        """Return the edit that gives the definition `name` the code of the block."""
        self._refuse_other_statements()
        named = self._group_by_name()
        name = self._through_class(name, named)
        target = name.rpartition(".")[2]
        places = self._find(name)
        if target not in named:
            target = self._renamed(name, named, places)
        qualified = places[0].name if places else name
        scope = qualified.rpartition(".")[0]
        self._put(named.pop(target), places, qualified)
        for other, nodes in named.items():
            full = f"{scope}.{other}" if scope else other
            self._put(nodes, self._exactly(full), full)
            self.repairs.append(f"the block for `{name}` also holds `{other}`, which was put in")
        imports = missing_imports(self.module, self.block.imports)
        if imports:
            self.repairs.append(f"added to the imports of {self.path}: {'; '.join(imports)}")
            self.splices += add_imports(self.module, imports)
        splices = tuple(each for each in self.splices if not self._is_idle(each))
        if not splices:
            raise Refused(f"the block changes nothing: `{qualified}` is in the file as it is given")
        return DefinitionEdit(splices, tuple(self.repairs))

    def _refuse_other_statements(self) -> None:
        if not self.block.definitions:
            raise Refused("the block defines no function and no class")
        for statement in self.block.others:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # an ellipsis or a string beside a definition says nothing
            shown = ast.unparse(statement).splitlines()[0][:60]
            raise Refused(
                f"the block holds `{shown}` beside its definitions, and only imports may stand "
                "there: change other statements by a search text"
            )

    def _group_by_name(self) -> dict[str, list[Definition]]:
        named: dict[str, list[Definition]] = {}
        for node in self.block.definitions:
            named.setdefault(node.name, []).append(node)
        return named

    def _through_class(self, name: str, named: Mapping[str, Sequence[Definition]]) -> str:
        """Return the name of the class where the block holds the class around what is named."""
        scope, _, target = name.rpartition(".")
        match list(named.values()):
            case [[ast.ClassDef(name=owner, body=body)]] if owner != target:
                has_target = any(
                    isinstance(each, Definition) and each.name == target for each in body
                )
                if has_target and scope.rpartition(".")[2] in ("", owner):
                    self.repairs.append(f"the block for `{name}` holds its class, which was merged")
                    return scope or owner
            case _:
                pass
        return name

    def _renamed(self, name: str, named: Mapping[str, object], places: Sequence[Place]) -> str:
        """Return the one name that the block defines instead, if the order says it may."""
        full = places[0].name if places else name
        if len(named) == 1 and places and is_meant(full, self.path, self.changed):
            return next(iter(named))
        listed = ", ".join(f"`{each}`" for each in named)
        raise Refused(f"the header names `{name}`, but the block defines {listed}")

    def _find(self, name: str) -> tuple[Place, ...]:
        """Return the definitions that are meant by a name, which may lack its first parts."""
        ending = self.module.ending_in(name)
        if exact := tuple(each for each in ending if each.name == name):
            return exact
        names = {each.name for each in ending}
        if len(names) > 1:
            raise Refused(
                f"`{name}` may be any of {', '.join(sorted(names))}: write the whole name",
                *(each.line for each in ending),
            )
        if ending:
            self.repairs.append(f"`{name}` was read as `{ending[0].name}`")
        stem = posixpath.splitext(posixpath.basename(self.path))[0]
        if not ending and name.startswith(f"{stem}."):
            return self._find(name.removeprefix(f"{stem}."))
        return ending

    def _exactly(self, name: str) -> tuple[Place, ...]:
        return tuple(each for each in self.module.ending_in(name) if each.name == name)

    def _put(self, nodes: Sequence[Definition], places: Sequence[Place], name: str) -> None:
        if not places:
            self._add(nodes, name)
            return
        old, new = group_places(places), group_nodes(nodes)
        before, after = count_overloads(old), count_overloads(new)
        if 0 < after < before:
            raise Refused(f"`{name}` has {before} overloads, and the block only {after}")
        missing: list[Definition] = []
        for role, node in new.items():
            if role in old:
                self._replace(node, old[role])
            else:
                missing.append(node)
        if missing:
            last = max(old.values(), key=lambda each: each.end)
            lines = self._lines(missing, last.indent)
            self.splices.append(self.module.inserting(last.end, ["", *lines], last.indent))

    def _replace(self, node: Definition, place: Place) -> None:
        refuse_placeholders(node, place.node)
        if isinstance(node, ast.ClassDef) and isinstance(place.node, ast.ClassDef):
            self._merge(node, place)
            return
        if isinstance(node, ast.ClassDef) or isinstance(place.node, ast.ClassDef):
            kind = "class" if isinstance(place.node, ast.ClassDef) else "function"
            raise Refused(
                f"`{place.name}` is a {kind} in the file, and not in the block", place.line
            )
        lines = self._without_comments_above(self._lines([node], place.indent), place)
        start = place.start
        if place.node.decorator_list and not node.decorator_list:
            start = place.line - 1
            self.repairs.append(f"the decorators of `{place.name}` were kept")
        self.splices.append(self.module.replacing(start, place.end, lines))

    def _merge(self, node: ast.ClassDef, place: Place) -> None:
        self.splices += merge_header(self.module, place, self.block, node)
        self.splices += merge_statements(self.module, place, self.block, node)
        named: dict[str, list[Definition]] = {}
        for each in node.body:
            if isinstance(each, Definition):
                named.setdefault(each.name, []).append(each)
        for name, nodes in named.items():
            full = f"{place.name}.{name}"
            self._put(nodes, self._exactly(full), full)

    def _add(self, nodes: Sequence[Definition], name: str) -> None:
        for node in nodes:
            refuse_placeholders(node, None)
        scope = name.rpartition(".")[0]
        owner = self._owner(scope) if scope else self._only_class(nodes[0])
        if owner is not None:
            lines = self._lines(nodes, member_indent(self.module, owner))
            self.splices.append(add_members(self.module, owner, lines))
            return
        self.splices.append(self._at_end(self._lines(nodes, "")))

    def _owner(self, name: str) -> Place:
        places = self._find(name)
        if len(places) == 1 and isinstance(places[0].node, ast.ClassDef):
            return places[0]
        close = ", ".join(self.module.close_to(name))
        hint = f"; the file defines {close}" if close else ""
        raise Refused(
            f"the file has {'no' if not places else 'not exactly one'} class `{name}`{hint}",
            *(each.line for each in places),
        )

    def _only_class(self, node: Definition) -> Place | None:
        """Return the class that a method without a class in its header must belong to, if any."""
        if not _is_method(node):
            return None
        classes = self.module.classes()
        if len(classes) == 1:
            self.repairs.append(f"`{node.name}` was read as `{classes[0].name}.{node.name}`")
            return classes[0]
        raise Refused(
            f"`{node.name}` is a method, and the file has no method of this name: write its class "
            f"before it, as in {self.path}::Class.{node.name}"
        )

    def _at_end(self, lines: Sequence[str]) -> Splice:
        """Return the splice that adds lines after the last top-level code but the main guard."""
        end = self.module.main_guard()
        text = self.module.lines
        guarded = end is not None
        end = len(text) if end is None else end
        while end and guarded and text[end - 1].startswith("#"):
            end -= 1
        while end and not text[end - 1].strip():
            end -= 1
        below = ["", ""] if end < len(text) and text[end].strip() else []
        return self.module.inserting(end, [*(["", ""] if end else []), *lines, *below])

    def _lines(self, nodes: Sequence[Definition], indent: str) -> list[str]:
        lines: list[str] = []
        for node in nodes:
            lines += ["", *source_of(self.block, node, indent, self.module.unit)]
        return lines[1:]

    def _without_comments_above(self, lines: list[str], place: Place) -> list[str]:
        """Return lines without leading comments that stand above the definition already."""
        count = next(
            number for number, line in enumerate(lines) if not line.lstrip().startswith("#")
        )
        above = [line.rstrip() for line in self.module.lines[place.start - count : place.start]]
        return (
            lines[count:] if count and above == [each.rstrip() for each in lines[:count]] else lines
        )

    def _is_idle(self, splice: Splice) -> bool:
        return self.module.source[splice.start : splice.end] == splice.text


def _is_method(node: Definition) -> bool:
    if isinstance(node, ast.ClassDef):
        return False
    arguments = [*node.args.posonlyargs, *node.args.args]
    decorators = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
    has_own = bool(arguments) and arguments[0].arg in _OWN_ARGUMENTS
    return has_own or not decorators.isdisjoint(_OWN_DECORATORS)
