"""Lists what a JavaScript file exports, as an ES module or as a CommonJS module."""

from __future__ import annotations

from shared.languages.ecmascript.exports import exports
from shared.languages.syntax_tree import lines_or_none, parse


def public_names(text: str) -> tuple[str, ...] | None:
    """Return a line for each export, and for each public member of a class, without bodies.

    The result is empty where nothing is exported, and `None` where the text is not JavaScript.
    """
    import tree_sitter_javascript

    root = parse(tree_sitter_javascript.language, text)
    return None if root is None else lines_or_none(root, exports(root))
