"""Downloads the modules that `go.mod` and `go.sum` name, into a module cache for commands."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shared.errors import InvalidInput
from shared.languages.capabilities.dependencies import ManifestFiles, Prepared, Workshop

_REMEDY: Final = "vendor the modules (`go mod vendor`), or pass --sandbox-net host"
_MOST_MODULES: Final = 50
_COMMENT = re.compile(r"//.*")
_WORD = re.compile(r"[A-Za-z0-9._~/+!-]+")
_VERSION = re.compile(r"v\d[A-Za-z0-9.+-]*")
_PUBLIC_PROXY: Final = "https://proxy.golang.org"


def prepare_go(files: ManifestFiles, workshop: Workshop) -> Prepared:
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
    return Prepared(read=(folder,), environment=environment, notes=tuple(notes))


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
    if "=>" not in words:
        raise InvalidInput(f"{path}: cannot read 'replace {' '.join(words)[:200]}'", "correct it")
    at = words.index("=>")
    old, new = words[:at], words[at + 1 :]
    if not (1 <= len(old) <= 2 and 1 <= len(new) <= 2):
        raise InvalidInput(f"{path}: cannot read 'replace {' '.join(words)[:200]}'", "correct it")
    if not all(_WORD.fullmatch(each) for each in (*old, *new)):
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
