"""Explains the sandbox."""

from __future__ import annotations

from factory.sandbox.guarantees import MEANINGS
from llmch.verbs.help.settings import explain_setting
from llmch.verbs.help.topic import Part, Term, Topic
from shared.settings.settings import KEYS


def explain_sandbox() -> Topic:
    """Return what a sandbox can hold, and the settings that open it."""
    held = tuple(Term(str(each), (f"{text}.",)) for each, text in MEANINGS.items())
    settings = tuple(
        explain_setting(key) for key in KEYS.values() if key.name.startswith("sandbox.")
    )
    return Topic(
        "sandbox",
        (
            "Every command that runs the code of a repository runs in a sandbox: bubblewrap "
            "(bwrap), or the kernel's Landlock with a seccomp filter. The first lines of a run say "
            "which of these guarantees hold.",
        ),
        (Part("What can hold while a command runs", held), Part("Settings", settings)),
        "`llmch doctor` says which sandboxes work on this machine, and how to install one.",
    )
