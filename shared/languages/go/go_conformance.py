"""Checks by the compiler whether Go keeps its contracts; builds Go that does nothing else."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import ContractViolation
from shared.languages.declared.declarations import (
    Declarations,
    Declared,
    Imported,
    TypeParameters,
    read_root,
    renamed,
    same_names,
    split_list,
    type_parameters,
)
from shared.languages.declared.declared_contracts import (
    Complaint,
    Contract,
    DeclaredConformance,
    Kept,
    Reading,
    Stubs,
    compare_members,
    differs,
    folder_of,
    is_missing,
    merge,
    readable,
    require_judged,
    run_compiler,
)
from shared.languages.go.go_modules import (
    embedded_paths,
    is_constrained,
    is_standard,
    module_folder,
    read_modules,
)
from shared.languages.go.go_source import is_test_file, read_go
from shared.languages.language_tools import ToolRunner

if TYPE_CHECKING:
    from shared.work_order.work_order import Interface


def generic_types(types: Iterable[Declared]) -> dict[str, TypeParameters]:
    """Return the parameters of each generic type by name; of two declarations the last counts."""
    found = {each.name: _parameters_of_type(each) for each in types}
    return {name: each for name, each in found.items() if each.names}


def write_probe(item: Declared, generic: Mapping[str, TypeParameters]) -> str:
    """Return the code on one line; nothing for what is not compared by its type.

    `generic` has the parameters of the generic types of the package. No code can name `_` and the
    function `init`.
    """
    if item.last_name == "_" or item.name == "init":
        return ""
    match item.kind:
        case "type":
            probe = _of_type(item, generic.get(item.name, TypeParameters()))
        case "function" if item.owner:
            probe = _of_method(item, generic.get(item.owner, TypeParameters()))
        case "function":
            probe = _of_function(item, f"func({_parameters(item.key)}){_result(item)}")
        case _:
            probe = _of_value(item)
    return probe if "`" not in probe and _parses(probe) else ""


def _parses(line: str) -> bool:
    """Return whether a line of Go parses: the fields of a struct need more than one line."""
    import tree_sitter_go

    root = read_root(tree_sitter_go.language, f"package a\n{line}\n")
    return root is not None and not root.has_error


def _parameters_of_type(item: Declared) -> TypeParameters:
    """Return the type parameters of a type; an array, `type_spec [ N ] int`, has none."""
    return type_parameters(item.key) if _GENERIC_TYPE.match(item.key) else TypeParameters()


def _kind_of_type(item: Declared) -> str:
    """Return what a type is made of: `[ ] int`; only the word for a struct or an interface."""
    own = _parameters_of_type(item)
    return (own.rest if own.names else item.key.partition(" ")[2]).strip()


def _of_type(item: Declared, generic: TypeParameters) -> str:
    """Return the conversion of a pointer, which needs the same underlying type.

    That of an alias is assigned, which needs the same type.
    """
    own, kind = _parameters_of_type(item), _kind_of_type(item)
    names = ", ".join(generic.names)
    if kind in _LISTING:
        return f"func _[{generic.text}]() {{ var _ {item.name}[{names}] }}" if names else ""
    if item.key.startswith("type_alias"):
        return "" if names else f"func _(_p *{kind}) {{ var _ *{item.name} = _p }}"
    if not own.names:
        return f"func _(_p *{kind}) {{ _ = (*{item.name})(_p) }}"
    given = ", ".join(own.names)
    return f"func _[{own.text}](_p *{kind}) {{ _ = (*{item.name}[{given}])(_p) }}"


def _of_value(item: Declared) -> str:
    """Return the assignment of a variable; for a constant, a map with a key twice if it differs."""
    if item.key.startswith("var "):
        return f"var _ {item.result} = {item.name}" if item.result else ""
    value = item.key.removeprefix(f"const {item.result} ").strip()
    if not value or _COUNTED.search(value):
        return ""
    given = f"({item.result})({value})" if item.result else f"({value})"
    return f"var _ = map[bool]int{{false: 0, {item.name} == {given}: 1}}"


def _result(item: Declared) -> str:
    return f" ({item.result})" if item.result else ""


def _of_method(item: Declared, generic: TypeParameters) -> str:
    """Return the assignment of a method; that of a generic type has the type's constraints."""
    names = type_parameters(item.key).names
    if len(names) != len(generic.names):
        return ""  # one of the two is not what it seems, and the compiler says so by itself
    own = {name: f"P{at}" for at, name in enumerate(generic.names)}  # the receiver may have `_`
    key = renamed(item.key, dict(zip(names, own.values(), strict=True)))
    result = renamed(_result(item), dict(zip(names, own.values(), strict=True)))
    given = f"[{', '.join(own.values())}]" if own else ""
    receiver = f"{'*' if key.startswith('func *') else ''}{item.owner}{given}"
    kinds = ", ".join(filter(None, (receiver, _parameters(key))))
    assigned = f"var _ func({kinds}){result} = ({receiver}).{item.last_name}"
    return f"func _[{renamed(generic.text, own)}]() {{ {assigned} }}" if own else assigned


