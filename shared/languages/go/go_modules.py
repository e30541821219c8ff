"""Packages and modules of a Go project, and their download."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared.errors import InvalidInput
from shared.languages.declared.declared_contracts import folder_of
from shared.languages.language_tools import ManifestFiles, Prepared, WarmBuild, Workshop

MANIFEST: Final = "go.mod"
_MODULE: Final = re.compile(r"^[ \t]*module\s+\"?([^\s\"]+)", re.MULTILINE)
_REQUIRED: Final = re.compile(r"^[ \t]*(?:require\s+)?\"?([\w.~/-]+)\"?\s+v\S+", re.MULTILINE)
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
                required = tuple(each for each in _REQUIRED.findall(text) if "." in each[1:-1])
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


_SYSTEMS: Final = (
    "aix", "android", "darwin", "dragonfly", "freebsd", "hurd", "illumos", "ios", "js", "linux",
    "nacl", "netbsd", "openbsd", "plan9", "solaris", "wasip1", "windows", "zos",
)  # fmt: skip
_PROCESSORS: Final = (
    "386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64",
    "ppc64le", "riscv64", "s390x", "sparc64", "wasm",
)  # fmt: skip
_OF_A_SYSTEM: Final = re.compile(rf".+_(?:{'|'.join((*_SYSTEMS, *_PROCESSORS))})(?:_test)?\.go")
_CONSTRAINT: Final = re.compile(r"^//(?:go:build| ?\+build)[ \t]", re.MULTILINE)


def is_constrained(path: str, text: str) -> bool:
    """Return whether a file is built only on some systems, or only with some tags."""
    head = f"\n{text}".partition("\npackage ")[0]
    return bool(_OF_A_SYSTEM.fullmatch(posixpath.basename(path)) or _CONSTRAINT.search(head))


_REMEDY: Final = "vendor the modules (`go mod vendor`), or pass --sandbox-net host"
_MOST_MODULES: Final = 50
_COMMENT = re.compile(r"//.*")
_WORD = re.compile(r"[A-Za-z0-9._~/+!-]+")
_VERSION = re.compile(r"v\d[A-Za-z0-9.+-]*")
_PUBLIC_PROXY: Final = "https://proxy.golang.org"


def prepare(files: ManifestFiles, workshop: Workshop) -> Prepared:
    """Return a module cache with what every `go.mod` of the tree requires.

    Nothing is prepared where no module requires another, or where the tree has its modules in
    `vendor`. Raises `InvalidInput` for a `go.mod` that cannot be read, and `EnvironmentFault` with
    Go's own words.
    """
    modules: dict[str, tuple[str, str]] = {}
    notes: list[str] = []
    for path in files.named("go.mod")[:_MOST_MODULES]:
        above = posixpath.dirname(path)
        if posixpath.join(above, "vendor") in workshop.present:
            continue
        reduced = reduced_module(path, files.text(path) or "")
        if "require " in reduced:
            sums = files.text(posixpath.join(above, "go.sum")) or ""
            modules[above] = reduced, sums
            notes += _unlocked(path, reduced, sums)
    if not modules:
        return Prepared()
    go = workshop.program("go")
    if go is None:
        return Prepared(notes=("go.mod requires modules, but there is no program go here.",))

    def make(folder: Path) -> None:
        for number, (reduced, sums) in enumerate(modules.values()):
            _download(go, folder, number, reduced, sums, workshop)

    key = json.dumps(["go", modules, go])
    folder = workshop.kept(key, make)
    environment = {
        "GOMODCACHE": str(folder / "mod"),
        "GOPROXY": "off",
        "GOFLAGS": "-buildvcs=false -mod=readonly",
        "GOTOOLCHAIN": "local",
    }
    if any(path.endswith("vendor") for path in workshop.present):
        del environment["GOFLAGS"]  # Go then chooses by `vendor/modules.txt`
    builds = (_warm_build(reduced, sums) for reduced, sums in modules.values())
    return Prepared((folder,), environment, notes=tuple(notes), builds=tuple(builds))


# Neither a test nor an `init` of a package runs: `true` is what runs the compiled test. Vet's facts
# are cached as well, for its checks in `go test` and for all. A package that is not for this system
# or has no hash in `go.sum` is left out.
_COMPILE: Final = r"""
format='{{if not (or .Incomplete (eq .Name "main"))}}import _ "{{.ImportPath}}"{{end}}'
{ echo package prepared; go list -e -f "$format" "$@"
  printf 'import "testing"
func TestNothing(*testing.T) {}
'; } > prepared_test.go
go test -exec true -run '^$' . && go vet . || exit
case " $* " in *" CGO_ENABLED=0 "*) CGO_ENABLED=0 go test -exec true -run '^$' . ;; esac
"""


def _warm_build(reduced: str, sums: str) -> WarmBuild:
    files = {"go.mod": reduced, "go.sum": sums, "compile.sh": _COMPILE}
    return WarmBuild("go", "GOCACHE", files, ("sh", "compile.sh"), takes_imports=True)


def _download(
    go: str, folder: Path, number: int, reduced: str, sums: str, workshop: Workshop
) -> None:
    place = folder / f"module-{number}"
    place.mkdir(parents=True)
    (place / "go.mod").write_text(reduced, encoding="utf-8")
    (place / "go.sum").write_text(sums, encoding="utf-8")
    own = {
        "GOMODCACHE": str(folder / "mod"),
        "GOFLAGS": "-modcacherw",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOPROXY": _proxy(go, folder, workshop),
    }
    variables = {**workshop.variables, **own}
    workshop.run([go, "mod", "download"], place, variables, remedy=_REMEDY)


def _proxy(go: str, folder: Path, workshop: Workshop) -> str:
    """Return the user's proxy; Go's own default without `direct`, which asks any host there is."""
    argv = [go, "env", "GOPROXY"]
    variables = {**workshop.variables, "GOTOOLCHAIN": "local"}
    chosen = workshop.run(argv, folder, variables, remedy=_REMEDY).strip()
    return _PUBLIC_PROXY if chosen in ("", f"{_PUBLIC_PROXY},direct") else chosen


def reduced_module(path: str, text: str) -> str:
    """Return a `go.mod` with the versions, requirements and replacements by modules of `text`.

    A module that is replaced by a folder of the repo needs no download. Raises `InvalidInput` for a
    replacement by a folder outside of the repo, and for a line of another form.
    """
    lines = ["module llmch.invalid/prepared"]
    local: set[str] = set()
    required: list[tuple[str, str]] = []
    for verb, words in _directives(text):
        if verb == "go" and len(words) == 1 and _WORD.fullmatch(words[0]):
            lines.append(f"go {words[0]}")
        elif verb == "replace":
            old, new = _sides(path, words)
            if new[0].startswith(("./", "../", "/")):
                _check_inside(path, new[0])
                local.add(old[0])
            else:
                lines.append(f"replace {' '.join(old)} => {' '.join(new)}")
        elif verb in ("require", "exclude"):
            _check_words(path, words)
            if verb == "require":
                required.append((words[0], " ".join(words)))
            else:
                lines.append(f"exclude {' '.join(words)}")
    lines += [f"require {words}" for name, words in required if name not in local]
    return "\n".join(lines) + "\n"


def _directives(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the verb and the words of each line, also of those in a block of parentheses."""
    block = ""
    for line in text.splitlines():
        words = [each.strip('"`') for each in _COMMENT.sub("", line).split()]
        if not words:
            continue
        if block:
            if words == [")"]:
                block = ""
            else:
                yield block, words
        elif words[1:] == ["("]:
            block = words[0]
        else:
            yield words[0], words[1:]


