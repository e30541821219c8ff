"""What is committed is what was proposed, whatever attributes and settings would make of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from factory.orders.documents import RunSummary
from factory.orders.stages import Stage
from tests.fakes import proposal
from tests.harness import Factory, blob, commit_all, git, order, stages

LF, CRLF = "one\ntwo\n", "one\r\ntwo\r\n"


def proposed(factory: Factory, content: str, **options: object) -> RunSummary:
    return factory.run(order(), [proposal({"hello.txt": content})], max_attempts=1, **options)


def attributes(factory: Factory, text: str) -> None:
    commit_all(factory.repo, {".gitattributes": text})


def refusal(summary: RunSummary) -> str:
    assert stages(summary) == [Stage.WRITE_SCOPE_VIOLATION]
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert "what is committed must be exactly what was proposed" in brief.primary_error_excerpt
    return brief.primary_error_excerpt


@pytest.mark.parametrize("rule", ["text", "text eol=lf", "text eol=crlf", "text=auto", "crlf"])
def test_lf_is_stored_as_it_is_under_any_rule(factory: Factory, rule: str) -> None:
    attributes(factory, f"*.txt {rule}\n")
    assert proposed(factory, LF).verdict == "PASS"
    assert blob(factory.repo, "work", "hello.txt") == LF.encode()


@pytest.mark.parametrize("rule", ["text", "text eol=lf", "text eol=crlf", "text=auto"])
@pytest.mark.parametrize("content", [CRLF, "mixed\r\nends\n"])
def test_crlf_that_git_would_store_as_lf_is_refused(
    factory: Factory, rule: str, content: str
) -> None:
    attributes(factory, f"*.txt {rule}\n")
    assert "has CRLF line ends, which git is set up to store as LF here: use LF" in refusal(
        proposed(factory, content)
    )
    assert factory.tip() == ""


@pytest.mark.parametrize("rule", ["-text", "binary", ""])
def test_crlf_is_kept_where_no_rule_touches_it(factory: Factory, rule: str) -> None:
    attributes(factory, f"*.txt {rule}\n" if rule else "")
    proposed(factory, CRLF)
    assert blob(factory.repo, "work", "hello.txt") == CRLF.encode()


@pytest.mark.parametrize("value", ["input", "true"])
@pytest.mark.parametrize("where", ["--local", "--global"])
def test_a_setting_that_rewrites_line_ends_is_seen_too(
    factory: Factory, where: str, value: str
) -> None:
    attributes(factory, "*.sh -text\n")
    git(factory.repo, "config", where, "core.autocrlf", value)
    assert "use LF" in refusal(proposed(factory, CRLF))
    summary = factory.run(order(), [proposal({"hello.txt": LF})])
    assert (summary.verdict, blob(factory.repo, "work", "hello.txt")) == ("PASS", LF.encode())


def test_a_setting_that_makes_git_refuse_does_not_end_the_run(factory: Factory) -> None:
    git(factory.repo, "config", "core.safecrlf", "true")
    git(factory.repo, "config", "core.autocrlf", "input")
    assert "use LF" in refusal(proposed(factory, CRLF))


def test_a_change_of_line_ends_alone_that_git_would_drop_is_refused(factory: Factory) -> None:
    attributes(factory, "*.txt text\n")
    commit_all(factory.repo, {"hello.txt": LF})
    assert "use LF" in refusal(proposed(factory, CRLF))


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_a_file_checked_out_with_crlf_is_stored_with_lf(factory: Factory, end: str) -> None:
    """The model is shown what commands see, and an edit keeps its line ends."""
    attributes(factory, "*.txt text eol=crlf\n")
    commit_all(factory.repo, {"hello.txt": LF})
    edit = proposal({"hello.txt": f"zero{end}one{end}"})
    summary = factory.run(order(), [edit])
    assert "one\r\ntwo\r\n" in factory.prompt(0)
    assert (summary.verdict, stages(summary)) == ("PASS", [""])
    assert blob(factory.repo, "work", "hello.txt") == b"zero\none\n"
    git(factory.repo, "switch", "--quiet", "work")
    assert (factory.repo / "hello.txt").read_bytes() == b"zero\r\none\r\n"


def test_an_expanded_ident_is_refused_and_a_plain_one_is_stored(factory: Factory) -> None:
    attributes(factory, "*.txt ident\n")
    message = refusal(proposed(factory, f"$Id: {'0' * 40} $\n"))
    assert "has an expanded $Id$, which git stores as plain $Id$ here: write that" in message
    assert factory.run(order(), [proposal({"hello.txt": "$Id$\n"})]).verdict == "PASS"
    assert blob(factory.repo, "work", "hello.txt") == b"$Id$\n"


@pytest.mark.rest
@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16LE", "UTF-16LE-BOM", "latin1", "no-such"])
@pytest.mark.parametrize("content", ["ab\n", "abc\n", "\u00fc\n", ""])
def test_another_encoding_never_stores_other_bytes(
    factory: Factory, encoding: str, content: str
) -> None:
    attributes(factory, f"*.txt working-tree-encoding={encoding}\n")
    summary = proposed(factory, content)
    if summary.verdict == "PASS":
        assert blob(factory.repo, "work", "hello.txt") == content.encode()
    else:
        assert f"is to be {encoding} by .gitattributes" in refusal(summary)


def test_attributes_that_come_with_the_proposal_count_too(factory: Factory) -> None:
    files = {".gitattributes": "*.txt text\n", "hello.txt": CRLF}
    document = order(allowed_files=list(files), acceptance_commands=["true"])
    assert "'hello.txt' has CRLF" in refusal(
        factory.run(document, [proposal(files)], max_attempts=1)
    )


def test_attributes_of_any_place_count(factory: Factory, own_surroundings: Path) -> None:
    (own_surroundings / "attributes").write_text("*.txt text\n")
    git(factory.repo, "config", "--global", "core.attributesFile", "~/attributes")
    assert "use LF" in refusal(proposed(factory, CRLF))
    git(factory.repo, "config", "--global", "--unset", "core.attributesFile")
    (factory.repo / ".git/info").mkdir(exist_ok=True)
    (factory.repo / ".git/info/attributes").write_text("*.txt text\n")
    assert "use LF" in refusal(proposed(factory, CRLF, branch="other"))


# Filters

UPPER = f'{sys.executable} -c "import sys; sys.stdout.write(sys.stdin.read().upper())"'
LOWER = UPPER.replace("upper", "lower")


def test_a_filter_of_the_users_own_config_runs_as_git_would(factory: Factory) -> None:
    git(factory.repo, "config", "--global", "filter.shout.clean", UPPER)
    git(factory.repo, "config", "--global", "filter.shout.smudge", LOWER)
    attributes(factory, "*.txt filter=shout\n")
    summary = proposed(factory, "quiet\n")
    assert summary.verdict == "PASS"
    assert blob(factory.repo, "work", "hello.txt") == b"QUIET\n"
    git(factory.repo, "switch", "--quiet", "work")
    assert (factory.repo / "hello.txt").read_text() == "quiet\n"


def test_a_filter_of_the_repos_own_config_does_not_run(factory: Factory) -> None:
    attributes(factory, "*.txt filter=shout\n")
    for key in ("clean", "smudge", "process"):
        git(factory.repo, "config", f"filter.shout.{key}", f"touch {factory.scratch}/ran")
    git(factory.repo, "config", "filter.shout.required", "true")
    assert proposed(factory, "quiet\n").verdict == "PASS"
    assert blob(factory.repo, "work", "hello.txt") == b"quiet\n"
    assert not (factory.scratch / "ran").exists()


def test_a_filter_of_the_repos_own_config_runs_where_that_is_allowed(factory: Factory) -> None:
    attributes(factory, "*.txt filter=shout\n")
    git(factory.repo, "config", "filter.shout.clean", UPPER)
    assert proposed(factory, "quiet\n", allow_repo_filters=True).verdict == "PASS"
    assert blob(factory.repo, "work", "hello.txt") == b"QUIET\n"


def test_a_required_filter_that_fails_ends_the_order_with_what_git_said(factory: Factory) -> None:
    git(factory.repo, "config", "--global", "filter.broken.clean", "false")
    git(factory.repo, "config", "--global", "filter.broken.required", "true")
    attributes(factory, "*.txt filter=broken\n")
    summary = factory.run(order(), [proposal({"hello.txt": "x\n"})])
    assert stages(summary) == [Stage.WRITE_FAILED]
    assert summary.failure is not None
    assert "clean filter 'broken' failed" in summary.failure.excerpt


def test_an_lfs_pointer_in_the_repo_is_text_like_any_other(factory: Factory) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
    commit_all(factory.repo, {"hello.txt": pointer, ".gitattributes": "*.txt filter=lfs -text\n"})
    assert proposed(factory, "x\n").verdict == "PASS"
    assert "size 12" in factory.prompt()
