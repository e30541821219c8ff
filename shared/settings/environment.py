"""Names the variables of the environment that llmch reads, besides those of the settings.

`llmch help environment` and `docs/settings.md` both show these texts.
"""

from __future__ import annotations

from typing import Final

VARIABLES: Final = {
    "OPENAI_API_KEY": "the key for the model's server; a server on this machine needs none",
    "OPENAI_BASE_URL": "the model's server, where it is not OpenAI's own",
    "LLMCH_CONFIG": "your own file of settings, in place of the `llmch.toml` beside the "
    "specification",
    "LLMCH_WORKSPACES": "the folder for working trees, in place of one in your cache folder",
    "LLMCH_TOOLS": "the folder for programs that `llmch doctor --fetch` fetches, in place of one "
    "in your cache folder",
    "LLMCH_DEBUG": "where it is not empty, a fault of llmch itself ends with its traceback",
    "LLMCH_TELEMETRY": "`on` draws commands as spans of OpenTelemetry, and `content` adds the "
    "texts of models",
    "NO_COLOR": "where it is not empty, nothing is coloured",
    "TERM": "where it is empty, `dumb` or `unknown`, a terminal gets plain lines",
    "SOURCE_DATE_EPOCH": "the date of commits, as seconds since 1970; equal replies on an equal "
    "base then give equal commit ids",
    "GIT_AUTHOR_NAME": "the author of commits, as for git; the setting `commit.author` counts more",
    "GIT_AUTHOR_EMAIL": "the author's address, as for git",
    "VIRTUAL_ENV": "the environment that you activated: `python` means its interpreter to "
    "commands, where the repo has none of its own and `--python` names none",
    "PATH": "where git is found, and the build tools that commands are shown",
    "JAVA_HOME": "the JDK that commands are shown",
    "RUSTUP_TOOLCHAIN": "the toolchain of Rust that commands get",
    "PYENV_VERSION": "the version of Python that pyenv gives to commands",
    "XDG_CACHE_HOME": "your cache folder (`~/.cache`)",
    "HOME": "where your cache folder and the managers of toolchains are",
    "GITHUB_ACTIONS": "where it is `true`, a run is reported in the file that GITHUB_STEP_SUMMARY "
    "names",
    "GITHUB_STEP_SUMMARY": "the summary of a job of GitHub Actions; GitHub sets it",
}
"""What each variable means."""
