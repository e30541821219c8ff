"""Implements `Edits` for Python: brings named definitions into the text of a file."""

from __future__ import annotations

import ast
import difflib
import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Final

from shared.languages.capabilities import (
    DefinitionEdit,
    EditRefused,
    NamedCode,
    PlaceForTests,
    Splice,
)
from shared.languages.declared.declarations import normal_changes
from shared.languages.declared.declared_edits import Near, Refused, names_near
from shared.languages.planned_code import DOES_NOT_PARSE
from shared.languages.python.definition_blocks import (
    CodeBlock,
    EditedFile,
    add_members,
    after_variables,
    count_overloads,
    first_line_of_code,
    import_splices,
    insert_beside,
    member_indent,
    merge_header,
    merge_statements,
    name_of,
    read_block,
    refuse_placeholders,
    roles_in_block,
    roles_in_file,
    source_of,
    without_comments_above,
)
from shared.languages.python.merge_stubs import is_meant
from shared.languages.python.python_code import parse_as_here
from shared.languages.python.python_source import (
    PythonDeclarations,
    PythonDeclared,
    check_rewrite,
    defined_names,
    find_tables,
    is_docstring,
    is_ellipsis,
    outline,
    read_python,
    split_chunks,
)
from shared.languages.python.stubs import Definition
from shared.languages.read_commands import CodeProblem

# What `Edits` asks for.
__all__ = [
    "check_rewrite",
    "defined_names",
    "edit_definitions",
    "find_tables",
    "outline",
    "place_for_tests",
]

_CLOSE_NAMES_SHOWN: Final = 5
_NOT_NAMES: Final = ("imports", "__doc__")  # that a header may have for what has no name


class _EditedModule:
    """Answer what an edited file defines. Raises `Refused` for a part that does not parse."""

    def __init__(self, text: str) -> None:
        self.file = EditedFile(text)
        self.read: PythonDeclarations = read_python(text)
        self.definitions = [each for each in self.read.items if isinstance(each.node, Definition)]

    def ending_in(self, name: str) -> tuple[PythonDeclared, ...]:
        """Return the definitions whose qualified names are `name` or end in it."""
        if any(names.issuperset(name.split(".")) for names in self.read.unread):
            raise self._unreadable()
        return tuple(e for e in self.definitions if f".{e.name}".endswith(f".{name}"))

    def head(self) -> list[ast.stmt]:
        body = self._chunk(0)[0]
        return list(takewhile(lambda each: not isinstance(each, Definition), body))

    def main_guard(self) -> int | None:
        """Return the line of `if __name__ == "__main__":` among the last statements, if it is."""
        body, above = self._chunk(-1)
        for statement in body:
            match statement:
                case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                    return above + statement.lineno - 1
                case _:
                    pass
        return None

    def _chunk(self, index: int) -> tuple[Sequence[ast.stmt], int]:
        chunk = split_chunks(self.file.text)[index]
        tree = parse_as_here(chunk.text)
        if isinstance(tree, CodeProblem):
            raise self._unreadable()
        return tree.body, chunk.lines_above

    def _unreadable(self) -> Refused:
        fault = self.read.fault
        line, message = (fault.line, fault.message) if fault else (0, "")
        return Refused(f"the file {DOES_NOT_PARSE}: line {line}: {message}", line)


def _missing_imports(module: _EditedModule, block: CodeBlock) -> tuple[str, ...]:
    """Return a line for each import of the block that the head of the module lacks.

    Raises `Refused` if the head binds the same name to something else: an added import would
    change what the rest of the file means by it.
    """
    if not block.imports:
        return ()
    head = module.head()
    below = max((each.end_lineno or 0 for each in head), default=0)
    imports = [each for each in module.read.imports if each.line <= below]
    there = {(each.name, each.text) for each in imports}
    taken = {e.name: e.line for e in module.read.items if e.line <= below and not e.owner}
    missing: dict[str, None] = {}
    for each in block.imports:
        if (each.name, each.text) in there:
            continue
        # `import a.b` adds to what `import a` made of `a`, and changes nothing of it.
        of_package = re.compile(rf"import {each.name}(?:\.|$)")
        extends = of_package.match(each.text) and any(of_package.match(e.text) for e in imports)
        if each.name in taken and not extends:
            reason = f"the block has `{each.text}`, but `{each.name}` is something else in the file"
            raise Refused(reason, taken[each.name])
        missing[each.text] = None
    return tuple(missing)


