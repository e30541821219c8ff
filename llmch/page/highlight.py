"""Colours code by its language. A language that is not known here is shown without colours.

Lexers are chosen from a list and not by what is installed, so that a page does not depend on the
machine that makes it. The text given is short: `allowance` has cut it before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from llmch.page.visible import visible

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

_LEXERS: Final = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript",
    "jsx": "javascript", "ts": "typescript", "tsx": "typescript", "mts": "typescript",
    "go": "go", "rs": "rust", "java": "java", "kt": "kotlin", "c": "c", "h": "c", "cc": "cpp",
    "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "rb": "ruby", "php": "php", "sh": "bash",
    "bash": "bash", "sql": "sql", "html": "html", "css": "css", "json": "json", "toml": "toml",
    "yaml": "yaml", "yml": "yaml", "ini": "ini", "cfg": "ini", "md": "markdown", "xml": "xml",
}  # fmt: skip
_LONGEST_LINE: Final = 2_000  # characters; a longer one is data, which no lexer makes clearer


def highlighted(lines: list[str], path: str) -> list[Markup]:
    """Return the lines of a file as markup, of which there are as many."""
    language = _LEXERS.get(path.rpartition(".")[2].lower(), "")
    if not language or any(len(each) > _LONGEST_LINE for each in lines):
        return [escape(visible(each)) for each in lines]
    # A lexer may see other line ends than newlines; visible text has none.
    text = "\n".join(map(visible, lines))
    found = "".join(_coloured(text, _lexer(language))).split("\n")
    if len(found) < len(lines):  # lexers drop empty lines at the end
        found += [""] * (len(lines) - len(found))
    return [Markup(each) for each in found[: len(lines)]]  # noqa: S704  # escaped in `_coloured`


def _coloured(text: str, lexer: Lexer) -> Iterator[str]:
    for token, value in lexer.get_tokens(text):
        name = _class_of(token)
        for position, line in enumerate(value.split("\n")):
            if position:
                yield "\n"
            safe = str(escape(line))
            yield f"<b class={name}>{safe}</b>" if name and safe.strip() else safe


@cache
def _lexer(language: str) -> Lexer:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@cache
def _class_of(token: _TokenType) -> str:
    """Return the class of the page's style sheet for a token, "" for one without a colour."""
    from pygments.token import Comment, Keyword, Name, Number, String, is_token_subtype

    for kind, name in (
        (Comment, "c"),
        (String, "s"),
        (Number, "n"),
        (Name.Function, "f"),
        (Name.Class, "f"),
        (Name.Tag, "f"),
        (Name.Decorator, "d"),
        (Name.Builtin, "d"),
        (Keyword, "k"),
    ):
        if is_token_subtype(token, kind):
            return name
    return ""