def _of_function(item: Declared, kind: str) -> str:
    """Return the assignment of a function; a generic one is taken for types that fit its own."""
    generic = type_parameters(item.key)
    if not generic.names:
        return f"var _ {kind} = {item.name}"
    given = ", ".join(generic.names)
    return f"func _[{generic.text}]() {{ var _ {kind} = {item.name}[{given}] }}"


def _parameters(key: str) -> str:
    """Return the parameters' types of a function's key: `string, int` of `func (string, int) E`."""
    start = key.index("(") + 1
    depth = 1
    for at in range(start, len(key)):
        depth += {"(": 1, ")": -1}.get(key[at], 0)
        if not depth:
            return key[start:at]
    return key[start:]


_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_GENERIC_TYPE: Final = re.compile(r"\w+\[")
_COUNTED: Final = re.compile(r"\biota\b")
_LISTING: Final = ("struct_type", "interface_type")
_LITERAL_TYPE: Final = re.compile(
    r"[\[*<]|(?:map|func|chan|bool|byte|rune|string|u?int\d*|uintptr|float\d+|complex\d+)\b"
)


def build_skeleton(
    interfaces: Sequence[Interface], sources: Mapping[str, str]
) -> Mapping[str, str]:
    """Return Go by path that keeps the contracts in `interfaces` and does nothing.

    Where `sources` already has the file, only the declared names are emptied. Contracts that do not
    parse are left out.
    """
    return {
        path: write_file(path, each, sources.get(path), package_in(path, sources))
        for path, each in _STUBS.contracts(interfaces).items()
    }


def write_file(
    path: str, contract: Contract, source: str | None, package: str, *, empty_all: bool = False
) -> str:
    """Return the text of one file that keeps its contract.

    `package` is the name of the package that other files of the folder have, and "" if there are
    none. With `empty_all`, the functions of `source` that are not declared are emptied too.
    """
    written = read_go(source) if source is not None else Declarations("")
    if written.fault is not None:
        written = Declarations("")
    name = written.package or contract.package or package or package_of_folder(path)
    pieces = list(_pieces(written, contract.items, empty_all=empty_all))
    code = "\n\n".join(pieces)
    imports = _used((*written.imports, *contract.imports), code)
    return "\n\n".join(filter(None, (f"package {name}", "\n".join(imports), code))) + "\n"


def package_in(path: str, sources: Mapping[str, str]) -> str:
    """Return the name of the package that a file's folder has in `sources`; "" for none."""
    folder = posixpath.dirname(path)
    for other, text in sources.items():
        is_beside = posixpath.dirname(other) == folder and other.endswith(".go")
        if is_beside and not is_test_file(other):
            return read_go(text).package
    return ""


def package_of_folder(path: str) -> str:
    """Return the name that a package in the folder of a file would have by custom."""
    folder = posixpath.basename(posixpath.dirname(path))
    name = re.sub(r"\W", "", folder.rpartition("-")[2])
    return name if _NAME.fullmatch(name) and folder != "cmd" else "main"


