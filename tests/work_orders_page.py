"""Makes the tables and the example in `docs/work-orders.md`: `python -m tests.work_orders_page`.

Types, defaults and bounds come from the schema. The meaning of a field is a sentence of this
module, because the schema does not hold one. The README shows the same example.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from shared.work_order.work_order import Manifest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "work-orders.md"
README = ROOT / "README.md"
EXAMPLE = ROOT / "examples" / "work_order.json"

_EXAMPLE_BLOCK = re.compile(r"(<!-- examples/work_order\.json -->\n\n)```json\n.*?```\n", re.DOTALL)
_TABLE = re.compile(r"(<!-- fields of (\w+) -->\n\n)(?:\|.*\n)*")

MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "WorkOrder": {
        "id": "names the order: `WO-01`, `WO-02` and so on, without a gap except where an order "
        "was withdrawn; `WO-100` follows `WO-99`",
        "title": "says in one line what changes; the subject of the commit",
        "intent": "says what is true when the order is done",
        "preconditions": "lists facts that must hold before the order begins",
        "postconditions": "lists files that must exist after the order; `file_exists` alone",
        "allowed_files": "lists every file that the order may write; only an order with "
        "`removed_files` may leave it empty, and then no model is asked",
        "forbidden": "lists paths and glob patterns that the order may not write, "
        "although `allowed_files` has them",
        "acceptance_commands": "lists commands that must exit with 0 after the order; "
        "no shell runs them",
        "acceptance_files": "brings tests that the planner wrote: they are put in place before the "
        "commands run, shown to the model, compared afterwards, and committed with the order",
        "removed_files": "lists files that the harness deletes before a model is asked; they are "
        "gone for the commands and in the commit, and no later order may use them",
        "regression": "repeats the acceptance commands that are meant to pass before the order too",
        "context_files": "lists files that the model is shown, beside those it may write",
        "depends_on": "lists earlier orders that this one needs, "
        "beyond what its files and commands tell",
        "covers": "lists the requirements of the specification that the order carries out, or "
        "removed ones whose code it takes away",
        "interfaces": "declares the public names of the files that the order writes, in Python, "
        "JavaScript, TypeScript, Go or Rust",
        "changes": "lists names that the order declares anew or takes away on purpose (`play`, "
        "`Game.play`), and files that may lose more than half of their text",
        "notes": "tells the model everything else that it must know",
        "verify_exempt": "expects that the order is verified by compiling alone; the planner "
        "computes it, and the tree that the order makes decides when it runs",
        "provenance": "says where the order comes from; the planner writes it",
    },
    "Condition": {
        "kind": "says whether the file must be there",
        "path": "names the file",
    },
    "Postcondition": {
        "kind": "is always `file_exists`: what an order takes away stands in `removed_files`",
        "path": "names the file, which `allowed_files` must have",
    },
    "Interface": {
        "path": "names a source file of `allowed_files`",
        "stub": "holds the names that the order adds or changes, as the text of a `.pyi` file, "
        "of a `.d.ts` file, or as signatures and types of Go or Rust",
    },
    "AcceptanceFile": {
        "path": "names a file that the order may not write: with `content` a new one, or an "
        "acceptance file of an earlier order, which is replaced; with `append` one that is there "
        "(a file of Rust code whose own tests it is added to may be the order's to write)",
        "table": "names the test, or the variable, of a list of cases in the file: `append` then "
        "holds cases alone, which go to the end of that list",
        "append": "holds a test that is added to the file as it is before the order: its first "
        "imports go to those of the file, the rest to the end of the tests there",
        "content": "holds the whole text: UTF-8 with LF line ends, 16 KB at most; a command of "
        "the order has to run it; one of `content` and `append` is given",
    },
    "Provenance": {
        "planner_run_id": "names the run of `llmch plan`",
        "compile_hash": "is the hash of what the plan was made from: "
        "specification, template, model and effort",
        "manifest_sha256": "is the hash of the manifest, which recomputes from the file",
        "bootstrap": "says that the order comes before verification is possible",
        "edited": "says that a person has changed the order since it was planned",
    },
    "Manifest": {
        "schema_version": "is the version of this format",
        "name": "what the specification calls itself",
        "system_overview": "describes the whole in a few sentences; one string is taken, too",
        "verify_contract": "says what verifies the project",
        "work_orders": "holds the orders in sequence, each as in its own file",
        "requirements": "lists the requirements that the orders are traced to",
        "require_coverage": "says that each requirement needs an order",
        "base_files": "lists the files that were there when the plan was made "
        "and that its orders touch or read",
        "supersedes": "names the plan that this one follows",
        "withdrawn": "lists orders of an earlier plan that are not carried out any more; "
        "their ids are not used again",
        "not_removed": "lists requirements that the specification no longer has, "
        "and whose code stays",
        "assumptions": "lists what the plan reads into the specification",
        "provenance": "says where the plan comes from; the planner writes it",
    },
    "Assumption": {
        "kind": "says whether the specification contradicts itself, whether a person should "
        "decide, or whether one reading is usual",
        "text": "says what is open, or which sentences cannot both hold",
        "reading": "says how the plan takes it",
        "requirements": "names the requirements that it is about",
        "work_orders": "names the orders that rest on it",
    },
    "Supersedes": {
        "manifest_sha256": "is the hash of the plan that this one follows",
        "earlier": "lists the hashes of the plans before that one, oldest first",
        "title": "is the title of the oldest plan, which names the branch of all of them",
    },
    "WithdrawnOrder": {
        "id": "names the order",
        "reason": "says why nobody needs it any more",
    },
    "NotRemoved": {
        "requirement": "names the requirement",
        "reason": "says why no code has to go",
    },
    "BaseFile": {
        "path": "names the file",
        "sha256": "is the hash of its content",
    },
    "VerifyContract": {
        "command": "is the command that verifies the project",
        "requires": "lists what must hold before that command can run; "
        "an order before that point may be exempt",
    },
    "RequirementEntry": {
        "id": "names the requirement: its own id, or one derived from its words",
        "text": "is the requirement in the words of the specification",
        "line": "is the line of the specification that states it",
        "file": "is the file with that line, for a specification of several files",
    },
}


def render_page(text: str) -> str:
    """Return the page with its tables as the schema has them, and with the example."""
    schema = Manifest.model_json_schema()
    objects = {**schema["$defs"], "Manifest": schema}
    if objects.keys() != MEANINGS.keys():
        raise ValueError(f"documents without meanings: {sorted(objects.keys() ^ MEANINGS.keys())}")
    text = _TABLE.sub(lambda found: found[1] + _table(found[2], objects[found[2]]), text)
    return render_example(text)


def render_example(text: str) -> str:
    """Return the text with the example order as its file has it."""
    block = f"```json\n{EXAMPLE.read_text('utf-8')}```\n"
    return _EXAMPLE_BLOCK.sub(lambda found: found[1] + block, text)


def _table(name: str, schema: Mapping[str, Any]) -> str:
    fields, meanings = schema["properties"], MEANINGS[name]
    if fields.keys() != meanings.keys():
        raise ValueError(f"{name}: no meaning, or no field: {fields.keys() ^ meanings.keys()}")
    head = "| field | type | required | bounds | meaning |\n|---|---|---|---|---|\n"
    rows = (
        f"| `{field}` | {_type(facts)} | {_required(field, facts, schema)} | {_bounds(facts)} "
        f"| {meanings[field]} |\n"
        for field, facts in fields.items()
    )
    return head + "".join(rows)


def _type(facts: Mapping[str, Any]) -> str:
    match facts:
        case {"$ref": str(ref)}:
            name = ref.rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"anyOf": list(choices)}:
            return " or ".join(map(_type, choices))
        case {"enum": list(values)}:
            return " or ".join(f"`{each}`" for each in values)
        case {"const": value}:
            return f"`{value}`"
        case {"type": "array", "items": items}:
            return f"list of {_type(items)}"
        case {"type": str(kind)}:
            return kind
        case _:
            raise ValueError(f"a type that this page cannot show: {facts}")


def _required(field: str, facts: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if field in schema.get("required", ()):
        return "yes"
    return f"no: `{json.dumps(facts['default'])}`"


def _bounds(facts: Mapping[str, Any]) -> str:
    parts = []
    if "maxItems" in facts:
        parts.append(f"{facts.get('minItems', 0)} to {facts['maxItems']} entries")
    pattern = facts.get("pattern") or facts.get("items", {}).get("pattern")
    if pattern:
        parts.append(f"`{pattern}`")
    return ", ".join(parts)


def main() -> int:
    """Write the page and the example in the README."""
    PAGE.write_text(render_page(PAGE.read_text("utf-8")), "utf-8")
    README.write_text(render_example(README.read_text("utf-8")), "utf-8")
    sys.stdout.write(f"{PAGE}\n{README}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
