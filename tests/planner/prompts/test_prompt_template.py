"""Prompts: what may be a template, what is put in, and that nothing put in is expanded."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import planner
import shared
from planner.plan.parse_plan import parse_plan
from planner.plan.plan_edits import completed
from planner.prompts.prompt_templates import (
    MAX_FINDING_CHARACTERS,
    MAX_FINDINGS_CHARACTERS,
    MAX_REPLY_CHARACTERS,
    NO_REPO,
    Template,
    default_doctrine,
    fenced,
    have_room,
    load_template,
    render,
    render_languages,
    render_revision,
)
from shared.errors import ExitCode, InvalidInput
from tests.planner.planning import judge_text

ALL_PLACES = (
    "{{PRODUCT_SPEC}}, {{DOCTRINE}}, {{REPO_HINTS}}, {{REQUIREMENTS}}, {{VERIFICATION}}, "
    "{{LANGUAGES}}, {{EXAMPLE}}"
)


def template_of(folder: Path, text: str) -> Template:
    file = folder / "t.md"
    file.write_text(text, encoding="utf-8")
    return load_template(file)


def refusal_of(folder: Path, text: str) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        template_of(folder, text)
    assert refused.value.exit_code is ExitCode.INVALID
    assert refused.value.message.startswith(f"template {folder}/t.md has ")
    return refused.value


# Templates


def test_the_spec_alone_makes_a_template(tmp_path: Path) -> None:
    assert render(template_of(tmp_path, "Do {{PRODUCT_SPEC}} now"), "this") == "Do this now"


def test_all_places_are_filled(tmp_path: Path) -> None:
    template = template_of(tmp_path, "{{DOCTRINE}}|{{PRODUCT_SPEC}}|{{REPO_HINTS}}")
    assert render(template, "spec\n", "rules\n", "\nfiles\n") == "rules|spec|files"


def test_without_doctrine_and_repo_the_prompt_says_so(tmp_path: Path) -> None:
    template = template_of(tmp_path, "{{DOCTRINE}}|{{PRODUCT_SPEC}}|{{REPO_HINTS}}")
    assert render(template, "spec") == f"None.|spec|{NO_REPO}"


def test_the_hash_follows_the_text_and_not_its_line_ends(tmp_path: Path) -> None:
    one = template_of(tmp_path, "a\n{{PRODUCT_SPEC}}\n")
    (tmp_path / "t.md").write_bytes(b"\xef\xbb\xbfa\r\n{{PRODUCT_SPEC}}\r\n")
    assert load_template(tmp_path / "t.md") == one
    assert template_of(tmp_path, "b\n{{PRODUCT_SPEC}}\n").sha256 != one.sha256


def test_a_template_without_the_spec_is_refused(tmp_path: Path) -> None:
    refused = refusal_of(tmp_path, "Plan something. {{REPO_HINTS}}")
    assert "has no {{PRODUCT_SPEC}}: the model would never see the spec" in refused.message
    assert refused.hint == "put {{PRODUCT_SPEC}} where the spec should stand"


@pytest.mark.parametrize("name", ["PRODUCT_SPEC", "DOCTRINE", "REPO_HINTS"])
def test_a_place_that_is_repeated_is_refused(tmp_path: Path, name: str) -> None:
    text = "{{PRODUCT_SPEC}}{{DOCTRINE}}{{REPO_HINTS}}{{" + name + "}}"
    refused = refusal_of(tmp_path, text)
    assert refused.message.endswith("has {{" + name + "}} 2 times")
    assert refused.hint == "keep one of them"


@pytest.mark.parametrize(
    ("place", "hint"),
    [
        ("{{PRODUCT_SPECS}}", "write {{PRODUCT_SPEC}}"),
        ("{{REPO_HINT}}", "write {{REPO_HINTS}}"),
        ("{{BUDGET}}", f"the placeholders are {ALL_PLACES}"),
        ("{{ PRODUCT_SPEC }}", "write {{PRODUCT_SPEC}}"),
        ("{{product_spec}}", "write {{PRODUCT_SPEC}}"),
        ("{{ Repo-Hints }}", "write {{REPO_HINTS}}"),
    ],
)
def test_a_place_that_nobody_fills_is_refused(tmp_path: Path, place: str, hint: str) -> None:
    refused = refusal_of(tmp_path, "{{PRODUCT_SPEC}}\n\n" + place)
    assert refused.message.endswith(f"has the unknown placeholder {place} at line 3")
    assert refused.hint == hint


def test_braces_of_other_tools_are_left_alone(tmp_path: Path) -> None:
    text = "{{ user.name }} {{name}} {{{x}}} ${{ env.X }} {{PRODUCT_SPEC}}"
    assert render(template_of(tmp_path, text), "S") == text.replace("{{PRODUCT_SPEC}}", "S")


def test_a_template_that_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes(b"{{PRODUCT_SPEC}} caf\xe9")
    for path, state in [
        (tmp_path / "none.md", "does not exist"),
        (tmp_path, "is a directory"),
        (tmp_path / "latin.md", "is not UTF-8: byte 0xe9 at offset 20"),
    ]:
        with pytest.raises(InvalidInput) as refused:
            load_template(path)
        assert refused.value.message == f"template {path} {state}"


def test_a_megabyte_of_blanks_is_no_burden(tmp_path: Path) -> None:
    text = "{{PRODUCT_SPEC}}" + "{{a" + " " * 900_000
    assert template_of(tmp_path, text).text == text


# Filling


@pytest.mark.parametrize("hostile", ["{{REPO_HINTS}}", "{{PRODUCT_SPEC}}", r"\1 \g<0> \\", "{{X}}"])
def test_what_is_put_in_is_never_expanded(hostile: str) -> None:
    prompt = render(load_template(), hostile, "doctrine", "hints")
    assert f"<product_spec>\n{hostile}\n</product_spec>" in prompt
    assert prompt.count("\nhints\n") == 1


pieces = st.lists(
    st.sampled_from(["{{PRODUCT_SPEC}}", "{{DOCTRINE}}", "{{REPO_HINTS}}", "{{", "}}", "{", "\\1"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
).map(lambda found: f"<{''.join(found)}>")


@given(spec=pieces, doctrine=pieces, hints=pieces)
def test_each_place_gets_its_own_text_and_no_other(spec: str, doctrine: str, hints: str) -> None:
    template = Template("a{{DOCTRINE}}b{{PRODUCT_SPEC}}c{{REPO_HINTS}}d", "")
    assert render(template, spec, doctrine, hints) == f"a{doctrine}b{spec}c{hints}d"


def test_a_prompt_can_always_be_sent() -> None:
    prompt = render(load_template(), "half \ud800 pair")
    assert "half ? pair" in prompt
    prompt.encode()


# Revision


def test_a_revision_starts_with_the_prompt_unchanged() -> None:
    prompt = render(load_template(), "Say hello.")
    revision = render_revision(prompt, "{}", ["E000: no work orders"], 1)
    assert revision.startswith(prompt.strip("\n"))


def test_a_revision_shows_the_reply_and_every_finding_with_its_remedy() -> None:
    findings = [
        "E101 WO-02 preconditions[0]: a.py is not there. Remedy: create it earlier",
        "E003 WO-01 acceptance_commands[0]: `|` does nothing.\nRemedy: drop it",
    ]
    revision = render_revision("PROMPT", '{"work_orders": []}', findings, 2)
    assert "(attempt 2)" in revision
    assert '```\n{"work_orders": []}\n```\n' in revision
    assert "\n- E101 WO-02 preconditions[0]: a.py is not there. Remedy: create it earlier\n" in (
        revision
    )
    assert "\n- E003 WO-01 acceptance_commands[0]: `|` does nothing. Remedy: drop it\n" in revision


def test_places_in_a_reply_or_a_finding_are_not_filled() -> None:
    revision = render_revision("{{FINDINGS}}", "{{PROMPT}}", ["{{PREVIOUS_REPLY}}"], 1)
    assert revision.startswith("{{FINDINGS}}\n")
    assert "```\n{{PROMPT}}\n```" in revision
    assert "- {{PREVIOUS_REPLY}}\n" in revision


def test_a_reply_of_the_limit_is_shown_whole() -> None:
    reply = "x" * MAX_REPLY_CHARACTERS
    assert reply in render_revision("P", reply, [], 1)


def test_of_a_longer_reply_head_and_tail_are_shown() -> None:
    reply = "HEAD" + "x" * 10_000_000 + "TAIL"
    revision = render_revision("P", reply, [], 1)
    assert "\nHEADx" in revision
    assert "xTAIL\n" in revision
    assert " [... 9,744,008 characters left out ...] " in revision
    assert len(revision) < MAX_REPLY_CHARACTERS + 2_000


def test_findings_are_bounded_and_the_rest_is_counted() -> None:
    findings = [f"E005 WO-{i}: {'x' * 50}" for i in range(1, 10_001)]
    revision = render_revision("P", "{}", findings, 1)
    shown = re.findall(r"^- E005", revision, re.MULTILINE)
    assert 100 < len(shown) < 10_000
    assert f"- and {10_000 - len(shown)} more findings\n" in revision
    assert len(revision) < MAX_FINDINGS_CHARACTERS + 2_000


@given(st.integers(0, 190), st.integers(1, 700))
@example(32, 596)  # each is cut by one character, and the words that say so take room
def test_all_findings_that_are_needed_are_shown_however_long(needed: int, length: int) -> None:
    errors = [f"E{i:03} {'x' * length}" for i in range(needed)]
    warnings = [f"W{i:03} {'x' * length}" for i in range(400)]
    revision = render_revision("P", "{}", [*errors, *warnings], 1, needed=needed)
    assert re.findall(r"^- (E\d+)", revision, re.MULTILINE) == [each[:4] for each in errors]
    assert len(revision) < MAX_FINDINGS_CHARACTERS + 2_000


def test_what_has_room_stays_as_it_is() -> None:
    findings = [f"W{i:03} a warning" for i in range(20)]
    assert have_room(findings)
    plain = render_revision("P", "{}", findings, 1)
    assert render_revision("P", "{}", findings, 1, needed=7) == plain
    assert not have_room([f"{each} {'x' * 900}" for each in findings * 2])


def test_a_single_finding_is_bounded_too() -> None:
    revision = render_revision("P", "{}", ["E005 " + "x" * 1_000_000], 1)
    line = next(each for each in revision.splitlines() if each.startswith("- E005"))
    assert len(line) < MAX_FINDING_CHARACTERS + 60


@given(st.text(alphabet="`~x\n \t", max_size=60))
def test_no_fence_within_a_text_closes_its_fence(text: str) -> None:
    first, *lines = fenced(text).split("\n")
    assert lines.index(first) == len(lines) - 1
    assert "\n".join(lines[:-1]) == text.removesuffix("\n")


# The prompts that ship


def test_the_default_prompt_passes_the_check_of_a_template(tmp_path: Path) -> None:
    assert template_of(tmp_path, load_template().text) == load_template()


def test_the_default_prompt_ends_with_the_output_format() -> None:
    headings = re.findall(r"^# (.+)$", load_template().text, re.MULTILINE)
    assert headings[-2:] == ["Product specification", "Output format"]


def test_prompts_hold_nothing_of_the_machine() -> None:
    prompt = render(load_template(), "Say hello.", default_doctrine())
    assert prompt == render(load_template(), "Say hello.", default_doctrine())
    assert str(Path.cwd()) not in prompt
    assert not re.search(r"\b20\d\d-\d\d", prompt)


def test_prompts_are_found_inside_an_archive_too(tmp_path: Path) -> None:
    # As in a wheel on sys.path: there is no file for a path to point at.
    root = Path(planner.__file__).parent.parent
    for package in (planner, shared):
        name = package.__name__
        shutil.copytree(root / name, tmp_path / "src" / name)
    archive = shutil.make_archive(str(tmp_path / "app"), "zip", tmp_path / "src")
    code = "from planner.prompts.prompt_templates import *; print(load_template().sha256)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": archive},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == load_template().sha256


def shown_example() -> dict[str, Any]:
    prompt = render(load_template(), "A program.", languages=render_languages("In Python.", ()))
    block = re.search(r"^```json\n(.*?)^```$", prompt, re.MULTILINE | re.DOTALL)
    assert block
    plan: dict[str, Any] = json.loads(block[1])
    return plan


def test_no_rule_objects_to_the_example_in_the_prompt() -> None:
    whole = completed(parse_plan(shown_example())).document
    plan, report = judge_text(json.dumps(whole))
    assert len(plan.drafts) == 2
    assert report.findings == ()


EXAMPLE_FILES = {
    "scripts/verify.sh": "set -eu\npython -m compileall -q .\npython -m pytest -q\n",
    "greeting.py": (
        "def greeting(name: str) -> str:\n    return f'Hello, {name}!' if name else 'Hello, world!'"
    ),
    "tests/test_greeting.py": (
        "from greeting import greeting\n\n\n"
        "def test_greeting():\n    assert greeting('Bob') == 'Hello, Bob!'\n"
    ),
    "greet.py": (
        "import sys\nfrom greeting import greeting\nprint(greeting(' '.join(sys.argv[1:])))\n"
    ),
}


@pytest.mark.rest
def test_the_commands_of_the_example_pass_on_code_that_does_what_it_says(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(tmp_path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # those of this project cost a second each time
    }
    for order in shown_example()["work_orders"]:
        for path in order["allowed_files"]:
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(EXAMPLE_FILES[path])
        for file in order.get("acceptance_files", ()):
            (tmp_path / file["path"]).write_text(file["content"])
        for command in ["bash scripts/verify.sh", *order["acceptance_commands"]]:
            done = subprocess.run(
                shlex.split(command), cwd=tmp_path, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, (command, done.stdout, done.stderr)
