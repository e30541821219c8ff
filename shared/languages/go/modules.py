"""Says which packages a Go project has, and which other modules it declares."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.languages.declared.planned import folder_of

MANIFEST: Final = "go.mod"
_MODULE: Final = re.compile(r"^\s*module\s+\"?([^\s\"]+)", re.MULTILINE)
_REQUIRED: Final = re.compile(
    r"^\s*(?:require\s+)?\"?([\w.~/-]+\.[\w.~/-]+)\"?\s+v\S+", re.MULTILINE
)
_STANDARD: Final = frozenset(
    {"archive", "bufio", "builtin", "bytes", "cmp", "compress", "container", "context",
     "crypto", "database", "debug", "embed", "encoding", "errors", "expvar", "flag", "fmt",
     "go", "hash", "html", "image", "index", "io", "iter", "log", "maps", "math", "mime",
     "net", "os", "path", "plugin", "reflect", "regexp", "runtime", "slices", "sort",
     "strconv", "strings", "structs", "sync", "syscall", "testing", "text", "time", "unicode",
     "unique", "unsafe", "weak", "C"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GoModule:
    """Hold a module: its path, the folder of its `go.mod`, and the modules that it requires."""

    path: str
    folder: str
    required: tuple[str, ...]

    def folder_of_import(self, imported: str) -> str | None:
        """Return the folder of an imported package of this module; `None` for any other."""
        if imported == self.path:
            return self.folder
        if imported.startswith(f"{self.path}/"):
            inside = imported[len(self.path) + 1 :]
            return f"{self.folder}/{inside}" if self.folder else inside
        return None

    def requires(self, imported: str) -> bool:
        """Return whether a required module has the imported package."""
        return any(imported == each or imported.startswith(f"{each}/") for each in self.required)


def read_modules(sources: Mapping[str, str], paths: Iterable[str]) -> tuple[GoModule, ...]:
    """Return the modules of a repository, the innermost first."""
    found: list[GoModule] = []
    for path in paths:
        if path == MANIFEST or path.endswith(f"/{MANIFEST}"):
            text = sources.get(path)
            named = _MODULE.search(text) if text is not None else None
            if text is not None and named:
                required = tuple(_REQUIRED.findall(text))
                found.append(GoModule(named[1], folder_of(path), required))
    return tuple(sorted(found, key=lambda each: -len(each.folder)))


def module_folder(path: str, modules: Iterable[GoModule]) -> str:
    """Return the folder of the innermost module that a file belongs to; "" for the root."""
    folders = (each.folder for each in modules if path.startswith(f"{each.folder}/"))
    return max(folders, key=len, default="")


def guess_module(imports: Iterable[str], folders: Collection[str]) -> GoModule | None:
    """Return the module that imports of a plan's tests speak of, where its `go.mod` is not there.

    An import ends in the folder of a package, and what is before that is the module.
    """
    for imported in imports:
        if is_standard(imported):
            continue
        for folder in sorted(folders, key=len, reverse=True):
            if folder and imported.endswith(f"/{folder}"):
                return GoModule(imported[: -len(folder) - 1], "", ())
    return None


def is_standard(imported: str) -> bool:
    """Return whether an import path is one of the standard library's."""
    return imported.split("/")[0] in _STANDARD