def emptied(item: Declared) -> str:
    """Return a function that does nothing; another declaration stays as it is."""
    if item.kind != "function":
        return item.text
    named = ", ".join(
        f"_r{number} {each}" for number, each in enumerate(split_list(item.result, "([{", ")]}"))
    )
    result = f" ({named})" if named else ""
    return f"{item.opening}{result} {{ return }}"


def _pieces(
    written: Declarations, contract: Sequence[Declared], *, empty_all: bool
) -> Iterable[str]:
    declared = {each.name: each for each in merge(written.items, contract)}
    new = {each.name for each in contract}
    done: set[tuple[int, str]] = set()
    together = Counter((each.start, each.text) for each in written.items)
    for item in written.items:
        if item.name in new and together[item.start, item.text] == 1:
            yield emptied(declared[item.name])
        elif (item.start, item.text) not in done:
            yield emptied(item) if empty_all else item.text
            done.add((item.start, item.text))
    there = {each.name for each in written.items}
    for item in contract:
        if item.name not in there and (item.start, item.text) not in done:
            yield emptied(declared[item.name])
            done.add((item.start, item.text))


def _used(imports: Iterable[Imported], code: str) -> list[str]:
    """Return the imports that the code uses: Go refuses any other."""
    seen: dict[str, str] = {}
    for each in imports:
        if each.name in (".", "_") or re.search(rf"\b{re.escape(each.name)}\s*\.", code):
            seen.setdefault(f"{each.name} {each.source}", f"import {each.text}")
    return list(dict.fromkeys(seen.values()))


def write_contract(contract: Contract) -> str:
    """Return the text of a contract, functions without bodies."""
    texts = dict.fromkeys(each.text for each in contract.items)
    imports = dict.fromkeys(f"import {each.text}" for each in contract.imports)
    package = f"package {contract.package}" if contract.package else ""
    return "\n\n".join(filter(None, (package, "\n".join(imports), *texts))) + "\n"


_COMPLAINT: Final = re.compile(
    r"^(?:\./)?(?P<path>[^\s:#][^:\n]*\.go):(?P<line>\d+)(?::(?P<column>\d+))?: "
    r"(?P<message>.+)$",
    re.MULTILINE,
)
_WORD: Final = r"[A-Za-z_]\w*"
_LACKS: Final = re.compile(
    rf"\.(?P<name>{_WORD}) undefined \(type (?P<type>.+?) has no field or method "
)
_MAX_MESSAGE: Final = 300


def read_complaints(output: str) -> Iterator[Complaint]:
    """Yield the complaints in the compiler's output. Never raises."""
    for found in _COMPLAINT.finditer(output):
        line, column = found["line"], found["column"] or "1"
        if len(line) < 9 and len(column) < 9:
            message = found["message"].strip()[:_MAX_MESSAGE]
            yield Complaint(found["path"], int(line), int(column), message)


_CODES: Final[tuple[tuple[str, str], ...]] = (
    # A language version that is too old, and packages that cannot be had here.
    (r"missing go\.sum entry|updates to go\.(?:mod|sum) needed|module lookup disabled", ""),
    (r"requires go1\.|no required module provides|is not in std|cannot find (?:package|mod)", ""),
    (r"too many errors|could not import|import cycle|use of internal package|^other decl", ""),
    (r"not enough arguments in call|too many arguments in call", "E212"),
    (r"too (?:few|many) values in struct literal", "E212"),
    (r"cannot use .+ in argument to|cannot use .+ in struct literal", "E213"),
    (r"declared and not used|imported and not used|imported as .+ and not used", "E206"),
    (r"^syntax error|missing return|redeclared in this block|no new variables on left", "E206"),
    (r"^label \w+ defined and not used|is not used$|^expected |^missing ", "E206"),
    (r"cannot use .+ (?:value|variable|constant|literal)", "E214"),
    (r"assignment mismatch|multiple-value|used as value", "E214"),
    (r"invalid operation|invalid argument", "E214"),
    (r"cannot (?:index|call|range over|convert|slice|assign|indirect|compare|take)", "E214"),
    (r"impossible type|non-boolean condition", "E214"),
    (r"is not (?:an interface|a type|an expression)", "E214"),
)  # fmt: skip
_COMPILED: Final = tuple((re.compile(pattern), code) for pattern, code in _CODES)