def _into_head(module: _EditedModule, name: str, lines: list[str]) -> Splice:
    """Return the splice that adds a variable after the head of a module, or its docstring."""
    head, file = module.head(), module.file
    if name == "the docstring":
        return replace(file.inserting(first_line_of_code(file), [*lines, ""]), depth=2)
    if not head:
        return file.inserting(first_line_of_code(file), [*lines, "", ""])
    gap = [] if name_of(head[-1]) and not is_docstring(head[-1]) else [""]
    return file.inserting(head[-1].end_lineno or 0, [*gap, *lines])


_NAME: Final = re.compile(r"(?:async +)?(?:def +|class +)?(?P<name>[^\s(]+)\s*(?:\(.*\)?:?)?")
_OWN_ARGUMENTS: Final = frozenset({"self", "cls"})
_OWN_DECORATORS: Final = frozenset({"property", "staticmethod", "classmethod", "cached_property"})


def edit_definitions(
    path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
) -> tuple[DefinitionEdit | EditRefused, ...]:
    """Return for each edit how it changes the file at `path`, or why it cannot.

    A definition is replaced where it is. One that is not there is added where its block has it,
    else beside what the edits before and after it change, else after the last of its class or at
    the end of the file, before `if __name__ == "__main__":`. All splices are for `text`. `changes`
    are the names that may give way to others.
    """
    changed = normal_changes(changes)
    try:
        module = _EditedModule(text)
    except Refused as refused:
        return tuple(EditRefused(refused.reason, refused.lines) for _ in edits)
    return tuple(
        _edit(module, path, each, changed, names_near(edits, at)) for at, each in enumerate(edits)
    )


