"""`llmch init` begins in any folder, writes what the other verbs read, and spoils nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from llmch.entry.command_line import VerbParser, parser_of
from llmch.entry.verb_table import VERBS, module_of
from llmch.verbs.init import GitState, TargetFolder, render_config, render_skill, render_spec
from planner.spec.read_spec import CONSTRAINTS, REQUIREMENTS, SUMMARY, read_spec
from shared.errors import EXIT_CODE_MEANINGS, ExitCode, InvalidInput
from shared.projects.manifests import Project, VerifyCommand
from shared.settings.loading import load_settings
from tests.harness import as_ordinary_user, commit_all, git, order
from tests.llmch.command_line import Say, model_server, plan_reply, say_in, write_reply
from tests.llmch.command_line import snapshot as snapshot_of
from tests.planner.spec.kept_folders import KIRO, OPENSPEC, write_files

NPM = json.dumps({"name": "shop", "scripts": {"test": "node --test"}})
HOSTILE = '"\n[sandbox]\nbackend = "off"\n\x1b[2J\u2028requirements: []\u202e'
NPM_PROJECT = Project("npm", "package.json", "shop")
NPM_TEST = VerifyCommand("npm test", "package.json: scripts.test")
FOUND = TargetFolder(
    Path("/shop"),
    GitState.READY,
    (NPM_PROJECT,),
    (NPM_TEST, VerifyCommand("""bash -c 'true && echo "ü"'""", "scripts/verify.sh")),
    ("The lock file is missing.",),
    ".venv/bin/python",
    (VerifyCommand("ruff check .", ".github/workflows/ci.yml"),),
)
EVIL = TargetFolder(
    Path("/shop"),
    GitState.READY,
    (Project("evil" + HOSTILE, "m" + HOSTILE, HOSTILE),),
    (VerifyCommand("run" + HOSTILE, HOSTILE),),
    (HOSTILE,),
    checks=(VerifyCommand("ruff check " + HOSTILE, HOSTILE),),
)


def edited(text: str) -> str:
    """Return a specification as a person has edited it: each sentence of llmch's is another one."""
    for number, sentence in enumerate((SUMMARY, *REQUIREMENTS, *CONSTRAINTS)):
        text = text.replace(sentence, f"Sentence {number} of a person.")
    return text


