"""Writes the script for fish. This module is pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llmch.verbs.completion.grammar import Kind, Option, Value, VerbGrammar

_SCRIPT = r"""# Completion for llmch {version}; `llmch completion fish` wrote this.

function __llmch_first --description 'Say whether the verb is still to come'
    test (count (commandline -opc)) -eq 1
end

function __llmch_verb --description 'Say whether this is the verb'
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end

# The arguments after the number are the options of the verb that take a value.
function __llmch_at --description 'Say whether so many words follow this verb already'
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]; or return 1
    set -e words[1..2]
    set -l had 0
    set -l is_value 0
    for word in $words
        if test $is_value = 1
            set is_value 0
        else if contains -- $word $argv[3..-1]
            set is_value 1
        else if not string match -q -- '-*' $word
            set had (math $had + 1)
        end
    end
    test $had -eq $argv[2]
end

function __llmch_branches --description 'List the branches of the repository'
    git for-each-ref '--format=%(refname:short)' refs/heads 2>/dev/null
end

complete -c llmch -f
{lines}
"""
_SOURCES = {
    Kind.TEXT: "-x",
    Kind.FILE: "-r -F",
    Kind.FOLDER: "-x -a '(__fish_complete_directories (commandline -ct))'",
    Kind.BRANCH: "-x -a '(__llmch_branches)'",
}


def render_fish(verbs: Sequence[VerbGrammar], first: Sequence[str], version: str) -> str:
    """Return the script; `first` are the words that may follow `llmch`."""
    purposes = {each.name: each.purpose for each in verbs}
    lines = [_first(each, purposes) for each in first]
    lines += [line for verb in verbs for line in _verb(verb)]
    return _SCRIPT.format(version=version, lines="\n".join(lines))


def _first(word: str, purposes: dict[str, str]) -> str:
    meaning = f" -d {_quoted(purposes[word])}" if word in purposes else ""
    return f"complete -c llmch -n __llmch_first -a {_quoted(word)}{meaning}"


def _verb(verb: VerbGrammar) -> Iterator[str]:
    for option in verb.options:
        yield _option(verb, option)
    for number, each in enumerate(verb.positionals):
        if each.value.kind is not Kind.TEXT:
            had = f"__llmch_at {verb.name} {number} {' '.join(verb.with_value)}"
            condition = _quoted(f"__llmch_verb {verb.name}" if each.repeats else had)
            source = _source(each.value, is_option=False)
            yield f"complete -c llmch -n {condition} {source}"


def _option(verb: VerbGrammar, option: Option) -> str:
    spellings = " ".join(
        f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in option.spellings
    )
    value = f" {_source(option.value, is_option=True)}" if option.value is not None else ""
    condition = _quoted(f"__llmch_verb {verb.name}")
    return f"complete -c llmch -n {condition} {spellings}{value} -d {_quoted(option.meaning)}"


def _source(value: Value, *, is_option: bool) -> str:
    if value.kind is Kind.WORDS:
        source = f"-x -a {_quoted(' '.join(value.words))}"
    else:
        source = _SOURCES[value.kind]
    # Only an option can require a value (`-x`, `-r`).
    return source if is_option else source.replace("-x ", "-f ").replace("-r -F", "-F")


def _quoted(text: str) -> str:
    """Return a text as one word of the shell, whatever is in it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
