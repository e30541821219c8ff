"""Checks whether Rust keeps its contracts, by its compiler's words."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import ContractViolation
from shared.languages.declared.declarations import (
    Declarations,
    Declared,
    Member,
    block_parameters,
    cut,
    renamed,
    same_names,
    type_parameters,
)
from shared.languages.declared.declared_contracts import (
    Complaint,
    DeclaredConformance,
    Kept,
    Reading,
    compare_members,
    differs,
    is_missing,
    readable,
    require_judged,
    run_compiler,
)
from shared.languages.language_tools import ToolRunner
from shared.languages.rust.rust_crates import Crate, crate_of, read_crates
from shared.languages.rust.rust_skeletons import (
    SIGNATURE,
    STUBS,
    fields_of,
    is_generic,
    public_fields,
    write_probe,
)
from shared.languages.rust.rust_skeletons import build_skeleton as build_skeleton
from shared.languages.rust.rust_source import read_rust

if TYPE_CHECKING:
    from shared.work_order.work_order import Interface

_PASSED_ON: Final = re.compile(r"\bpub(?:\s*\([^()]*\))?\s+use\b")
_TRAILING: Final = re.compile(r" , ([)\]}>])")
_PUBLIC: Final = re.compile(r"pub\b(?!\s*\()")
_MAX_MESSAGE: Final = 300
_MAX_DEPTH: Final = 20  # of macros within each other
_ARGUMENTS: Final = re.compile(r"arguments to this \w+ (?:\w+ )?(?:is|are) incorrect")
_NAME: Final = r"[A-Za-z_]\w*"
# Methods of traits that a type may get by `derive` or by an implementation nobody declared.
_OF_TRAITS: Final = frozenset(
    {"clone", "to_string", "eq", "ne", "cmp", "partial_cmp", "lt", "gt", "le", "ge", "default",
     "hash", "fmt", "into", "try_into", "from", "try_from", "iter", "iter_mut", "into_iter",
     "next", "as_ref", "as_mut", "borrow", "deref", "to_owned", "parse", "source", "write_str",
     "from_str", "add", "sub", "mul", "div", "neg", "not", "index", "drop", "map", "collect"}
)  # fmt: skip


def read_complaints(output: str) -> Iterator[Complaint]:
    """Yield the errors in cargo's output, which has one JSON object on a line. Never raises."""
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            continue
        message = _at(document, "message")
        if isinstance(message, dict) and message.get("level") == "error":
            yield from _complaint(message)


def _complaint(message: Mapping[str, object]) -> Iterator[Complaint]:
    spans = message.get("spans")
    found = [each for each in spans if isinstance(each, dict)] if isinstance(spans, list) else []
    main = next((each for each in found if each.get("is_primary") is True), None)
    if main is None:
        return
    primary = _outermost(main)
    place = [primary.get(each) for each in ("file_name", "line_start", "column_start")]
    path, line, column = place
    if not (isinstance(path, str) and isinstance(line, int) and isinstance(column, int)):
        return
    labels = [text for each in found for text in [each.get("label")] if isinstance(text, str)]
    text = " ".join(str(message.get("message", "")).split())
    own = primary.get("label")
    shown = f"{text}: {own}" if isinstance(own, str) and own not in text else text
    rule = _at(message.get("code"), "code")
    yield Complaint(
        path,
        line,
        column,
        shown[:_MAX_MESSAGE],
        rule if isinstance(rule, str) else "",
        any(map(_ARGUMENTS.search, (text, *labels))),
    )


def _outermost(span: Mapping[str, object]) -> Mapping[str, object]:
    """Return the span in the code that called a macro, for one within the macro."""
    for _ in range(_MAX_DEPTH):
        inner = _at(span.get("expansion"), "span")
        if not isinstance(inner, dict):
            break
        span = {**inner, "label": span.get("label")}
    return span