def _sides(path: str, words: list[str]) -> tuple[list[str], list[str]]:
    at = words.index("=>") if "=>" in words else len(words)
    old, new = words[:at], words[at + 1 :]
    are_words = all(_WORD.fullmatch(each) for each in (*old, *new))
    if not (are_words and 1 <= len(old) <= 2 and 1 <= len(new) <= 2):
        raise InvalidInput(f"{path}: cannot read 'replace {' '.join(words)[:200]}'", "correct it")
    return old, new


def _check_inside(path: str, folder: str) -> None:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), folder))
    if target.startswith(("/", "../")) or target == "..":
        raise InvalidInput(
            f"{path}: the replacement {folder[:200]!r} leads out of the repo",
            "replace it by a module or a folder of the repo",
        )


def _check_words(path: str, words: list[str]) -> None:
    if not (len(words) == 2 and _WORD.fullmatch(words[0]) and _VERSION.fullmatch(words[1])):
        raise InvalidInput(f"{path}: cannot read {' '.join(words)[:200]!r}", "correct it")


def _unlocked(path: str, reduced: str, sums: str) -> Iterator[str]:
    """Yield a note on the requirements of which `go.sum` has no hash."""
    known = {tuple(line.split()[:2]) for line in sums.splitlines() if len(line.split()) == 3}
    lines = [line.split()[1:] for line in reduced.splitlines() if line.startswith("require ")]
    missing = [name for name, version in lines if (name, f"{version}/go.mod") not in known]
    if missing:
        where = posixpath.join(posixpath.dirname(path), "go.sum")
        yield (
            f"{where} does not have {', '.join(missing[:5])}, so Go refuses to build with it: run "
            "`go mod tidy` in the checkout."
        )


_EMBEDS: Final = re.compile(r"^//go:embed[ \t]+(.+)$", re.MULTILINE)


_MAX_NAME: Final = 255  # bytes that file systems take
_PATTERNS: Final = re.compile(r"\"[^\"]*\"|`[^`]*`|\S+")


def embedded_paths(files: Mapping[str, str]) -> Iterator[str]:
    """Yield a path for each pattern of `go:embed`: a package whose pattern finds none is refused.

    What is embedded says nothing of types, so that an empty file does as well as the right one.
    """
    found = [
        posixpath.normpath(posixpath.join(folder_of(path), _matching(pattern)))
        for path, text in files.items()
        if "//go:embed" in text
        for line in _EMBEDS.findall(text)
        for pattern in _PATTERNS.findall(line)
    ]
    folders = {
        path[:at] for path in (*files, *found) for at, each in enumerate(path) if each == "/"
    }
    for path in found:
        parts = path.split("/")
        is_inside = ".." not in parts and not path.startswith("/")
        is_short = all(len(part.encode()) <= _MAX_NAME for part in parts)
        if is_inside and is_short and path not in folders and not path.endswith((".go", ".")):
            yield path


def _matching(pattern: str) -> str:
    """Return a path that a pattern of `go:embed` matches."""
    plain = pattern.strip('"`').removeprefix("all:")
    return re.sub(r"[*?]", "x", re.sub(r"\[\^?(.)[^]]*\]", r"\1", plain))
