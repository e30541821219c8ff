"""Describes E210, E217, E241, E242 and W221: needs of commands that `needs` finds unmet."""

from __future__ import annotations

from planner.rules.model import Rule

E210 = Rule(
    "E210",
    "module of the project that nobody provides",
    why="A command that imports a module which no order creates fails whatever the code does.",
    remedy="Correct the module's name, or let this order or an earlier one create its file.",
)

E217 = Rule(
    "E217",
    "declared only by a later order",
    why="Orders are executed in turn, so a module or name from a later order does not exist yet.",
    remedy="Move the command to the order that brings it, or bring it earlier.",
)

E241 = Rule(
    "E241",
    "script or test file that does not exist by then",
    why="A test runner or an interpreter fails for a file or script that does not exist.",
    remedy=("Correct the path, or add the file to this order's allowed_files and postconditions."),
)

E242 = Rule(
    "E242",
    "module to run that does not exist by then",
    why="What runs a module by its name needs the module, or the main file of the package.",
    remedy="Correct the module's name, or let this order or an earlier one create its file.",
)

W221 = Rule(
    "W221",
    "third-party module that nobody declares",
    why="Nothing is installed for a command, so a package that nobody declares may be missing.",
    remedy=(
        "Use the standard library, or declare the package: in the manifest of the project, or in "
        "the setting `dependencies`."
    ),
)
