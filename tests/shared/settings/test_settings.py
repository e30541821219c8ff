"""Settings in layers: who may set what, which layer wins, and what is refused in which words."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shared
from shared.errors import ExitCode, InvalidInput
from shared.llm.usage import KNOWN_PRICES, KNOWN_WINDOWS, Price
from shared.settings.loading import LoadedSettings, load_settings, own_config
from shared.settings.settings import (
    ATTEMPTS,
    KEYS,
    FactorySettings,
    PlannerSettings,
    ReviewerSettings,
    SandboxBackend,
    SandboxNet,
    SandboxSettings,
    Settings,
)
from tests.settings_page import PAGE, render_page


def load(
    cwd: Path,
    *,
    user: str | None = None,
    project: str | None = None,
    environ: Mapping[str, str] | None = None,
    **more: Any,
) -> LoadedSettings:
    """Load with these contents of the user's `llmch.toml` and of the project's table."""
    if user is not None:
        (cwd / "llmch.toml").write_text(user, encoding="utf-8")
    if project is not None:
        (cwd / "pyproject.toml").write_text(project, encoding="utf-8")
    return load_settings(cwd=cwd, environ=environ or {}, **more)


def settings_of(cwd: Path, user: str, **more: Any) -> Settings:
    return load(cwd, user=user, **more).settings


def refusal_of(cwd: Path, **given: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        load(cwd, **given)
    assert refused.value.exit_code is ExitCode.INVALID
    assert refused.value.hint
    return refused.value


# Defaults and layers


def test_without_any_config_the_defaults_hold(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    planner = ("gpt-5.2-codex",), None, "medium", 64_000, 0.0
    assert loaded == LoadedSettings(
        Settings(
            planner=PlannerSettings(*planner),
            reviewer=ReviewerSettings(*planner),
            factory=FactorySettings(("gpt-5.2",), None, None, 32_000, 0.0),
            artifacts_dir=tmp_path / "artifacts",
            planner_attempts=5,
            factory_attempts=5,
            timeout_seconds=600.0,
            max_cost=None,
            max_tokens=None,
            prices=KNOWN_PRICES,
            windows=KNOWN_WINDOWS,
            python=None,
            sandbox=SandboxSettings(SandboxBackend.AUTO, SandboxNet.NONE, (), (), ()),
            protected_branches=frozenset({"main", "master"}),
            strict_acceptance=False,
            link="auto",
            programs=(),
            dependencies=(),
        )
    )


def test_each_layer_overrules_the_one_below(tmp_path: Path) -> None:
    project = "[tool.llmch]\ntimeout_seconds = 10"
    variable = {"LLMCH_TIMEOUT_SECONDS": "30"}
    assert load(tmp_path, project=project).settings.timeout_seconds == 10
    assert settings_of(tmp_path, "timeout_seconds = 20").timeout_seconds == 20
    assert load(tmp_path, environ=variable).settings.timeout_seconds == 30
    flags = {"timeout_seconds": 40.0}
    assert load(tmp_path, environ=variable, flags=flags).settings.timeout_seconds == 40


def test_a_switch_is_true_or_false_in_a_file_and_in_words_elsewhere(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "strict_acceptance = true").strict_acceptance
    on = {"LLMCH_STRICT_ACCEPTANCE": "true"}
    assert load(tmp_path, environ=on).settings.strict_acceptance
    assert not load(
        tmp_path, environ=on, flags={"strict_acceptance": False}
    ).settings.strict_acceptance
    for wrong in ('"true"', "1"):
        with pytest.raises(InvalidInput, match="strict_acceptance must be true or false"):
            settings_of(tmp_path, f"strict_acceptance = {wrong}")


def test_a_flag_that_was_not_used_overrules_nothing(tmp_path: Path) -> None:
    assert load(
        tmp_path, environ={"LLMCH_MAX_TOKENS": "7"}, flags={"max_tokens": None}
    ).settings.max_tokens == (7)


def test_a_file_can_set_everything(tmp_path: Path) -> None:
    user = """\
artifacts_dir = "runs"
max_cost = 2.50
max_tokens = 1_000_000
timeout_seconds = 1.5
python = "python3.12"
protected_branches = ["release"]
link = [".venv", "web/node_modules/"]
programs = ["just"]
dependencies = ["numpy", "ruamel.yaml"]

[planner]
model = "big"
base_url = "http://127.0.0.1:8080/v1"
reasoning_effort = "high"
max_output_tokens = 1000
temperature = 0.5
attempts = 3

[reviewer]
model = "other"

[factory]
model = ["small", "large"]
attempts = 7

[sandbox]
backend = "bwrap"
net = "host"
read = ["/opt/data", "models"]
write = ["cache"]
env = ["CUDA_HOME"]

[prices."big"]
input = 1.1
cached_input = 0.11
output = 2