def _at(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


_LACKING: Final = frozenset(
    {"E0425", "E0412", "E0432", "E0433", "E0405", "E0422", "E0531", "E0532", "E0574", "E0576"}
)
_BY_RULE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("E0609", "E0610", "E0560", "E0559", "E0603", "E0616", "E0624"), "E211"),
    **dict.fromkeys(("E0026", "E0027", "E0407", "E0438"), "E211"),
    **dict.fromkeys(("E0061", "E0057", "E0060", "E0063", "E0107", "E0050", "E0023"), "E212"),
    **dict.fromkeys(("E0369", "E0277", "E0600", "E0604", "E0605", "E0606", "E0607"), "E214"),
    **dict.fromkeys(("E0608", "E0614", "E0618", "E0615", "E0070", "E0067", "E0368"), "E214"),
    **dict.fromkeys(("E0423", "E0029", "E0529", "E0527", "E0572", "E0594"), "E214"),
    **dict.fromkeys(("E0596", "E0384", "E0428", "E0728", "E0765", "E0434"), "E206"),
}


def judge(complaint: Complaint, own_types: frozenset[str]) -> Reading | None:
    """Return what an error means; `None` if a plan cannot fix it.

    `own_types` are the types of the project. Contracts often leave open which traits they have.
    """
    rule, message = complaint.rule, complaint.message
    of_value = "E213" if complaint.is_argument else "E214"
    if rule in _LACKING:
        return _lacking(message)
    if rule == "E0599":
        return _no_method(message, own_types)
    if rule == "E0308":
        return Reading(of_value)
    if rule in ("E0277", "E0369", "E0600", "E0608"):
        return Reading("W222" if _may_be_implemented(message, own_types) else of_value)
    if not rule:
        if found := re.search(rf"cannot find macro `({_NAME})`", message):
            return Reading("E216", found[1])
        is_syntax = re.match(r"expected|unexpected|unknown|mismatched|unclosed|this file", message)
        return Reading("E206" if is_syntax else "W222")
    if not re.fullmatch(r"E\d{4}", rule):
        return None  # a lint, which knows constants only by the empty values that they have here
    code = _BY_RULE.get(rule, "W222")
    found = re.search(rf"no field (?:named )?`({_NAME})`", message)
    return Reading(code, found[1] if found else "")


def _may_be_implemented(message: str, own_types: frozenset[str]) -> bool:
    """Return whether a trait that is missing may come from the project's own code."""
    if found := re.search(r"can't compare `([^`]+)` with `([^`]+)`", message):
        heads = {re.sub(r"^[&\[(\s]*(?:mut )?", "", each).split("<")[0] for each in found.groups()}
        mention = [own_types & set(re.findall(_NAME, each)) for each in found.groups()]
        return bool(heads & own_types) or all(mention)
    named = re.findall(r"`([^`]+)`", message)
    return any(word in own_types for each in named for word in re.findall(_NAME, each))


def _lacking(message: str) -> Reading:
    """Return what is said of a name that nothing defines, alone or in a module."""
    if re.search(r"unlinked crate|undeclared crate|`cargo add", message):
        return Reading("E216")
    if found := re.search(rf"unresolved import `(?:{_NAME}::)*({_NAME})`", message):
        return Reading("E211", found[1])
    found = re.search(rf"`({_NAME})`", message)
    name = found[1] if found else ""
    if re.search(r"in this scope|undeclared type|use of undeclared", message):
        return Reading("E216", name)
    return Reading("E211", name)


def _no_method(message: str, own_types: frozenset[str]) -> Reading:
    found = re.search(rf"named `({_NAME})` found for [\w ]*`([^`]+)`", message)
    if found is None:
        return Reading("W222")
    name, mentioned = found[1], set(re.findall(_NAME, found[2]))
    own = mentioned & own_types
    if "trait bounds" in message or (own and name in _OF_TRAITS):
        return Reading("W222")
    owner = next(iter(own), "") if len(own) == 1 else ""
    return Reading("E211", f"{owner}.{name}" if owner else name)


_DERIVED: Final = re.compile(r"derive\(([^)]*)\)")
_WRONG_TYPE: Final = "E0308"
# A generic function, or its type, has other type parameters or asks more of them.
_WRONG_BOUNDS: Final = frozenset({_WRONG_TYPE, "E0277", "E0271", "E0107", "E0599"})


