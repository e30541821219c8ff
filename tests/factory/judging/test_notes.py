"""What a look at a proposal shows: before anything runs, and beside a failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from factory.judging.contract import check_rewrites, notes_on
from factory.judging.failure_brief import brief_of
from factory.orders.documents import FailureBrief, FileWrite, WriteProposal
from factory.orders.stages import Stage
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import ShownFile
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes
from shared.work_order.work_order import WorkOrder
from tests.harness import order

STUB = 'def greet(name: str) -> str:\n    """Say hello."""\n'
WRITTEN = STUB + "    return f'Hello, {name}.'\n"
NO_BODY = (
    "The function `greet` in greet.py has no body: after its docstring there is no statement, so "
    "it returns None. Write the statements that do the work."
)


def proposed(files: Mapping[str, str]) -> WriteProposal:
    writes = tuple(
        FileWrite(path=path, base_sha256=EMPTY_SHA256, content=text) for path, text in files.items()
    )
    return WriteProposal(summary="s", writes=writes)


def shown(files: Mapping[str, str | None]) -> tuple[ShownFile, ...]:
    return tuple(
        ShownFile(path, FileState(FileKind.ABSENT, EMPTY_SHA256), "")
        if text is None
        else ShownFile(path, FileState(FileKind.FILE, sha256_bytes(text.encode())), text)
        for path, text in files.items()
    )


def an_order(**changes: Any) -> WorkOrder:
    fields = {"allowed_files": ["greet.py"], "intent": "Complete greet."} | changes
    return WorkOrder.model_validate(order(**fields))


def failed(excerpt: str) -> FailureBrief:
    return brief_of(Stage.ACCEPTANCE_FAILED, an_order(), excerpt)


def notes(
    before: Mapping[str, str | None],
    after: Mapping[str, str],
    failure: FailureBrief | None = None,
    **changes: Any,
) -> tuple[str, ...]:
    return notes_on(an_order(**changes), proposed(after), shown(before), failure)


def test_a_function_without_a_body_is_named() -> None:
    assert notes({"greet.py": None}, {"greet.py": STUB}) == (NO_BODY,)
    assert notes({"greet.py": "# old\n" + STUB}, {"greet.py": STUB}) == (NO_BODY,)


def test_a_comment_that_stands_for_lines_is_named_in_a_file_that_was_there() -> None:
    left_out = "# ... existing code unchanged ...\n"
    (note,) = notes({"greet.py": "X = 1\n" + WRITTEN}, {"greet.py": left_out + WRITTEN})
    assert note.startswith(f"In greet.py, `{left_out.strip()}` stands for lines that are left out")
    assert notes({"greet.py": None}, {"greet.py": left_out + WRITTEN}) == ()


def test_a_function_that_was_empty_and_is_not_asked_for_is_not_named() -> None:
    hook = "def on_start(app):\n    pass\n\n\n"
    assert notes({"greet.py": hook}, {"greet.py": hook + WRITTEN}) == ()
    assert notes({"greet.py": ""}, {"greet.py": hook + WRITTEN})[0].startswith(
        "The function `on_start` in greet.py has only `pass`"
    )


def test_a_constant_is_named_only_beside_a_failure() -> None:
    code = "def greet(name):\n    return 'hello'\n"
    assert notes({"greet.py": None}, {"greet.py": code}) == ()
    (note,) = notes({"greet.py": None}, {"greet.py": code}, failed("AssertionError"))
    assert note.startswith("The function `greet` in greet.py returns 'hello', whatever")


def test_a_proposal_that_changes_nothing_says_only_that() -> None:
    assert notes({"greet.py": STUB}, {"greet.py": STUB}) == (
        "The reply changes nothing: it gives greet.py exactly as it was shown.",
    )


def test_a_file_that_the_order_wants_and_nobody_wrote_is_named() -> None:
    changes = {
        "allowed_files": ["greet.py", "main.py"],
        "postconditions": [{"kind": "file_exists", "path": "main.py"}],
    }
    before = {"greet.py": None, "main.py": None}
    assert notes(before, {"greet.py": WRITTEN}, None, **changes) == (
        "The reply does not write main.py, which the work order wants.",
    )
    assert notes({**before, "main.py": "x = 1\n"}, {"greet.py": WRITTEN}, None, **changes) == ()


def test_a_file_that_did_not_change_is_named_beside_a_failure() -> None:
    changes = {"allowed_files": ["greet.py", "main.py"]}
    before = {"greet.py": "", "main.py": "x = 1\n"}
    after = {"greet.py": WRITTEN}
    assert notes(before, after, None, **changes) == ()
    assert notes(before, after, failed("x"), **changes) == (
        "main.py is not in the reply: it did not change.",
    )
    assert notes(before, {**after, "main.py": "x = 1\n"}, failed("x"), **changes) == (
        "main.py is given as it was shown: it did not change.",
    )


def test_a_declared_name_that_is_missing_is_named_with_what_there_is() -> None:
    interfaces = [{"path": "greet.py", "stub": "def greet(name: str) -> str: ...\n"}]
    code = "def greeting(name):\n    return name\n\n\ndef other():\n    return 1\n"
    assert notes({"greet.py": None}, {"greet.py": code}, interfaces=interfaces) == (
        "greet.py has no `greet`, which the work order declares; it has `greeting`.",
    )
    dynamic = "from other import *\n"
    assert notes({"greet.py": None}, {"greet.py": dynamic}, interfaces=interfaces) == ()


def test_a_syntax_error_is_quoted_where_the_output_has_one() -> None:
    after = {"greet.py": "def greet(:\n    pass\n"}
    assert notes({"greet.py": None}, after) == ()
    assert notes({"greet.py": None}, after, failed("SyntaxError: invalid syntax")) == (
        "greet.py does not parse at line 1: `def greet(:`.",
    )


def test_a_name_that_does_not_exist_is_said_before_the_missing_body() -> None:
    error = "ImportError: cannot import name 'great' from 'greet' (greet.py)"
    assert notes({"greet.py": None}, {"greet.py": STUB}, failed(error)) == (
        "greet.py has no `great`. It has `greet`.",
        NO_BODY,
    )


def test_files_of_no_known_language_have_no_notes() -> None:
    assert notes({"a.txt": None}, {"a.txt": "def f(:"}, failed("x"), allowed_files=["a.txt"]) == ()


HELPERS = "".join(f"def _step_{at}(n):\n    n = n + {at}\n    return n\n\n\n" for at in range(8))
TOTAL = "def total(n):\n    return _step_1(_step_2(n))\n"
IN_GO = "package shop\n\nfunc Total(n int) int { return n }\n\nfunc Sum(n int) int { return n }\n"


def lost(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    found = check_rewrites(an_order(allowed_files=[*after]), proposed(after), shown({**before}))
    return [each.message for each in found]


def test_what_moves_to_another_file_is_not_lost() -> None:
    moved = {"a.py": "from b import total\n\nX = 1\n", "b.py": HELPERS + TOTAL}
    assert lost({"a.py": f"X = 1\n\n\n{HELPERS}{TOTAL}"}, moved) == []
    (shrunk,) = lost({"a.py": f"X = 1\n\n\n{HELPERS}{TOTAL}"}, {**moved, "b.py": TOTAL})
    assert "shrinks to" in shrunk
    (gone,) = lost({"a.py": f"X = 1\n{TOTAL}"}, {"a.py": "X = 1\n", "b.py": TOTAL})
    assert gone.startswith("`total` is gone")


def test_files_of_a_go_package_share_their_names() -> None:
    without = IN_GO.replace("func Total(n int) int { return n }\n\n", "")
    total = "package shop\n\nfunc Total(n int) int { return n }\n"
    assert lost({"shop/a.go": IN_GO}, {"shop/a.go": without, "shop/b.go": total}) == []
    (gone,) = lost({"shop/a.go": IN_GO}, {"shop/a.go": without, "till/b.go": total})
    assert gone.startswith("`Total` is gone")
