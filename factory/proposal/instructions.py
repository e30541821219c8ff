"""Renders the instructions for writing a reply, with examples. Pure.

The paths and the code of an example fit no project, because small models copy whatever fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from factory.orders.reply_format import Form, ReplyFormat
from factory.proposal.edits.search_format import Change, render_changes
from factory.proposal.files_format import ProposedFile, render_block, render_files_example

_JSON_FORMAT: Final = """\
Reply with one JSON object and nothing else, of this form:

{"summary": "what the change does, in one sentence", "writes": [{"path": "the/file.py", \
"base_sha256": "the hash shown with that file", "content": "the whole new content of the file"}]}

- Give each file that you write whole, from its first line to its last; leave out files that stay \
as they are.
- Copy base_sha256 from the list of files below: it says which content you replace.
- Inside JSON strings, write line ends as \\n, quotes as \\" and backslashes as \\\\."""

_FILES_FORMAT: Final = """\
Begin with one line that says what the change does. Then give each file that you write in a block \
of its own, whole, its path right after the opening fence. For example:

{example}
- Leave out files that stay as they are, and write nothing after the last block.
- If a file holds ``` itself, open and close its block with more backticks."""

_EDITS_FORMAT: Final = """\
Begin with one line that says what the change does. Then give each change in a fenced block of its \
own. What follows the opening fence says what the block holds.

{forms}

- Leave out what stays as it is, and write nothing after the last block.
- If a block holds ``` itself, open and close it with more backticks.{files}"""

_FORMS: Final[Mapping[Form, str]] = {
    Form.WHOLE: "A whole file, from its first line to its last:",
    Form.DEFINITION: (
        "A function, a method or a class. Write all of it, from its decorators to its last line. "
        "It replaces the definition of that name; a new one is added:"
    ),
    Form.SEARCH: (
        "Some lines of a file. Copy them exactly as they are, as many as it takes to find them "
        "only once, then write the lines that take their place. A block may hold several pairs:"
    ),
}
_FILES: Final[Mapping[Form, str]] = {
    Form.WHOLE: "Write {path} whole.",
    Form.DEFINITION: "Of {path}, write only the definitions that change, each with its name.",
    Form.SEARCH: "Of {path}, write only the lines that change, with the lines to search for.",
}
_EXAMPLES: Final[Mapping[Form, ProposedFile]] = {
    Form.WHOLE: ProposedFile("path/of/one.py", 'print("the whole content of this file")\n'),
    Form.DEFINITION: ProposedFile(
        "path/of/another.py",
        'def method(self):\n    return "all the statements of this method"\n',
        Form.DEFINITION,
        "Class.method",
    ),
    Form.SEARCH: ProposedFile(
        "path/of/a/third.py",
        render_changes(
            [Change("(the lines as they are now)\n", "(the lines that take their place)\n")]
        ),
        Form.SEARCH,
    ),
}


def render_format(asked: ReplyFormat, forms: Mapping[str, Form] | None = None) -> str:
    """Return the instructions for writing the reply.

    `forms` has the form of each file, by path, for the format `edits`; without it, all are open.
    """
    match asked:
        case ReplyFormat.JSON:
            return _JSON_FORMAT
        case ReplyFormat.FILES:
            return _FILES_FORMAT.replace("{example}", render_files_example())
        case ReplyFormat.EDITS:
            return _render_edits(forms or {})


def describe_form(form: Form) -> str:
    """Return what a block of a form holds, with an example."""
    return f"{_FORMS[form]}\n\n{render_block(_EXAMPLES[form])}".rstrip("\n")


def _render_edits(forms: Mapping[str, Form]) -> str:
    used = [form for form in Form if not forms or form in forms.values()]
    files = "".join(f"\n- {_FILES[form].format(path=path)}" for path, form in forms.items())
    described = "\n\n".join(map(describe_form, used))
    return _EDITS_FORMAT.replace("{files}", files).replace("{forms}", described)