def reads(path: str) -> bool:
    """Return whether the file is Rust, or says which crates there are."""
    return path.endswith(".rs") or path.rpartition("/")[2] in ("Cargo.toml", "Cargo.lock")


def _all_differences(
    path: str, contract: Declarations, written: Declarations
) -> Iterator[ContractViolation]:
    for item in contract.items:
        yield from _differences(path, item, written)
        yield from _within_module(path, item, written)


def _within_module(path: str, item: Declared, written: Declarations) -> Iterator[ContractViolation]:
    """Yield how the names in a module differ; not those of modules in it, or below a `cfg`."""
    modules = [each for each in written.named(item.name) if each.kind == "module"]
    inner = _module_text(item)
    if not inner or len(modules) != 1 or "cfg" in item.text[: item.marked]:
        return
    there = read_rust(_module_text(modules[0]))
    for each in read_rust(inner).items if there.text and there.fault is None else ():
        for found in _differences(path, each, there):
            yield replace(found, name=f"{item.name}::{found.name}")


def _module_text(item: Declared) -> str:
    """Return the text between the braces of a module; "" for any other declaration."""
    is_whole = item.key == "mod_item" and item.text.endswith("}")
    return item.text[item.marked :].partition("{")[2][:-1] + "\n" if is_whole else ""


def _differences(path: str, item: Declared, written: Declarations) -> Iterator[ContractViolation]:
    """Yield how the written file differs from one declaration, as far as its text shows."""
    traits = {_trait(each.name) for each in written.items if each.kind == "implementation"}
    has = written.named(item.name)
    if item.kind == "implementation":
        derived = {f"{trait} for {e.name}" for e in written.items for trait in _derives(e)}
        if _trait(item.name) not in traits | derived and not _may_be_made(item, written):
            yield is_missing(path, replace(item, head=cut(item.head)))
        return
    if not has:
        passed_on = {each.name for each in written.imports if _PASSED_ON.search(each.text)}
        is_elsewhere = {item.last_name, "*"} & passed_on or " for " in item.around
        if not is_elsewhere and not _may_be_made(item, written):
            yield is_missing(path, item)
        return
    if item.is_public and not any(each.is_public for each in has) and " for " not in item.around:
        yield ContractViolation(path, item.name, f"`{item.head}` is declared and not public")
    elif len(has) == 1 and _is_less(item, has[0]):
        yield ContractViolation(path, item.name, differs(item.name, item.head, has[0].head))
    for trait in _derives(item) - _derives(has[0]):
        if f"{trait} for {item.name}" not in traits:
            message = f"`{item.name}` is declared with `derive({trait})`, and has no {trait}"
            yield ContractViolation(path, item.name, message)
    if has[0].members:
        spelled = replace(has[0], members=_as_declared(item, has[0]))
        yield from compare_members(path, item, spelled)
        yield from _hidden_members(path, item, has[0])


_CALL: Final = re.compile(r"^(?!macro_rules\b)(?:\w+::)*\w+!\s*[({\[]", re.MULTILINE)
_ON_ONE_LINE: Final = re.compile(r"[^\n]*[)}\]];?$", re.MULTILINE)
_CLOSED: Final = re.compile(r"^[)}\]]", re.MULTILINE)


@functools.lru_cache(maxsize=16)
def macro_calls(text: str) -> tuple[str, ...]:
    """Return the macros that are called among the items of a file, as rustfmt lays them out."""
    found: list[str] = []
    position, is_closed = 0, True
    while call := _CALL.search(text, position):
        end = _ON_ONE_LINE.match(text, call.end())
        if end is None and is_closed:
            end = _CLOSED.search(text, call.end())
            is_closed = end is not None
        position = end.end() if end is not None else call.end()
        if end is not None:
            found.append(text[call.start() : position])
    return tuple(found)


def _may_be_made(item: Declared, written: Declarations) -> bool:
    """Return whether a macro that the file calls names a declaration, or the type that has it.

    The compiler has to be able to say whether it did; what no probe shows is missing.
    """
    line = write_probe(item)
    if not line or read_rust(line).fault is not None:
        return False
    owner = item.name.rpartition(" for ")[2].partition(".")[0].partition("<")[0].strip()
    name = re.compile(rf"\b{re.escape(owner)}\b")
    return any(map(name.search, macro_calls(written.text)))