def settings_of(folder: Path, text: str) -> object:
    """Return what llmch reads of `text` as the repo's own `llmch.toml`, which must be no news."""
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "llmch.toml").write_text(text)
    loaded = load_settings(cwd=folder, repo=folder, environ={})
    assert loaded.warnings == ()
    return loaded.settings


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def test_in_a_repo_it_writes_both_files_and_says_what_to_do(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = say_in(repo, capsys)("init")
    assert (said.code, said.err) == (0, "")
    assert "wrote     llmch.toml" in said.out
    assert "wrote     spec.yaml" in said.out
    assert "git commit" not in said.out
    assert f"llmch plan --spec spec.yaml --outdir ../{repo.name}-plan" in said.out
    assert git(repo, "status", "--porcelain").split() == ["??", "llmch.toml", "??", "spec.yaml"]


@pytest.mark.parametrize(
    ("environ", "first"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, "export LLMCH_MODEL=claude-"),
        ({"GOOGLE_API_KEY": "k"}, "export LLMCH_MODEL=gemini-"),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "edit "),
        ({"ANTHROPIC_API_KEY": "k", "LLMCH_MODEL": "claude-x"}, "edit "),
        ({}, "edit "),
    ],
)
def test_with_the_key_of_another_vendor_alone_a_model_of_it_is_to_be_named(
    repo: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    first: str,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert say_in(repo, capsys)("init", "--json").document["next"][0].startswith(first)


def test_json_is_one_document(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = say_in(repo, capsys)("init", "--json").document
    assert document["ok"] is True
    assert document["root"] == str(repo)
    assert document["git"] == "ready"
    assert document["written"] == [str(repo / "llmch.toml"), str(repo / "spec.yaml")]
    assert document["kept"] == []
    assert document["next"][-1] == f"llmch run-all --workdir ../{repo.name}-plan"
    assert document.keys() >= {"projects", "verify", "notes"}


def test_what_is_there_stays(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "llmch.toml").write_text("max_tokens = 5\n")
    (repo / "spec.md").symlink_to("nowhere")
    before = snapshot_of(repo)
    said = say_in(repo, capsys)("init")
    assert said.code == 0
    assert "kept      llmch.toml" in said.out
    assert "kept      spec.md" in said.out
    assert "wrote" not in said.out
    assert snapshot_of(repo) == before


def test_a_second_time_changes_nothing(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say = say_in(repo, capsys)
    say("init")
    before = snapshot_of(repo)
    assert say("init", "--json").document["written"] == []
    assert snapshot_of(repo) == before


def test_in_a_folder_below_it_writes_to_the_root(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "docs").mkdir()
    said = say_in(repo / "docs", capsys)("init", "--json").document
    assert said["written"] == [str(repo / "llmch.toml"), str(repo / "spec.yaml")]
    assert "edit ../spec.yaml" in said["next"]
    assert f"llmch run-all --workdir ../../{repo.name}-plan" in said["next"]


def test_a_repo_that_is_elsewhere_is_named_in_the_steps(say: Say, repo: Path) -> None:
    steps = say("init", "--repo", repo, "--spec", "mine.md", "--json").document["next"]
    where = os.path.relpath(repo, repo.parent / "cwd")
    assert steps[0] == "edit mine.md"
    assert f" --repo {where} " in steps[1]


def test_a_base_is_tried_with_the_folder_of_programs_that_its_remedy_names(
    say: Say, repo: Path, tmp_path: Path
) -> None:
    program = tmp_path / "own tools" / "own-linter"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    commit_all(repo, {"scripts/verify.sh": "own-linter\n"})
    argv = ("init", "--repo", repo, "--base", "--json")
    assert "no program 'own-linter'" in say(*argv).document["base"]["remedy"]
    said = say(*argv, "--sandbox-path", program.parent).document
    assert said["base"]["ok"] is True
    assert said["next"][-1].endswith(f"--sandbox-path '{program.parent}'")


@pytest.mark.rest
def test_what_trying_the_base_shows_is_what_a_run_then_finds(say: Say, repo: Path) -> None:
    base = say("init", "--repo", repo, "--base", "--json").document["base"]
    assert (base["ok"], base["commit"]) == (True, git(repo, "rev-parse", "HEAD"))
    assert "$ bash scripts/verify.sh" not in say("init", "--repo", repo, "--base").out
    commit_all(repo, {"scripts/verify.sh": "exit 3\n", "requirements.txt": "no-such-plugin\n"})
    said = say("init", "--repo", repo, "--base", "--json").document
    base = said["base"]
    assert base["ok"] is False and "ended with exit code 3" in base["detail"]
    assert base["remedy"].startswith("pass --deps auto") and "no-such-plugin" in base["remedy"]
    where = os.path.relpath(repo, repo.parent / "cwd")
    assert said["next"][0].endswith(f"init --repo {where} --base --deps auto")
    assert said["next"][-1].endswith(" --deps auto")
    for verb in ("init", "doctor"):
        assert "          Or pass --allow-red" in say(verb, "--repo", repo, "--base").out
    assert say("init", "--repo", repo, "--json").document["base"] is None


def test_without_git_the_first_step_is_to_begin_a_repo(say: Say, cwd: Path) -> None:
    said = say("init", "--json").document
    assert said["git"] == "none"
    assert said["next"][0] == "git init"
    assert (cwd / "llmch.toml").is_file()
    assert not (cwd / ".git").exists()


def test_a_repo_without_a_commit_is_told_from_one_that_is_ready(say: Say, cwd: Path) -> None:
    git(cwd, "init", "--quiet")
    said = say("init", "--json").document
    assert said["git"] == "no commit"
    assert said["next"][1] == "git add -A && git commit -m start"


@pytest.mark.parametrize("where", ["bare", ".git/refs"])
def test_where_there_is_no_working_tree_nothing_is_written(
    say: Say, repo: Path, tmp_path: Path, where: str
) -> None:
    git(tmp_path, "init", "--quiet", "--bare", str(tmp_path / "bare"))
    folder = tmp_path / "bare" if where == "bare" else repo / where
    before = sorted(folder.iterdir())
    said = say("init", "--repo", folder, "--json")
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")
    assert str(folder) in said.error["message"]
    assert sorted(folder.iterdir()) == before


def test_a_folder_that_is_not_there_is_refused(say: Say, cwd: Path) -> None:
    said = say("init", "--repo", "nowhere", "--json")
    assert (said.code, said.error["message"]) == (2, "--repo nowhere: no such folder")
    assert list(cwd.iterdir()) == []


def test_where_one_file_cannot_be_written_none_is(say: Say, cwd: Path) -> None:
    said = say("init", "--spec", "missing/spec.md", "--json")
    assert said.code == 1
    assert "missing/spec.md: No such file or directory" in said.error["message"]
    assert "nothing was written" in said.error["message"]
    assert list(cwd.iterdir()) == []


@pytest.mark.parametrize("name", ["spec.yaml", "spec.yml", "spec.json", "spec.md", "spec"])
def test_the_specification_is_read_with_its_requirements(say: Say, cwd: Path, name: str) -> None:
    assert say("init", "--spec", name).code == 0
    (cwd / name).write_text(edited((cwd / name).read_text()))
    spec = read_spec(cwd / name)
    assert spec.title == "cwd"
    assert len(spec.requirements) >= 2
    assert spec.ids_given == (name.removeprefix("spec") in (".yaml", ".yml", ".json"))
    if spec.ids_given:
        assert [each.id for each in spec.requirements] == ["REQ-1", "REQ-2"]


@pytest.mark.parametrize("name", [HOSTILE, "", "\x00", "x" * 500, "Bücher: 'a' #1", "- [", "😀"])
@pytest.mark.parametrize("suffix", [".yaml", ".json", ".md"])
def test_any_name_makes_a_specification(tmp_path: Path, name: str, suffix: str) -> None:
    path = tmp_path / f"spec{suffix}"
    path.write_text(edited(render_spec(name, suffix)))
    spec = read_spec(path)
    assert len(spec.requirements) >= 2
    assert spec.title.isprintable()


@pytest.mark.parametrize("name", ["spec.yaml", "spec.json", "spec.md"])
@pytest.mark.parametrize("verb", [("plan",), ("build", "--yes")])
def test_a_specification_that_nobody_edited_is_refused_before_a_model_is_asked(
    repo: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    verb: tuple[str, ...],
    name: str,
) -> None:
    say = say_in(repo, capsys)
    say("init", "--spec", name)
    with model_server(monkeypatch) as server:
        said = say(*verb, "--spec", name, "--json")
    assert (said.code, server.received) == (2, [])
    assert said.error["message"].startswith(f"spec {name} still has words that `llmch init` wrote:")
    assert "4 such sentences" in said.error["hint"]


def test_one_sentence_that_is_left_is_named(cwd: Path) -> None:
    path = cwd / "spec.yaml"
    text = edited(render_spec("shop", ".yaml"))
    path.write_text(text.replace("Sentence 2 of a person.", REQUIREMENTS[1]))
    with pytest.raises(InvalidInput, match="Say the next thing") as refused:
        read_spec(path)
    assert "such sentences" not in refused.value.hint
    path.write_text(text + f"\n# {REQUIREMENTS[1]} (no longer)\n")
    assert read_spec(path).requirements


def test_the_settings_are_read_and_change_nothing(fresh: Path) -> None:
    defaults = settings_of(fresh, "")
    assert settings_of(fresh, render_config(TargetFolder(fresh, GitState.READY))) == defaults
    assert settings_of(fresh, render_config(FOUND)) == defaults
    assert settings_of(fresh, render_config(EVIL)) == defaults


def test_each_setting_holds_when_its_comment_mark_goes(fresh: Path) -> None:
    text = render_config(FOUND)
    bare, count = re.subn(r"^# (?=[a-z_.]+ = )", "", text, flags=re.MULTILINE)
    assert count >= 8
    settings = settings_of(fresh, bare)
    assert settings != settings_of(fresh, "")


def test_no_manifest_writes_a_line_of_its_own() -> None:
    lines = render_config(EVIL).splitlines()
    assert [each for each in lines if each and not each.startswith("#")] == []
    assert all(each.isprintable() for each in lines)


def test_the_settings_say_what_was_found() -> None:
    text = render_config(FOUND)
    assert "built with   npm (package.json)" in text
    assert "verified by  npm test  (package.json: scripts.test)" in text
    assert "CI runs      ruff check .  (.github/workflows/ci.yml)" in text
    assert 'true && echo \\"ü\\"\'", "ruff check ."]' in text
    assert "note         The lock file is missing." in text
    assert "--python .venv/bin/python" in text


def test_what_ci_runs_beside_tests_is_offered_and_not_run(say: Say, repo: Path) -> None:
    steps = "".join(f"      - run: {each}\n" for each in ("ruff check . && pytest", "mypy src"))
    commit_all(repo, {".github/workflows/ci.yml": f"jobs:\n  test:\n    steps:\n{steps}"})
    said = say("init", "--repo", repo)
    assert "CI runs   ruff check .  (.github/workflows/ci.yml)\n" in said.out
    assert "CI runs   mypy src  (.github/workflows/ci.yml)\n" in said.out
    assert "if you remove the # before `verify` in llmch.toml" in said.out
    assert '"ruff check .", "mypy src"]\n' in (repo / "llmch.toml").read_text()
    document = say("init", "--repo", repo, "--json").document
    assert document["checks"] == [
        {"command": each, "origin": ".github/workflows/ci.yml"}
        for each in ("ruff check .", "mypy src")
    ]
    assert "mypy src" not in json.dumps(document["verify"])


@pytest.mark.rest
def test_the_steps_lead_to_a_commit(
    fresh: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Carry out each step as it is printed; the person's edit is a requirement."""
    (fresh / "package.json").write_text(NPM)
    say = say_in(fresh, capsys)
    steps = say("init", "--json").document["next"]
    for name, value in (("AUTHOR", "Ada"), ("COMMITTER", "Ada")):
        monkeypatch.setenv(f"GIT_{name}_NAME", value)
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ada@example.org")
    found_nothing = plan_reply({"findings": []})
    plan = plan_reply({"work_orders": [order(covers=["REQ-1", "REQ-2"])]})
    with model_server(monkeypatch, plan, found_nothing, write_reply({"hello.txt": "hello\n"})):
        for step in steps:
            program, *words = shlex.split(step)
            if program == "git":
                subprocess.run(step, shell=True, cwd=fresh, check=True, capture_output=True)
            elif program == "llmch":
                said = say(*words, "--sandbox", "off") if words[0] == "run-all" else say(*words)
                assert said.code == 0, said.out + said.err
            else:
                assert (program, words) == ("edit", ["spec.yaml"])
                (fresh / "spec.yaml").write_text(edited((fresh / "spec.yaml").read_text()))
    (branch,) = git(fresh, "branch", "--list", "factory/*").split()
    assert git(fresh, "show", f"{branch}:hello.txt") == "hello"


def test_in_a_folder_that_is_closed_nothing_is_written(
    fresh: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with as_ordinary_user(fresh):
        fresh.chmod(0o555)
        said = say_in(fresh, capsys)("init", "--json")
        fresh.chmod(0o755)
    assert said.code == 1
    assert f"cannot write {fresh}/llmch.toml: Permission denied" in said.error["message"]
    assert "writable" in said.error["hint"]
    assert list(fresh.iterdir()) == []


def test_agents_are_told_how_to_use_llmch(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say = say_in(repo, capsys)
    said = say("init", "--agents")
    skill = repo / ".agents/skills/llmch/SKILL.md"
    assert (said.code, skill.is_file()) == (0, True)
    assert "SKILL.md" in said.out
    text = skill.read_text()
    assert text.startswith("---\nname: llmch\ndescription: ")
    assert f"- 5: {EXIT_CODE_MEANINGS[ExitCode.PREFLIGHT]}" in text
    skill.write_text("mine")
    assert say("init", "--agents").code == 0
    assert skill.read_text() == "mine"


def test_agents_are_told_where_a_refused_specification_says_why(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say = say_in(repo, capsys)
    assert say("init", "--agents").code == 0
    refused = say("plan", "--spec", "spec.yaml", "--outdir", "../plan", "--no-ask", "--json")
    assert (refused.code, refused.document.keys()) == (2, {"error"})
    told = next(each for each in render_skill().splitlines() if "ends with 2" in each)
    assert "`findings`" in told
    assert "`error`" in told


def test_a_file_in_the_place_of_agents_is_refused_with_a_hint_that_helps(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / ".agents").write_text("mine")
    error = say_in(repo, capsys)("init", "--agents", "--json").error
    assert (error["code"], "nothing was written" in error["message"]) == (1, True)
    assert "--artifacts-dir" not in error["hint"]  # `init` has no such option
    assert not (repo / "llmch.toml").exists()


def test_a_folder_for_agents_does_not_stay_without_its_file(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / ".agents").mkdir()
    say = say_in(repo, capsys)
    assert say("init", "--agents", "--spec", "nowhere/spec.yaml", "--json").error["code"] == 1
    assert list((repo / ".agents").iterdir()) == []
    assert not (repo / "llmch.toml").exists()


def _parser(verb: str) -> VerbParser:
    return parser_of(verb, import_module(module_of(verb)))


def test_each_command_for_agents_is_one_that_llmch_takes() -> None:
    commands = re.findall(r"(?:`|```sh\n)llmch ([a-z-]+ ?[^`\n]*)", render_skill())
    assert {each.split()[0] for each in commands} >= {"plan", "show", "run-all", "verify", "do"}
    for each in commands:
        verb, *words = shlex.split(each)
        _parser(verb).parse_args(words)
    options = set(re.findall(r"`(--[a-z-]+)", render_skill()))
    known = {option for verb in VERBS for option in _parser(verb)._option_string_actions}
    assert options <= known


def test_a_link_in_the_place_of_agents_leads_nowhere(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / ".agents").symlink_to(outside)
    said = say_in(repo, capsys)("init", "--agents", "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert list(outside.iterdir()) == []


def test_a_folder_that_another_tool_keeps_is_the_specification(
    say: Say, repo: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(repo, KIRO)
    said = say("init", "--from", repo / ".kiro", "--json")
    assert said.code == 0, said.out
    document = said.document
    assert document["spec"] == {
        "path": str(repo / ".kiro/specs/timer"),
        "kind": "Kiro",
        "requirements": 5,
    }
    assert [Path(each).name for each in document["written"]] == ["llmch.toml"]
    assert document["root"] == str(repo)
    *_, plan, run, tick = document["next"]
    assert "plan --spec ../repo/.kiro/specs/timer --repo ../repo --outdir" in plan
    assert "run-all" in run
    assert tick.endswith("--tick ../repo/.kiro/specs/timer")
    assert not any(each.startswith("edit") for each in document["next"])
    assert "spec      ../repo/.kiro/specs/timer  (Kiro, 5 requirements)" in (
        (again := say("init", "--from", repo)).out + again.err
    )
    write_files(repo, OPENSPEC)
    assert "holds 2 specifications" in say("init", "--from", repo, "--json").error["message"]
    for flags in (("--from", repo / "nowhere"), ("--from", repo, "--spec", "x.md")):
        assert say("init", *flags, "--json").code == 2
    assert [*cwd.iterdir()] == []