def judge(message: str) -> Reading | None:
    """Return what a message means; `None` if the test is not at fault."""
    if found := _LACKS.search(message):
        owner = found["type"].replace("*", "").split("[")[0].rpartition(".")[2].strip()
        owner = owner.split(" ")[-1]
        return Reading("E211", f"{owner}.{found['name']}", lacking=True)
    if found := re.match(rf"undefined: (?:({_WORD})\.)?({_WORD})$", message):
        qualified = found[1] is not None
        return Reading("E211" if qualified else "E216", found[2], found[1] or "", lacking=True)
    if found := re.search(rf"name ({_WORD}) not exported by package ({_WORD})", message):
        return Reading("E211", found[1], found[2])
    if " undefined (" in message:
        return Reading("E211")
    if found := re.search(rf"unknown field ({_WORD}) in struct literal of type ([\w.]+)", message):
        name = f"{found[2].rpartition('.')[2]}.{found[1]}"
        return Reading("E211", name, lacking=True)
    code = next((code for pattern, code in _COMPILED if pattern.search(message)), "W222")
    callee = re.search(rf"(?:in call to|argument to) (?:({_WORD})\.)?({_WORD})", message)
    name, package = (callee[2], callee[1] or "") if callee else ("", "")
    return Reading(code, name, package) if code else None


_PROBE: Final = "llmch_contract_probe{}.go"
_BUILT_FROM: Final = (".go", ".s", ".S", ".c", ".h")  # a package without one of its files fails
_MANIFESTS: Final = frozenset({"go.mod", "go.sum", "go.work", "go.work.sum"})
_VENDORED: Final = "vendor/modules.txt"  # without it, no package of that folder is found
_STUBS: Final = Stubs(".go", read_go, write_contract)


def reads(path: str) -> bool:
    """Return whether go compiles the file, or it says which modules there are."""
    name = path.rpartition("/")[2]
    return path.endswith((*_BUILT_FROM, _VENDORED)) or name in _MANIFESTS


def _differences(
    path: str, contract: Declarations, written: Declarations
) -> Iterator[ContractViolation]:
    for item in contract.items:
        if item.last_name == "_":
            continue  # it has no name to be found by
        has = written.named(item.name)
        if has and _is_other_kind(item, has[0]):
            yield _differing(path, item, has[0])
        else:
            yield from compare_members(path, item, has[0]) if has else (is_missing(path, item),)


def _differing(path: str, item: Declared, has: Declared) -> ContractViolation:
    return ContractViolation(path, item.name, differs(item.name, item.head, has.head))


def _is_other_kind(item: Declared, has: Declared) -> bool:
    """Return whether one is a type, a struct, a variable, and the other is certainly none."""
    if item.kind != has.kind:
        return True
    if item.kind == "value":
        return item.key.split(" ")[0] != has.key.split(" ")[0]
    declared, written = _kind_of_type(item), _kind_of_type(has)
    is_certain = written in _LISTING or bool(_LITERAL_TYPE.match(written))
    return item.kind == "type" and declared in _LISTING and declared != written and is_certain


