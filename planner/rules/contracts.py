"""Describes E211 to E216, E299, W222 and W224: the type checker compares commands to contracts."""

from __future__ import annotations

from planner.rules.model import Rule

E211 = Rule(
    "E211",
    "unknown attribute or name",
    why="A name that no interface declares will not exist when the command or test runs.",
    remedy="Use the name as it is declared, or declare this one in the file's interface.",
)

E212 = Rule(
    "E212",
    "wrong number or name of arguments",
    why="A call that does not fit the declared signature fails whatever the code does.",
    remedy="Call it as it is declared, or correct the declaration and name it in `changes`.",
)

E213 = Rule(
    "E213",
    "argument of the wrong type",
    why="The executor writes the function for the declared type; another type breaks it.",
    remedy="Pass what the signature declares, or correct the declaration.",
)

E214 = Rule(
    "E214",
    "result used as what it is not",
    why="A result of the declared type cannot do what the command asks of it.",
    remedy="Use the result as the type it is declared to be, or correct the declaration.",
)

E216 = Rule(
    "E216",
    "undefined name in a command or test",
    why="Each command or test runs by itself, with only the names that it imports or defines.",
    remedy="Import or define the name in the same command or test, or correct it.",
)

E299 = Rule(
    "E299",
    "type checker failed",
    why="A plan that could not be judged is not accepted as a good one.",
    remedy=(
        "Rename a file that has the name of a standard module; else the message says what the "
        "checker stumbled on. Where neither helps, report it."
    ),
)

W222 = Rule(
    "W222",
    "type suspicion that no contract backs",
    why=(
        "The suspicion rests on existing code or on an inference. It may be right, but no "
        "interface declares what it assumes."
    ),
    remedy="Look at it again; declare what is meant in the file's interface.",
)

W224 = Rule(
    "W224",
    "code that could not be judged",
    why=(
        "What a file of the repo declares is unknown where the file cannot be read, and nothing "
        "is known of code whose compiler is missing. What uses such code is not judged. Files of "
        "Python are read in the syntax of Python 3.11, whatever runs them."
    ),
    remedy=(
        "Fix the file's syntax, or install what the message names; the plan itself may be fine."
    ),
)
