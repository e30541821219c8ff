"""Crates of a project, and their vendoring.

Cargo never sees the target's own manifest: it gets one that lists crates by name and version. So
neither a build script nor a patch, a path or a source of the target has any effect here.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from shared.errors import InvalidInput
from shared.files.strict_documents import Table, parse_toml, read_toml, table
from shared.languages.declared.declared_contracts import folder_of
from shared.languages.language_tools import ManifestFiles, Prepared, WarmBuild, Workshop

MANIFEST: Final = "Cargo.toml"
STANDARD: Final = frozenset({"std", "core", "alloc", "proc_macro", "test"})
HERE: Final = frozenset({"crate", "self", "super", ""})
_TABLES: Final = ("dependencies", "dev-dependencies", "build-dependencies")


@dataclass(frozen=True, slots=True)
class Crate:
    """Hold a crate: its name in code, its folder, and the names of the crates that it declares.

    `is_guessed` says that its manifest is not there yet, and `has_named_targets` that the manifest
    names files of tests itself, `has_named_programs` the same of programs. `package` is the name
    of the program in `src/main.rs`. `is_rooted` says that it has the edition of 2015, whose `use`
    begins at the root of the crate.
    """

    name: str
    folder: str
    declared: frozenset[str]
    is_guessed: bool = False
    has_named_targets: bool = False
    has_named_programs: bool = False
    package: str = ""
    is_rooted: bool = False

    def path(self, inside: str) -> str:
        """Return the path in the repository of a file of the crate."""
        return f"{self.folder}/{inside}" if self.folder else inside


def read_crates(sources: Mapping[str, str], paths: Iterable[str]) -> tuple[Crate, ...]:
    """Return the crates of a repository, the innermost first."""
    documents: dict[str, Mapping[str, object]] = {}
    for path in paths:
        text = sources.get(path) if path == MANIFEST or path.endswith(f"/{MANIFEST}") else None
        if text is not None:
            with suppress(ValueError, RecursionError):
                documents[folder_of(path)] = parse_toml(text)
    shared = frozenset(
        name for each in documents.values() for name in _declared_crates(table(each, "workspace"))
    )
    found = [
        Crate(
            name=_name_of(document),
            folder=folder,
            declared=frozenset(_declared_crates(document)) | shared,
            has_named_targets="test" in document,
            has_named_programs="bin" in document,
            package=str(table(document, "package").get("name", "")),
            is_rooted=table(document, "package").get("edition", "2015") == "2015",
        )
        for folder, document in documents.items()
        if _name_of(document)
    ]
    return tuple(sorted(found, key=lambda each: -len(each.folder)))


def guess_crate(roots: Iterable[str], declared: Collection[str] = ()) -> Crate | None:
    """Return the crate that a plan's tests speak of, where its manifest is not there."""
    for root in roots:
        if root not in STANDARD | HERE and root not in declared:
            return Crate(root, "", frozenset(), is_guessed=True)
    return None


def crate_of(path: str, crates: Iterable[Crate]) -> Crate | None:
    """Return the crate that a file belongs to, the innermost of several."""
    return next(
        (each for each in crates if not each.folder or path.startswith(f"{each.folder}/")), None
    )


def _name_of(document: Mapping[str, object]) -> str:
    """Return the name of the library, which is that of the package unless it has its own."""
    names = (table(document, key).get("name") for key in ("lib", "package"))
    return next((each.replace("-", "_") for each in names if isinstance(each, str)), "")


def _declared_crates(document: Mapping[str, object]) -> set[str]:
    places = (document, *table(document, "target").values())
    names = (name for place in places for key in _TABLES for name in table(place, key))
    return {each.replace("-", "_") for each in names}


_REMEDY: Final = "vendor the crates (`cargo vendor`), or pass --sandbox-net host"
_REGISTRIES: Final = (
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
)

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_VERSION = re.compile(r"[\w.*^~<>=, +-]+")
_CHECKSUM = re.compile(r"[0-9a-f]{64}")


