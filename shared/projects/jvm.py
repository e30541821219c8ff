"""Reads the manifests of Maven and Gradle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from shared.projects.base import Project, RepoFiles, VerifyCommand
from shared.projects.reading import bounded, first_tracked, is_tracked, one_line, unreadable

POM: Final = "pom.xml"
_GRADLE_FILES: Final = (
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
)
_GRADLE_NAME = re.compile(
    r"^[ \t]*rootProject\.name[ \t]*=[ \t]*[\"']([^\"'\n]{1,200})[\"']", re.MULTILINE
)
_GRADLE_DEPENDENCY = re.compile(
    r"^[ \t]*(?:api|implementation|testImplementation|compileOnly|runtimeOnly)[ \t(]+"
    r"[\"']([^\"'\n]{1,200})[\"']",
    re.MULTILINE,
)
_SET_BY_OTHERS = re.compile(r"<(?:parent|dependencies|build|profiles|modules)\b")


class Maven:
    """Read `pom.xml` with patterns: a parser of XML would expand what a stranger wrote."""

    name = "Maven"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the project; its wrapper is preferred to the installed Maven."""
        if not is_tracked(files, POM):
            return None
        text = files.text(POM)
        if text is None:
            return Project(self.name, POM, notes=(unreadable(POM),))
        program = "./mvnw" if is_tracked(files, "mvnw") else "mvn"
        own = text.partition("<parent>")[0] + text.partition("</parent>")[2]
        return Project(
            tool=self.name,
            manifest=POM,
            name=_element("artifactId", _SET_BY_OTHERS.split(own, maxsplit=1)[0]),
            dependencies=bounded(_dependencies_of(own)),
            verify=(VerifyCommand(f"{program} --batch-mode test", POM),),
        )


def _dependencies_of(text: str) -> Iterator[str]:
    for part in text.split("<dependency>")[1:]:
        within = part.partition("</dependency>")[0]
        names = (_element(each, within) for each in ("groupId", "artifactId", "version"))
        yield ":".join(filter(None, names))


def _element(name: str, text: str) -> str:
    return one_line(text.partition(f"<{name}>")[2].partition(f"</{name}>")[0])


class Gradle:
    """Read the build files of Gradle with patterns: they are programs, which nothing here runs."""

    name = "Gradle"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the project; where Maven builds it as well, Gradle has no commands."""
        manifest = first_tracked(files, _GRADLE_FILES)
        if not manifest:
            return None
        program = "./gradlew" if is_tracked(files, "gradlew") else "gradle"
        command = f"{program} --no-daemon test"
        texts = "\n".join(files.text(path) or "" for path in _GRADLE_FILES)
        named = _GRADLE_NAME.search(texts)
        doubled = is_tracked(files, POM)
        note = f"{manifest} is not run, because {POM} is: `--verify '{command}'` runs it instead"
        return Project(
            tool=self.name,
            manifest=manifest,
            name=one_line(named[1]) if named else "",
            dependencies=bounded(map(one_line, _GRADLE_DEPENDENCY.findall(texts))),
            verify=() if doubled else (VerifyCommand(command, manifest),),
            notes=(note,) if doubled else (),
        )