[windows]
big = 32_768
"""
    settings = settings_of(tmp_path, user)
    assert settings == Settings(
        planner=PlannerSettings(("big",), "http://127.0.0.1:8080/v1", "high", 1000, 0.5),
        reviewer=ReviewerSettings(("other",), "http://127.0.0.1:8080/v1", "high", 1000, 0.5),
        factory=FactorySettings(("small", "large"), None, None, 32_000, 0.0),
        artifacts_dir=tmp_path / "runs",
        planner_attempts=3,
        factory_attempts=7,
        timeout_seconds=1.5,
        max_cost=Decimal("2.50"),
        max_tokens=1_000_000,
        prices={**KNOWN_PRICES, "big": Price(Decimal("1.1"), Decimal("0.11"), Decimal(2))},
        windows={**KNOWN_WINDOWS, "big": 32_768},
        python="python3.12",
        sandbox=SandboxSettings(
            SandboxBackend.BWRAP,
            SandboxNet.HOST,
            (Path("/opt/data"), tmp_path / "models"),
            (tmp_path / "cache",),
            ("CUDA_HOME",),
        ),
        protected_branches=frozenset({"main", "master", "release"}),
        link=(".venv", "web/node_modules"),
        programs=("just",),
        dependencies=("numpy", "ruamel.yaml"),
    )
    assert settings.factory.model == "small"


def test_variables_spell_numbers_and_lists_as_text(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        environ={
            "LLMCH_MAX_COST": " 0.10 ",
            "LLMCH_FACTORY_MODEL": "small, large,",
            "LLMCH_SANDBOX_BACKEND": "off",
            "LLMCH_SANDBOX_READ": "/opt/a:b",
            "LLMCH_SANDBOX_ENV": "A,B",
            "LLMCH_LINK": ".venv",
            "LLMCH_PLANNER_ATTEMPTS": "2",
            "LLMCH_ARTIFACTS_DIR": "/var/runs",
            "LLMCH_PROGRAMS": "",
        },
    ).settings
    assert settings.max_cost == Decimal("0.10")
    assert settings.factory.ladder == ("small", "large")
    assert settings.sandbox.backend is SandboxBackend.OFF
    assert settings.sandbox.read == (Path("/opt/a"), tmp_path / "b")
    assert settings.sandbox.env == ("A", "B")
    assert settings.link == (".venv",)
    assert settings.planner_attempts == 2
    assert settings.artifacts_dir == Path("/var/runs")
    assert settings.programs == ()


def test_the_home_folder_can_be_written_as_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    settings = settings_of(tmp_path, 'artifacts_dir = "~/runs"')
    assert settings.artifacts_dir == tmp_path / "home/runs"


def test_the_reviewer_is_as_the_planner_but_for_what_is_said(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, '[planner]\nmodel = "p"\n[reviewer]\ntemperature = 1')
    assert settings.reviewer == ReviewerSettings(("p",), None, "medium", 64_000, 1.0)


@pytest.mark.parametrize(
    ("user", "flags", "models"),
    [
        ('model = "all"', {}, ("all", "all", "all")),
        ('model = "all"\n[factory]\nmodel = ["f", "g"]', {}, ("all", "all", "f")),
        ('model = "all"\n[reviewer]\nmodel = "r"', {}, ("all", "r", "all")),
        ('[planner]\nmodel = "p"', {"model": "all"}, ("all", "all", "all")),
        ('[reviewer]\nmodel = "r"', {"model": "all"}, ("all", "all", "all")),
        ('model = "all"', {"reviewer.model": "r"}, ("all", "r", "all")),
        ('model = "all"', {"planner.model": "p"}, ("p", "p", "all")),
        ("", {"model": "all", "factory.model": "f"}, ("all", "all", "f")),
    ],
)
def test_a_role_s_own_model_counts_more_than_that_of_all_but_not_against_its_flag(
    tmp_path: Path, user: str, flags: dict[str, object], models: tuple[str, str, str]
) -> None:
    settings = settings_of(tmp_path, user, flags=flags)
    roles = (settings.planner, settings.reviewer, settings.factory)
    assert tuple(each.model for each in roles) == models


def test_a_variable_for_all_roles_leaves_a_role_of_a_file_its_own(tmp_path: Path) -> None:
    user = '[planner]\nmodel = "p"\n[factory]\nmodel = ["f", "g"]'
    settings = settings_of(tmp_path, user, environ={"LLMCH_MODEL": "all"})
    roles = (settings.planner, settings.reviewer, settings.factory)
    assert [each.ladder for each in roles] == [("p",), ("p",), ("f", "g")]


def test_the_effort_of_all_roles_reaches_the_factory(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "", flags={"reasoning_effort": "high"})
    roles = (settings.planner, settings.reviewer, settings.factory)
    assert [each.reasoning_effort for each in roles] == ["high"] * 3
    settings = settings_of(tmp_path, 'reasoning_effort = "low"\n[factory]\nreasoning_effort = "x"')
    assert (settings.planner.reasoning_effort, settings.factory.reasoning_effort) == ("low", "x")


def test_a_repo_s_own_model_counts_only_where_the_person_has_none(tmp_path: Path) -> None:
    (repo := tmp_path / "repo").mkdir()
    (repo / ".git").mkdir()
    (repo / "llmch.toml").write_text('model = "theirs"\n[reviewer]\nmodel = "r"')
    loaded = load(tmp_path, repo=repo)
    assert (loaded.settings.planner.model, loaded.settings.reviewer.model) == ("theirs", "r")
    assert "planner.model is theirs, not gpt-5.2-codex" in " ".join(loaded.notices)
    assert "factory.model is theirs, not gpt-5.2:" in " ".join(loaded.notices)
    loaded = load(tmp_path, repo=repo, environ={"LLMCH_MODEL": "mine"})
    settings = loaded.settings
    assert {settings.planner.model, settings.reviewer.model, settings.factory.model} == {"mine"}
    assert not loaded.notices


@pytest.mark.parametrize("value", ["sk-proj-secretsecret", "abcdefabcdef", "LANG", "A B", ""])
def test_what_is_no_name_of_a_key_s_variable_is_refused_and_not_repeated(
    tmp_path: Path, value: str
) -> None:
    error = refusal_of(tmp_path, flags={"factory.key_variable": value})
    assert not value or value not in error.message + error.hint


def test_a_reviewer_elsewhere_does_not_get_the_key_of_the_planner_s_server(tmp_path: Path) -> None:
    planner = '[planner]\nbase_url = "https://a.example"\nkey_variable = "A_API_KEY"\n'
    assert settings_of(tmp_path, planner).reviewer.key_variable == "A_API_KEY"
    for own in ('base_url = "https://b.example"', 'provider = "gemini"'):
        settings = settings_of(tmp_path, f"{planner}[reviewer]\n{own}")
        assert settings.reviewer.key_variable is None


def test_a_role_may_have_a_key_of_its_own(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, '[factory]\nkey_variable = "GROQ_API_KEY"')
    assert (settings.factory.key_variable, settings.planner.key_variable) == ("GROQ_API_KEY", None)


def test_protected_branches_add_up_over_all_layers(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        project='[tool.llmch]\nprotected_branches = ["release"]',
        user='protected_branches = ["stable"]',
        environ={"LLMCH_PROTECTED_BRANCHES": "live"},
    ).settings
    assert settings.protected_branches == {"main", "master", "release", "stable", "live"}


def test_a_price_replaces_the_known_one_of_that_model_only(tmp_path: Path) -> None:
    prices = settings_of(tmp_path, '[prices."gpt-5"]\ninput = 1\noutput = 2').prices
    # Cached input costs what fresh input costs, where nobody says that it is cheaper.
    assert prices["gpt-5"] == Price(Decimal(1), Decimal(1), Decimal(2))
    assert prices["gpt-5.2"] == KNOWN_PRICES["gpt-5.2"]
    assert KNOWN_PRICES["gpt-5"].input == Decimal("1.25")


# Which files


def test_the_users_file_is_the_one_beside_the_spec(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/llmch.toml").write_text("max_tokens = 1")
    (tmp_path / "llmch.toml").write_text("max_tokens = 2")
    beside = load(tmp_path, spec=Path("specs/a.md"))
    assert beside.settings.max_tokens == 1
    assert beside.files == (tmp_path / "specs/llmch.toml",)
    assert load(tmp_path).settings.max_tokens == 2


def test_a_file_named_by_variable_is_taken_instead(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("max_tokens = 1")
    loaded = load(tmp_path, user="max_tokens = 2", environ={"LLMCH_CONFIG": "mine.toml"})
    assert loaded.settings.max_tokens == 1


def test_a_file_named_by_variable_must_be_there(tmp_path: Path) -> None:
    message = refusal_of(tmp_path, environ={"LLMCH_CONFIG": "none.toml"}).message
    assert message == f"config {tmp_path}/none.toml does not exist"


def test_no_file_of_the_persons_is_read_where_the_variable_names_none(tmp_path: Path) -> None:
    (tmp_path / "llmch.toml").write_text("max_tokens = 2")
    loaded = load(tmp_path, environ={"LLMCH_CONFIG": "/dev/null"})
    assert (loaded.settings.max_tokens, loaded.files) == (None, ())


def test_the_persons_file_is_theirs_only_outside_of_a_repo(tmp_path: Path) -> None:
    assert own_config(tmp_path, {}) is None
    (tmp_path / "llmch.toml").touch()
    assert own_config(tmp_path, {}) == tmp_path / "llmch.toml"
    (tmp_path / ".git").mkdir()
    assert own_config(tmp_path, {}) is None
    assert own_config(tmp_path, {"LLMCH_CONFIG": "a.toml"}) == tmp_path / "a.toml"
    assert own_config(tmp_path, {"LLMCH_CONFIG": "/dev/null"}) is None


def test_the_projects_file_is_that_of_the_target_repo(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "pyproject.toml").write_text("[tool.llmch]\nmax_tokens = 1")
    project = "[tool.llmch]\nmax_tokens = 2"
    assert load(tmp_path, project=project, repo=repo).settings.max_tokens == 1
    assert load(tmp_path, project=project).settings.max_tokens == 2


def test_a_project_file_that_says_nothing_of_llmch_is_not_even_parsed(tmp_path: Path) -> None:
    assert load(tmp_path, project="[broken").settings.max_tokens is None
    assert load(tmp_path, project="[tool.other]\nllmch = 1").files == ()


# What a target repo may not do

GUARDED = {
    "planner.base_url": '[tool.llmch.planner]\nbase_url = "http://evil.example/v1"',
    "reviewer.base_url": '[tool.llmch.reviewer]\nbase_url = "http://evil.example/v1"',
    "factory.base_url": '[tool.llmch.factory]\nbase_url = "http://evil.example/v1"',
    "sandbox.backend": '[tool.llmch.sandbox]\nbackend = "off"',
    "sandbox.net": '[tool.llmch.sandbox]\nnet = "host"',
    "sandbox.read": '[tool.llmch.sandbox]\nread = ["/"]',
    "sandbox.write": '[tool.llmch.sandbox]\nwrite = ["/"]',
    "sandbox.env": '[tool.llmch.sandbox]\nenv = ["AWS_PROFILE"]',
    "prices": '[tool.llmch.prices."gpt-5"]\ninput = 0\noutput = 0',
    "windows": "[tool.llmch.windows]\ngpt-5 = 1",
    "python": '[tool.llmch]\npython = "./evil"',
    "artifacts_dir": '[tool.llmch]\nartifacts_dir = "/etc"',
    "link secrets": '[tool.llmch]\nlink = ["secrets"]',
}


@pytest.mark.parametrize(("named", "project"), GUARDED.items(), ids=GUARDED)
def test_what_could_weaken_the_sandbox_is_ignored_with_a_warning(
    tmp_path: Path, named: str, project: str
) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "pyproject.toml").write_text(project)
    loaded = load(tmp_path, repo=repo)
    assert loaded.settings == load(tmp_path).settings
    key = KEYS[named.split()[0]]
    flag = f", {key.flag.option}" if key.flag else ""
    assert loaded.warnings == (
        f"{repo}/pyproject.toml: {named} is ignored: a target repo's own config may not set it;"
        f" set it by {key.variable}{flag} or a file outside of the repo that LLMCH_CONFIG names",
    )


@pytest.mark.parametrize(("named", "project"), GUARDED.items(), ids=GUARDED)
def test_the_same_is_taken_from_the_user(tmp_path: Path, named: str, project: str) -> None:
    user = project.replace("[tool.llmch]\n", "").replace("tool.llmch.", "")
    loaded = load(tmp_path, user=user, repo=tmp_path / "repo")
    assert loaded.warnings == ()
    assert loaded.settings != load_settings(cwd=tmp_path / "elsewhere", environ={}).settings


@pytest.mark.parametrize(("written", "link"), [("auto", "auto"), ("none", ())])
def test_link_may_be_a_word_which_a_project_may_use_too(
    tmp_path: Path, written: str, link: object
) -> None:
    loaded = load(tmp_path, project=f'[tool.llmch]\nlink = "{written}"')
    assert (loaded.settings.link, loaded.warnings) == (link, ())
    assert load(tmp_path, flags={"link": written}).settings.link == link


def test_a_folder_that_is_called_as_such_a_word_is_still_a_folder(tmp_path: Path) -> None:
    loaded = load(tmp_path, project='[tool.llmch]\nlink = ["secrets/none"]')
    assert loaded.settings.link == "auto"
    assert "link secrets/none is ignored" in loaded.warnings[0]


def test_a_project_may_link_its_package_folders_but_no_others(tmp_path: Path) -> None:
    project = '[tool.llmch]\nlink = [".venv", "private", "web/node_modules", 3]'
    loaded = load(tmp_path, project=project)
    assert loaded.settings.link == (".venv", "web/node_modules")
    assert "link private, 3 is ignored" in loaded.warnings[0]


def test_a_project_may_set_what_weakens_nothing(tmp_path: Path) -> None:
    project = """\