def _wrong_types(
    kept: Kept, interfaces: Sequence[Interface], sources: Mapping[str, str], runner: ToolRunner
) -> Iterator[ContractViolation]:
    """Yield the functions and values whose types differ, by an assignment to the declared type.

    Each contract has a file of its own for that, with the imports of the contract and of the code.
    A file that is not built here is compared by its text.
    """
    files = readable(sources, (*_BUILT_FROM, _VENDORED, *_MANIFESTS))
    if not any(posixpath.basename(path) == "go.mod" for path in files):
        files["go.mod"] = "module planned\n\ngo 1.21\n"
    files = dict.fromkeys(embedded_paths(files), "") | files
    contracts = _STUBS.merged(interfaces)
    generic = _generic_by_folder(kept, sources)
    places: dict[tuple[str, int], tuple[str, Declared]] = {}
    folders: dict[str, None] = {}
    for number, (path, (written, items)) in enumerate(kept.items()):
        contract, folder = contracts[path], folder_of(path)
        if is_test_file(path) or is_constrained(path, written.text):
            yield from _other_texts(path, contract, written)
            continue
        probed = [(item, write_probe(item, generic[folder])) for item in items]
        lines = [(item, line + _with_own_types(line)) for item, line in probed if line]
        code = "\n".join(line for _, line in lines)
        head = "; ".join((f"package {written.package}", *_imports(contract, written, code)))
        probe = posixpath.join(folder, _PROBE.format(number))
        files[probe] = f"{head}\n{code}\n"
        places |= {(probe, at): (path, item) for at, (item, _) in enumerate(lines, 2)}
        folders[folder] = None
    complained = [*_complaints(files, tuple(folders), runner)]
    asked = [(*places[p, at], words) for p, at, words in complained if (p, at) in places]
    found = [(path, item) for path, item, words in asked if _is_difference(item, words)]
    wrong = {item.name for _, item in found if item.kind == "type"}
    for path, item in found:
        if item.owner not in wrong:  # else each method of the type differs with it
            yield _differing(path, item, kept[path][0].named(item.name)[0])
    for folder, at, words in complained:
        if not at:
            inside = (path for path, _ in places.values() if folder_of(path) == folder)
            require_judged("go", tuple(dict.fromkeys(inside)), words)


# What a literal's type is, whatever a package declares under the name of a type of the language.
_TYPED_LITERALS: Final[Mapping[str, str]] = {
    "int": "1", "string": '""', "bool": "1 < 2", "float64": "1.0", "complex128": "1i",
    "rune": "'a'", "int32": "'a'", "byte": '"a"[0]', "uint8": '"a"[0]',
}  # fmt: skip


def _with_own_types(line: str) -> str:
    """Return declarations that compile where the types in a probe are those of the language."""
    named = [each for each in _TYPED_LITERALS if re.search(rf"\b{each}\b", line)]
    return "".join(
        f"; var _ = func() *{each} {{ v := {_TYPED_LITERALS[each]}; return &v }}" for each in named
    )


def _generic_by_folder(
    kept: Kept, sources: Mapping[str, str]
) -> dict[str, dict[str, TypeParameters]]:
    """Return the generic types of each package with a contract."""
    declared: dict[str, list[Declared]] = {}
    for path, (_, items) in kept.items():
        declared.setdefault(folder_of(path), []).extend(items)
    return {
        folder: generic_types(_types_of(items, folder, sources))
        for folder, items in declared.items()
    }


def _imports(contract: Declarations, written: Declarations, code: str) -> tuple[str, ...]:
    """Return those imports of both that the code uses, as they are written.

    One that it does not use would be a fault, after which no package that imports this one is
    compiled. A package may have another name than its path ends with, so that such imports are
    there where a name of the code has no other. Those of the contract come first: where both give a
    name, the first counts.
    """
    used = set(re.findall(r"\b(\w+) ?\.", code))
    there = {each.source for each in written.imports}
    every = [each for each in (*contract.imports, *written.imports) if each.source != "C"]
    left = used - {each.name for each in every if _is_certain(each)}
    found: dict[str, Imported] = {}
    for each in every:
        is_wanted = each.name in used or (each.name == "." and each.source in there)
        may_be = left and each.source in there and not _is_certain(each)
        is_there = each.name in {e.name for e in found.values()} - {"."}
        if (is_wanted or may_be) and not is_there:
            found.setdefault(each.source, each)
    return tuple(f"import {each.text}" for each in found.values())