def prepare(files: ManifestFiles, workshop: Workshop) -> Prepared:
    """Return a `CARGO_HOME` whose crates.io is a folder of vendored crates.

    Nothing is prepared where no crate is declared. Raises `InvalidInput` for a crate that comes
    from elsewhere or has no checksum, and `EnvironmentFault` with Cargo's own words.
    """
    documents = {path: read_toml(path, files.text(path) or "") for path in files.named(MANIFEST)}
    sets: list[tuple[str, str]] = []
    notes: list[str] = []
    for lock, paths in _by_lock(documents, files).items():
        declared = [each for path in paths for each in _declared(path, documents[path])]
        locked = _locked(lock, read_toml(lock, files.text(lock) or "")) if lock else []
        missing = [each for each in declared if each[0] not in {crate.name for crate in locked}]
        if locked or missing:
            sets.append((_manifest(locked, missing), "" if missing else _lock(locked)))
            notes += _unlocked(lock, paths[0], sorted({name for name, _ in missing}))
    if not sets:
        return Prepared()
    cargo = workshop.program("cargo")
    if cargo is None:
        return Prepared(notes=("Cargo.toml asks for crates, but there is no program cargo here.",))

    def make(folder: Path) -> None:
        _vendor(cargo, folder, sets, workshop)

    folder = workshop.kept(json.dumps(["cargo", *chain(*sets), cargo]), make)
    environment = {"CARGO_HOME": str(folder / "home"), "CARGO_NET_OFFLINE": "true"}
    builds = tuple(_warm_builds(files, documents, files.text(_LOCK)))
    return Prepared((folder,), environment, notes=tuple(notes), builds=builds)


_LOCK: Final = "Cargo.lock"


def _by_lock(documents: Mapping[str, Table], files: ManifestFiles) -> dict[str, list[str]]:
    """Return the manifests by the lock that Cargo has for them; "" for those without one.

    It is in the folder of the workspace, or else of the crate. The lock of a folder above counts
    where that has none, since the crate is built as a dependency of the one there.
    """
    found: dict[str, list[str]] = {}
    for path in documents:
        folder = _root_of(folder_of(path), documents)
        locks = (posixpath.join(each, _LOCK) for each in _and_above(folder))
        there = (each for each in locks if posixpath.join(folder_of(each), MANIFEST) in documents)
        lock = next((each for each in there if files.text(each) is not None), "")
        found.setdefault(lock, []).append(path)
    return found


def _root_of(folder: str, documents: Mapping[str, Table]) -> str:
    """Return the folder of the workspace that has the crate in `folder`, or that folder itself."""
    for each in _and_above(folder):
        document = documents.get(posixpath.join(each, MANIFEST), {})
        if "workspace" in document:
            excluded = table(document, "workspace").get("exclude")
            listed = excluded if isinstance(excluded, list) else []
            apart = [posixpath.join(each, str(name)).rstrip("/") for name in listed]
            is_apart = any(name in _and_above(folder) for name in apart)
            return folder if is_apart else each
    return folder


def _and_above(folder: str) -> Iterator[str]:
    yield folder
    while folder:
        folder = posixpath.dirname(folder)
        yield folder


def _unlocked(lock: str, manifest: str, missing: Sequence[str]) -> tuple[str, ...]:
    if not lock:
        return (f"{manifest} has no lock, so the newest crates that it allows are used.",)
    if not missing:
        return ()
    return (
        f"{lock} does not have {', '.join(missing[:5])}, so a version is chosen anew: lock "
        "again before you merge.",
    )


@dataclass(frozen=True, slots=True)
class _Crate:
    """Hold a locked crate; `edges` are its dependencies as the lock writes them."""

    name: str
    version: str
    checksum: str
    edges: tuple[str, ...]


def _locked(lock: str, document: Table) -> list[_Crate]:
    found = []
    packages = document.get("package")
    for each in packages if isinstance(packages, list) else ():
        if not isinstance(each, dict) or "source" not in each:
            continue  # a crate of the repo itself
        name, version = str(each.get("name", "")), str(each.get("version", ""))
        source, checksum = str(each["source"]), str(each.get("checksum", ""))
        if source not in _REGISTRIES:
            raise InvalidInput(
                f"{lock}: {name[:100]} comes from {source[:200]!r}, not from crates.io", _REMEDY
            )
        if not _CHECKSUM.fullmatch(checksum):
            raise InvalidInput(f"{lock}: {name[:100]} has no checksum", _REMEDY)
        _check(f"{lock}: {name[:100]}", name, version)
        edges = each.get("dependencies")
        texts = [str(edge) for edge in edges] if isinstance(edges, list) else []
        found.append(_Crate(name, version, checksum, tuple(texts)))
    return found