def _edit(
    module: _EditedModule, path: str, edit: NamedCode, changed: Collection[str], near: Near
) -> DefinitionEdit | EditRefused:
    try:
        block = read_block(edit.code)
        return _DefinitionEditor(module, path, changed, block, near).edit(_plain_name(edit.name))
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
class _DefinitionEditor:
    module: _EditedModule
    path: str
    changed: Collection[str]
    block: CodeBlock
    near: Near
    splices: list[Splice] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)

    def edit(self, name: str) -> DefinitionEdit:
        named = _by_name(self.block.body)
        others = self._others(named)
        scope = ""
        if name in named or name not in (*_NOT_NAMES, *map(name_of, others)):
            name, scope = self._put_named(self._through_class(name, named), named)
        for other, nodes in named.items():
            full = f"{scope}.{other}" if scope else other
            self._put(nodes, self._exactly(full), full)
            self.repairs.append(f"the block for `{name}` also holds `{other}`, which was put in")
        if imports := _missing_imports(self.module, self.block):
            self.repairs.append(f"added to the imports of {self.path}: {'; '.join(imports)}")
            self.splices += import_splices(self.module.file, self.module.head(), imports)
        self._put_others(others, name, scope)
        text = self.module.file.text
        splices = tuple(each for each in self.splices if text[each.start : each.end] != each.text)
        if not splices:
            raise Refused(f"the block changes nothing: `{name}` is in the file as it is given")
        return DefinitionEdit(splices, tuple(self.repairs))

    def _put_named(self, name: str, named: dict[str, list[Definition]]) -> tuple[str, str]:
        """Put in what the header names; return its whole name and that of its class."""
        if not named:
            raise Refused(
                f"the header names `{name}`, which the block does not define: write all of it; "
                f"imports go under {self.path}::imports, a variable under its name"
            )
        target = name.rpartition(".")[2]
        places = self._find(name, named.get(target, ()))
        if target not in named:
            target = self._renamed(name, named, places)
        qualified = places[0].name if places else name
        self._put(named.pop(target), places, qualified)
        return name, qualified.rpartition(".")[0]

    def _others(self, named: Mapping[str, object]) -> list[ast.stmt]:
        """Return what is neither definition nor import; a string beside definitions is nothing."""
        return [
            each
            for each in self.block.body
            if not isinstance(each, Definition | ast.Import | ast.ImportFrom)
            and not is_ellipsis(each)
            and not (named and is_docstring(each))
        ]

    def _put_others(self, others: Sequence[ast.stmt], name: str, scope: str) -> None:
        if others and scope:
            shown = ast.unparse(others[0]).splitlines()[0][:60]
            raise Refused(
                f"the block of `{name}` holds `{shown}` beside its definitions, and only imports "
                "may stand there: change other statements by a search text"
            )
        given = [each for each in self.block.body if each in others or isinstance(each, Definition)]
        adding = partial(_into_head, self.module)
        body, file = self.module.read.body, self.module.file
        self.splices += merge_statements(file, body, self.block, given, "", adding)

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

    def _renamed(
        self, name: str, named: Mapping[str, object], places: Sequence[PythonDeclared]
    ) -> str:
        """Return the one name that the block defines instead, if the order says it may."""
        full = places[0].name if places else name
        if len(named) == 1 and places and is_meant(full, self.path, self.changed):
            return next(iter(named))
        listed = ", ".join(f"`{each}`" for each in named)
        raise Refused(f"the header names `{name}`, but the block defines {listed}")

    def _find(self, name: str, given: Sequence[Definition] = ()) -> tuple[PythonDeclared, ...]:
        """Return the definitions that are meant by a name, which may lack its first parts.

        A function that is given without `self` is not meant for a method that has it.
        """
        ending = self.module.ending_in(name)
        if exact := tuple(each for each in ending if each.name == name):
            return exact
        if given and "." not in name and not any(map(_is_method, given)):
            ending = tuple(each for each in ending if not _is_method(each.node))
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

    def _exactly(self, name: str) -> tuple[PythonDeclared, ...]:
        return tuple(each for each in self.module.ending_in(name) if each.name == name)

    def _put(
        self,
        nodes: Sequence[Definition],
        places: Sequence[PythonDeclared],
        name: str,
        given: Sequence[ast.stmt] = (),
    ) -> None:
        """Put definitions of one name in. `given` are the statements of the block around them."""
        if not places:
            self._add(nodes, name, given or self.block.body)
            return
        old, new = roles_in_file(places), roles_in_block(nodes)
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
            last = max(old.values(), key=lambda each: each.after)
            lines = self._lines(missing, last.indent)
            self.splices.append(self.module.file.inserting(last.after, ["", *lines], last.indent))

    def _replace(self, node: Definition, place: PythonDeclared) -> None:
        old = place.node
        assert isinstance(old, Definition)
        refuse_placeholders(node, old)
        if isinstance(node, ast.ClassDef) and isinstance(old, ast.ClassDef):
            self._merge(node, old, place.name)
            return
        if isinstance(node, ast.ClassDef) or isinstance(old, ast.ClassDef):
            kind = "class" if isinstance(old, ast.ClassDef) else "function"
            raise Refused(
                f"`{place.name}` is a {kind} in the file, and not in the block", place.line
            )
        lines = without_comments_above(
            self.module.file, self._lines([node], place.indent), place.first
        )
        start = place.first
        if old.decorator_list and not node.decorator_list:
            start = place.line - 1
            self.repairs.append(f"the decorators of `{place.name}` were kept")
        self.splices.append(self.module.file.replacing(start, place.after, lines))

    def _merge(self, node: ast.ClassDef, old: ast.ClassDef, owner: str) -> None:
        self.splices += merge_header(self.module.file, old, self.block, node)
        file, indent = self.module.file, member_indent(self.module.file, old)
        self.splices += merge_statements(
            file,
            old.body,
            self.block,
            node.body,
            indent,
            lambda name, lines: file.inserting(after_variables(old, name), lines, indent),
        )
        for name, nodes in _by_name(node.body).items():
            full = f"{owner}.{name}"
            self._put(nodes, self._exactly(full), full, node.body)

    def _add(self, nodes: Sequence[Definition], name: str, given: Sequence[ast.stmt]) -> None:
        for node in nodes:
            refuse_placeholders(node, None)
        file, scope = self.module.file, name.rpartition(".")[0]
        owner = self._owner(scope) if scope else self._only_class(nodes[0])
        around = owner.node if owner else None
        assert around is None or isinstance(around, ast.ClassDef)
        body, indent = self.module.read.body, ""
        if around is not None:
            body, indent = tuple(around.body), member_indent(file, around)
        lines = self._lines(nodes, indent)
        splice = insert_beside(file, body, self.block, given, nodes, lines, indent)
        splice = splice or self._beside_others(owner.name if owner else "", lines, indent)
        if splice is None and owner is not None and isinstance(around, ast.ClassDef):
            splice = add_members(file, owner.name, around, lines)
        elif splice is None:
            self.repairs.append(f"`{name}` is new, and was put at the end of {self.path}")
            splice = self._at_end(lines)
        self.splices.append(splice)

    def _beside_others(self, scope: str, lines: Sequence[str], indent: str) -> Splice | None:
        """Return the splice that adds lines beside what the block before or after changes."""
        before, after = self.near
        file, gap = self.module.file, [""] * (1 if scope else 2)
        for written in reversed(before):
            if places := self._at_level(written, scope):
                return file.inserting(max(e.after for e in places), [*gap, *lines], indent)
        for written in after:
            if places := self._at_level(written, scope):
                start = file.above_comments(min(each.first for each in places))
                return file.inserting(start, [*lines, *gap], indent)
        return None

    def _at_level(self, written: str, scope: str) -> tuple[PythonDeclared, ...]:
        """Return what a header names, or the class around it, among what `scope` defines."""
        try:
            name = _plain_name(written)
            if "." not in name:
                name = next((each.name for each in self.module.ending_in(name)), name)
        except Refused:
            return ()
        if scope and not name.startswith(f"{scope}."):
            return ()
        rest = name.removeprefix(f"{scope}.").partition(".")[0]
        return self._exactly(f"{scope}.{rest}" if scope else rest)

    def _owner(self, name: str) -> PythonDeclared:
        places = self._find(name)
        if len(places) == 1 and places[0].kind == "type":
            return places[0]
        names = dict.fromkeys(each.last_name for each in self.module.definitions)
        last = name.rpartition(".")[2]
        close = ", ".join(difflib.get_close_matches(last, names, _CLOSE_NAMES_SHOWN))
        hint = f"; the file defines {close}" if close else ""
        raise Refused(
            f"the file has {'no' if not places else 'not exactly one'} class `{name}`{hint}",
            *(each.line for each in places),
        )

    def _only_class(self, node: Definition) -> PythonDeclared | None:
        """Return the class that a method without a class in its header must belong to, if any."""
        if not _is_method(node):
            return None
        classes = [e for e in self.module.definitions if e.kind == "type" and not e.owner]
        if len(classes) == 1:
            self.repairs.append(f"`{node.name}` was read as `{classes[0].name}.{node.name}`")
            return classes[0]
        raise Refused(
            f"`{node.name}` is a method, and the file has no method of this name: write its class "
            f"before it, as in {self.path}::Class.{node.name}"
        )

    def _at_end(self, lines: Sequence[str]) -> Splice:
        """Return the splice that adds lines after the last top-level code but the main guard."""
        end, text = _end_of_code(self.module), self.module.file.lines
        below = ["", ""] if end < len(text) and text[end].strip() else []
        return self.module.file.inserting(end, [*(["", ""] if end else []), *lines, *below])

    def _lines(self, nodes: Sequence[Definition], indent: str) -> list[str]:
        lines: list[str] = []
        for node in nodes:
            lines += ["", *source_of(self.block, node, indent, self.module.file.unit)]
        return lines[1:]


def _by_name(body: Sequence[ast.stmt]) -> dict[str, list[Definition]]:
    named: dict[str, list[Definition]] = {}
    for each in body:
        if isinstance(each, Definition):
            named.setdefault(each.name, []).append(each)
    return named


def _end_of_code(module: _EditedModule) -> int:
    end, text = module.main_guard(), module.file.lines
    guarded = end is not None
    end = len(text) if end is None else end
    while end and guarded and text[end - 1].startswith("#"):
        end -= 1
    while end and not text[end - 1].strip():
        end -= 1
    return end


def place_for_tests(path: str, text: str) -> PlaceForTests:
    """Return the end of the code of a module, before its main guard."""
    module = _EditedModule(text)
    guarded = module.main_guard() is not None
    at = module.file.inserting(_end_of_code(module), ()).start if guarded else len(text)
    return PlaceForTests(at, blanks=2)


def _is_method(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    arguments = [*node.args.posonlyargs, *node.args.args]
    decorators = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
    has_own = bool(arguments) and arguments[0].arg in _OWN_ARGUMENTS
    return has_own or not decorators.isdisjoint(_OWN_DECORATORS)
