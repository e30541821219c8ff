"""`llmch report` of a run: the short form, the page, what it writes over, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import Factory, git, order
from tests.llmch.command_line import Say, Words
from tests.llmch.runs.test_read_run import kill, run_two


@pytest.fixture
def told(factory: Factory) -> Words:
    """Return the options that lead to the records of a real run of two orders."""
    run_two(factory)
    return ["--repo", factory.repo, "--artifacts-dir", factory.artifacts]


@pytest.mark.rest
def test_the_latest_run_is_shown_in_short(say: Say, told: Words, factory: Factory) -> None:
    said = say("report", *told)
    assert said.code == 0
    assert "2 of 2 orders on work" in said.out
    assert "question: From one? -> Yes." in said.out
    assert "Count to two" in said.out and factory.tip()[:10] in said.out
    how = f"`llmch report --html report.html --repo {factory.repo}`"
    assert f"{how} writes a page" in said.out


def test_an_order_that_ended_by_an_error_is_shown_with_it(say: Say, factory: Factory) -> None:
    with pytest.raises(AssertionError):
        factory.run(order(), [])
    said = say("report", "--repo", factory.repo, "--artifacts-dir", factory.artifacts)
    assert "AssertionError('the script has no further reply" in said.out


def test_programs_get_the_run_as_one_document(say: Say, told: Words, factory: Factory) -> None:
    document = say("report", *told, "--json").document
    assert (document["standing"], document["branch"]) == ("passed", "work")
    assert [each["rejected"] for each in document["orders"]] == [0, 1]
    assert document["orders"][1]["commit"] == factory.tip()
    assert document["requirements"][1] == {"id": "FR-2", "orders": ["WO-02"]}
    assert [each["reading"] for each in document["assumptions"]] == ["Yes."]
    assert document["page"] is None


def test_a_pull_request_gets_it_as_markdown(say: Say, told: Words) -> None:
    said = say("report", *told, "--markdown")
    assert "**run-all PASS** 2 of 2 orders on work" in said.out
    assert "| WO-02 | landed | Count to two |" in said.out
    assert "| FR-2 | WO-02 |" in said.out


def test_a_run_without_an_end_has_no_verdict(say: Say, told: Words, factory: Factory) -> None:
    kill(factory.run_folder)
    for form in ("--markdown", "--quiet"):
        said = say("report", *told, form).out
        assert "1 of 2 orders on work (cut off" in said
        assert "FAIL" not in said and "PASS" not in said


def test_a_branch_of_a_clone_is_shown_by_its_commits(
    say: Say, told: Words, factory: Factory, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--branch", "work", str(factory.repo), str(clone))
    said = say("report", "work", "--repo", clone, "--html", "clone.html")
    assert said.code == 0 and "2 orders on work, by its commits" in said.out
    assert "git fetch origin refs/notes/llmch:refs/notes/llmch" in said.out


def test_the_page_is_written_whole(say: Say, told: Words, cwd: Path) -> None:
    said = say("report", *told, "--html", "report.html")
    page = (cwd / "report.html").read_text()
    assert said.code == 0 and str(cwd / "report.html") in said.out
    assert page.startswith("<!doctype html>") and "Count to two" in page
    assert say("report", *told, "--html", "report.html").code == 0  # over a page of its own


@pytest.mark.rest
def test_a_run_is_named_by_branch_id_or_folder(say: Say, told: Words, factory: Factory) -> None:
    folder = factory.run_folder
    for name in ("work", folder.name, folder.name[:20].lower(), str(folder)):
        assert say("report", name, *told, "--json").document["run_id"] == folder.name
    assert say("report", folder, "--no-repo", "--json").document["run_id"] == folder.name


def test_no_other_file_is_written_over(say: Say, told: Words, cwd: Path) -> None:
    notes = cwd / "notes.html"
    notes.write_text("<p>mine</p>")
    said = say("report", *told, "--html", notes, "--json")
    assert said.error["code"] == 2 and "not written by llmch" in said.error["message"]
    assert notes.read_text() == "<p>mine</p>"


def test_a_folder_is_refused_with_a_name_to_take(say: Say, told: Words, cwd: Path) -> None:
    error = say("report", *told, "--html", cwd, "--json").error
    assert "is a directory" in error["message"] and "report.html" in error["hint"]
    error = say("report", *told, "--html", cwd / "none" / "x.html", "--json").error
    assert "the folder" in error["message"]
    os.mkfifo(cwd / "pipe.html")
    error = say("report", *told, "--html", cwd / "pipe.html", "--json").error
    assert "FIFO" in error["message"]


@pytest.mark.parametrize(
    "words",
    [
        ("--open",),
        ("--coverage", ".", "--html", "x.html"),
        ("latest", "--coverage", "."),
        ("01ZZZ",),
        ("no/such/branch",),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(
    say: Say, told: Words, words: tuple[str, ...]
) -> None:
    error = say("report", *words, *told, "--json").error
    assert error["code"] == 2 and error["message"] and error["hint"]


def test_a_repo_without_a_run_says_so(say: Say, factory: Factory) -> None:
    error = say("report", "--repo", factory.repo, "--json").error
    assert error["code"] == 2 and "no run" in error["message"]


def test_a_secret_of_the_environment_is_not_on_the_page(
    say: Say, told: Words, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "Count to two")
    say("report", *told, "--html", "report.html")
    page = (cwd / "report.html").read_text()
    assert "Count to two" not in page and "[redacted]" in page


def test_the_page_is_opened_in_the_browser_that_the_person_chose(
    say: Say, told: Words, cwd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    assert say("report", *told, "--html", "report.html", "--open").code == 0
    assert (tmp_path / "opened").read_text().strip() == (cwd / "report.html").as_uri()


@pytest.mark.rest
def test_the_short_form_loads_nothing_that_only_the_page_needs(told: Words) -> None:
    script = (
        "import sys; from llmch.cli import main; code = main(sys.argv[1:]); "
        "sys.exit(code or 10 * bool({'jinja2', 'pygments'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", script, "report", *map(str, told), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.rest
def test_the_page_without_its_package_is_refused_with_the_command_that_installs_it(
    told: Words, cwd: Path
) -> None:
    script = (
        "import sys; sys.modules['jinja2'] = None\nfrom llmch.cli import main\nsys.exit(main())"
    )
    options = ["report", *map(str, told), "--html", str(cwd / "report.html")]
    done = subprocess.run(
        [sys.executable, "-c", script, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "pip install '.[html]'" in done.stderr and "Traceback" not in done.stderr
    assert not (cwd / "report.html").exists()