[tool.llmch]
timeout_seconds = 5
programs = ["just"]
[tool.llmch.planner]
model = "p"
"""
    loaded = load(tmp_path, project=project)
    assert loaded.warnings == ()
    assert loaded.settings.timeout_seconds == 5
    assert loaded.settings.planner.model == "p"


WEAK = '[sandbox]\nbackend = "off"'


def repo_with(folder: Path, file: str, text: str) -> Path:
    (folder / "repo/.git").mkdir(parents=True)
    path = folder / "repo" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder / "repo"


def test_a_users_file_inside_the_target_repo_counts_as_the_repos(tmp_path: Path) -> None:
    repo = repo_with(tmp_path, "specs/llmch.toml", WEAK)
    loaded = load(tmp_path, repo=repo, spec=repo / "specs/a.md")
    assert loaded.settings.sandbox.backend is SandboxBackend.AUTO
    assert "sandbox.backend is ignored" in loaded.warnings[0]


def test_naming_a_folder_below_the_repos_root_does_not_change_that(tmp_path: Path) -> None:
    repo = repo_with(tmp_path, "specs/llmch.toml", WEAK)
    (repo / "sub").mkdir()
    loaded = load(tmp_path, repo=repo / "sub", spec=repo / "specs/a.md")
    assert loaded.settings.sandbox.backend is SandboxBackend.AUTO


def test_neither_does_a_link_into_or_out_of_the_repo(tmp_path: Path) -> None:
    repo = repo_with(tmp_path, "llmch.toml", WEAK)
    for name in ("into", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "into/llmch.toml").symlink_to(repo / "llmch.toml")
    (tmp_path / "out/llmch.toml").write_text(WEAK)
    (repo / "specs").symlink_to(tmp_path / "out")
    for spec in (tmp_path / "into/a.md", repo / "specs/a.md"):
        loaded = load(tmp_path, repo=repo, spec=spec)
        assert loaded.settings.sandbox.backend is SandboxBackend.AUTO


@pytest.mark.parametrize("repo", [".", "../repo", "specs/.."])
def test_the_current_folder_is_no_way_around_it(tmp_path: Path, repo: str) -> None:
    root = repo_with(tmp_path, "llmch.toml", WEAK)
    (root / "specs").mkdir()
    assert load(root, repo=Path(repo)).settings.sandbox.backend is SandboxBackend.AUTO


@pytest.mark.parametrize(
    ("cwd", "repo", "spec"), [("repo", ".", None), ("repo/sub", ".", None), (".", "repo", "a.md")]
)
def test_the_file_at_the_repos_root_is_read_from_wherever_the_repo_is_meant(
    tmp_path: Path, cwd: str, repo: str, spec: str | None
) -> None:
    root = repo_with(tmp_path, "llmch.toml", "max_tokens = 7\n")
    (root / "sub").mkdir()
    (root / "pyproject.toml").write_text("[tool.llmch]\nmax_tokens = 6\nmax_cost = 5")
    settings = load(tmp_path / cwd, repo=Path(repo), spec=Path(spec) if spec else None).settings
    assert (settings.max_tokens, settings.max_cost) == (7, Decimal(5))


def test_the_users_file_overrules_that_of_the_repo(tmp_path: Path) -> None:
    root = repo_with(tmp_path, "llmch.toml", "max_tokens = 7\nmax_cost = 1")
    loaded = load(tmp_path, user="max_tokens = 8", repo=root, spec=tmp_path / "a.md")
    assert (loaded.settings.max_tokens, loaded.settings.max_cost) == (8, Decimal(1))


def test_the_repos_file_is_guarded_for_a_spec_outside_of_the_repo(tmp_path: Path) -> None:
    root = repo_with(tmp_path, "llmch.toml", WEAK)
    loaded = load(tmp_path, repo=root, spec=tmp_path / "a.md")
    assert loaded.settings.sandbox.backend is SandboxBackend.AUTO
    assert len(loaded.warnings) == 1


def test_the_repos_file_is_the_users_where_the_user_names_it(tmp_path: Path) -> None:
    root = repo_with(tmp_path, "llmch.toml", WEAK)
    environ = {"LLMCH_CONFIG": str(root / "llmch.toml")}
    loaded = load(tmp_path, repo=root, environ=environ)
    assert loaded.settings.sandbox.backend is SandboxBackend.OFF
    assert loaded.warnings == ()


def test_a_way_out_of_the_repo_by_dots_leads_out_of_it(tmp_path: Path) -> None:
    repo = repo_with(tmp_path, "README", "")
    (tmp_path / "llmch.toml").write_text(WEAK)
    loaded = load(repo, repo=repo, spec=Path("../a.md"))
    assert loaded.settings.sandbox.backend is SandboxBackend.OFF


def test_beside_a_spec_outside_of_the_repo_the_user_decides(tmp_path: Path) -> None:
    repo = repo_with(tmp_path, "README", "")
    loaded = load(tmp_path, user=WEAK, repo=repo, spec=tmp_path / "a.md")
    assert loaded.settings.sandbox.backend is SandboxBackend.OFF


def test_without_a_target_repo_a_file_that_came_with_a_clone_does_not_decide(
    tmp_path: Path,
) -> None:
    clone = repo_with(tmp_path, "specs/llmch.toml", '[planner]\nbase_url = "http://evil.example"')
    loaded = load(clone, spec=Path("specs/a.md"))
    assert loaded.settings.planner.base_url is None
    assert "planner.base_url is ignored" in loaded.warnings[0]


# What is refused


@pytest.mark.parametrize(
    ("user", "name", "hint"),
    [
        ("max_cots = 1", "max_cots", "did you mean max_cost?"),
        ("[sandbox]\nnetwork = 1", "sandbox.network", "did you mean sandbox.net?"),
        ("[planer]\nmodel = 'x'", "planer", "did you mean planner"),
        ("zzzzz = 1", "zzzzz", "the settings are artifacts_dir, commit.author, commit.subject"),
        ('"sandbox.net" = "host"', "sandbox.net", "did you mean sandbox.net?"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_one(
    tmp_path: Path, user: str, name: str, hint: str
) -> None:
    refused = refusal_of(tmp_path, user=user)
    assert refused.message == f"{tmp_path}/llmch.toml: unknown setting {name!r}"
    assert refused.hint.startswith(hint)


def test_an_unknown_key_in_a_project_is_refused_too(tmp_path: Path) -> None:
    refused = refusal_of(tmp_path, project="[tool.llmch]\nmax_cots = 1")
    assert refused.message == f"{tmp_path}/pyproject.toml: unknown setting 'max_cots'"


def test_an_unknown_variable_is_refused_for_a_misspelt_cap_holds_nothing(tmp_path: Path) -> None:
    refused = refusal_of(tmp_path, environ={"LLMCH_MAX_COTS": "1"})
    assert refused.message == "environment: unknown setting 'LLMCH_MAX_COTS'"
    assert refused.hint == "did you mean LLMCH_MAX_COST?"


def test_variables_that_are_no_settings_are_left_alone(tmp_path: Path) -> None:
    own = {"LLMCH_TEST_KILL_AT": "3", "LLMCH_WORKSPACES": "/w", "LLMCH_TOOLS": "/t"}
    environ = {**own, "PATH": "/bin", "llmch_x": "1"}
    assert load(tmp_path, environ=environ) == load(tmp_path)


@pytest.mark.parametrize(
    ("user", "complaint"),
    [
        ("max_cost = '1'", "max_cost must be an amount in US dollars, 0 or more, not '1'"),
        ("max_cost = -1", "max_cost must be an amount in US dollars, 0 or more, not -1"),
        ("max_cost = nan", "max_cost must be an amount in US dollars, 0 or more, not NaN"),
        ("max_cost = inf", "max_cost must be an amount in US dollars, 0 or more, not Infinity"),
        ("max_cost = true", "max_cost must be an amount in US dollars, 0 or more, not true"),
        ("max_tokens = 1.5", "max_tokens must be a whole number from 0 to 1,000,000,000,000"),
        ("max_tokens = -1", "max_tokens must be a whole number from 0"),
        (f"max_tokens = 0x{'f' * 9999}", "max_tokens must be a whole number from 0"),
        ("timeout_seconds = 0", "timeout_seconds must be a number from 1 to 86400, not 0"),
        ("timeout_seconds = 86401", "timeout_seconds must be a number from 1 to 86400, not 86401"),
        ("timeout_seconds = []", "timeout_seconds must be a number from 1 to 86400, not []"),
        ("[planner]\nattempts = 'x'", "planner.attempts must be a whole number"),
        ("[factory]\nattempts = 2.5", "factory.attempts must be a whole number"),
        ("[planner]\ntemperature = 3", "planner.temperature must be a number from 0 to 2, not 3"),
        ("[planner]\nmax_output_tokens = 0", "planner.max_output_tokens must be a whole number"),
        ("[planner]\nmodel = ''", "planner.model must be the name of a model"),
        ("[planner]\nmodel = 5", "planner.model must be a list of texts, not 5"),
        ("[planner]\nmodel = 'a,b'", "planner.model must be one model: only the factory takes"),
        ('[factory]\nmodel = "a\\u001bb"', "factory.model must be a list of texts"),
        ("[planner]\nreasoning_effort = 'very high'", "planner.reasoning_effort must be a word"),
        ("[planner]\nbase_url = 'localhost:80'", "planner.base_url must be an http or https URL"),
        ("[planner]\nbase_url = 'file:///etc'", "planner.base_url must be an http or https URL"),
        ("[planner]\nbase_url = 'http://h:99999'", "planner.base_url must be an http or https URL"),
        ("[planner]\nbase_url = 'http://[::1'", "planner.base_url must be an http or https URL"),
        ("planner = 1", "planner must be a table"),
        ("sandbox = 'off'", "sandbox must be a table"),
        (
            "[sandbox]\nbackend = 'docker'",
            "must be one of auto, bwrap, landlock, off, not 'docker'",
        ),
        ("[sandbox]\nbackend = false", "must be one of auto, bwrap, landlock, off, not false"),
        ("[sandbox]\nnet = 'all'", "sandbox.net must be one of none, host, not 'all'"),
        ("[sandbox]\nread = '/opt'", "sandbox.read must be a list of texts, not '/opt'"),
        ("[sandbox]\nread = ['~nobody-here/x']", "sandbox.read must be a path"),
        ("[sandbox]\nenv = ['A B']", "sandbox.env must be names of environment variables"),
        ("[sandbox]\nenv = ['OPENAI_API_KEY']", "names OPENAI_API_KEY, which commands never get"),
        ("python = 3.12", "python must be a line of text, not 3.12"),
        ("artifacts_dir = ''", "artifacts_dir must be a line of text, not ''"),
        ("link = ['../x']", "link must be folders inside the repo, such as .venv, not ['../x']"),
        ("link = ['/x']", "link must be folders inside the repo"),
        ("link = ['.git']", "link must be folders inside the repo"),
        ("link = ['a/.GIT/hooks']", "link must be folders inside the repo"),
        ("link = [1]", "link must be a list of texts, not [1]"),
        ("programs = ['/bin/sh']", "programs must be names of programs, without folders"),
        ("dependencies = ['numpy>=2']", "dependencies must be names of packages, without versions"),
        ("protected_branches = [['x']]", "protected_branches must be a list of texts, not [['x']]"),
        ("prices = 1", "prices must be a table of models, not 1"),
        ("[prices]\nx = 1", "prices.x must be a table with input and output, in US dollars per"),
        ("[prices.x]\ninput = 1", "prices.x must be a table with input and output"),
        ("[prices.x]\ninput = 1\noutput = 'a'", "prices.x.output must be an amount in US dollars"),
        ("[prices.x]\ninput = 1\noutput = 2\nextra = 3", "prices.x has the unknown key extra"),
        ("windows = 1", "windows must be a table of models, not 1"),
        ("[windows]\nx = 0", "windows.x must be a whole number from 1 to 100,000,000, not 0"),
        ("[windows.x]\ny = 1", "windows.x must be a whole number from 1 to 100,000,000, not a"),
        ("[python]\nx = 1", "python must be a line of text, not a table"),
    ],
)
def test_a_wrong_value_is_refused_naming_file_and_key(
    tmp_path: Path, user: str, complaint: str
) -> None:
    message = refusal_of(tmp_path, user=user).message
    assert message.startswith(f"{tmp_path}/llmch.toml: ")
    assert complaint in message
    assert len(message) < len(str(tmp_path)) + 300


def test_credentials_in_a_url_are_refused_and_not_repeated(tmp_path: Path) -> None:
    for url in ("http://me:s3cret@host/v1", "http://s3cret@host/v1"):
        refused = refusal_of(tmp_path, user=f"[factory]\nbase_url = '{url}'")
        assert refused.message == f"{tmp_path}/llmch.toml: factory.base_url holds credentials"
        assert refused.hint == "put the key in OPENAI_API_KEY"


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("LLMCH_MAX_COST", "much", "must be an amount in US dollars, 0 or more, not 'much'"),
        ("LLMCH_MAX_TOKENS", "1e99", "must be a whole number from 0 to 1,000,000,000,000"),
        ("LLMCH_TIMEOUT_SECONDS", "0", "must be a number from 1 to 86400, not '0'"),
        ("LLMCH_PRICES", "free", "must be a table of models, not 'free'"),
        ("LLMCH_SANDBOX_BACKEND", "Off", "must be one of auto, bwrap, landlock, off, not 'Off'"),
    ],
)
def test_a_wrong_variable_is_refused_by_its_name(
    tmp_path: Path, variable: str, value: str, complaint: str
) -> None:
    message = refusal_of(tmp_path, environ={variable: value}).message
    assert message.startswith(f"environment: {variable} {complaint}")


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("max_cost", "-1", "--max-cost must be an amount in US dollars, 0 or more, not '-1'"),
        ("sandbox.backend", "docker", "--sandbox must be one of auto, bwrap, landlock, off"),
        ("timeout_seconds", 0.0, "--timeout-seconds must be a number from 1 to 86400, not 0.0"),
        (
            "planner.model",
            "a,b",
            "--planner-model must be one model: only the factory takes several",
        ),
        (
            "factory.model",
            "",
            "--factory-model must be the name of a model, or several with commas",
        ),
        ("model", "a,b", "--model must be one model: only the factory takes several"),
        ("reasoning_effort", "?", "--reasoning-effort must be a word such as low"),
    ],
)
def test_a_wrong_flag_is_refused_by_its_name(
    tmp_path: Path, key: str, value: object, complaint: str
) -> None:
    message = refusal_of(tmp_path, flags={key: value}).message
    assert message.startswith(f"command line: {complaint}")


def test_flags_may_be_paths_already(tmp_path: Path) -> None:
    flags = {"artifacts_dir": Path("runs"), "sandbox.read": [Path("/opt/a"), Path("b:c")]}
    settings = load(tmp_path, flags=flags).settings
    assert settings.artifacts_dir == tmp_path / "runs"
    assert settings.sandbox.read == (Path("/opt/a"), tmp_path / "b:c")


def test_a_wrong_value_is_refused_even_where_it_is_overruled(tmp_path: Path) -> None:
    refused = refusal_of(tmp_path, user="max_tokens = -1", flags={"max_tokens": 5})
    assert "llmch.toml: max_tokens" in refused.message


@pytest.mark.parametrize(
    ("user", "complaint"),
    [
        ("max_tokens = ", "is not valid TOML: Invalid value (at end of document)"),
        ("max_tokens = 1\nmax_tokens = 2", "is not valid TOML: Cannot overwrite a value"),
        (f"max_tokens = {'9' * 9999}", "is not valid TOML: Exceeds the limit"),
        (f"max_cost = 1e{'9' * 99}", "is not valid TOML: "),
        (f"link = {'[' * 20_000}", "is nested too deep"),
    ],
)
def test_what_is_no_toml_is_refused(tmp_path: Path, user: str, complaint: str) -> None:
    message = refusal_of(tmp_path, user=user).message
    assert message.startswith(f"config {tmp_path}/llmch.toml {complaint}")


def test_a_project_table_that_is_none_is_refused(tmp_path: Path) -> None:
    refused = refusal_of(tmp_path, project="[tool]\nllmch = 1")
    assert refused.message == f"{tmp_path}/pyproject.toml: [tool.llmch] must be a table"


def test_a_config_that_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pyproject.toml")
    message = refusal_of(tmp_path).message
    assert message == f"config {tmp_path}/pyproject.toml is a FIFO, not a regular file"


def test_a_project_that_loops_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert load(tmp_path, user="max_tokens = 1", repo=tmp_path / "loop").settings.max_tokens == 1


# Attempts


@pytest.mark.parametrize(("number", "clamped"), [(0, 1), (-3, 1), (51, 50), (10**9, 50)])
def test_attempts_out_of_range_are_clamped_with_a_warning(number: int, clamped: int) -> None:
    assert ATTEMPTS.clamp(number, "--max-attempts") == (
        clamped,
        f"--max-attempts is {number}: {clamped} attempts are made, the limits are 1 and 50",
    )


@pytest.mark.parametrize("number", [1, 5, 50])
def test_attempts_in_range_pass_without_a_word(number: int) -> None:
    assert ATTEMPTS.clamp(number, "--max-attempts") == (number, None)


def test_the_warning_names_what_set_the_attempts(tmp_path: Path) -> None:
    loaded = load(
        tmp_path, user="[factory]\nattempts = 99", environ={"LLMCH_PLANNER_ATTEMPTS": "0"}
    )
    assert loaded.settings.factory_attempts == 50
    assert loaded.settings.planner_attempts == 1
    assert loaded.warnings == (
        "environment: LLMCH_PLANNER_ATTEMPTS is 0: 1 attempts are made, the limits are 1 and 50",
        f"{tmp_path}/llmch.toml: factory.attempts is 99: 50 attempts are made, "
        "the limits are 1 and 50",
    )


# Anything at all

VARIABLES = [
    "LLMCH_MAX_COST",
    "LLMCH_MAX_TOKENS",
    "LLMCH_TIMEOUT_SECONDS",
    "LLMCH_PYTHON",
    "LLMCH_ARTIFACTS_DIR",
    "LLMCH_PLANNER_MODEL",
    "LLMCH_PLANNER_BASE_URL",
    "LLMCH_PLANNER_REASONING_EFFORT",
    "LLMCH_LINK",
    "LLMCH_FACTORY_MODEL",
    "LLMCH_FACTORY_ATTEMPTS",
    "LLMCH_FACTORY_TEMPERATURE",
    "LLMCH_SANDBOX_NET",
    "LLMCH_SANDBOX_READ",
    "LLMCH_SANDBOX_ENV",
    "LLMCH_PROGRAMS",
    "LLMCH_DEPENDENCIES",
    "LLMCH_PRICES",
]


@given(st.dictionaries(st.sampled_from(VARIABLES), st.text(max_size=20)))
def test_any_variables_are_taken_or_refused_in_words(environ: dict[str, str]) -> None:
    try:
        load_settings(cwd=Path("/"), environ=environ)
    except InvalidInput as refused:
        assert refused.message.startswith("environment: LLMCH_")


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_file_is_taken_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, content: str | bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        load_settings(cwd=Path("/"), environ={"LLMCH_CONFIG": str(file)})
    except InvalidInput as refused:
        assert str(file) in refused.message


def test_without_config_files_nothing_heavy_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from shared.settings.loading import load_settings; "
        f"load_settings(cwd=Path({str(tmp_path)!r}), environ={{}}); "
        "print({'tomllib', 'pydantic', 'openai', 'difflib'} & sys.modules.keys())"
    )
    root = Path(shared.__file__).parent.parent
    # What measures the tests imports some of them.
    plain = {name: each for name, each in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env=plain,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "set()\n"


# The page that describes them


def test_the_page_is_made_from_the_declarations() -> None:
    text = PAGE.read_text("utf-8")
    assert text == render_page(text), "run `python -m tests.settings_page`"
    assert set(KEYS) <= set(re.findall(r"^\| `([a-z_.]+)` \|", text, re.MULTILINE))


def test_the_example_on_the_page_can_be_loaded(tmp_path: Path) -> None:
    block = re.search(r"^```toml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert block
    settings = settings_of(tmp_path, block[1])
    assert settings.factory.ladder == ("small", "large")
    assert settings.prices["small"].cached_input == Decimal("0.01")


# The fleet


def test_the_fleet_is_the_persons_alone(tmp_path: Path) -> None:
    url = "postgresql://ada:s3cret@db.example/fleet"
    loaded = load(tmp_path, project=f'[tool.llmch]\nfleet.db = "{url}"\nfleet.train = 3\n')
    assert (loaded.settings.fleet.db, loaded.settings.fleet.train) == (None, 8)
    assert len(loaded.warnings) == 2
    assert "s3cret" not in "".join(loaded.warnings)
    own = load(tmp_path, environ={"LLMCH_FLEET_DB": url}).settings.fleet
    assert own.db is not None
    assert own.db.text == url
    assert "s3cret" not in f"{own!r} {own.db}"


@pytest.mark.parametrize(
    "url", ["mysql://ada:s3cret@db/fleet", "s3cret", "postgresql://a:s3cret@b:x"]
)
def test_what_is_no_url_of_a_database_is_refused_and_not_repeated(tmp_path: Path, url: str) -> None:
    refused = refusal_of(tmp_path, environ={"LLMCH_FLEET_DB": url})
    assert "LLMCH_FLEET_DB is not the URL of a PostgreSQL database" in refused.message
    assert "s3cret" not in f"{refused.message}{refused.hint}"
