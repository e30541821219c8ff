"""The jobs in examples/ci: each command of llmch in them is one that this llmch takes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from llmch.entry.command_line import find_verb, parser_of
from shared.git import refs
from shared.git.client import Git
from tests.factory.drift.landed_shop import GREETING, make_shop
from tests.harness import commit_all, git, manifest, write_plan, writing
from tests.llmch.command_line import ROOT, own_environment, plan_reply, run, say_in
from tests.llmch.issues import FIRST, open_shop
from tests.shared.llm.edge import chat_stream
from tests.shared.llm.scripted_server import Act, scripted_server

JOBS = ROOT / "examples" / "ci"
FILES = ("llmch.yml", ".gitlab-ci.yml")


def scripts(node: Any) -> list[str]:
    """Return the scripts of all steps in a document."""
    if isinstance(node, dict):
        own = [
            v for k, v in node.items() if k in ("run", "script", "before_script", "after_script")
        ]
        found = [each for value in own for each in (value if isinstance(value, list) else [value])]
        return [each for each in found if isinstance(each, str)] + [
            each for value in node.values() for each in scripts(value)
        ]
    return [each for value in node for each in scripts(value)] if isinstance(node, list) else []


def commands(path: Path) -> list[list[str]]:
    """Return the command lines of llmch in a job, as words."""
    lines = [
        line for each in scripts(yaml.safe_load(path.read_text())) for line in each.split("\n")
    ]
    plain = (re.split(r" > | \|\| ", re.sub(r"\$\{\{.*?\}\}", "x", line))[0] for line in lines)
    return [shlex.split(line)[1:] for line in plain if line.startswith("llmch ")]


@pytest.mark.parametrize("name", FILES)
def test_each_command_is_one_that_there_is(name: str) -> None:
    found = commands(JOBS / name)
    for verb, *rest in found:
        parser_of(verb, find_verb(verb)).parse_args(rest)
    assert {verb for verb, *_ in found} == {"check", "run-all", "verify", "report"}


@pytest.mark.parametrize("path", [ROOT / "action.yml", *sorted(JOBS.glob("*.yml")),
                                  JOBS / ".gitlab-ci.yml"], ids=lambda path: path.name)  # fmt: skip
def test_no_module_of_the_checkout_takes_the_place_of_pip(path: Path) -> None:
    """`python -m pip` in a checkout runs its `pip.py`, outside of the sandbox."""
    lines = "\n".join(scripts(yaml.safe_load(path.read_text()))).split("\n")
    starts = [each for each in lines if re.search(r"python3?\"? .*-m ", each)]
    assert starts == [each for each in starts if " -I -m " in each]


def test_the_jobs_for_issues_name_what_llmch_takes() -> None:
    (words,) = commands(JOBS / "issues.gitlab-ci.yml")
    parsed = parser_of("build", find_verb("build")).parse_args(words[1:])
    assert (words[0], str(parsed.event)) == ("build", "$TRIGGER_PAYLOAD")
    (job,) = yaml.safe_load((JOBS / "issues.yml").read_text())["jobs"].values()
    checkout, action, _ = job["steps"]
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert set(action["with"]) <= set(inputs) and action["with"]["event"] == "true"
    assert "llmch/issue-" in job["if"] and "head.repo.full_name == github.repository" in job["if"]


def expression(text: str, github: dict[str, Any]) -> Any:
    """Return what GitHub makes of an expression, as far as the examples use its language."""

    def value(path: str) -> Any:
        found: Any = {"github": github}
        for each in path.split("."):
            if isinstance(found, list):
                found = [one[each] for one in found] if each != "*" else found
            else:
                found = found.get(each) if found else None
        return found

    words = re.sub(r"github(\.[a-z_*]+)+", lambda name: f"value({name[0]!r})", text)
    words = words.replace("&&", " and ").replace("||", " or ")
    known = {
        "value": value, "contains": lambda whole, one: one in (whole or ""), "fromJSON": json.loads,
        "startsWith": lambda text, head: (text or "").startswith(head),
        "format": lambda form, *given: form.format(*given),
    }  # fmt: skip
    return eval(re.sub(r"!(?!=)", " not ", words).replace("\n", " "), known)


def issue_job() -> Any:
    (job,) = yaml.safe_load((JOBS / "issues.yml").read_text())["jobs"].values()
    return job


def group_of(github: dict[str, Any]) -> str:
    group = issue_job()["concurrency"]["group"]
    assert group.startswith("${{ ") and group.endswith(" }}"), "it is one expression"
    return str(expression(group[4:-3], github))


@pytest.mark.parametrize("kind", ["comment", "review"])
@pytest.mark.parametrize("who", ["NONE", "CONTRIBUTOR", "FIRST_TIMER"])
def test_a_stranger_takes_the_place_of_no_job_that_waits(kind: str, who: str) -> None:
    """Of the jobs of a group, one waits: GitHub cancels it when another one comes."""
    about: dict[str, Any] = {"issue": {"number": 33}}
    if kind == "review":
        about = {"pull_request": {"head": {"ref": "llmch/issue-33"}}}
    event = {kind: {"author_association": who}, **about}
    assert group_of({"run_id": "5", "event": event}) == "llmch/issue-33-5"


LABELED: dict[str, Any] = {"issue": {"number": 33, "labels": [{"name": "llmch"}, {"name": "bug"}]},
                           "action": "labeled"}  # fmt: skip
REVIEWED: dict[str, Any] = {"pull_request": {"head": {"ref": "llmch/issue-33",
                            "repo": {"full_name": "ada/shop"}}}}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "event", "starts"),
    [
        ("issues", LABELED | {"label": {"name": "llmch"}}, True),
        ("issues", LABELED | {"label": {"name": "bug"}}, False),
        ("issues", LABELED | {"action": "opened"}, True),
        ("issue_comment", {"issue": {"number": 33}, "comment": {"body": "llmch: go"}}, True),
        ("issue_comment", {"issue": {"number": 33}, "comment": {"body": "Me, too"}}, False),
        ("pull_request_review", REVIEWED | {"review": {"state": "commented"}}, True),
        ("pull_request_review", REVIEWED | {"review": {"state": "approved"}}, False),
    ],
)
def test_an_event_that_asks_for_nothing_starts_no_job(
    name: str, event: dict[str, Any], starts: bool
) -> None:
    github = {"event_name": name, "repository": "ada/shop",
              "event": {"sender": {"type": "User"}, **event}}  # fmt: skip
    assert bool(expression(issue_job()["if"], github)) is starts


@pytest.mark.parametrize(
    ("repo", "starts"), [("ada/shop", True), ("eve/shop", False)]
)  # fmt: skip
def test_the_orders_of_a_fork_s_plan_are_not_run(repo: str, starts: bool) -> None:
    condition = yaml.safe_load((JOBS / "llmch.yml").read_text())["jobs"]["run-all"]["if"]
    event = {"label": {"name": "llmch"}, "pull_request": {"head": {"repo": {"full_name": repo}}}}
    github = {"event_name": "pull_request", "repository": "ada/shop", "event": event}
    assert bool(expression(condition, github)) is starts
    assert expression(condition, github | {"event_name": "workflow_dispatch", "event": {}})


def test_the_jobs_for_gitlab_can_be_included_together() -> None:
    stages = yaml.safe_load((JOBS / ".gitlab-ci.yml").read_text())["stages"]
    for path in JOBS.glob("*.gitlab-ci.yml"):
        for name, job in yaml.safe_load(path.read_text()).items():
            if isinstance(job, dict) and "script" in job:
                assert job.get("stage", "test") in (*stages, ".post"), (path, name)


@pytest.mark.parametrize("name", [".gitlab-ci.yml", "issues.gitlab-ci.yml"])
def test_a_job_for_gitlab_pushes_by_its_own_token(repo: Path, tmp_path: Path, name: str) -> None:
    """The runner's settings put its own token, which may not push, into each URL."""
    theirs, own = tmp_path / "runner.conf", "https://gitlab-ci-token:x@gitlab.com"
    git(repo, "config", "--file", str(theirs), f"url.{own}.insteadOf", "https://gitlab.com")
    git(repo, "config", "include.path", str(theirs))
    git(repo, "remote", "add", "origin", f"{own}/ada/shop.git")
    (home := tmp_path / "home").mkdir()
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_GLOBAL": str(tmp_path / "seed"),
        "CI_PROJECT_URL": "https://gitlab.com/ada/shop", "PUSH_TOKEN": "glpat-x",
    }  # fmt: skip
    lines = scripts(yaml.safe_load((JOBS / name).read_text()))
    wanted = [each for each in lines if re.match("git (config (--unset|--file)|remote)", each)]
    subprocess.run(["sh", "-ec", "\n".join(wanted)], cwd=repo, env=environ, check=True)
    assert refs.url_of(Git(repo), "origin") == "https://gitlab.com/ada/shop.git"
    assert git(repo, "remote", "get-url", "--push", "origin") == "https://gitlab.com/ada/shop.git"
    helper = git(repo, "config", "--file", str(home / ".gitconfig"), "credential.helper")
    assert "username=oauth2" in helper and "glpat-x" not in helper


