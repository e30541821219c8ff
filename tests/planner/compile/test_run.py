"""From a spec file to a plan on disk: what is refused unasked, and what a finished plan says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from planner.compile.inputs import PlannerModel
from planner.known_plans import plan_identity
from planner.plan.file_projection import Allowed
from planner.run_plan import PlanResult, plan_document
from shared.errors import CommandFailed, InvalidInput
from shared.work_order.parse_order import canonical_json, manifest_sha256, sha256_bytes
from tests.harness import commit_all, git
from tests.planner.planning import Planner
from tests.planner.plans import creating, exists, order, plan, requiring

GOOD = plan(creating(1, "greet.py"), creating(2, "tests/test_greet.py"))
VERIFY = "scripts/verify.sh"


def refusal(planner: Planner, **options: Any) -> str:
    """Return the message of a plan that is refused before the model is asked or a run begins."""
    with pytest.raises(InvalidInput) as refused:
        planner.plan(GOOD, **options)
    assert planner.model.requests == []
    assert not planner.artifacts.exists()
    assert refused.value.hint
    return refused.value.message


def compiled_from(result: PlanResult) -> object:
    return json.loads((result.run_dir / "run.json").read_text())["compile_hash"]


# The spec


def test_a_spec_that_is_not_there_is_refused(planner: Planner) -> None:
    assert "does not exist" in refusal(planner, spec=planner.scratch / "none.md")


def test_a_folder_is_no_spec(planner: Planner) -> None:
    (planner.scratch / "empty").mkdir()
    assert "is a directory" in refusal(planner, spec=planner.scratch / "empty")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "only white space"),
        (b"caf\xe9", "not UTF-8: byte 0xe9 at offset 3"),
        (b"a\0b", "NUL"),
        (b"x" * 1_000_001, "over the limit of 1,000,000 bytes"),
    ],
    ids=["empty", "blank", "latin-1", "NUL", "too large"],
)
def test_a_spec_that_is_no_text_of_this_size_is_refused(
    planner: Planner, content: bytes, words: str
) -> None:
    planner.spec.write_bytes(content)
    assert words in refusal(planner)


def test_a_structured_spec_may_have_no_field_that_nobody_reads(planner: Planner) -> None:
    spec = planner.scratch / "spec.json"
    document = {"name": "n", "summary": "s", "requirements": [], "goals": []}
    spec.write_text(json.dumps(document))
    assert "goals" in refusal(planner, spec=spec)


def test_a_template_must_have_a_place_for_the_spec(planner: Planner) -> None:
    template = planner.scratch / "prompt.md"
    template.write_text("Plan something.")
    assert "{{PRODUCT_SPEC}}" in refusal(planner, template=template)


def test_a_template_of_ones_own_is_what_the_model_gets(planner: Planner) -> None:
    template = planner.scratch / "prompt.md"
    template.write_text("Plan this: {{PRODUCT_SPEC}}")
    planner.plan(GOOD, template=template)
    assert planner.prompts[0].startswith("Plan this: # Greeter")


# The export


def test_a_plan_is_exported_where_it_is_asked_for(planner: Planner) -> None:
    outdir = planner.scratch / "new" / "plan"
    result = planner.plan(GOOD, outdir=outdir)
    assert result.output_dir == outdir
    names = ["WO-01.json", "WO-02.json", "WORK_ORDERS_MANIFEST.json"]
    assert sorted(each.name for each in outdir.iterdir()) == names
    for name in names:
        assert (outdir / name).read_text() == planner.text(f"output/{name}")


def test_a_plan_in_the_way_is_noticed_before_anyone_is_paid(planner: Planner) -> None:
    outdir = planner.scratch / "plan"
    planner.plan(GOOD, outdir=outdir)
    before = {each.name: each.read_bytes() for each in outdir.iterdir()}
    with pytest.raises(InvalidInput, match="already holds a plan") as refused:
        planner.plan(GOOD, outdir=outdir)
    assert "--overwrite" in refused.value.hint
    assert planner.model.requests == []
    assert {each.name: each.read_bytes() for each in outdir.iterdir()} == before


def test_overwrite_replaces_the_whole_plan(planner: Planner) -> None:
    outdir = planner.scratch / "plan"
    planner.plan(GOOD, outdir=outdir)
    (outdir / "notes.txt").write_text("mine")
    planner.plan(plan(creating(1, "other.py")), outdir=outdir, overwrite=True)
    names = ["WO-01.json", "WORK_ORDERS_MANIFEST.json", "notes.txt"]
    assert sorted(each.name for each in outdir.iterdir()) == names
    assert json.loads((outdir / "WO-01.json").read_text())["allowed_files"] == ["other.py"]


def test_a_refused_plan_leaves_the_old_export_alone(planner: Planner) -> None:
    outdir = planner.scratch / "plan"
    planner.plan(GOOD, outdir=outdir)
    before = (outdir / "WO-01.json").read_bytes()
    assert not planner.plan("no", outdir=outdir, overwrite=True, max_attempts=1).ok
    assert (outdir / "WO-01.json").read_bytes() == before


def test_a_file_is_no_place_for_an_export(planner: Planner) -> None:
    place = planner.scratch / "plan"
    place.write_text("")
    assert "is not a directory" in refusal(planner, outdir=place)
    assert "is not a directory" in refusal(planner, outdir=place / "below")


def test_an_export_into_the_repo_is_refused(planner: Planner, repo: Path) -> None:
    assert "inside the target repo" in refusal(planner, repo=repo, outdir=repo / "plan")
    assert "inside the target repo" in refusal(planner, repo=repo / "src", outdir=repo)
    link = planner.scratch / "link"
    link.symlink_to(repo / "src")
    assert "inside the target repo" in refusal(planner, repo=repo, outdir=link / "plan")


def test_an_export_through_a_link_to_itself_is_refused(planner: Planner, repo: Path) -> None:
    loop = planner.scratch / "loop"
    loop.symlink_to(loop)
    for outdir in (loop, loop / "plan"):
        assert "is not a directory" in refusal(planner, repo=repo, outdir=outdir)


def test_an_export_that_fails_says_where_the_plan_is(planner: Planner) -> None:
    outdir = planner.scratch / "plan"

    def taken_meanwhile(request: object) -> str:
        outdir.write_text("")
        return json.dumps(GOOD)

    with pytest.raises(CommandFailed) as failed:
        planner.plan(taken_meanwhile, outdir=outdir)
    assert str(outdir) in failed.value.message
    assert str(planner.run_folder / "output") in failed.value.hint
    assert planner.record("compile_summary.json")["success"] is True


# The repo


def test_a_folder_without_a_repo_is_refused(planner: Planner) -> None:
    assert "not a git working tree" in refusal(planner, repo=planner.scratch)
    assert "no such folder" in refusal(planner, repo=planner.scratch / "none")


def test_a_bare_repo_is_refused(planner: Planner) -> None:
    bare = planner.scratch / "bare.git"
    git(planner.scratch, "init", "--quiet", "--bare", str(bare))
    assert "not a git working tree" in refusal(planner, repo=bare)


def test_what_the_repo_has_satisfies_preconditions(planner: Planner, repo: Path) -> None:
    document = plan(creating(1, "src/more.py", preconditions=exists("src/app.py")))
    assert not planner.plan(document, max_attempts=1).ok
    assert planner.plan(document, repo=repo).ok


def test_a_plan_records_the_files_that_it_was_made_for(planner: Planner, repo: Path) -> None:
    document = plan(order(1, allowed_files=["src/app.py", "new.py"]))
    planner.plan(document, repo=repo)
    manifest = planner.record("output/WORK_ORDERS_MANIFEST.json")
    content = (repo / "src/app.py").read_bytes()
    assert manifest["base_files"] == [{"path": "src/app.py", "sha256": sha256_bytes(content)}]
    assert manifest["provenance"]["manifest_sha256"] == manifest_sha256(manifest)
    planner.plan(document)
    assert "base_files" not in planner.record("output/WORK_ORDERS_MANIFEST.json")


def test_the_model_is_told_what_the_repo_has(planner: Planner, repo: Path) -> None:
    commit_all(repo, {"src/math.py": "def double(n: int) -> int:\n    return n * 2\n"})
    planner.plan(plan(order(1)), repo=repo)
    assert "src/math.py" in planner.prompts[0]
    assert "def double(n: int) -> int" in planner.prompts[0]


def test_an_order_that_sets_up_what_the_repo_has_is_left_out(planner: Planner, repo: Path) -> None:
    """The template repo has a `scripts/verify.sh`."""
    document = plan(creating(1, VERIFY), creating(2, "a.py"), creating(3, "b.py"))
    result = planner.plan(document, repo=repo)
    assert (result.ok, result.work_orders) == (True, 2)
    assert planner.record("output/WO-01.json")["allowed_files"] == ["a.py"]
    assert planner.record("output/WO-02.json")["allowed_files"] == ["b.py"]
    assert planner.record("compile/manifest_raw_attempt_1.json") == document
    assert planner.plan(document).work_orders == 3


def test_planning_changes_nothing_in_the_repo(planner: Planner, repo: Path) -> None:
    before = git(repo, "status", "--porcelain", "--ignored"), git(repo, "rev-parse", "HEAD")
    planner.plan(plan(order(1)), repo=repo)
    assert (git(repo, "status", "--porcelain", "--ignored"), git(repo, "rev-parse", "HEAD")) == (
        before
    )


# Identity


def test_equal_inputs_have_an_equal_compile_hash(planner: Planner, tmp_path: Path) -> None:
    first = planner.plan(GOOD)
    elsewhere = Planner(tmp_path / "elsewhere")
    elsewhere.scratch.mkdir()
    second = elsewhere.plan("no plan", GOOD, max_attempts=2)
    assert compiled_from(first) == compiled_from(second)
    assert first.run_id != second.run_id


def test_every_input_counts_in_the_compile_hash(planner: Planner) -> None:
    template = planner.scratch / "prompt.md"
    template.write_text("{{PRODUCT_SPEC}}")
    variants: list[dict[str, Any]] = [
        {},
        {"template": template},
        {"model": PlannerModel("another", "medium", None)},
        {"model": PlannerModel("scripted", "high", None)},
    ]
    hashes = [compiled_from(planner.plan(GOOD, **variant)) for variant in variants]
    planner.spec.write_text("# Greeter, but politely\n")
    hashes.append(compiled_from(planner.plan(GOOD)))
    assert len(set(hashes)) == 5


def test_a_plan_on_file_counts_only_where_it_had_to_pass_the_same(planner: Planner) -> None:
    planner.spec.write_text("# Greeter\n")
    variants: list[dict[str, Any]] = [
        {},
        {"model": PlannerModel("another", "medium", None)},
        {"require_coverage": True},
        {"allowed": Allowed(programs=("a", "b"))},
        {"allowed": Allowed(dependencies=("a", "b"))},
    ]
    assert len({plan_identity(planner.options(**variant)) for variant in variants}) == 5
    same: list[dict[str, Any]] = [
        {"max_attempts": 9, "outdir": Path("elsewhere")},
        {"reviewer": PlannerModel("critic", None, None)},
    ]
    assert {plan_identity(planner.options(**variant)) for variant in same} == {
        plan_identity(planner.options())
    }


def test_llmchs_own_template_is_no_part_of_what_a_plan_on_file_is_found_by(
    planner: Planner,
) -> None:
    """Another version, with another template, goes on with the plan: its key stays the same."""
    planner.spec.write_text("# Greeter\n")
    sha256 = hashlib.sha256(b"# Greeter\n").hexdigest()
    inputs: Any = {
        "spec": sha256,
        "template": None,
        "model": "scripted",
        "reasoning_effort": "medium",
        "require_coverage": False,
        "programs": [],
        "dependencies": [],
    }
    assert plan_identity(planner.options()) == sha256_bytes(canonical_json(inputs))


def test_the_manifests_hash_recomputes_from_its_file(planner: Planner) -> None:
    result = planner.plan(GOOD)
    manifest = planner.record("output/WORK_ORDERS_MANIFEST.json")
    claimed = manifest["provenance"]["manifest_sha256"]
    assert manifest_sha256(manifest) == claimed
    for name in ("WO-01", "WO-02"):
        written = planner.record(f"output/{name}.json")
        assert written in manifest["work_orders"]
        assert written["provenance"] == {
            "planner_run_id": result.run_id,
            "compile_hash": compiled_from(result),
            "manifest_sha256": claimed,
            "bootstrap": False,
        }


def test_two_runs_that_plan_the_same_agree_on_the_manifests_hash(planner: Planner) -> None:
    hashes = set()
    for _ in range(2):
        planner.plan(GOOD)
        hashes.add(planner.record("output/WO-01.json")["provenance"]["manifest_sha256"])
    assert len(hashes) == 1


# The records


def test_run_json_is_there_before_the_model_is_asked(planner: Planner) -> None:
    seen: list[dict[str, Any]] = []

    def look(request: object) -> str:
        seen.append(planner.record("run.json"))
        return json.dumps(GOOD)

    result = planner.plan(look)
    (before,) = seen
    after = planner.record("run.json")
    assert (before["status"], after["status"]) == ("running", "completed")
    assert {key: after[key] for key in before if key != "status"} == {
        key: before[key] for key in before if key != "status"
    }
    assert before["run_id"] == result.run_id
    assert {"started", "spec_sha256", "template_sha256", "compile_hash", "model"} <= before.keys()


def test_run_json_is_completed_last(planner: Planner) -> None:
    planner.plan(GOOD)
    times = {
        name: (planner.run_folder / name).stat().st_mtime_ns
        for name in planner.records()
        if name != "run.json"
    }
    assert max(times.values()) <= (planner.run_folder / "run.json").stat().st_mtime_ns


def test_a_bug_is_on_record_with_its_traceback(planner: Planner) -> None:
    with pytest.raises(RuntimeError):
        planner.plan(RuntimeError("a bug"))
    assert planner.record("run.json")["status"] == "internal error"
    assert "RuntimeError: a bug" in planner.text("traceback.txt")


def test_no_run_overwrites_another(planner: Planner) -> None:
    first, second = planner.plan(GOOD), planner.plan(GOOD)
    assert first.run_dir != second.run_dir
    assert (first.run_dir / "run.json").exists()


def test_the_document_for_programs_has_the_promised_keys(planner: Planner) -> None:
    result = planner.plan(plan(creating(1, "a.py", mood="sunny")))
    document = plan_document(result)
    assert document.keys() == {
        "ok",
        "attempts",
        "work_orders",
        "run_id",
        "run_dir",
        "output_dir",
        "findings",
        "usage",
        "assumptions",
    }
    assert document["findings"][0].keys() == {
        "code",
        "severity",
        "work_order",
        "field",
        "message",
        "remedy",
    }
    assert document["usage"]["calls"] == 1
    assert json.loads(json.dumps(document)) == document


# A repo that says how it is verified

PACKAGE = '{"name": "shop", "scripts": {"test": "node --test"}}'


@pytest.fixture
def shop(repo: Path) -> Path:
    """Return a repo that its manifest alone describes."""
    git(repo, "rm", "--quiet", "-r", ".")
    commit_all(repo, {"package.json": PACKAGE})
    return repo


def test_the_model_is_told_what_verifies_the_repo_and_no_order_writes_a_script(
    planner: Planner, shop: Path
) -> None:
    document = plan(creating(1, VERIFY), creating(2, "cart.js"))
    result = planner.plan({**document, "verify_contract": requiring(VERIFY)}, repo=shop)
    (prompt,) = planner.prompts
    assert "```\nnpm test (package.json: scripts.test)\n```" in prompt
    assert "package.json (npm), name shop" in prompt
    assert "WO-01 creates it" not in prompt
    assert result.ok
    manifest = planner.record("output/WORK_ORDERS_MANIFEST.json")
    assert [each["allowed_files"] for each in manifest["work_orders"]] == [["cart.js"]]
    assert manifest["verify_contract"] is None
    assert planner.record("run.json")["verification"] == ["npm test"]


def test_a_script_that_the_spec_asks_for_is_written_and_nothing_is_exempt(
    planner: Planner, shop: Path
) -> None:
    planner.spec.write_text("Write scripts/verify.sh and cart.js.\n")
    document = plan(creating(1, "cart.js"), creating(2, VERIFY))
    assert planner.plan({**document, "verify_contract": requiring(VERIFY)}, repo=shop).ok
    orders = planner.record("output/WORK_ORDERS_MANIFEST.json")["work_orders"]
    assert [each["allowed_files"] for each in orders] == [["cart.js"], [VERIFY]]
    assert [each["verify_exempt"] for each in orders] == [False, False]


def test_a_contract_may_name_the_command_or_be_missing(planner: Planner, shop: Path) -> None:
    for contract in (None, {"command": "npm test", "requires": []}):
        document = {**plan(creating(1, "cart.js")), "verify_contract": contract}
        assert planner.plan(document, repo=shop).ok


def test_a_plan_begins_with_the_files_of_the_branch(planner: Planner, shop: Path) -> None:
    git(shop, "switch", "--quiet", "--create", "work")
    commit_all(shop, {"cart.js": "export function total() {}\n"})
    git(shop, "switch", "--quiet", "-")
    document = plan(order(preconditions=exists("cart.js")))
    assert not planner.plan(document, repo=shop, max_attempts=1).ok
    assert planner.plan(document, repo=shop, branch="work").ok
    (prompt,) = planner.prompts
    assert "// cart.js\nexport function total()" in prompt
    assert "npm test (package.json: scripts.test)" in prompt


def test_a_repo_that_nothing_verifies_is_planned_with_a_script(
    planner: Planner, shop: Path
) -> None:
    git(shop, "rm", "--quiet", "package.json")
    commit_all(shop, {"main.c": ""})
    document = plan(creating(1, VERIFY))
    assert planner.plan({**document, "verify_contract": requiring(VERIFY)}, repo=shop).ok
    assert "WO-01 creates it and has a first test file" in planner.prompts[0]