def _is_less(item: Declared, has: Declared) -> bool:
    """Return whether what is written is another kind of type, or is not public everywhere.

    An alias may stand for any type.
    """
    if _PUBLIC.match(item.head) and not _PUBLIC.match(has.head):
        return True
    if item.kind != "type":
        return False
    words = [each.key.partition(" ")[0] for each in (item, has)]
    if words[1] not in (words[0], "type_item"):
        return True
    return len(re.findall(r"\bpub (?!\()", fields_of(has))) < len(public_fields(item))


def _as_declared(item: Declared, has: Declared) -> Mapping[str, Member]:
    """Return the members of a type, the declared one for each that is only spelled otherwise."""
    given = type_parameters(has.key).names if is_generic(has) else ()
    own = {"Self": f"{has.name} < {' , '.join(given)} >" if given else has.name}
    names = {**same_names(item, has), **own}
    declared = {name: renamed(each.key, names) for name, each in item.members.items()}
    return {
        name: item.members[name]
        if name in declared and _is_spelled(renamed(each.key, own), declared[name])
        else each
        for name, each in has.members.items()
    }


def _is_spelled(key: str, declared: str) -> bool:
    """Return whether two keys differ in last commas, and in how much of paths they write."""
    pairs = [_TRAILING.sub(r" \1", each).split() for each in (key, declared)]
    words = [re.sub(r"(\w+) :: ", r"\1::", " ".join(each)).split() for each in pairs]
    return len(words[0]) == len(words[1]) and all(
        one == other or f"::{one}".endswith(f"::{other}") or f"::{other}".endswith(f"::{one}")
        for one, other in zip(*words, strict=True)
    )


def _hidden_members(path: str, item: Declared, has: Declared) -> Iterator[ContractViolation]:
    for name in item.members.keys() & has.members.keys():
        declared, own = item.members[name].text, has.members[name].text
        if _PUBLIC.match(declared) and not _PUBLIC.match(own):
            qualified = f"{item.name}.{name}"
            yield ContractViolation(path, qualified, differs(qualified, declared, own))


def _trait(name: str) -> str:
    """Return `Display for Game` for `std::fmt::Display for Game`."""
    trait, _, of = name.partition(" for ")
    return f"{trait.split('<')[0].rpartition('::')[2]} for {of}"


def _derives(item: Declared) -> set[str]:
    if item.kind != "type":
        return set()
    found = (word for each in _DERIVED.findall(item.text) for word in each.split(","))
    return {each.strip().rpartition("::")[2] for each in found} - {""}


Place = tuple[str, int]
"""A file and the number of a line in it, from 1."""


def _wrong_types(
    kept: Kept, interfaces: Sequence[Interface], sources: Mapping[str, str], runner: ToolRunner
) -> Iterator[ContractViolation]:
    """Yield the functions and values whose types differ, by an assignment to the declared type."""
    files = readable(sources, (".rs", "Cargo.toml", "Cargo.lock"))
    crates = read_crates(files, sorted(files))
    contracts = STUBS.merged(interfaces)
    places: dict[Place, Declared] = {}
    crates_of: dict[str, Crate] = {}
    unjudged: list[str] = []
    said = ""
    for path, (written, items) in kept.items():
        crate = crate_of(path, crates)
        made = [
            each
            for each in contracts[path].items
            if each not in items and _may_be_made(each, written)
        ]
        probed = [(each, _probe(each, contracts[path], written)) for each in (*items, *made)]
        lines = [(item, line) for item, line in probed if line]
        if crate is None or not lines:
            continue
        crates_of[crate.path("Cargo.toml")] = crate
        text = files[path].rstrip("\n") + "\n"
        first = text.count("\n") + 1
        places |= {(path, number): item for number, (item, _) in enumerate(lines, first)}
        files[path] = text + "".join(f"{line}\n" for _, line in lines)
        if not _is_in_a_crate(path, files):
            unjudged.append(path)
    for manifest, crate in crates_of.items():
        complaints, failure = _asked(files, manifest, places, runner)
        differing = [at for at, each in complaints if _differs(at, each, places, kept)]
        if complaints and not differing:
            # These say nothing, and keep the compiler from all that depends on their files.
            without = _without_lines(files, [at for at, _ in complaints])
            complaints, failure = _asked(without, manifest, places, runner)
            differing = [at for at, each in complaints if _differs(at, each, places, kept)]
        if failure:
            unjudged += [path for path in kept if crate_of(path, crates) is crate]
            said = said or failure
        for at in differing:
            yield _difference(at[0], places[at], kept[at[0]][0])
    require_judged("cargo", tuple(dict.fromkeys(unjudged)), said or "no module has it")