def run_phase(lines: list[str], folder: Path, environ: dict[str, str]) -> str:
    """Run lines of a job as GitLab's runner does: in one shell, which ends at the first failure."""
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(lines)],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.rest
def test_the_job_for_issues_of_gitlab_plans_and_builds_as_a_runner_runs_it(
    repo: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = yaml.safe_load((JOBS / "issues.gitlab-ci.yml").read_text())["issue"]
    installs = re.compile("python -I -m pip|apt-get")
    first = [each for each in job["before_script"] if not installs.match(each)]
    shop = open_shop(repo, tmp_path, say_in(tmp_path, capsys), monkeypatch)
    url, user = "https://gitlab.com/ada/shop", {"username": "ada", "id": 1}
    shop.forge.db |= {
        "me": {"username": "project_1_bot", "id": 9},
        "url": f"{url}/-/merge_requests",
    }
    both = {"project": {"web_url": url}, "user": user}
    issue = {"object_attributes": {**shop.issue, "id": 900, "action": "update"},
             "changes": {"labels": {"previous": [], "current": [{"title": "llmch"}]}}}  # fmt: skip
    comment = shop.add("comments", body="/llmch build", user=user)
    said = {**comment, "note": comment["body"], "action": "create"}
    note = {"issue": shop.issue, "object_attributes": said}
    written: list[Act] = [chat_stream(f"part_0{each}.txt\n```\ndone\n```\n") for each in (1, 2)]
    rounds: list[tuple[str, dict[str, Any], list[Act]]] = [
        ("issue", issue, [FIRST, plan_reply({"findings": []})]),
        ("note", note, written),
    ]
    for kind, payload, replies in rounds:
        folder = tmp_path / kind
        folder.mkdir()
        git(folder, "clone", "--quiet", str(shop.bare), "shop")
        (folder / "payload").write_text(json.dumps({"object_kind": kind, **both, **payload}))
        with scripted_server(*replies) as server:
            environ = own_environment(
                PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                # The address by which the runner's clone reaches the fake host.
                CI_PROJECT_URL="ssh://git@gitlab.com/ada/shop", CI_COMMIT_REF_NAME="main",
                CI_SERVER_HOST="gitlab.com", CI_PROJECT_DIR=str(folder / "shop"), GITLAB_CI="true",
                CI_PIPELINE_ID=kind, CI_JOB_ID=kind, TRIGGER_PAYLOAD=str(folder / "payload"),
                PUSH_TOKEN="glpat-x", RECORDS=f"{folder / 'shop'}.llmch",
                OPENAI_BASE_URL=server.base_url, LLMCH_SANDBOX_BACKEND="off",
            )  # fmt: skip
            run_phase([*first, *job["script"]], folder / "shop", environ)
            run_phase(job["after_script"], folder / "shop", environ)
            assert len(server.received) == 2
        assert [*(folder / "shop/llmch-records").rglob("run.json")]
    assert {"part_01.txt", "part_02.txt"} <= shop.files()
    (request,) = shop.forge.db["pulls"]
    assert request["description"].startswith("Closes #33")


@pytest.mark.parametrize("name", ["accept.gitlab-ci.yml", "drift.gitlab-ci.yml"])
def test_a_pipeline_of_a_fork_judges_nothing(name: str) -> None:
    """In a fork, origin is the fork: its plan and its notes would be believed."""
    for job in yaml.safe_load((JOBS / name).read_text()).values():
        (rule,) = job["rules"]
        assert " && $CI_PROJECT_ID == $CI_MERGE_REQUEST_PROJECT_ID" in rule["if"]


@pytest.mark.parametrize(
    ("event", "values"),
    [
        ("a label", {"issue": {"number": 33, "author_association": "NONE"}}),
        ("a comment on the issue", {"issue": {"number": 33},
                                    "comment": {"author_association": "COLLABORATOR"}}),
        ("a review of its pull request", {"pull_request": {"head": {"ref": "llmch/issue-33"}},
                                          "review": {"author_association": "OWNER"}}),
    ],
)  # fmt: skip
def test_the_jobs_of_an_issue_and_of_its_pull_request_wait_for_each_other(
    event: str, values: dict[str, Any]
) -> None:
    assert group_of({"run_id": "5", "event": values}) == "llmch/issue-33", event


@pytest.mark.parametrize("name", FILES)
def test_the_job_leaves_what_its_platform_reads(name: str) -> None:
    text = (JOBS / name).read_text()
    assert "--junit" in text and "junit.xml" in text
    if name == ".gitlab-ci.yml":
        reports = [each["artifacts"]["reports"] for each in yaml.safe_load(text).values()
                   if isinstance(each, dict) and "artifacts" in each]  # fmt: skip
        assert {key for each in reports for key in each} == {"codequality", "junit"}


@pytest.mark.parametrize("name", ["accept.yml", "accept.gitlab-ci.yml"])
def test_the_judge_of_a_pull_request_reads_the_plan_of_the_target_branch(name: str) -> None:
    (words,) = commands(JOBS / name)
    parsed = parser_of("accept", find_verb("accept")).parse_args(words[1:])
    assert (words[0], parsed.check, [kind for kind, _ in parsed.given]) == (
        "accept",
        True,
        ["commit"],
    )
    text = (JOBS / name).read_text()
    checkout = text.index("base.ref" if name == "accept.yml" else "git checkout --force --detach")
    assert checkout < text.index("llmch accept")
    assert "secrets." not in text and "OPENAI" not in text


@pytest.mark.rest
def test_the_steps_of_the_judge_work_where_only_the_remote_has_the_branches(
    repo: Path, tmp_path: Path
) -> None:
    """As a job finds it: a clone on the target branch, the pull request fetched by its ref."""
    plan = write_plan(repo / "plan", manifest([writing("1.txt"), writing("2.txt", 2)]))
    commit_all(repo)
    git(repo, "switch", "--quiet", "--create", "theirs")
    (plan / "WO-01.json").unlink()  # what the pull request makes of the plan does not matter
    head = commit_all(repo, {"1.txt": "text\n"})
    git(repo, "update-ref", "refs/pull/7/head", head)
    git(repo, "switch", "--quiet", "main")
    git(repo, "branch", "--quiet", "-D", "theirs")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", f"file://{repo}", str(clone))
    git(clone, "checkout", "--quiet", "--detach", "origin/main")
    git(clone, "branch", "--quiet", "-D", "main")
    git(clone, "fetch", "--quiet", "origin", "pull/7/head")
    (job,) = commands(JOBS / "accept.yml")
    values = {"$ORDER": "WO-01", "$BASE": "main", "$HEAD": head}
    words = [values.get(each, each).replace("$RUNNER_TEMP", str(tmp_path)) for each in job]
    said = run(*words, "--sandbox", "off", "--allow-more", cwd=clone)
    assert said.code == 0, said.err
    assert "passes; it was only checked" in said.out
    said = run(*words, "--sandbox", "off", cwd=clone)
    assert (said.code, "does not allow: plan/WO-01.json" in said.out) == (1, True)


@pytest.mark.parametrize("name", ["drift.yml", "drift.gitlab-ci.yml"])
def test_the_check_of_a_merge_reads_the_notes_of_the_target_and_holds_no_secret(name: str) -> None:
    (words,) = commands(JOBS / name)
    parsed = parser_of("verify", find_verb("verify")).parse_args(words[1:])
    assert (words[0], parsed.output_format, ".." in parsed.merge) == ("verify", "markdown", True)
    text = (JOBS / name).read_text()
    assert text.index('"+refs/notes/llmch*:refs/notes/llmch*"') < text.index("llmch verify")
    assert "secrets." not in text and "OPENAI" not in text
    if name == "drift.yml":
        jobs = yaml.safe_load(text)["jobs"]
        assert jobs["requirements"]["permissions"] == {"contents": "read"}
        assert jobs["comment"]["permissions"] == {"pull-requests": "write"}
        assert not any("checkout" in str(each) for each in jobs["comment"]["steps"])
    else:
        jobs = yaml.safe_load(text)
        assert "TOKEN" not in str(jobs["requirements"])
        assert jobs["requirements-comment"]["variables"]["GIT_STRATEGY"] == "none"
        assert "$GITLAB_TOKEN" in str(jobs["requirements-comment"]["rules"])


@pytest.mark.parametrize("table", ["", "| R1 | proven | `$(touch pwned)` |\n" * 3000])
def test_the_table_is_a_comment_of_the_merge_request_and_runs_nothing(
    tmp_path: Path, table: str
) -> None:
    job = yaml.safe_load((JOBS / "drift.gitlab-ci.yml").read_text())["requirements-comment"]
    (tmp_path / "requirements.md").write_text(table)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "glab").write_text('#!/bin/sh\nfor each; do printf "%s\\0" "$each"; done > said\n')
    (programs / "glab").chmod(0o755)
    environ = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_PROJECT_PATH": "ada/shop",
    }
    subprocess.run(["sh", "-c", job["script"][-1]], cwd=tmp_path, env=environ, check=True)
    said = (tmp_path / "said").read_text().split("\0") if table else []
    assert said[:6] == (["mr", "note", "7", "--repo", "ada/shop", "--unique"] if table else [])
    assert "".join(said[7:]) == table[:60_000]
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("there", ["", "71\n72"])
def test_the_table_takes_the_place_of_its_own_comment_alone(tmp_path: Path, there: str) -> None:
    """Other workflows write in the same name, so the last comment may be theirs."""
    *_, step = yaml.safe_load((JOBS / "drift.yml").read_text())["jobs"]["comment"]["steps"]
    (tmp_path / "table.md").write_text("| R1 | proven |\n" * 6000)
    (tmp_path / "gh").write_text(
        "#!/bin/sh\nfor each; do printf '%s\\0' \"$each\"; done >> said; echo >> said\n"
        f'case "$*" in *--jq*) printf "{there}" ;; esac\n'
    )
    (tmp_path / "gh").chmod(0o755)
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "GH_REPO": "ada/shop", "NUMBER": "7"}
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, env=environ, check=True
    )
    asked, _, wrote = (tmp_path / "said").read_text().partition("\0\n")
    assert "--paginate\0repos/ada/shop/issues/7/comments" in asked
    assert 'select(.user.login == "github-actions[bot]")' in asked
    mark = "<!-- llmch: requirements -->"
    assert f'startswith("{mark}")' in asked
    assert (tmp_path / "comment.md").read_text().startswith(f"{mark}\n\n| R1 |")
    assert (tmp_path / "comment.md").stat().st_size < 65_536
    words = wrote.split("\0")
    if there:
        assert "repos/ada/shop/issues/comments/71" in words and "PATCH" in words
        assert "body=@comment.md" in words
    else:
        assert words[:3] == ["pr", "comment", "7"] and "--edit-last" not in words


