"""What each build tool reads out of its manifests."""

from __future__ import annotations

import json

import pytest

from shared.projects.build_tools import find_projects
from shared.projects.manifests import Project
from tests.shared.projects.given_files import GivenFiles

POM = """<project>
  <parent><artifactId>above</artifactId></parent>
  <artifactId>own</artifactId>
  <dependencies>
    <dependency><groupId>org.junit</groupId><artifactId>junit</artifactId><version>5</version>
    </dependency>
  </dependencies>
</project>
"""


def found(texts: dict[str, str | None]) -> Project:
    (project,) = find_projects(GivenFiles(texts))
    return project


def commands(texts: dict[str, str | None]) -> list[str]:
    return [each.text for each in found(texts).verify]


def package(**fields: object) -> dict[str, str | None]:
    return {"package.json": json.dumps(fields)}


def package_running(script: str) -> dict[str, str | None]:
    return package(scripts={"test": script})


PYTHON = ["python -m compileall -q .", "python -m pip --version", "python -m pytest -q"]


@pytest.mark.parametrize(
    ("texts", "origin"),
    [
        ({"tests/test_a.py": ""}, "tests/test_a.py"),
        ({"a_test.py": "", "setup.py": ""}, "a_test.py"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "pyproject.toml: tool.pytest"),
        ({"pytest.ini": "[pytest]\n"}, "pytest.ini"),
        ({"setup.cfg": "[tool:pytest]\n"}, "setup.cfg: [tool:pytest]"),
        ({"tox.ini": "[tox]\n[pytest]\n"}, "tox.ini: [pytest]"),
    ],
)
def test_a_python_project_with_tests_is_verified_by_three_commands(
    texts: dict[str, str | None], origin: str
) -> None:
    project = found(texts)
    assert [each.text for each in project.verify] == PYTHON
    assert {each.origin for each in project.verify} == {origin}


def test_a_pyproject_of_a_linter_alone_is_no_python_project() -> None:
    assert find_projects(GivenFiles({"pyproject.toml": "[tool.ruff]\nline-length = 100\n"})) == ()


@pytest.mark.parametrize(
    ("file", "command"), [("tox.ini", "tox"), ("noxfile.py", "nox"), ("manage.py", "manage.py")]
)
def test_what_installs_packages_first_is_not_run_and_named(file: str, command: str) -> None:
    project = found({"setup.py": "", file: ""})
    assert project.verify == ()
    (note,) = project.notes
    assert note.startswith(f"{file} is not run")
    assert command in note


def test_what_a_python_project_says_of_itself() -> None:
    text = """[project]
name = "calc"
dependencies = ["attrs>=23"]
scripts = { calc = "calc:main" }
"""
    project = found(
        {"pyproject.toml": text, "requirements.txt": "# ours\n-r more\nrich==15  # x\n"}
    )
    assert (project.name, dict(project.scripts)) == ("calc", {"calc": "calc:main"})
    assert project.dependencies == ("attrs>=23", "rich==15")


@pytest.mark.parametrize(
    ("lock", "command"),
    [
        ("package-lock.json", "npm test"),
        ("pnpm-lock.yaml", "pnpm test"),
        ("yarn.lock", "yarn test"),
        ("bun.lockb", "bun run test"),
        ("README.md", "npm test"),
    ],
)
def test_the_lock_names_the_package_manager(lock: str, command: str) -> None:
    assert commands({**package_running("node --test"), lock: ""}) == [command]


def test_locks_that_disagree_are_reported() -> None:
    both: dict[str, str | None] = {"package-lock.json": "", "yarn.lock": ""}
    project = found({**package_running("node --test"), **both})
    assert project.notes == ("package-lock.json and yarn.lock disagree: npm is used",)
    declared = package(scripts={"test": "x"}, packageManager="pnpm@9.1.0")
    project = found({**declared, "yarn.lock": ""})
    assert project.tool == "pnpm"
    assert project.notes == ("yarn.lock and packageManager pnpm disagree: pnpm is used",)


def test_what_a_node_package_says_of_itself() -> None:
    fields = {"name": "shop", "scripts": {"test": "node --test", "lint": "eslint ."}}
    project = found(package(**fields, dependencies={"left-pad": "^1.3.0"}))
    assert (project.name, dict(project.scripts)) == ("shop", fields["scripts"])
    assert project.dependencies == ("left-pad ^1.3.0",)
    assert project.verify[0].origin == "package.json: scripts.test"


@pytest.mark.parametrize(
    "script",
    [
        "jest --watch",
        "jest --watchAll",
        "vitest watch",
        "nodemon test.js",
        "webpack serve",
        "ng serve",
        "node --test --watch",
        "mocha -w",
        "npm run build && node --watch=true test.js",
    ],
)
def test_a_test_script_that_never_ends_is_not_run_and_named(script: str) -> None:
    project = found(package_running(script))
    assert project.verify == ()
    assert script in project.notes[0]
    assert "--verify" in project.notes[0]


