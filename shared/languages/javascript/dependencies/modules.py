"""Makes `node_modules` as the lock says, in a folder that holds manifests and the lock alone."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from shared.languages.capabilities.dependencies import ManifestFiles, Prepared, Workshop
from shared.languages.javascript.dependencies.locks import (
    KNOWN_HOSTS,
    check_npm_lock,
    check_pnpm_lock,
    check_yarn_lock,
    read_json,
    reduced_manifest,
    reduced_workspace,
    unsynchronised,
)

_MANIFEST: Final = "package.json"
_MODULES: Final = "node_modules"
_REMEDY: Final = "install in the checkout, whose node_modules commands then see"
_SPACES: Final = "pnpm-workspace.yaml"
_LOCKS: Final = ("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock")
_BUN_LOCKS: Final = ("bun.lock", "bun.lockb")
_QUIET: Final = ("--no-audit", "--no-fund", "--loglevel=error")


@dataclass(frozen=True, slots=True)
class _Recipe:
    """Hold the files to write, the command that installs from them, and notes for a person."""

    files: Mapping[str, str]
    argv: tuple[str, ...]
    notes: tuple[str, ...] = ()
    lock: str = ""


def prepare_node(files: ManifestFiles, workshop: Workshop) -> Prepared:
    """Return every `node_modules` that the lock at the root comes to.

    Nothing is prepared where commands find `node_modules` of the checkout already, or where nothing
    is declared. Raises `InvalidInput` for a lock that cannot be trusted, and `EnvironmentFault`
    with the installer's own words.
    """
    text = files.text(_MANIFEST)
    if text is None or _MODULES in workshop.present:
        return Prepared()
    lock = next((name for name in _LOCKS if files.text(name) is not None), "")
    bun = next((name for name in _BUN_LOCKS if name in files.paths), "")
    manifest = read_json(_MANIFEST, text)
    if not lock and not any(manifest.get(key) for key in ("dependencies", "devDependencies")):
        return Prepared()
    if bun and not lock:
        return Prepared(notes=(f"{bun} of Bun is not read, so nothing is prepared: {_REMEDY}.",))
    variables = _variables(workshop)
    program = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn"}.get(lock, "npm")
    found = workshop.program(program)
    if found is None:
        missing = f"{lock or _MANIFEST} asks for packages, but there is no program {program} here"
        return Prepared(notes=(f"{missing}: install it, or {_REMEDY}.",))
    recipe = _recipe_for(lock, files, found, workshop)
    if recipe is None:
        return Prepared(notes=(f"{lock} of Yarn 2 or later is not prepared: {_REMEDY}.",))

    def make(folder: Path) -> None:
        _install(recipe, folder, variables, workshop)

    key = json.dumps([recipe.files, recipe.argv])
    folder = workshop.kept(key, make)
    folders = dict(_modules_below(folder, recipe.files))
    return Prepared(read=(folder,), folders=folders, notes=recipe.notes)


def _variables(workshop: Workshop) -> dict[str, str]:
    # Corepack would fetch the version of a package manager that the manifest names.
    return {**workshop.variables, "CI": "1", "COREPACK_ENABLE_STRICT": "0"}


def _recipe_for(
    lock: str, files: ManifestFiles, program: str, workshop: Workshop
) -> _Recipe | None:
    text = files.text(lock) or "" if lock else ""
    match lock:
        case "pnpm-lock.yaml":
            check_pnpm_lock(lock, text)
            argv = (program, "install", "--frozen-lockfile", "--ignore-scripts")
            kept_files = {lock: text, **_manifests(files, files.named(_MANIFEST))}
            spaces = files.text(_SPACES)
            kept_files |= {_SPACES: reduced_workspace(_SPACES, spaces)} if spaces else {}
            return _Recipe(kept_files, (*argv, "--ignore-pnpmfile"))
        case "yarn.lock":
            if "__metadata:" in text:
                return None
            check_yarn_lock(lock, text, KNOWN_HOSTS)
            argv = (program, "install", "--frozen-lockfile", "--ignore-scripts")
            kept_files = {lock: text, **_manifests(files, files.named(_MANIFEST))}
            return _Recipe(kept_files, (*argv, "--non-interactive"))
        case _:
            return _npm_recipe(lock, text, files, program, workshop)


def _npm_recipe(
    lock: str, text: str, files: ManifestFiles, program: str, workshop: Workshop
) -> _Recipe:
    manifests = _manifests(files, files.named(_MANIFEST))
    if not lock:
        note = "package.json has no lock, so the newest versions that it allows are installed."
        return _Recipe(manifests, (program, "install", "--ignore-scripts", *_QUIET), (note,))
    document = read_json(lock, text)
    hosts = KNOWN_HOSTS | _registries(program, workshop)
    local = check_npm_lock(lock, document, hosts)
    named = {_MANIFEST, *(posixpath.join(folder, _MANIFEST) for folder in local)}
    manifests = {path: text for path, text in manifests.items() if path in named}
    lacking = unsynchronised(read_json(_MANIFEST, manifests[_MANIFEST]), document)
    if not lacking:
        return _Recipe(
            {**manifests, lock: text}, (program, "ci", "--ignore-scripts", *_QUIET), lock=lock
        )
    note = (
        f"{lock} does not have {', '.join(lacking[:5])} as package.json declares it, so a version "
        "is chosen anew: lock again before you merge."
    )
    argv = (program, "install", "--ignore-scripts", *_QUIET)
    return _Recipe({**manifests, lock: text}, argv, (note,), lock)


def _manifests(files: ManifestFiles, paths: Iterable[str]) -> dict[str, str]:
    """Return the reduced manifests; those below `node_modules` belong to packages."""
    found = {}
    for path in paths:
        text = files.text(path) if f"{_MODULES}/" not in path else None
        if text is not None:
            found[path] = json.dumps(reduced_manifest(path, text), indent=1)
    return found


def _registries(program: str, workshop: Workshop) -> frozenset[str]:
    """Return the hosts of the registries that the user has npm use, without the repo's `.npmrc`."""
    argv = [program, "config", "list", "--json"]
    said = workshop.run(argv, workshop.elsewhere(), _variables(workshop), remedy=_REMEDY)
    settings = read_json("npm config", said)
    named = (str(value) for key, value in settings.items() if key.endswith("registry"))
    return frozenset(urlsplit(each).netloc for each in named if "://" in each)


def _install(
    recipe: _Recipe, folder: Path, variables: Mapping[str, str], workshop: Workshop
) -> None:
    for path, text in recipe.files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    workshop.run(list(recipe.argv), folder, variables, remedy=_REMEDY)
    if recipe.argv[1] == "install" and Path(recipe.argv[0]).name == "npm":
        name = recipe.lock or _LOCKS[0]
        chosen = read_json(name, (folder / name).read_text(encoding="utf-8"))
        check_npm_lock(name, chosen, KNOWN_HOSTS | _registries(recipe.argv[0], workshop))


def _modules_below(folder: Path, files: Iterable[str]) -> Iterator[tuple[str, Path]]:
    for path in sorted(files):
        above, _, name = path.rpartition("/")
        modules = folder / above / _MODULES
        if name == _MANIFEST and modules.is_dir() and not modules.is_symlink():
            yield posixpath.join(above, _MODULES), modules
