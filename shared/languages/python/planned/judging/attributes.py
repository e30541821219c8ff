"""Judges a type checker's complaint that a module or a value lacks an attribute."""

from __future__ import annotations

import ast
import re

from shared.languages.fault_words import declared_only_by
from shared.languages.python.checker.complaints import ModuleLacks, ValueLacks
from shared.languages.python.planned.judging.scene import DOUBT, Place, Verdict
from shared.languages.python.stubs.type_text import TypeText

_PROTOCOL_ATTRIBUTE = re.compile(r"__(?:a?iter|a?next|a?enter|a?exit|len|getitem|call|contains)__")


def judge_attribute(complaint: ModuleLacks | ValueLacks, place: Place) -> Verdict | None:
    """Return the verdict on a missing attribute; `None` where the command itself sets it.

    The verdict is also `None` where the module of the attribute is open and has no contract.
    """
    return _AttributeJudge(place).verdict(complaint)


class _AttributeJudge:
    def __init__(self, place: Place) -> None:
        self._place = place

    def verdict(self, complaint: ModuleLacks | ValueLacks) -> Verdict | None:
        if complaint.name in self._place.scene.set_attributes:
            return None
        if isinstance(complaint, ValueLacks):
            return self._value_attribute(complaint.type, complaint.name)
        return self._module_attribute(complaint.module or self._module_at_spot(), complaint.name)

    def _module_attribute(self, name: str | None, attribute: str) -> Verdict | None:
        module = self._place.scene.view.modules.get(name or "")
        if name is None or module is None:
            return DOUBT
        later = self._later(module.path, attribute, f"{name}.{attribute}")
        if later:
            return Verdict("E217", declared_only_by(later))
        if module.is_open:
            return DOUBT if module.contract is not None else None
        return Verdict("E211")

    def _module_at_spot(self) -> str | None:
        """Return the name of the module whose attribute is read at this place."""
        node = self._place.spot.node
        if not isinstance(node, ast.Attribute):
            return None
        parts: list[str] = []
        value: ast.expr = node.value
        while isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
        if not isinstance(value, ast.Name):
            return None
        start = self._place.scene.facts.imported.get(value.id)
        if start is None:
            return None
        base = [start.module] if start.attribute is None else [start.module, start.attribute]
        return ".".join([*base, *reversed(parts)])

    def _value_attribute(self, of: TypeText, attribute: str) -> Verdict:
        if not self._place.is_own():
            return DOUBT
        if attribute == "__iter__":
            return self._place.misuse(certain=self._place.types.is_not_iterable(of))
        if _PROTOCOL_ATTRIBUTE.fullmatch(attribute):
            return self._place.misuse(certain=self._place.types.is_certain(of))
        on_class = of.head == "type" and bool(of.args)
        of_class = of.args[0] if on_class else of
        if self._place.names.owns(of_class):
            return self._own_attribute(of_class.head, attribute, on_class)
        if on_class or (of.head == "Callable" and self._is_on_result()):
            return DOUBT
        return self._place.misuse(certain=self._place.types.lacks_attribute(of, attribute))

    def _is_on_result(self) -> bool:
        """Say whether the attribute belongs to a call's result, which may be any callable."""
        node = self._place.spot.node
        return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call)

    def _own_attribute(self, head: str, attribute: str, on_class: bool) -> Verdict:
        for each in self._place.names.owners(head):
            later = self._later(each.module.path, f"{head}.{attribute}")
            if later:
                return Verdict("E217", declared_only_by(later))
            if each.module.is_open:
                return DOUBT
        if not self._place.names.is_whole(head, attribute):
            return DOUBT
        if not self._place.names.has_plain_head(head) or head in self._place.scene.local_classes:
            return DOUBT
        if not on_class and self._place.names.may_be_extended(head):
            return DOUBT
        return Verdict("E211", self._place.declared_by(head))

    def _later(self, path: str, name: str, module: str | None = None) -> str | None:
        history, position = self._place.scene.history, self._place.scene.position
        later = history.declared_later(path, name, position)
        if later is None and module is not None:
            later = history.provided_later(module, position, self._place.scene.view.roots)
        return None if later is None else self._place.scene.source(later)
