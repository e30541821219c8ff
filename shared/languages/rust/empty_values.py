"""Says which value of a Rust type is the emptiest, as an expression."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from shared.languages.declared.model import Declared

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


class EmptyValues:
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
            parts = split_types(kind[1:-1])
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
        first = next(iter(split_types(arguments)), "")
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
        count = len(split_types(found[1]))
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


def split_types(text: str) -> list[str]:
    """Return the types of a list that is separated by commas."""
    parts: list[str] = []
    depth, start = 0, 0
    for at, character in enumerate(f"{text},"):
        if character in "<([":
            depth += 1
        elif character in ")]" or (character == ">" and text[at - 1 : at] != "-"):
            depth -= 1
        elif character == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    return [each for each in parts if each]
