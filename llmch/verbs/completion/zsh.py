"""Writes the script for zsh. This module is pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from llmch.verbs.completion.grammar import Kind, Option, Positional, Value, VerbGrammar

_SCRIPT = r"""#compdef llmch
# Completion for llmch {version}; `llmch completion zsh` wrote this.

_llmch_branches() {{
    local -a names
    names=(${{(f)"$(git for-each-ref '--format=%(refname:short)' refs/heads 2>/dev/null)"}})
    compadd -a names
}}

_llmch() {{
    local -a verbs
    local verb=$words[2]
    if (( CURRENT == 2 )); then
        verbs=(
{verbs}
        )
        _describe -t verbs verb verbs
        return
    fi
    shift words
    (( CURRENT -= 1 ))
    case $verb in
{cases}
    esac
}}

# The file is either sourced, or loaded by zsh as the function itself.
if [[ ${{funcstack[1]}} == _llmch ]]; then
    _llmch "$@"
else
    compdef _llmch llmch
fi
"""
_ACTIONS = {
    Kind.TEXT: " ",
    Kind.FILE: "_files",
    Kind.FOLDER: "_files -/",
    Kind.BRANCH: "_llmch_branches",
}
_MEANS_SOMETHING = re.compile(r"[\[\]:\\]")


def render_zsh(verbs: Sequence[VerbGrammar], first: Sequence[str], version: str) -> str:
    """Return the script; `first` are the words that may follow `llmch`."""
    purposes = {each.name: each.purpose for each in verbs}
    return _SCRIPT.format(
        version=version,
        verbs="\n".join(f"            {_quoted(_described(each, purposes))}" for each in first),
        cases="\n".join(line for verb in verbs for line in _case(verb)),
    )


def _described(word: str, purposes: dict[str, str]) -> str:
    purpose = purposes.get(word)
    return word if purpose is None else f"{word}:{_escaped(purpose)}"


def _case(verb: VerbGrammar) -> Iterator[str]:
    specs = [spec for option in verb.options for spec in _option(option)]
    specs += [_positional(number, each) for number, each in enumerate(verb.positionals, start=1)]
    yield f"        {verb.name})"
    yield "            _arguments \\"
    yield " \\\n".join(f"                {_quoted(each)}" for each in specs)
    yield "            ;;"


def _option(option: Option) -> Iterator[str]:
    for spelling in option.spellings:
        repeats = spelling not in option.rivals
        rivals = f"({' '.join(option.rivals)})" if option.rivals else ""
        meaning = f"[{_escaped(option.meaning)}]"
        if option.value is None:
            yield f"{rivals}{spelling}{meaning}"
        else:
            star = "*" if repeats else ""
            yield f"{rivals}{star}{spelling}={meaning}:{_value(option.value)}"


def _positional(number: int, positional: Positional) -> str:
    value = _value(positional.value)
    if positional.repeats:
        return f"*:{value}"
    return f"{number}{'::' if positional.optional else ':'}{value}"


def _value(value: Value) -> str:
    action = f"({' '.join(value.words)})" if value.kind is Kind.WORDS else _ACTIONS[value.kind]
    return f"{_escaped(value.name)}:{action}"


def _escaped(text: str) -> str:
    return _MEANS_SOMETHING.sub(r"\\\g<0>", text)


def _quoted(text: str) -> str:
    """Return a text as one word of the shell, whatever is in it."""
    return "'" + text.replace("'", "'\\''") + "'"
