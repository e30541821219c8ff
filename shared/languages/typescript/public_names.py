"""Lists what a TypeScript file exports or declares for all files."""

from __future__ import annotations

from shared.languages.ecmascript.exports import exports
from shared.languages.syntax_tree import lines_or_none, parse


def public_names(text: str, *, with_tags: bool) -> tuple[str, ...] | None:
    """Return a line for each export, and for each public member of a type, without bodies.

    `with_tags` says that the file may hold JSX, which is a grammar of its own. The result is empty
    where nothing is exported, and `None` where the text is not TypeScript.
    """
    import tree_sitter_typescript as grammars

    root = parse(grammars.language_tsx if with_tags else grammars.language_typescript, text)
    return None if root is None else lines_or_none(root, exports(root))
