"""Folders of spec-kit, OpenSpec and Kiro as specifications: nothing lost, ids that stay."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.spec.compose_spec import OpenPoint
from planner.spec.kept_requirements import numbered_requirements
from planner.spec.read_spec import Spec, read_spec
from planner.spec.spec_difference import compare_requirements
from shared.errors import ExitCode, InvalidInput
from shared.work_order.work_order import question_id
from tests.planner.spec.kept_folders import KIRO, OPENSPEC, SPEC_KIT, write_files

CHANGE = "openspec/changes/add-coupons"
DELTA = f"{CHANGE}/specs/cart/spec.md"
FEATURE = "specs/003-word-count"
TIMER = ".kiro/specs/timer"


def texts(spec: Spec) -> dict[str, str]:
    return {each.id: each.text for each in spec.requirements}


def refusal(path: Path) -> str:
    with pytest.raises(InvalidInput) as refused:
        read_spec(path)
    assert refused.value.exit_code is ExitCode.INVALID
    assert refused.value.hint
    return f"{refused.value.message}\n{refused.value.hint}"


@pytest.mark.parametrize("place", ["", "specs", FEATURE])
def test_spec_kit_is_read_whole(tmp_path: Path, place: str) -> None:
    spec = read_spec(write_files(tmp_path, SPEC_KIT) / place)
    assert (spec.path.name, spec.title) == ("003-word-count", "word-count")
    said = texts(spec)
    own = [each.id for each in spec.requirements if each.given]
    assert own == ["FR-001", "FR-002", "FR-003", "SC-001"]
    assert said["FR-002"] == "System MUST refuse bytes with: a clear message exit code 2"
    scenarios = [each for each in said.values() if each.startswith("**Given**")]
    assert len(scenarios) == 3
    for each in spec.requirements:
        assert each.file == f"{FEATURE}/spec.md"
        line = SPEC_KIT[each.file].split("\n")[(each.line or 0) - 1]
        assert each.given or f"{line} [{each.id}]" in spec.text.split("\n")
    assert spec.rules is not None
    assert spec.rules.path == ".specify/memory/constitution.md"
    assert "No code without." in spec.rules.quoted()
    assert "Python 3.11, standard library." in spec.text
    assert "- T002 [P] [US1] Write count in words.py (FR-001, FR-002)" in spec.text


def test_what_is_marked_as_open_is_asked_until_it_is_answered(tmp_path: Path) -> None:
    root = write_files(tmp_path, SPEC_KIT)
    spec = read_spec(root)
    assert spec.open_points == (OpenPoint("characters or bytes?", ("FR-003",)),)
    assert "- characters or bytes? (FR-003)" in spec.text
    (root / "specs/003-word-count.answers.yaml").write_text(
        'answers:\n  - question: "characters or bytes?"\n    answer: "characters"\n'
    )
    answered = read_spec(root)
    assert answered.open_points == ()
    assert "# Open questions" not in answered.text
    assert answered.requirements[-1].id == question_id("characters or bytes?")
    assert answered.sha256 != spec.sha256


@pytest.mark.parametrize("place", ["", ".kiro", ".kiro/specs", TIMER])
def test_kiro_is_read_whole(tmp_path: Path, place: str) -> None:
    spec = read_spec(write_files(tmp_path, KIRO) / place)
    assert spec.title == "timer"
    said = texts(spec)
    assert [*said][:4] == ["1.1", "1.2", "2.1", "2.2"]
    assert said["1.1"].endswith("THEN the Timer SHALL count down from the given seconds")
    assert said["1.2"].endswith("with a message and leave what runs")
    assert [each for each in said.values() if "100 ms" in each]
    assert len(said) == 5
    assert "2. WHEN it ends THE Timer SHALL ring [2.2]" in spec.text
    assert "One module, `timer.py`." in spec.text


def test_openspec_without_a_change_is_its_capabilities(tmp_path: Path) -> None:
    files = {name: text for name, text in OPENSPEC.items() if "/changes/" not in name}
    spec = read_spec(write_files(tmp_path / "shop", files))
    assert spec.title == "shop"
    said = texts(spec)
    assert [*said] == ["cart.adding-a-thing", "cart.total", "sign-in.session-expiry"]
    assert said["cart.adding-a-thing"] == (
        "The cart SHALL list what is added. Scenario: Once: **WHEN** a thing is added **THEN** it "
        "is listed once Scenario: Twice: **WHEN** it is added again **THEN** its number is 2"
    )
    assert "### Requirement: Total [cart.total]" in spec.text
    assert "What a person buys." in spec.text
    one = read_spec(tmp_path / "shop/openspec/specs/sign-in")
    assert [*texts(one)] == ["sign-in.session-expiry"]


@pytest.mark.parametrize("place", ["", "openspec", "openspec/changes", CHANGE])
def test_a_change_of_openspec_is_applied(tmp_path: Path, place: str) -> None:
    spec = read_spec(write_files(tmp_path, OPENSPEC) / place)
    assert spec.title == "add-coupons"
    said = texts(spec)
    assert [*said] == ["cart.total", "cart.coupons", "sign-in.session-expiry"]
    assert said["cart.total"] == "The cart SHALL show the sum with tax."
    assert "- cart: the change removes Adding a thing" in spec.text
    assert "Coupons sell." in spec.text
    assert spec.untouched == 1
    places = {each.id: (each.file, each.line) for each in spec.requirements}
    assert places["cart.coupons"] == (DELTA, 3)
    assert places["sign-in.session-expiry"] == ("openspec/specs/sign-in/spec.md", 5)


def test_a_renamed_requirement_keeps_its_id_when_the_change_is_archived(tmp_path: Path) -> None:
    write_files(tmp_path, OPENSPEC)
    changed = read_spec(tmp_path)
    base = tmp_path / "openspec/specs/cart/spec.md"
    coupons = OPENSPEC[DELTA].split("## MODIFIED")[0].partition("\n\n")[2]
    base.write_text(
        "# cart\n\n## Requirements\n\n"
        "### Requirement: Sum\nThe cart SHALL show the sum with tax.\n\n" + coupons
    )
    archive = tmp_path / "openspec/changes/archive"
    archive.mkdir()
    (tmp_path / CHANGE).rename(archive / "2026-06-01-add-coupons")
    archived = read_spec(tmp_path)
    assert texts(archived) == texts(changed)
    base.write_text(f"{base.read_text()}\n### Requirement: Total\nThe cart SHALL count.\n")
    reused = [each for each in texts(read_spec(tmp_path)) if each.startswith("cart.total")]
    assert reused[0] == "cart.total"
    assert len(reused[1]) == len("cart.total-123456")


FAULTS = {
    "removed": (
        "## REMOVED Requirements\n\n### Requirement: Gone\n",
        (f'{DELTA}, line 3: requirement "Gone" is REMOVED and not there', '"Adding a thing"'),
    ),
    "removed in a list": (
        "## REMOVED Requirements\n\n- `### Requirement: Gone`\n",
        (f'{DELTA}, line 3: requirement "Gone" is REMOVED and not there', '"Total"'),
    ),
    "modified": (
        "## MODIFIED Requirements\n\n### Requirement: Gone\nNo.\n",
        (f'{DELTA}, line 3: requirement "Gone" is MODIFIED and not there', "the capability has"),
    ),
    "modified under the old name": (
        "## MODIFIED Requirements\n### Requirement: Total\nX\n"
        "## RENAMED Requirements\n- FROM: Total\n- TO: Sum\n",
        (f'{DELTA}, line 2: requirement "Total" is MODIFIED and not there', 'renamed to "Sum"'),
    ),
    "renamed to a taken name": (
        "## RENAMED Requirements\n- FROM: `### Requirement: Total`\n"
        "- TO: `### Requirement: adding a thing`\n",
        (f'{DELTA}, line 2: requirement "Total" is renamed to', "is the name of another one in"),
    ),
    "renamed and not there": (
        "## RENAMED Requirements\n- FROM: `### Requirement: Gone`\n- TO: `### Requirement: X`\n",
        (f'{DELTA}, line 2: requirement "Gone" is renamed and not there', "the capability has"),
    ),
    "renamed by half": (
        "## RENAMED Requirements\n- FROM: `### Requirement: Total`\n",
        (f"{DELTA}, line 2: a requirement is renamed by half", "- TO:"),
    ),
    "added again": (
        "## ADDED Requirements\n\n### Requirement: total\nX\n",
        (f'{DELTA}, line 3: requirement "total" is already in openspec/specs/cart/', "MODIFIED"),
    ),
    "no delta": ("Nothing here.\n", ("changes no requirement", "specs/CAPABILITY/spec.md")),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_change_that_does_not_fit_is_refused_with_its_place(tmp_path: Path, fault: str) -> None:
    delta, wanted = FAULTS[fault]
    said = refusal(write_files(tmp_path, {**OPENSPEC, DELTA: delta}))
    for each in wanted:
        assert each in said


def test_a_change_says_which_other_one_touches_the_same(tmp_path: Path) -> None:
    other = {"openspec/changes/zero/specs/cart/spec.md": OPENSPEC[DELTA]}
    write_files(tmp_path, {**OPENSPEC, **other})
    (remark,) = read_spec(tmp_path / CHANGE).remarks
    assert "the change zero, which is open too" in remark
    assert '"Coupons" (cart)' in remark
    assert read_spec(write_files(tmp_path / "one", OPENSPEC)).remarks == ()


def test_several_specifications_are_named(tmp_path: Path) -> None:
    write_files(tmp_path, {**SPEC_KIT, **KIRO})
    said = refusal(tmp_path)
    assert "holds 2 specifications" in said
    assert f"{tmp_path}/{FEATURE}, {tmp_path}/{TIMER}" in said
    assert read_spec(tmp_path / TIMER).title == "timer"
    (tmp_path / "empty").mkdir()
    assert "holds no specification that llmch knows" in refusal(tmp_path / "empty")


def test_a_place_that_only_looks_like_another_kind(tmp_path: Path) -> None:
    project = write_files(tmp_path / "specs" / "shop", KIRO)  # a project below a folder "specs"
    assert read_spec(project).title == "timer"
    own = {name.rpartition("/")[2]: text for name, text in KIRO.items() if "/timer/" in name}
    assert "1.1" in texts(read_spec(write_files(tmp_path / "specs" / "two", own)))
    (tmp_path / "o/openspec/specs").mkdir(parents=True)
    loop = tmp_path / "o/openspec/specs/a"
    loop.symlink_to(tmp_path / "o/openspec/specs")
    assert "holds no specification" in refusal(tmp_path / "o")


HALVES = {
    f"{FEATURE}/spec.md": (SPEC_KIT, FEATURE, "spec.md does not exist"),
    f"{TIMER}/requirements.md": (KIRO, TIMER, "requirements.md does not exist"),
    DELTA: (OPENSPEC, CHANGE, "changes no requirement"),
}


@pytest.mark.parametrize("missing", HALVES)
def test_a_folder_that_is_half_written_is_refused(tmp_path: Path, missing: str) -> None:
    files, place, wanted = HALVES[missing]
    write_files(tmp_path, files)
    (tmp_path / missing).unlink()
    assert wanted in refusal(tmp_path / place)
    if missing != DELTA:
        assert wanted in refusal(tmp_path)
        (tmp_path / missing).write_text(" \n")
        assert "is empty" in refusal(tmp_path)


@pytest.mark.parametrize("name", ["spec.md", "plan.md", "tasks.md"])
def test_files_that_are_no_utf8_or_lead_outside_are_refused(tmp_path: Path, name: str) -> None:
    root = write_files(tmp_path / "repo", SPEC_KIT)
    file = root / FEATURE / name
    file.write_bytes("# Größe\n".encode("latin-1"))
    assert f"{name} is not UTF-8: byte 0xf6" in refusal(root)
    file.write_text("# x\n", encoding="utf-16")
    assert f"{name} is UTF-16" in refusal(root)
    secret = tmp_path / "secret.md"
    secret.write_text("- **FR-001**: System MUST tell a secret.\n")
    file.unlink()
    file.symlink_to(secret)
    assert "is a link that leads out of" in refusal(root)
    file.unlink()
    (root / "inside.md").write_text("- **FR-001**: System MUST be inside.\n")
    file.symlink_to(root / "inside.md")
    read_spec(root)


def test_line_ends_and_ticks_change_nothing(tmp_path: Path) -> None:
    one = read_spec(write_files(tmp_path / "a", KIRO))
    crlf = {name: text.replace("\n", "\r\n") for name, text in KIRO.items()}
    tasks = f"{TIMER}/tasks.md"
    crlf[tasks] = crlf[tasks].replace("[ ] 1.1", "[x] 1.1")
    two = read_spec(write_files(tmp_path / "b", crlf))
    assert (two.text, two.sha256, two.requirements) == (one.text, one.sha256, one.requirements)


def test_an_id_given_twice_is_refused(tmp_path: Path) -> None:
    name = f"{TIMER}/requirements.md"
    twice = KIRO[name].replace("### Requirement 2", "### Requirement 1")
    said = refusal(write_files(tmp_path / "k", {**KIRO, name: twice}))
    assert "line 31: 1.1 is already the number of the requirement on line 19" in said
    name = "openspec/specs/cart/spec.md"
    twice = OPENSPEC[name] + "\n### Requirement: total\nAgain.\n"
    said = refusal(write_files(tmp_path / "o", {**OPENSPEC, name: twice}))
    assert 'requirement "total" is already in openspec/specs/cart/spec.md, line 19' in said


def test_five_thousand_tasks_and_a_thousand_criteria_are_read_at_once(tmp_path: Path) -> None:
    criteria = "".join(f"{n}. WHEN {n} comes THE System SHALL say {n}\n" for n in range(1, 991))
    tasks = "".join(f"- [ ] {n}. Say {n}\n  - _Requirements: 1.{n}_\n" for n in range(1, 5001))
    head = "# R\n\n### Requirement 1\n\n#### Acceptance Criteria\n\n"
    files = {f"{TIMER}/requirements.md": head + criteria, f"{TIMER}/tasks.md": tasks}
    write_files(tmp_path, files)
    began = time.process_time()
    spec = read_spec(tmp_path)
    assert time.process_time() - began < 3
    assert [*texts(spec)] == [f"1.{n}" for n in range(1, 991)]
    assert "characters more are left out" in spec.text
    more = criteria + "".join(f"{n}. THE System SHALL say {n}\n" for n in range(991, 1100))
    (tmp_path / TIMER / "requirements.md").write_text(head + more)
    assert "states 1,099 requirements, over the limit of 1,000" in refusal(tmp_path)


WORDS = st.lists(
    st.text(alphabet="abcdefghijklmnop", min_size=3, max_size=9), min_size=3, max_size=6
).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=8, unique=True), st.integers(0, 40), WORDS)
def test_lines_that_are_put_between_keep_the_ids(lines: list[str], at: int, words: str) -> None:
    """Prose, blank lines and comments move lines, and numbers that are written stay."""
    head = ["# R", "", "### Requirement 3", "", "**User Story:** As one, I want it.", ""]
    body = [f"{n}. THE System SHALL {each}" for n, each in enumerate(lines, 1)]
    whole = [*head, "#### Acceptance Criteria", "", *body, "", "## Other"]
    found, _ = numbered_requirements("\n".join(whole), "spec")
    assert [each.id for each in found] == [f"3.{n}" for n in range(1, len(lines) + 1)]
    moved = [*whole]
    for extra in ("", f"<!-- {words} -->"):
        moved.insert(min(at, len(moved)), extra)
    again, _ = numbered_requirements("\n".join(moved), "spec")
    assert [(each.id, each.text) for each in again] == [(each.id, each.text) for each in found]


@given(st.lists(WORDS, min_size=1, max_size=6, unique=True), st.data())
def test_a_criterion_that_is_put_before_others_touches_none_of_them(
    lines: list[str], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(lines)))

    def spec(words: list[str]) -> str:
        items = (f"{n}. THE System SHALL {each}" for n, each in enumerate(words, 1))
        return "### Requirement 1\n\n#### Acceptance Criteria\n\n" + "\n".join(items)

    before, _ = numbered_requirements(spec(lines), "spec")
    more = [*lines[:at], "be something else entirely 99", *lines[at:]]
    after, _ = numbered_requirements(spec(more), "spec")
    difference = compare_requirements(before, after, ids_given=True)
    assert {each.id for each in difference.untouched} == {each.id for each in before}
    (added,) = difference.added
    assert not difference.changed and not difference.removed
    assert added.id not in {each.id for each in before}
    assert len({each.id for each in difference.requirements}) == len(more)


@pytest.mark.parametrize("mark", ["[NEEDS CLARIFICATION: ]", "[NEEDS CLARIFICATION:]"])
def test_an_empty_mark_asks_nothing(tmp_path: Path, mark: str) -> None:
    root = write_files(tmp_path, SPEC_KIT)
    spec = root / FEATURE / "spec.md"
    spec.write_text(f"# Feature\n\n- **FR-001**: System MUST sort {mark}.\n")
    assert read_spec(root).open_points == ()


def test_a_folder_with_too_much_without_an_id_is_told_so_too(tmp_path: Path) -> None:
    root = write_files(tmp_path, SPEC_KIT)
    spec = root / FEATURE / "spec.md"
    rules = "".join(f"- The system MUST do {n}.\n" for n in range(301))
    spec.write_text(f"# Feature\n\n- **FR-001**: System MUST sort.\n{rules}")
    (said,) = read_spec(root).remarks
    assert "more than 300 requirements without an id" in said


def test_a_number_at_the_start_of_a_wrapped_line_is_no_criterion(tmp_path: Path) -> None:
    root = write_files(tmp_path, KIRO)
    text = (root / TIMER / "requirements.md").read_text()
    criterion = "1. WHEN idle THEN the system SHALL wait at most\n30 seconds before it logs out\n"
    (root / TIMER / "requirements.md").write_text(
        f"{text}\n### Requirement 9\n\n#### Acceptance Criteria\n\n{criterion}"
    )
    found = texts(read_spec(root))
    assert found["9.1"].endswith("wait at most 30 seconds before it logs out")
    assert "9.30" not in found