@pytest.mark.parametrize(
    "script",
    [
        "jest --watch=false",
        "jest --no-watch",
        "jest --watchAll=false",
        "tsc && node --test",
        "start-server-and-test 'webpack serve' 8080 'cypress run'",
        "node test/watch.js",
        "vitest run",
    ],
)
def test_a_test_script_that_ends_is_run(script: str) -> None:
    assert commands(package_running(script)) == ["npm test"]


@pytest.mark.parametrize("script", ["vitest", "vitest --coverage", "react-scripts test"])
def test_a_script_that_watches_at_a_desk_is_run_as_on_ci(script: str) -> None:
    assert commands(package_running(script)) == ["env CI=true npm test"]


@pytest.mark.parametrize(
    ("texts", "word"),
    [
        (package(name="x"), "no script `test`"),
        (package_running(""), "no script `test`"),
        (package_running('echo "Error: no test specified" && exit 1'), "placeholder"),
        (package(workspaces=["a"]), "npm test --workspaces"),
        (package(scripts=["test"]), "not a table"),
        ({"package.json": "{"}, "cannot be read"),
        ({"package.json": None}, "cannot be read"),
        ({"package.json": "[" * 100_000}, "cannot be read"),
    ],
)
def test_a_package_without_a_test_script_says_so(texts: dict[str, str | None], word: str) -> None:
    project = found(texts)
    assert project.verify == ()
    assert word in project.notes[0]


def test_a_go_module_is_built_and_tested_without_vet() -> None:
    text = "module example.org/calc // ours\n\nrequire (\n\ta.org/b v1.2.3\n)\nrequire c.org/d v2\n"
    project = found({"go.mod": text, "a_test.go": ""})
    assert [each.text for each in project.verify] == [
        "go build -o /dev/null ./...",
        "go test -vet=off ./...",
    ]
    assert (project.name, project.notes) == ("example.org/calc", ())
    assert project.dependencies == ("a.org/b v1.2.3", "c.org/d v2")


def test_a_go_module_without_tests_says_so() -> None:
    assert found({"go.mod": "module a\n"}).notes == (
        "the Go module has no tests, so it is only built",
    )


def test_a_crate_and_a_workspace_of_crates() -> None:
    text = '[package]\nname = "calc"\n[dependencies]\nserde = { version = "1" }\nrand = "0.9"\n'
    project = found({"Cargo.toml": text})
    assert (project.name, project.dependencies) == ("calc", ("serde 1", "rand 0.9"))
    assert [each.text for each in project.verify] == ["cargo test"]
    assert commands({"Cargo.toml": '[workspace]\nmembers = ["a"]\n'}) == ["cargo test --workspace"]


def test_the_wrapper_of_maven_or_gradle_is_preferred() -> None:
    assert commands({"pom.xml": POM}) == ["mvn --batch-mode test"]
    assert commands({"pom.xml": POM, "mvnw": ""}) == ["./mvnw --batch-mode test"]
    assert commands({"build.gradle": ""}) == ["gradle --no-daemon test"]
    assert commands({"settings.gradle.kts": "", "gradlew": ""}) == ["./gradlew --no-daemon test"]


def test_what_jvm_projects_say_of_themselves() -> None:
    maven = found({"pom.xml": POM})
    assert (maven.name, maven.dependencies) == ("own", ("org.junit:junit:5",))
    text = "dependencies {\n    implementation(\"a.b:c:1\")\n    testImplementation 'd:e:2'\n}\n"
    gradle = found({"build.gradle": text, "settings.gradle": "rootProject.name = 'calc'\n"})
    assert (gradle.name, gradle.dependencies) == ("calc", ("a.b:c:1", "d:e:2"))


def test_gradle_beside_maven_is_not_run_and_named() -> None:
    maven, gradle = find_projects(GivenFiles({"pom.xml": POM, "build.gradle": ""}))
    assert maven.verify and not gradle.verify
    assert "`--verify 'gradle --no-daemon test'`" in gradle.notes[0]


def test_a_solution_of_dotnet_comes_before_a_project() -> None:
    assert commands({"a.sln": "", "a.csproj": ""}) == ["dotnet test"]
    several = found({"a.csproj": "", "b c.csproj": ""})
    assert [each.text for each in several.verify] == ["dotnet test a.csproj"]
    assert several.notes[0].startswith("b c.csproj not run")


def test_a_makefile_has_targets_and_no_variables() -> None:
    text = "TEST := 1\ntest ::= 2\n.PHONY: all\nall check: a b\n\techo x: y\n"
    project = found({"Makefile": text})
    assert set(project.scripts) == {"all", "check"}
    assert [each.text for each in project.verify] == ["make check"]
    assert commands({"Makefile": "check:\ntest:\n"}) == ["make test"]
    assert found({"Makefile": "all:\n"}).notes == ("Makefile has no target `test` or `check`",)


def test_the_makefile_is_the_one_that_make_takes() -> None:
    texts: dict[str, str | None] = {"GNUmakefile": "check:\n", "Makefile": "test:\n"}
    assert commands(texts) == ["make check"]
