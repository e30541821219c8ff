"""Makes the tables of `docs/settings.md` from the declarations: `python -m tests.settings_page`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from shared.settings.declaration import PACKAGE_FOLDERS, VARIABLES, FlagKind, Key
from shared.settings.settings import KEYS

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
_SETTINGS = re.compile(r"\| key \| flag \|.*\n(?:\|.*\n)+")
_VARIABLES = re.compile(r"\| variable \|.*\n(?:\|.*\n)+")
_LOCKS = re.compile(r"\| folder \| lock files \|.*\n(?:\|.*\n)+")


def render_page(text: str) -> str:
    """Return the page with its tables as the declarations have them."""
    text = _SETTINGS.sub(lambda _: _settings_table(), text)
    text = _VARIABLES.sub(lambda _: _variables_table(), text)
    return _LOCKS.sub(lambda _: _locks_table(), text)


def _settings_table() -> str:
    head = "| key | flag | default | values | meaning | who |\n|---|---|---|---|---|---|\n"
    return head + "".join(_row(key) for key in KEYS.values())


def _row(key: Key) -> str:
    cells = (f"`{key.name}`", _flag(key), _default(key), key.range, key.help, _who(key))
    return "| " + " | ".join(cells) + " |\n"


def _flag(key: Key) -> str:
    if key.flag is None:
        return ""
    switch = key.flag.kind is FlagKind.SWITCH
    return f"`{key.flag.option}`" + (f", `--no-{key.flag.option[2:]}`" if switch else "")


def _default(key: Key) -> str:
    default = key.default[0] if isinstance(key.default, tuple) and key.default else key.default
    is_word = isinstance(default, str) and key.default_words == str(default)
    return f"`{key.default_words}`" if is_word else key.default_words


def _who(key: Key) -> str:
    if not key.guarded:
        return "all"
    names = [f"`{each}`" for each in sorted(key.harmless | key.harmless_words)]
    return f"user; a repo only {', '.join(names)}" if names else "user"


def _variables_table() -> str:
    rows = (f"| `{name}` | {meaning} |\n" for name, meaning in VARIABLES.items())
    return "| variable | meaning |\n|---|---|\n" + "".join(rows)


def _locks_table() -> str:
    head = "| folder | lock files | without any of them |\n|---|---|---|\n"
    rows = (
        f"| `{each.name}` | {_names(each.locks)} | {_names(each.manifests)} |\n"
        for each in PACKAGE_FOLDERS
    )
    return head + "".join(rows)


def _names(patterns: tuple[str, ...]) -> str:
    return ", ".join(f"`{each}`" for each in patterns)


def main() -> int:
    """Write the page."""
    PAGE.write_text(render_page(PAGE.read_text("utf-8")), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
