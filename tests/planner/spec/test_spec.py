"""Reading a spec: text as it is, YAML and JSON by their form, all else refused in words."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from planner.spec import read_spec as spec_document
from planner.spec.read_spec import Spec, SpecDocument, parse_spec_document, read_spec, render_schema
from planner.spec.requirements import Requirement
from planner.spec.strict_yaml import parse_spec_json, parse_spec_yaml
from shared.errors import ExitCode, InvalidInput

DOCUMENT: dict[str, Any] = {
    "name": "Word game",
    "summary": "A game of guessing words.",
    "requirements": [
        {"id": "R1", "text": "A word has five letters."},
        {"id": "R2", "text": "A guess is scored letter by letter."},
    ],
    "constraints": ["Python 3.11, standard library only"],
}

MARKDOWN = """\
# Word game

A game of guessing words.

## Requirements

- R1: A word has five letters.
- R2: A guess is scored letter by letter.

## Constraints

- Python 3.11, standard library only
"""


def spec_of(folder: Path, name: str, text: str) -> Spec:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return read_spec(file)


def refusal_of(folder: Path, name: str, text: str) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        spec_of(folder, name, text)
    assert refused.value.exit_code is ExitCode.INVALID
    assert refused.value.message.startswith(f"spec {folder / name}")
    assert refused.value.hint
    return refused.value


def changed(**fields: Any) -> str:
    return json.dumps(DOCUMENT | fields)


# Text


def test_markdown_is_given_to_the_model_as_it_is(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "s.md", "# Hello\n\n{{REPO_HINTS}} `x`\n")
    assert spec.text == "# Hello\n\n{{REPO_HINTS}} `x`\n"
    assert not spec.ids_given


def test_the_ids_of_a_text_are_given_where_all_are_the_authors(tmp_path: Path) -> None:
    assert spec_of(tmp_path, "s.md", "- R1: Greet.\n- R2: Greet all.\n").ids_given
    assert not spec_of(tmp_path, "s.md", "- R1: Greet.\n- Greet all.\n").ids_given


def test_an_id_that_a_text_gives_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    refused = refusal_of(tmp_path, "s.md", "- R1: Greet.\n\n- R1: Greet all.\n")
    assert "line 3: 'R1' is already the id of the requirement on line 1" in refused.message
    assert "give each requirement its own id" in refused.hint


@pytest.mark.parametrize("name", ["spec", "spec.txt", "spec.md", "spec.toml"])
def test_any_other_suffix_is_text(tmp_path: Path, name: str) -> None:
    assert spec_of(tmp_path, name, '{"name": 1}').text == '{"name": 1}'


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Maze solver\n\nText", "Maze solver"),
        ("\n---\n\n## Maze ##\n", "Maze"),
        ("Say hello.\nMore.", "Say hello."),
        ("Titel: Grüße\n", "Titel: Grüße"),
        ("\x1b[31mred\x07", "[31mred"),
        ("x" * 500, "x" * 80),
        ("***\n", "s"),
    ],
)
def test_the_title_is_the_first_line_that_says_something(
    tmp_path: Path, text: str, title: str
) -> None:
    assert spec_of(tmp_path, "s.md", text).title == title


@pytest.mark.parametrize("name", ["s.md", "s.yaml", "s.json"])
@pytest.mark.parametrize(
    ("text", "state"), [("", "is empty"), (" \n\t\n", "holds only white space")]
)
def test_a_blank_spec_is_refused(tmp_path: Path, name: str, text: str, state: str) -> None:
    assert refusal_of(tmp_path, name, text).message == f"spec {tmp_path / name} {state}"


def test_a_spec_over_a_megabyte_is_refused(tmp_path: Path) -> None:
    text = "# x\n" * 250_000
    assert len(spec_of(tmp_path, "s.md", text).text) == 1_000_000
    message = refusal_of(tmp_path, "s.md", text + "x").message
    assert "is over the limit of 1,000,000 bytes" in message


def test_a_missing_spec_a_directory_and_a_fifo_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, state in [
        (tmp_path / "none.md", "does not exist"),
        (tmp_path, "is a directory, and holds no specification that llmch knows"),
        (tmp_path / "pipe", "is a FIFO, not a regular file"),
    ]:
        with pytest.raises(InvalidInput) as refused:
            read_spec(path)
        assert refused.value.message == f"spec {path} {state}"


def test_a_spec_that_is_not_utf8_is_refused_with_the_offset(tmp_path: Path) -> None:
    (tmp_path / "s.md").write_bytes(b"caf\xe9")
    with pytest.raises(InvalidInput, match=r"is not UTF-8: byte 0xe9 at offset 3$"):
        read_spec(tmp_path / "s.md")


# The structured form


@pytest.mark.parametrize("name", ["s.json", "s.JSON"])
def test_json_becomes_markdown_with_its_requirements(tmp_path: Path, name: str) -> None:
    spec = spec_of(tmp_path, name, json.dumps(DOCUMENT))
    assert spec.text == MARKDOWN
    assert spec.title == "Word game"
    assert spec.requirements == (
        Requirement("R1", "A word has five letters.", given=True),
        Requirement("R2", "A guess is scored letter by letter.", given=True),
    )


@pytest.mark.parametrize("name", ["s.yaml", "s.yml", "s.YML"])
def test_yaml_says_the_same_as_json(tmp_path: Path, name: str) -> None:
    text = yaml.safe_dump(DOCUMENT, sort_keys=False)
    assert spec_of(tmp_path, name, text).text == MARKDOWN


def test_the_way_yaml_is_written_does_not_change_the_prompt(tmp_path: Path) -> None:
    text = """\
