"""Finds the mutations of a file in its syntax tree, by a table of the language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import Batch, Mutation, MutationKind, Useless
from shared.languages.declared.declarations import (
    DeclarationReader,
    Grammar,
    parse,
    tokens_of,
    walk,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_KIND = MutationKind
_BINARY: Final = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*", "&": "|", "|": "&", "^": "&",
    "&^": "&", "<<": ">>", ">>": "<<", ">>>": "<<", "&&": "||", "||": "&&", "??": "&&",
    "==": "!=", "!=": "==", "===": "!==", "!==": "===",
}  # fmt: skip
_BOUNDARIES: Final = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_ASSIGNED: Final = {f"{was}=": f"{instead}=" for was, instead in _BINARY.items() if "=" not in was}
_STEPS: Final = {"++": "--", "--": "++"}
# In all languages that have them, these nodes hold an operator between its operands.
_OPERATORS: Final[Mapping[str, Mapping[str, str]]] = {
    "binary_expression": _BINARY | _BOUNDARIES,
    "unary_expression": {"!": "!!", "-": ""},
    "augmented_assignment_expression": _ASSIGNED,
    "compound_assignment_expr": _ASSIGNED,
    "assignment_statement": _ASSIGNED,
    "update_expression": _STEPS,
    "inc_statement": _STEPS,
    "dec_statement": _STEPS,
}
_NEGATED: Final = frozenset({"==", "!=", "===", "!=="})
_CONDITIONAL: Final = frozenset(
    {"if_statement", "while_statement", "ternary_expression", "if_expression", "while_expression",
     "match_pattern"}
)  # fmt: skip
_DECIMAL: Final = re.compile(r"([0-9][0-9_]*)((?:[iu](?:8|16|32|64|128|size)|n)?)")
_MOST_DIGITS: Final = 300
LITERALS: Final = frozenset(
    {"number", "int_literal", "integer_literal", "float_literal", "string", "string_literal",
     "interpreted_string_literal", "raw_string_literal", "true", "false", "boolean_literal", "nil",
     "null", "undefined"}
)  # fmt: skip
_INTEGERS: Final = frozenset({"number", "int_literal", "integer_literal"})
_STRINGS: Final = frozenset({"string", "string_literal", "interpreted_string_literal"})
_JUMPS: Final = re.compile(r"(?:return|throw|break|continue)_(?:statement|expression)")
_LOG: Final = re.compile(
    r"(?:\w+\.)*_?(?:log|logger|logging|slog)\.(?![Ff]atal|[Pp]anic)\w+\("
    r"|(?:(?:log|tracing)::)?(?:trace|debug|info|warn|error)!"
)


def _returns_nothing(node: Node) -> Iterator[tuple[Node, str]]:
    return iter(())


@dataclass(frozen=True, slots=True)
class TreeMutations:
    """Implement `Mutations` for a language whose trees tree-sitter makes.

    `grammar` returns the grammar of the file at a path. Nodes whose type is in `left_out` are not
    looked into. A statement whose type is in `removed`, in a block, is replaced by `nothing`;
    `returned` yields what a node returns, with what it could return instead. `unbuilt` matches what
    the tools print of code that does not compile.
    """

    grammar: Callable[[str], Grammar]
    left_out: frozenset[str]
    removed: frozenset[str]
    nothing: str
    unbuilt: re.Pattern[str]
    returned: Callable[[Node], Iterator[tuple[Node, str]]] = _returns_nothing
    is_left_out: Callable[[Node], bool] = field(default=lambda _: False)

    def find_mutations(self, path: str, text: str) -> tuple[Mutation, ...] | None:
        """Return the mutations of a file in the order of the text; `None` if it does not parse."""
        root = parse(self.grammar(path), text)
        if root is None or root.has_error:
            return None
        reader = DeclarationReader(text)
        nodes = walk(root, into=lambda each: not self._skips(each))
        found = (
            Mutation(kind, *reader.at(node), instead)
            for each in nodes
            for kind, node, instead in self._of(each)
        )
        return tuple(sorted(found, key=lambda each: (each.start, each.end, each.text)))

    def _skips(self, node: Node) -> bool:
        """Return whether no test sees what a node holds."""
        return (
            node.type in self.left_out
            or (node.type.startswith(("call_", "macro_inv")) and _is_log(node))
            or _is_unreachable(node)
            or self.is_left_out(node)
        )

    def _of(self, node: Node) -> Iterator[tuple[MutationKind, Node, str]]:
        """Yield the mutations of one node: the kind, what is replaced, and by what."""
        for token in node.children if (known := _OPERATORS.get(node.type)) else ():
            if known and token.type in known:
                kind = _KIND.BOUNDARY if token.type in _BOUNDARIES else _KIND.OPERATOR
                yield kind, token, known[token.type]
        if node.type in LITERALS and (instead := _other_literal(node)):
            yield _KIND.CONSTANT, node, instead
        if node.type in _CONDITIONAL and (inverted := _inverted(node)):
            yield _KIND.CONDITION, *inverted
        alone = node.type in self.removed and _stands_alone(node)
        if alone and not (_is_log(node) or _is_unreachable(node)):
            yield _KIND.STATEMENT, node, self.nothing
        for returned, instead in self.returned(node):
            if returned.type not in LITERALS:
                yield _KIND.RETURN, returned, instead

    def why_useless(self, path: str, text: str, mutated: str) -> Useless | None:
        """Return why a mutant need not be run: it does not parse, or has the same tokens."""
        after = _tokens(self.grammar(path), mutated)
        if after is None:
            return Useless.INVALID
        return Useless.EQUIVALENT if after == _tokens(self.grammar(path), text) else None

    def is_unbuilt(self, output: str) -> bool:
        return self.unbuilt.search(output) is not None

    def batched(self, batch: Batch) -> tuple[str, ...]:
        """Return nothing: these tools compile or start anew for each mutant."""
        return ()


@lru_cache(maxsize=2)
def _tokens(grammar: Grammar, text: str) -> str | None:
    """Return the tokens of a text; `None` if it does not parse."""
    root = parse(grammar, text)
    return None if root is None or root.has_error else tokens_of(root)


def code_of_node(node: Node) -> str:
    """Return the text of a node as it is written."""
    return (node.text or b"").decode("utf-8", "replace")


def _is_log(node: Node) -> bool:
    return _LOG.match(code_of_node(node)[:200]) is not None


def _is_unreachable(node: Node) -> bool:
    """Return whether a statement follows one of its block after which nothing runs."""
    before = node.prev_named_sibling
    while before is not None and before.type in ("comment", "empty_statement"):
        before = before.prev_named_sibling
    if before is None or "declaration" in node.type or "item" in node.type:
        return False
    if before.type == "expression_statement" and before.named_children:
        before = before.named_children[0]
    return _JUMPS.fullmatch(before.type) is not None and "case" not in node.type


def _other_literal(node: Node) -> str:
    """Return another value of the same type as a literal; "" if none is known."""
    code = code_of_node(node)
    if node.type in _STRINGS:
        if len(code) < 2 or code[0] not in "\"'":
            return ""
        quote = code[0]
        if code == quote * 2:
            return f"{quote}llmch{quote}"
        # A format keeps its places, so that the code compiles.
        return f"{quote}llmch {code[1:]}" if re.search(r"[%{]", code) else quote * 2
    if node.type in _INTEGERS:
        if found := _DECIMAL.fullmatch(code):
            digits = found[1].replace("_", "")
            return f"{int(digits) + 1}{found[2]}" if len(digits) <= _MOST_DIGITS else ""
        return f"({code} + 1)"
    if node.type == "float_literal":
        return f"({code} + 1.0)"
    return {"true": "false", "false": "true"}.get(code, "")


def _inverted(node: Node) -> tuple[Node, str] | None:
    """Return the condition of a node, and its opposite; `None` if an operator's does the same."""
    condition = node.child_by_field_name("condition")
    if condition is None:
        return None
    is_wrapped = condition.type == "parenthesized_expression" and node.type.endswith("_statement")
    inner = condition.named_children[0] if is_wrapped else condition
    if inner.type in LITERALS or inner.type.startswith("let_"):
        return None
    kinds = {each.type for each in inner.children if not each.is_named}
    if "!" in kinds or not kinds.isdisjoint(_NEGATED):
        return None
    code = code_of_node(condition)
    return condition, f"(!{code})" if is_wrapped else f"!({code})"


def _stands_alone(node: Node) -> bool:
    """Return whether a statement can go without its surroundings: it is one of a block."""
    parent = node.parent.type if node.parent is not None else ""
    if not re.search(r"block|list|program|case|default|body", parent):
        return False
    if node.type != "expression_statement":
        return True
    inner = node.named_children[0] if node.named_children else None
    return inner is not None and _ACTS.search(inner.type) is not None


_ACTS: Final = re.compile(r"call|macro_invocation|assignment|await|update|new_|try_|break|continue")