def _is_certain(imported: Imported) -> bool:
    """Return whether the name of a package is known: it is given, or of the standard library."""
    is_given = imported.text[:1] not in ('"', "`")
    return is_given or is_standard(imported.source)


_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`')  # such as a tag of a field
# The code is for an older Go than the probe, or the type may only be a constraint.
_NO_DIFFERENCE: Final = re.compile(r"requires go1\.|outside a type constraint|could not import")


def _is_difference(item: Declared, message: str) -> bool:
    """Return whether a complaint about a probe is about the code; a name may not be built here."""
    if _NO_DIFFERENCE.search(_QUOTED.sub("", message)):
        return False
    if undefined := re.match(rf"undefined: ({_WORD})$", message):
        is_type_of_function = item.kind == "function" or item.key.startswith("var ")
        return is_type_of_function and undefined[1] not in (item.name, item.owner)
    return f".{item.last_name} undefined (type " not in message


def _other_texts(
    path: str, contract: Declarations, written: Declarations
) -> Iterator[ContractViolation]:
    """Yield the functions, types and variables whose types are written otherwise."""
    theirs = {each.name: each.source for each in written.imports}
    own = theirs | {each.name: each.source for each in contract.imports}
    for item in contract.items:
        for has in written.named(item.name)[:1]:
            kinds = [_kind_in_words(each) for each in (item, has)]
            declared = _spelled(renamed(kinds[0], same_names(item, has)), own)
            if all(kinds) and declared != _spelled(kinds[1], theirs):
                yield _differing(path, item, has)


def _kind_in_words(item: Declared) -> str:
    """Return the type of a declaration; nothing where equal ones may be written differently."""
    if item.kind == "value":
        return item.result if item.key.startswith("var ") else ""
    return item.key if item.kind == "function" or _kind_of_type(item) not in _LISTING else ""


_SPELLINGS: Final = (("interface { }", "any"), ("byte", "uint8"), ("rune", "int32"))


def _spelled(kind: str, imports: Mapping[str, str]) -> str:
    """Return a type with one spelling, and packages by their paths."""
    for one, other in _SPELLINGS:
        kind = re.sub(rf"\b{one}(?!\w)", other, kind)
    return re.sub(r"(\w+) (?=\. \w)", lambda found: imports.get(found[1], found[1]), kind)


def _complaints(
    files: Mapping[str, str], folders: Sequence[str], runner: ToolRunner
) -> Iterator[tuple[str, int, str]]:
    """Yield the path, the line and the words of each error in these folders, module by module.

    A folder without a line is one whose compiler was not started.
    """
    modules = read_modules(files, files)
    inner = {folder: module_folder(f"{folder}/", modules) for folder in folders}
    for module in dict.fromkeys(inner.values()):
        mine = [each[len(module) :].strip("/") for each in folders if inner[each] == module]
        where = ("-C", module) if module else ()
        named = [f"./{each}" if each else "." for each in mine]
        command = ("go", *where, "build", "-gcflags=-e", "-o", "/dev/null", *named)
        result = run_compiler(runner, files, command, "the Go compiler")
        for each in read_complaints(f"{result.stdout}\n{result.stderr}"):
            yield posixpath.join(module, each.path), each.line, each.message
        said = result.stderr.strip().splitlines()
        if result.exit_code and not any(each.startswith("# ") for each in said):
            yield from (
                (each, 0, said[0] if said else "") for each in folders if inner[each] == module
            )


_CONFORMANCE: Final = DeclaredConformance(_STUBS, _differences, _wrong_types)
warm_up = _CONFORMANCE.warm_up
contracts_in_force = _CONFORMANCE.contracts_in_force
check_conformance = _CONFORMANCE.check_conformance


def _types_of(
    items: Sequence[Declared], folder: str, sources: Mapping[str, str]
) -> Iterator[Declared]:
    """Yield the types of a package as its code has them, and then as contracts have them."""
    for path in sources:
        if path.endswith(".go") and folder_of(path) == folder:
            yield from (each for each in read_go(sources[path]).items if each.kind == "type")
    yield from (item for item in items if item.kind == "type")