@pytest.mark.rest
def test_the_steps_of_the_merge_check_work_on_a_pull_requests_checkout(
    repo: Path, tmp_path: Path
) -> None:
    """Each side passes alone and the merge does not; the clone is on GitHub's merge commit."""
    make_shop(repo)
    git(repo, "branch", "--quiet", "theirs")
    git(repo, "rm", "--quiet", "word.txt")
    moved = GREETING.replace("'word.txt'", "'words' / 'word.txt'")
    commit_all(repo, {"greeting.py": moved, "words/word.txt": "Hello\n"})
    git(repo, "switch", "--quiet", "theirs")
    used = "\n\nLONG = (Path(__file__).parent / 'word.txt').read_text()\n"
    head = commit_all(repo, {"greeting.py": f"{GREETING}{used}"})
    git(repo, "switch", "--quiet", "work")
    git(repo, "merge", "--quiet", "--no-ff", "--no-edit", head)
    git(repo, "update-ref", "refs/pull/7/merge", "HEAD")
    git(repo, "reset", "--quiet", "--hard", "HEAD^1")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--no-checkout", f"file://{repo}", str(clone))
    git(clone, "fetch", "--quiet", "origin", "refs/pull/7/merge")
    git(clone, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    git(clone, "fetch", "--quiet", "origin", "+refs/notes/llmch*:refs/notes/llmch*")
    (job,) = commands(JOBS / "drift.yml")
    words = [each.replace("$RUNNER_TEMP", str(tmp_path)) for each in job]
    said = run(*words, "--sandbox", "off", cwd=clone)
    assert said.code == 1, said.err
    assert "| R2 | proven | proven | broken |" in said.out
    # The control: without the second use, the merge keeps all.
    git(clone, "commit", "--quiet", "--allow-empty", "--message=nothing")
    tree = git(clone, "rev-parse", "HEAD^1^1^{tree}")
    merge = git(clone, "commit-tree", tree, "-p", "HEAD^1^1", "-p", "HEAD^1^2", "-m", "merge")
    git(clone, "checkout", "--quiet", "--detach", merge)
    assert run(*words, "--sandbox", "off", cwd=clone).code == 0