# a comment
constraints: [ 'Python 3.11, standard library only' ]
requirements:
  - {text: "A word has five letters.", id: R1}
  - id: R2
    text: >
      A guess is scored
      letter by letter.
summary: |
  A game of guessing words.
name: "Word game"
"""
    assert spec_of(tmp_path, "s.yaml", text).text == MARKDOWN


def test_constraints_may_be_left_out(tmp_path: Path) -> None:
    short = {key: DOCUMENT[key] for key in ("name", "summary", "requirements")}
    assert "Constraints" not in spec_of(tmp_path, "s.json", json.dumps(short)).text


def test_lines_of_an_entry_stay_within_it(tmp_path: Path) -> None:
    text = changed(requirements=[{"id": "R1", "text": "First:\n## Not a heading\n\n- a"}])
    assert "- R1: First:\n  ## Not a heading\n  \n  - a\n" in spec_of(tmp_path, "s.json", text).text


@pytest.mark.parametrize(
    ("text", "fault", "hint"),
    [
        (changed(summry="x"), "summry: unknown field", "did you mean summary?"),
        (changed(zzz="x"), "zzz: unknown field", "the fields are name, summary, requirements"),
        (
            changed(requirements=[{"id": "R1", "text": "x", "tekst": "y"}]),
            "requirements[0].tekst: unknown field",
            "did you mean text? the fields are id, text",
        ),
        ("{}", "name: is missing; summary: is missing; requirements: is missing", "the form is"),
        (changed(requirements=[{"id": "R1"}]), "requirements[0].text: is missing", "the form is"),
        (changed(name=7), "name: must be text, not a number", "put the value in quotes"),
        (changed(name=7.5), "name: must be text, not a number", "put the value in quotes"),
        (changed(name=True), "name: must be text, not true or false", "put the value in quotes"),
        (changed(name=None), "name: must be text, not empty", "put the value in quotes"),
        (changed(name=["x"]), "name: must be text, not a list", "the form is"),
        (changed(name={"x": "y"}), "name: must be text, not an object", "the form is"),
        (changed(name="  "), "name: is blank", "the form is"),
        (changed(name="x" * 201), "name: is over 200 characters", "the form is"),
        (changed(summary="\n"), "summary: is blank", "the form is"),
        (changed(requirements=[]), "requirements: must have at least one entry", "the form is"),
        (changed(requirements="x"), "requirements: must be a list, not text", "the form is"),
        (changed(requirements={}), "requirements: must be a list, not an object", "the form is"),
        (
            changed(requirements=["x"]),
            "requirements[0]: must be an object with named fields, not text",
            "the form is",
        ),
        (
            changed(requirements=[{"id": "R 1", "text": "x"}]),
            "requirements[0].id: may hold only letters, digits, dots, dashes and underscores",
            "the form is",
        ),
        (
            changed(requirements=[{"id": "R1", "text": "x"}, {"id": "R1", "text": "y"}]),
            "requirements[1].id: 'R1' is already the id of requirements[0]",
            "give each requirement its own id",
        ),
        (changed(constraints=["x", 1]), "constraints[1]: must be text, not a number", "quotes"),
        (changed(constraints=None), "constraints: must be a list, not empty", "the form is"),
        ("[1]", "must be an object with named fields, not a list", "the form is"),
        ('"text"', "must be an object with named fields, not text", "the form is"),
        ("7", "must be an object with named fields, not a number", "the form is"),
        ("null", "is empty", "describe the product"),
    ],
)
def test_a_departure_from_the_form_is_named_with_its_place(
    tmp_path: Path, text: str, fault: str, hint: str
) -> None:
    for name in ("s.json", "s.yaml"):  # JSON of this kind is YAML too
        refused = refusal_of(tmp_path, name, text)
        assert fault in refused.message
        assert hint in refused.hint


def test_of_many_faults_five_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    message = refusal_of(tmp_path, "s.json", changed(constraints=[1] * 9)).message
    assert message.count("must be text") == 5
    assert message.endswith("; and 4 more")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"name": ', "is not valid JSON: Expecting value at line 1, column 10"),
        ("{'name': 1}", "is not valid JSON: Expecting property name enclosed in double quotes"),
        ('{"name": "a", "name": "b"}', "gives the key 'name' twice"),
        ('{"requirements": [{"id": "a", "id": "b"}]}', "'id' twice at requirements[0]"),
        (r'{"name": "\ud800"}', "holds half a surrogate pair at name"),
        (r'{"\ud800": "x"}', "holds half a surrogate pair"),
        ("[" * 100_000, "is nested more than 8 levels deep"),
        ("[" * 9 + "]" * 9, "is nested more than 8 levels deep"),
        ('{"name": ' + "9" * 10_000 + "}", "name: must be text, not a number"),
        ('{"name": NaN}', "name: must be text, not a number"),
    ],
)
def test_json_that_cannot_be_trusted_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    assert fault in refusal_of(tmp_path, "s.json", text).message


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name: [", "is not valid YAML: expected the node content"),
        ("name: a\n b: c", "mapping values are not allowed here at line 2, column 3"),
        ("name: \x08", "is not valid YAML: a character that YAML forbids at offset 6"),
        ('name: "\\UFFFFFFFF"', "is not valid YAML: "),
        ('name: "\\uD800"', "holds half a surrogate pair at name"),
        ("name: a\nname: b", "gives the key 'name' twice"),
        ("requirements:\n- id: a\n  id: b", "gives the key 'id' twice at requirements[0]"),
        ("1: x", "has a key that is a number, not text"),
        ("yes: x", "has a key that is true or false, not text"),
        ("~: x", "has a key that is empty, not text"),
        ("<<: {a: b}", "has a key that is a special value, not text"),
        ("? [a]\n: x", "has a key that is a list or an object, not text"),
        ("summary: {2: x}", "has a key that is a number, not text at summary"),
        ("a: &x y\nb: *x", "has an alias (*name) at line 2"),
        ("a: &x [*x]", "has an alias (*name) at line 1"),
        ("a: !!python/object/apply:os.system [id]", "has a tag (!name) at line 1"),
        ("a: !!binary aGk=", "has a tag (!name) at line 1"),
        ("name: a\n---\nname: b", "has a second document (---) at line 2"),
        ("[" * 100_000, "is nested more than 8 levels deep"),
        ("- " * 100_000, "is nested more than 8 levels deep"),
        ("{a: " * 9 + "}" * 9, "is nested more than 8 levels deep"),
        ("# only a comment", "is empty"),
        ("---\n...\n", "is empty"),
        ("name: 1.10", "name: must be text, not a number"),
        ("name: 2024-13-45", "name: must be text, not a date"),
        ("name: no", "name: must be text, not true or false"),
        ("name:", "name: must be text, not empty"),
        ("name: =", "name: must be text, not a special value"),
    ],
)
def test_yaml_that_cannot_be_trusted_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    assert fault in refusal_of(tmp_path, "s.yaml", text).message


def test_a_bomb_of_aliases_is_refused_at_its_first_alias(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    assert "alias (*name) at line 2" in refusal_of(tmp_path, "s.yaml", "\n".join(lines)).message


# Anything at all


@given(st.text())
def test_any_json_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_spec_json, parse_spec_yaml):
        try:
            parse_spec_document(parse(text, "spec"), "spec")
        except InvalidInput as refused:
            assert refused.hint


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["name", "summary", "requirements", "constraints", "id", "text", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
words = st.text(min_size=1, max_size=8)
near_documents = st.fixed_dictionaries(
    {
        "name": words,
        "summary": words,
        "requirements": st.lists(
            st.fixed_dictionaries({"id": st.sampled_from(["R1", "R2", "R 3", "é"]), "text": words}),
            max_size=3,
        ),
    },
    optional={"constraints": st.lists(words, max_size=2) | values, "x": values},
)


@given(values | near_documents)
@example({"name": "0", "summary": "\x1f", "requirements": [{"id": "R1", "text": "0"}]})
def test_reader_and_published_schema_agree_on_what_is_a_spec(value: Any) -> None:
    ids = _ids_of(value)
    published = jsonschema.Draft202012Validator(json.loads(render_schema()))
    # That ids are unique is the one thing which a schema cannot say.
    expected = published.is_valid(value) and len(ids) == len(set(ids))
    try:
        parse_spec_document(parse_spec_json(json.dumps(value), "spec"), "spec")
    except InvalidInput:
        assert not expected
    else:
        assert expected


@given(near_documents)
def test_yaml_and_json_of_one_value_are_judged_alike(value: Any) -> None:
    dumped = yaml.safe_dump(value)
    assert _outcome(parse_spec_yaml, dumped) == _outcome(parse_spec_json, json.dumps(value))


def test_the_published_schema_is_up_to_date() -> None:
    published = Path(spec_document.__file__).with_name("spec_schema.json")
    assert published.read_text(encoding="utf-8") == render_schema()


def _ids_of(value: Any) -> list[str]:
    entries = value.get("requirements") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        return []
    ids = [each.get("id") for each in entries if isinstance(each, dict)]
    return [each for each in ids if isinstance(each, str)]


def _outcome(parse: Any, text: str) -> SpecDocument | str:
    try:
        return parse_spec_document(parse(text, "spec"), "spec")
    except InvalidInput as refused:
        return refused.message


@pytest.mark.parametrize(("count", "accepted"), [(1000, True), (1001, False)])
def test_a_spec_has_no_more_requirements_than_a_manifest_may_list(
    tmp_path: Path, count: int, accepted: bool
) -> None:
    entries = [{"id": f"R{number}", "text": "It works."} for number in range(count)]
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({"name": "n", "summary": "s", "requirements": entries}))
    if accepted:
        assert len(read_spec(path).requirements) == count
    else:
        with pytest.raises(InvalidInput, match="at most 1000 entries"):
            read_spec(path)