def _check(place: str, name: str, version: str) -> None:
    if not (_NAME.fullmatch(name) and _VERSION.fullmatch(version)):
        raise InvalidInput(f"{place}: cannot install {name[:100]!r} {version[:100]!r}", _REMEDY)


def _declared(path: str, document: Table) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the name and the wish of each crate that a manifest wants from crates.io."""
    for place in (document, table(document, "workspace"), *table(document, "target").values()):
        for key in _TABLES:
            for name, wanted in table(place, key).items():
                wish = {"version": wanted} if isinstance(wanted, str) else wanted
                if isinstance(wish, dict) and "path" not in wish and "workspace" not in wish:
                    yield _wish(f"{path}: {key}.{name}", name, wish)


def _wish(place: str, name: str, wish: Table) -> tuple[str, Mapping[str, object]]:
    foreign = next((key for key in ("git", "registry", "registry-index") if key in wish), "")
    if foreign:
        raise InvalidInput(
            f"{place} comes from {foreign} = {str(wish[foreign])[:200]!r}, not from crates.io",
            _REMEDY,
        )
    package, version = str(wish.get("package", name)), str(wish.get("version", "*"))
    _check(place, package, version)
    features = wish.get("features")
    listed = features if isinstance(features, list) else []
    default = wish.get("default-features") is not False
    return package, {
        "version": version,
        "features": list(map(str, listed)),
        "default-features": default,
    }


def _manifest(locked: Sequence[_Crate], missing: Sequence[tuple[str, Mapping[str, object]]]) -> str:
    """Return a manifest that depends on every locked crate, and on those that no lock has."""
    lines = ["[package]", 'name = "llmch-prepared"', 'version = "0.0.0"', 'edition = "2018"']
    lines += ["[workspace]", "[dependencies]"]
    for number, crate in enumerate(locked):
        wish = f'package = "{crate.name}", version = "={crate.version}", default-features = false'
        lines.append(f"locked-{number} = {{ {wish} }}")
    for number, (name, more) in enumerate(missing):
        fields = [f"{key} = {json.dumps(value)}" for key, value in more.items()]
        lines.append(f"missing-{number} = {{ package = {json.dumps(name)}, {', '.join(fields)} }}")
    return "\n".join(lines) + "\n"


def _lock(locked: Sequence[_Crate]) -> str:
    """Return a lock for that manifest, so that Cargo checks each crate by its checksum."""
    lines = ["version = 3", "[[package]]", 'name = "llmch-prepared"', 'version = "0.0.0"']
    lines.append(f"dependencies = {json.dumps([f'{each.name} {each.version}' for each in locked])}")
    for each in locked:
        lines += ["[[package]]", f'name = "{each.name}"', f'version = "{each.version}"']
        lines += [f'source = "{_REGISTRIES[0]}"', f'checksum = "{each.checksum}"']
        lines.append(f"dependencies = {json.dumps(each.edges)}")
    return "\n".join(lines) + "\n"


def _vendor(cargo: str, folder: Path, sets: Sequence[tuple[str, str]], workshop: Workshop) -> None:
    """Vendor the crates of each manifest and lock; a crate may have a version for each of them."""
    home, crates = folder / "home", folder / "crates"
    home.mkdir(parents=True)
    argv = [cargo, "vendor", "--quiet", "--versioned-dirs", "--respect-source-config"]
    argv += ["--no-delete"] if len(sets) > 1 else []
    for number, (manifest, lock) in enumerate(sets):
        place = folder / f"crate{number or ''}"
        (place / "src").mkdir(parents=True)
        (place / "src" / "lib.rs").touch()
        (place / MANIFEST).write_text(manifest, encoding="utf-8")
        if lock:
            (place / _LOCK).write_text(lock, encoding="utf-8")
        workshop.run([*argv, str(crates)], place, workshop.variables, remedy=_REMEDY)
    config = (
        '[source.crates-io]\nreplace-with = "prepared"\n'
        f"[source.prepared]\ndirectory = {json.dumps(str(crates))}\n[net]\noffline = true\n"
    )
    (home / "config.toml").write_text(config, encoding="utf-8")


_IGNORES_TARGET: Final = re.compile(r"^(?:/|\*\*/)?target/?[ \t]*$", re.MULTILINE)
_EXCEPTS_TARGET: Final = re.compile(r"^!.*target", re.MULTILINE)
_OF_PACKAGE: Final = ("version", "edition", "resolver")
_OF_WORKSPACE: Final = ("members", "exclude", "default-members", "resolver", "package")
_OF_WISH: Final = ("version", "path", "package", "features", "optional", "workspace")
_DEFAULT: Final = ("default-features", "default_features")
# The empty crates are compiled too; nothing of them stays.
_COMPILE: Final = """cargo test --no-run{0}
code=$?
find target -name '*llmch?prepared?[0-9]*' -prune -exec rm -rf {{}} +
rm -rf target/debug/incremental
exit $code
"""


def _warm_builds(
    files: ManifestFiles, documents: Mapping[str, Table], lock: str | None
) -> Iterator[WarmBuild]:
    """Yield what compiles the locked crates with the features that the project's crates ask for.

    Each crate of the project is an empty one of another name, so that Cargo takes nothing of it for
    the project's. A crate of the project in the place of a locked one, or a `target` that git does
    not ignore, leaves nothing to yield.
    """
    root, ignored = documents.get(MANIFEST), files.text(".gitignore") or ""
    if root is None or lock is None or "patch" in root or "replace" in root:
        return
    if not _IGNORES_TARGET.search(ignored) or _EXCEPTS_TARGET.search(ignored):
        return
    names = {folder_of(each): f"llmch-prepared-{at}" for at, each in enumerate(documents)}
    whole = " --workspace" if "workspace" in root else ""
    built = {"Cargo.lock": lock, "compile.sh": _COMPILE.format(whole)}
    for path, document in documents.items():
        built |= _emptied(folder_of(path), document, names)
    yield WarmBuild("cargo", "target/", built, ("sh", "compile.sh"))


def _emptied(folder: str, document: Table, names: Mapping[str, str]) -> dict[str, str]:
    """Return the files of an empty crate that wants the same crates with the same features."""
    kept: dict[str, object] = _picked(document, "features", "profile")
    kept |= _wanted(folder, document, names)
    targets = {
        key: _wanted(folder, table(each), names) for key, each in table(document, "target").items()
    }
    kept |= {"target": targets} if targets else {}
    inside = {}
    if "workspace" in document:
        above = table(document, "workspace")
        kept["workspace"] = _picked(above, *_OF_WORKSPACE) | _wanted(folder, above, names)
    if "package" in document:
        package = _picked(table(document, "package"), *_OF_PACKAGE)
        kept["package"] = {"version": "0.0.0", **package, "name": names[folder]}
        library = table(document, "lib")
        kinds = library.get("crate-type")
        if "proc-macro" in (kinds if isinstance(kinds, list) else ()) or library.get("proc-macro"):
            kept["lib"] = {"proc-macro": True}
        inside["src/lib.rs"] = ""
        if any("build-dependencies" in each for each in (document, *targets.values())):
            inside["build.rs"] = "fn main() {}\n"
    lines = (f"{json.dumps(key, ensure_ascii=False)} = {_toml_of(kept[key])}\n" for key in kept)
    inside[MANIFEST] = "".join(lines)
    return {posixpath.join(folder, name): text for name, text in inside.items()}


def _picked(document: Table, *keys: str) -> dict[str, object]:
    return {key: document[key] for key in keys if key in document}


def _wanted(folder: str, place: Table, names: Mapping[str, str]) -> dict[str, object]:
    """Return the tables of wanted crates; those of the project have their new names."""
    found: dict[str, object] = {}
    for key in (each for each in _TABLES if each in place):
        wishes = dict(table(place, key))
        for name, wish in wishes.items():
            if isinstance(wish, dict):
                path = posixpath.normpath(posixpath.join(folder, str(wish.get("path", ""))))
                own = names.get("" if path == "." else path) if "path" in wish else None
                renamed = {"package": own} if own else {}
                wishes[name] = _picked(wish, *_OF_WISH, *_DEFAULT) | renamed
        found[key] = wishes
    return found


_MOST_NESTED: Final = 8


def _toml_of(value: object, depth: int = 0) -> str:
    """Return a value as TOML in one line."""
    match value:
        case dict() if depth < _MOST_NESTED:
            pairs = (
                f"{json.dumps(str(key), ensure_ascii=False)} = {_toml_of(each, depth + 1)}"
                for key, each in value.items()
            )
            return f"{{ {', '.join(pairs)} }}"
        case list() if depth < _MOST_NESTED:
            return f"[{', '.join(_toml_of(each, depth + 1) for each in value)}]"
        case bool() | int() | float() | str():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return "{}"
