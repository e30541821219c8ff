"""Writes Rust by contracts: code that keeps them and does nothing, and probes of other code.

A probe uses a declaration as its contract has it. It compiles only where the contract is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import (
    Declarations,
    Declared,
    TypeParameters,
    block_parameters,
    split_list,
    split_outside,
    type_parameters,
)
from shared.languages.declared.declared_contracts import Contract, Stubs, key_of, merge
from shared.languages.rust.rust_source import read_rust

if TYPE_CHECKING:
    from shared.work_order.work_order import Interface

_NUMBERS: Final = frozenset(
    {"u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"}
)
# Types that the standard library gives an empty value, whatever their arguments are.
_EMPTY: Final = frozenset(
    {"Vec", "String", "HashMap", "HashSet", "BTreeMap", "BTreeSet", "VecDeque", "Option",
     "BinaryHeap", "PathBuf", "bool", "char", "f32", "f64", "Duration", *_NUMBERS}
)  # fmt: skip
_WRAPPERS: Final = frozenset({"Box", "Rc", "Arc", "RefCell", "Cell", "Mutex", "RwLock"})
_HEAD: Final = re.compile(r"(?:[A-Za-z_]\w*\s*::\s*)*([A-Za-z_]\w*)\s*(?:<(.*)>)?", re.DOTALL)
_MAX_DEPTH: Final = 6
_UNKNOWN: Final = "todo!()"


class EmptyRustValues:
    """Answer with the empty value of a type; `todo!()` where none is known.

    Code that is only checked and not run, `runs` false, has `todo!()` wherever it fits.
    """

    def __init__(self, items: Iterable[Declared], *, runs: bool = True) -> None:
        self._runs = runs
        self._types = {each.name: each for each in items if each.kind == "type"}

    def of(self, written: str, owner: str = "", depth: int = _MAX_DEPTH) -> str:
        """Return the expression for a type; `owner` is what `Self` means."""
        kind = written.strip()
        if not depth:
            return _UNKNOWN
        if kind in ("", "()"):
            return "()"
        if kind.startswith("impl "):
            return _opaque(kind)
        if not self._runs:
            return _UNKNOWN
        if kind.startswith("&"):
            return _borrowed(kind)
        if kind.startswith("(") and kind.endswith(")"):
            parts = split_list(kind[1:-1], "<([", ">)]")
            return f"({', '.join(self.of(each, owner, depth - 1) for each in parts)},)"
        if kind.startswith("["):
            return "Default::default()" if kind.count(";") == 1 and "<" not in kind else _UNKNOWN
        found = _HEAD.fullmatch(kind)
        if found is None:
            return _UNKNOWN
        return self._named(found[1], found[2] or "", owner, depth)

    def _named(self, name: str, arguments: str, owner: str, depth: int) -> str:
        if name in _EMPTY and name not in self._types:
            return "Default::default()"
        first = next(iter(split_list(arguments, "<([", ">)]")), "")
        if name == "Result":
            value = self.of(first, owner, depth - 1)
            return value if value == _UNKNOWN else f"Ok({value})"
        if name in _WRAPPERS and not first.startswith("dyn"):
            value = self.of(first, owner, depth - 1)
            return value if _UNKNOWN in value else f"{name}::new({value})"
        declared = self._types.get(owner if name == "Self" else name)
        return _UNKNOWN if declared is None else self._own(declared, depth)

    def _own(self, declared: Declared, depth: int) -> str:
        is_generic = re.search(rf"\b{declared.name}\s*<", declared.text)
        if not is_generic and re.search(r"derive\([^)]*\bDefault\b", declared.text):
            return "Default::default()"
        if re.match(r"(?s)(?:#\[.*?\]\s*)*(?:pub(?:\([^)]*\))?\s+)?enum\b", declared.text):
            plain = [name for name, each in declared.members.items() if each.text == name]
            return f"{declared.name}::{plain[0]}" if plain else _UNKNOWN
        if not declared.members or "struct" not in declared.text:
            return _UNKNOWN
        fields = {
            name: self.of(each.text.partition(":")[2], declared.name, depth - 1)
            for name, each in declared.members.items()
        }
        if any(_UNKNOWN in each for each in fields.values()):
            return _UNKNOWN
        return f"{declared.name} {{ {', '.join(f'{n}: {v}' for n, v in fields.items())} }}"

    def constant(self, written: str) -> str:
        """Return the expression for the value of a constant, which is known before a run."""
        kind = written.strip()
        if kind in _NUMBERS:
            return "0"
        plain = {
            "bool": "false",
            "f32": "0.0",
            "f64": "0.0",
            "char": "' '",
            "String": "String::new()",
        }
        if kind in plain:
            return plain[kind]
        if kind.startswith("&"):
            return _borrowed(kind)
        if kind.startswith("[") and kind.endswith("]") and ";" in kind:
            element, _, length = kind[1:-1].rpartition(";")
            return f"[{self.constant(element)}; {length.strip()}]"
        if kind.startswith("Option"):
            return "None"
        return "Vec::new()" if kind.startswith("Vec") else _UNKNOWN


def _opaque(kind: str) -> str:
    """Return a value of `impl Trait`, which `todo!()` has only for few traits."""
    if re.match(r"impl (?:[\w:]*::)?\w*Iterator\b", kind):
        return "std::iter::empty()"
    if found := re.match(r"impl Fn(?:Mut|Once)?\((.*?)\)", kind):
        count = len(split_list(found[1], "<([", ">)]"))
        return f"|{', '.join(['_'] * count)}| todo!()"
    if re.match(r"impl (?:[\w:]*::)?(?:Display|Debug|ToString|Into<String>|AsRef<str>)", kind):
        return '""'
    return _UNKNOWN


def _borrowed(kind: str) -> str:
    target = re.sub(r"^&\s*(?:'\w+\s*)?", "", kind)
    if target == "str":
        return '""'
    is_slice = target.startswith("[") and target.endswith("]") and ";" not in target
    return "&[]" if is_slice else _UNKNOWN


# The functions that an implementation needs if a contract names it without them.
_TRAITS: Final = {
    "Display": "fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }",
    "Debug": "fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }",
    "Default": "fn default() -> Self { todo!() }",
    "Clone": "fn clone(&self) -> Self { todo!() }",
    "PartialEq": "fn eq(&self, _other: &Self) -> bool { false }",
    "Drop": "fn drop(&mut self) {}",
}
_CONSTANT: Final = re.compile(r"^(?:pub(?:\([^)]*\))?\s+)?(?:const|static)\b[^=]*;?$", re.DOTALL)


def build_skeleton(
    interfaces: Sequence[Interface], sources: Mapping[str, str]
) -> Mapping[str, str]:
    """Return Rust by path that keeps the contracts in `interfaces` and does nothing.

    Where `sources` already has the file, only the declared names are emptied. Contracts that do not
    parse are left out.
    """
    contracts = STUBS.contracts(interfaces)
    values = values_of(contracts.values(), sources)
    return {path: write_file(each, sources.get(path), values) for path, each in contracts.items()}


def values_of(
    contracts: Iterable[Contract], sources: Mapping[str, str], *, runs: bool = True
) -> EmptyRustValues:
    """Return the empty values, with those of the types that the files declare."""
    texts = (text for path, text in sources.items() if path.endswith(".rs"))
    written = (item for text in texts for item in read_rust(text).items)
    items = [*written, *(item for each in contracts for item in each.items)]
    return EmptyRustValues(items, runs=runs)


def write_file(
    contract: Contract, source: str | None, values: EmptyRustValues, *, empty_all: bool = False
) -> str:
    """Return the text of one file that keeps its contract.

    With `empty_all`, the functions of `source` that are not declared are emptied too.
    """
    written = read_rust(source) if source is not None else Declarations("")
    if written.fault is not None:
        written = Declarations("")
    declared = {key_of(each): each for each in merge(written.items, contract.items)}
    new = {key_of(each) for each in contract.items}
    text = written.text
    for item in sorted(written.items, key=lambda each: each.start, reverse=True):
        if item.kind != "implementation" and (key_of(item) in new or empty_all):
            replaced = emptied(declared[key_of(item)], values)
            text = text[: item.start] + replaced + text[item.end :]
    there = {key_of(each) for each in written.items}
    added = [declared[key_of(each)] for each in contract.items if key_of(each) not in there]
    has = {" ".join(each.text.split()) for each in written.imports}
    uses = dict.fromkeys(
        each.text for each in contract.imports if " ".join(each.text.split()) not in has
    )
    parts = [*uses, text.strip("\n"), *_blocks(added, values)]
    return "\n\n".join(filter(None, parts)) + "\n"


def emptied(item: Declared, values: EmptyRustValues) -> str:
    """Return a declaration that does nothing; a type stays as it is."""
    if item.kind == "function":
        value = values.of(item.result, item.owner)
        return f"{item.opening} {{ {'' if value == '()' else value} }}"
    if item.kind == "value" and _CONSTANT.match(item.text):
        return f"{item.text.rstrip('; ')} = {values.constant(item.result)};"
    return item.text


def _blocks(items: Sequence[Declared], values: EmptyRustValues) -> Iterator[str]:
    """Yield the declarations, those of one implementation in one block."""
    done: set[str] = set()
    for item in items:
        if item.kind == "implementation":
            if item.head not in done:
                done.add(item.head)
                yield _implementation(item, [e for e in items if e.around == item.head], values)
        elif not item.around:
            yield emptied(item, values)
        elif item.around not in done:
            done.add(item.around)
            inside = [emptied(e, values) for e in items if e.around == item.around]
            yield "\n".join((f"{item.around} {{", *inside, "}"))


def _implementation(item: Declared, inside: Sequence[Declared], values: EmptyRustValues) -> str:
    trait = item.name.partition(" for ")[0].split("<")[0].rpartition("::")[2]
    if inside:
        code = item.text
        for each in sorted(inside, key=lambda each: each.start, reverse=True):
            start, end = each.start - item.start, each.end - item.start
            code = code[:start] + emptied(each, values) + code[end:]
        return code
    return f"{item.head} {{ {_TRAITS.get(trait, '')} }}"


def write_contract(contract: Contract) -> str:
    """Return the text of a contract, functions without bodies."""
    uses = dict.fromkeys(each.text for each in contract.imports)
    parts: list[str] = []
    done: set[str] = set()
    for item in contract.items:
        is_in_trait = " for " in item.around and item.kind != "implementation"
        if is_in_trait:
            continue  # the implementation has it in its own text
        if not item.around:
            parts.append(item.text)
        elif item.around not in done:
            done.add(item.around)
            inside = [each.text for each in contract.items if each.around == item.around]
            parts.append("\n".join((f"{item.around} {{", *inside, "}")))
    return "\n\n".join((*uses, *parts)) + "\n"


STUBS: Final = Stubs(".rs", read_rust, write_contract)


SIGNATURE: Final = re.compile(
    r"fn (?P<words>[\w \"]*?)(?:<.*? >)?\((?P<kinds>.*?)(?<! )\) -> (?P<result>.*)", re.DOTALL
)
_WHERE: Final = re.compile(r"\bwhere\b(?P<bounds>.*?)[,;{]?\s*$", re.DOTALL)
_IMPL: Final = re.compile(r"(?:unsafe )?impl ?")
_RECEIVER: Final = re.compile(r"(?P<before>(?:& )?(?:'\w+ )?(?:mut )?)self\b(?! :)")
_COMMENTED: Final = re.compile(r"\bwhere\b.*//")
_IMPLEMENTED: Final = re.compile(
    r"(?:unsafe )?impl (?P<trait>[^!<].*?) for (?P<own>.+?)(?: where .*)?"
)
_BORROWED: Final = re.compile(r"&\s*")
_UNNAMED: Final = re.compile(r"'_(?!\w)")
_ELIDED: Final = re.compile(r"(&(?! ?') ?)|'_ ?")
_LIFETIME: Final = "'llmch"


def write_probe(item: Declared) -> str:
    """Return the code on one line; nothing for what is not compared by its type."""
    if item.kind == "value":
        return _value_probe(item)
    if item.kind == "type":
        return _associated_probe(item) if item.owner else _type_probe(item)
    if _COMMENTED.search(item.head):
        return ""  # the head is one line here, and the comment would take the rest
    if item.kind == "implementation":
        return _trait_probe(item)
    if item.kind != "function" or " for " in item.around:
        return ""
    signature = SIGNATURE.fullmatch(item.key)
    return _function_probe(item, signature) if signature is not None else ""


def _value_probe(item: Declared) -> str:
    word, _, kind = item.key.partition(" ")
    if (
        not kind
        or item.name == "_"
        or " for " in item.around
        or re.search(r"\bstatic\s+mut\b", item.head)
    ):
        return ""
    if word == "static_item":
        return f"const _: () = {{ static PROBE: & {kind} = &{item.name}; }};"
    if not item.around:
        return f"const _: {kind} = {item.name};"
    outer = block_parameters(item.around)
    own, unnamed = _own_type(outer.rest or _IMPL.sub("", item.around, count=1))
    kind, value = re.sub(r"\bSelf\b", lambda _: own, kind), f"<{own}>::{item.last_name}"
    if not unnamed and not outer.each:
        return f"const _: {kind} = {value};"
    head = f"fn probe<{', '.join((*unnamed, *outer.each))}>(){_bounds(item)}"
    return f"const _: () = {{ {head} {{ let _: {kind} = {value}; }} }};"


def _type_probe(item: Declared) -> str:
    """Return the code for an alias, for public fields without names, and for what is generic."""
    word, _, rest = item.key.partition(" ")
    given = type_parameters(item.key) if is_generic(item) else TypeParameters()
    name = f"{item.name}<{', '.join(given.names)}>" if given.names else item.name
    kind, fields = (given.rest or rest).strip(), public_fields(item)
    if word == "type_item" and kind:
        probe = f"fn({name}) -> {kind} = |x| x;"
    elif fields and "? Sized" not in item.key:
        probe = f"fn({', '.join(fields)}) -> {name} = {item.name};"
    elif given.names and word in ("struct_item", "enum_item"):
        probe = f"Option<& {name}> = None;"
    else:
        return ""
    if not given.names:
        return f"const _: {probe}"
    own = (split_outside(each, "=", "<([", ">)]")[0] for each in given.each)  # without defaults
    return f"const _: () = {{ fn probe<{', '.join(own)}>(){_bounds(item)} {{ let _: {probe} }} }};"


def is_generic(item: Declared) -> bool:
    """Return whether the declaration is of a type with type parameters."""
    named = rf"\b(?:struct|type|enum)\s+{re.escape(item.last_name)}\s*<"
    return item.kind == "type" and re.search(named, item.text) is not None


def _associated_probe(item: Declared) -> str:
    """Return the code that compares a type that belongs to the implementation of a trait."""
    found, kind = _IMPLEMENTED.fullmatch(item.around), item.key.partition(" ")[2].strip()
    if found is None or not kind or "'" in item.around + kind or is_generic(item):
        return ""
    own = found["own"]
    kind = re.sub(r"\bSelf\b", lambda _: own, kind)
    return f"const _: fn(<{own} as {found['trait']}>::{item.last_name}) -> {kind} = |x| x;"


def _trait_probe(item: Declared) -> str:
    """Return the code that asks for a trait of a type."""
    outer = block_parameters(item.head)
    found = _IMPLEMENTED.fullmatch(f"impl {outer.rest.strip()}" if outer.each else item.head)
    if found is None or item.head.endswith(" ..."):
        return ""
    if outer.each:
        if found["own"].startswith(("[", "str", "dyn ", "&")) or "?Sized" in item.head:
            return ""
        head = f"fn probe<{', '.join(outer.each)}>(x: {found['own']})"
        return f"const _: () = {{ {head} -> impl {found['trait']}{_bounds(item)} {{ x }} }};"
    trait, borrows = found["trait"], _BORROWED.search(found["trait"])
    if "'" in trait or (borrows and "(" in trait):
        return ""
    if borrows:
        trait = f"for<{_LIFETIME}> {_BORROWED.sub(f'&{_LIFETIME} ', trait)}"
    asked = f"fn has<LlmchOwn: ?Sized + {trait}>() {{}}"
    return f"const _: () = {{ {asked} fn probe() {{ has::<{found['own']}>(); }} }};"


def fields_of(item: Declared) -> str:
    """Return the fields of a struct without names for them; "" for any other declaration."""
    word, _, rest = item.key.partition(" ")
    behind = type_parameters(item.key).rest if is_generic(item) else rest
    fields = behind.strip()
    return fields[1:-1].strip(" ,") if word == "struct_item" and fields.startswith("(") else ""


def public_fields(item: Declared) -> list[str]:
    """Return the types of the fields without names, if all of them are public."""
    fields = split_list(fields_of(item), "<([", ">)]")
    public = [each for each in fields if each.startswith("pub ") and not each.startswith("pub (")]
    return [each.removeprefix("pub ") for each in public] if len(public) == len(fields) else []


def _function_probe(item: Declared, signature: re.Match[str]) -> str:
    inner, outer = type_parameters(item.key), block_parameters(item.around)
    own, unnamed = _own_type(outer.rest or _IMPL.sub("", item.around, count=1))
    path = f"<{own}>::{item.last_name}" if own else item.name
    parameters = sorted(
        (*unnamed, *outer.each, *inner.each), key=lambda each: not each.startswith("'")
    )
    if parameters and inner.types and "impl " not in item.key:
        path += f"::<{', '.join(inner.types)}>"
    if parameters and item.head.endswith(" ..."):
        return ""  # the end of its bounds is cut off
    generic = f"<{', '.join(parameters)}>" if parameters else ""
    words = signature["words"].split()
    if "async" in words or "impl " in item.key:
        return _call_probe(item, signature, own, (path, generic))
    kind = _pointer(signature["kinds"], signature["result"], own, _before_pointer(words))
    if not kind:
        return ""
    if not parameters:
        return f"const _: {kind} = {path};"
    head = f"fn probe{generic}(){_bounds(item)}"
    return f"const _: () = {{ {head} {{ let _: {kind} = {path}; }} }};"


def _call_probe(item: Declared, signature: re.Match[str], own: str, named: tuple[str, str]) -> str:
    """Return the code that calls a function with what it declares to take, and uses its result.

    `named` are its path and the parameters of the code. No pointer shows what `impl Trait` takes.
    """
    words, (path, generic) = signature["words"].split(), named
    kinds, result = (_owned(signature[each], own) for each in ("kinds", "result"))
    if "unsafe" in words or _names_self(kinds, own):
        return ""
    given = split_list(kinds, "<([", ">)]")
    listed = ", ".join(f"p{at}: {each}" for at, each in enumerate(given))
    is_async = "async" in words
    called = f"{path}({', '.join(f'p{at}' for at in range(len(given)))}){'.await' * is_async}"
    traits = result.removeprefix("impl ")
    if "impl " not in result:
        use = f"let _: {result} = {called};"
    elif traits == result or generic or re.search(r"[&']|\bimpl ", traits):
        use = f"let _ = {called};"
    else:
        use = f"fn has<LlmchOwn: {traits}>(_: LlmchOwn) {{}} has({called});"
    head = f"{'async ' * is_async}fn probe{generic}({listed}){_bounds(item)}"
    return f"const _: () = {{ {head} {{ {use} }} }};"


def _before_pointer(words: Sequence[str]) -> str:
    """Return the words of a function that the type of a pointer to it has, too."""
    return "".join(f"{each} " for each in words if each not in ("const", "default", "safe"))


def _own_type(behind: str) -> tuple[str, tuple[str, ...]]:
    """Return the type of a block of methods, and names for the lifetimes that have none in it."""
    own = behind.partition(" where ")[0].strip()
    names = tuple(f"{_LIFETIME}_{at}" for at in range(len(_UNNAMED.findall(own))))
    left = iter(names)
    return _UNNAMED.sub(lambda _: next(left), own), names


def _bounds(item: Declared) -> str:
    own = item.result if item.kind == "type" else item.head
    found = [each["bounds"] for each in map(_WHERE.search, (item.around, own)) if each]
    return f" where {', '.join(each.strip() for each in found)}" if found else ""


def _pointer(kinds: str, result: str, own: str, words: str) -> str:
    """Return the type of a pointer to a function; `own` is the type that it is a method of.

    There is none for `self: Box<Self>` and the like.
    """
    receiver = _RECEIVER.match(kinds) if own else None
    if receiver is not None and receiver["before"] in ("& ", "& mut "):
        # A method that does not say where it borrows from borrows from `self`.
        kinds = kinds.replace("& ", f"& {_LIFETIME} ", 1)
        result = _ELIDED.sub(rf"\g<1>{_LIFETIME} ", result)
    kinds, result = (_owned(each, own) for each in (kinds, result))
    if _names_self(kinds, own):
        return ""
    named = f"for<{_LIFETIME}> " if f"{_LIFETIME} " in kinds else ""
    head = f"{named}{words}fn({kinds})"
    return head if result == "( )" else f"{head} -> {result}"


def _owned(kinds: str, own: str) -> str:
    """Return types with `own` for `Self`, and for the receiver that they begin with."""
    if not own:
        return kinds
    receiver = _RECEIVER.match(kinds)
    if receiver is not None:
        kinds = f"{receiver['before'].removeprefix('mut ')}{own}{kinds[receiver.end() :]}"
    return re.sub(r"\bSelf\b", lambda _: own, kinds)


def _names_self(kinds: str, own: str) -> bool:
    return bool(own) and re.search(r"\bself\b", kinds.split(",")[0]) is not None