def _probe(item: Declared, contract: Declarations, written: Declarations) -> str:
    """Return the probe of a declaration, with those imports of the contract that the file lacks."""
    line = write_probe(item)
    if not line or read_rust(line).fault is not None:
        return ""
    known = {"*", *(each.name for each in written.imports), *(e.name for e in written.items)}
    uses = {
        each.name: each.source
        for each in contract.imports
        if each.name not in known and re.search(rf"\b{re.escape(each.name)}\b", line)
    }
    brought = " ".join(f"use {source} as {name};" for name, source in uses.items())
    return (f"const _: () = {{ {brought} {line} }};" if brought else line) + _with_own_types(line)


_NUMBER: Final = re.compile(r"[iu](?:8|16|32|64|128|size)|f(?:32|64)")
_TYPED_LITERALS: Final[Mapping[str, str]] = {"bool": "1 < 2", "char": "'a'", "str": '""'}


def _with_own_types(line: str) -> str:
    """Return declarations that compile where the types in a probe are those of the language."""
    words = dict.fromkeys(re.findall(r"\b[a-z]\w+\b", line))
    values = {e: _TYPED_LITERALS.get(e) or (_NUMBER.fullmatch(e) and f"0{e}") for e in words}
    kinds = {e: "&str" if e == "str" else e for e in words}
    return "".join(f" const _: {kinds[e]} = {value};" for e, value in values.items() if value)


def _asked(
    files: Mapping[str, str], manifest: str, places: Mapping[Place, Declared], runner: ToolRunner
) -> tuple[list[tuple[Place, Complaint]], str]:
    """Return the errors in probes, or why the compiler did not come to any file."""
    folder = manifest.removesuffix("Cargo.toml")
    beside = any(_BESIDE.intersection(path.split("/")[:-1]) for path, _ in places)
    argv = ["cargo", "check", "--offline", "--message-format=json", "--manifest-path", manifest]
    result = run_compiler(runner, files, [*argv, *["--all-targets"] * beside], "cargo")
    complaints = [*read_complaints(result.stdout)]
    if result.exit_code and not complaints:
        errors = (each for each in result.stderr.splitlines() if each.startswith("error"))
        return [], next(errors, f"cargo ended with {result.exit_code}")
    placed = (
        ((path, each.line), each)
        for each in complaints
        for path in dict.fromkeys((each.path, folder + each.path))
    )
    # After a file that only the real tree has, such as one of data, no types are compared.
    unread = (each.message for each in complaints if each.message.startswith("couldn't read"))
    return [(at, each) for at, each in placed if at in places], next(unread, "")


def _differs(at: Place, complaint: Complaint, places: Mapping[Place, Declared], kept: Kept) -> bool:
    return _is_difference(complaint, places[at], kept[at[0]][0])


def _without_lines(files: Mapping[str, str], places: Iterable[Place]) -> dict[str, str]:
    """Return files with these lines left empty."""
    found = dict(files)
    for path, number in places:
        lines = found[path].split("\n")
        found[path] = "\n".join((*lines[: number - 1], "", *lines[number:]))
    return found


def _difference(path: str, item: Declared, written: Declarations) -> ContractViolation:
    if item.kind == "implementation":
        return is_missing(path, replace(item, head=cut(item.head)))
    if not written.named(item.name):
        return is_missing(path, item)
    has = written.named(item.name)[0]
    shown = (item.head, has.head)
    if item.head == has.head:  # the blocks around them differ
        blocks = (cut(item.around), cut(has.around))
        shown = (f"{blocks[0]}: {item.head}", f"{blocks[1]}: {has.head}")
    return ContractViolation(path, item.name, differs(item.name, *shown))


_ROOTS: Final = frozenset({"lib", "main", "build"})
_BESIDE: Final = frozenset({"tests", "examples", "benches"})  # cargo compiles these when asked to
_TARGETS: Final = frozenset({"bin", *_BESIDE})


def _is_in_a_crate(path: str, files: Mapping[str, str]) -> bool:
    """Return whether a file is a target of cargo's, or some other file has it as a module."""
    *folders, name = path.removesuffix(".rs").split("/")
    if name in _ROOTS or (name == "main" and folders) or _TARGETS.intersection(folders[-1:]):
        return True
    stem = folders[-1] if name == "mod" and folders else name
    wanted = re.compile(rf"\bmod\s+(?:r#)?{re.escape(stem)}\b|\bpath\s*=|\binclude!|\bmacro_rules!")
    return any(wanted.search(text) for at, text in files.items() if at.endswith(".rs"))


# Attributes of the language, which leave a function as it is, and those of its tools.
_OF_LANGUAGE: Final = (
    "allow|automatically_derived|bench|cfg|cfg_attr|cold|deny|deprecated|doc|expect|export_name|"
    "forbid|global_allocator|ignore|inline|instruction_set|instrument|link|link_name|link_ordinal|"
    "link_section|macro_export|macro_use|must_use|naked|no_builtins|no_link|no_mangle|path|repr|"
    "panic_handler|should_panic|target_feature|test|tracing::instrument|track_caller|unsafe|used|"
    r"warn|(?:clippy|diagnostic|miri|rustfmt|rust_analyzer)::\w+"
)
_REPLACING: Final = re.compile(rf"#\s*\[\s*(?!(?:{_OF_LANGUAGE})\b)")


def _is_async(item: Declared) -> bool:
    signature = SIGNATURE.fullmatch(item.key)
    return signature is not None and "async" in signature["words"].split()


def _is_difference(complaint: Complaint, item: Declared, written: Declarations) -> bool:
    """Return whether an error of the compiler says that the code differs from the contract."""
    if item.kind != "implementation" and not written.named(item.name):
        return complaint.rule in _LACKING  # no macro has made it
    same = [each.around for each in written.named(item.name) if each.kind == item.kind]
    if len(same) > len(set(same)) and "cfg" in item.text[: item.marked]:
        return False  # each is for other circumstances, as their `cfg` says
    if item.kind == "implementation":
        alike = (each for each in written.items if _trait(each.name) == _trait(item.name))
        is_conditional = any("cfg" in each.text.partition("impl")[0] for each in alike)
        return complaint.rule == "E0277" and not is_conditional
    if item.kind == "function":
        own = written.named(item.name)[0]
        if _REPLACING.search(own.text[: own.marked]):
            return False  # `#[tokio::main]` makes another function of it
    if _is_async(item):
        waits = complaint.rule == "E0277" and "is not a future" in complaint.message
        if waits or complaint.rule == "E0061":
            return True
    if item.kind == "type":
        is_alias = item.key.startswith("type_item")
        is_other = is_generic(item) and not is_alias and complaint.rule in _WRONG_BOUNDS
        return is_other or complaint.rule in (_WRONG_TYPE, "E0423", "E0107")
    if "impl " in item.key and complaint.rule in (_WRONG_TYPE, "E0277", "E0271", "E0061"):
        return True
    inner = type_parameters(item.key).names if item.kind == "function" else ()
    if not inner and not block_parameters(item.around).names:
        return complaint.rule == _WRONG_TYPE
    # The types that `impl Trait` takes cannot be given, though every call may fit.
    is_given = "impl " not in written.named(item.name)[0].key
    return complaint.rule in _WRONG_BOUNDS and is_given


_CONFORMANCE: Final = DeclaredConformance(STUBS, _all_differences, _wrong_types)
warm_up = _CONFORMANCE.warm_up
contracts_in_force = _CONFORMANCE.contracts_in_force
check_conformance = _CONFORMANCE.check_conformance
