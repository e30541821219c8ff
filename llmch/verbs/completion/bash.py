"""Writes the script for bash. This module is pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llmch.verbs.completion.grammar import Kind, Value, VerbGrammar

# Readline itself completes names of files and folders, because it knows about quotes and `~`.
_SCRIPT = r"""# Completion for llmch {version}; `llmch completion bash` wrote this.

_llmch_offer() {{
    case $1 in
        words) mapfile -t COMPREPLY < <(compgen -W "$2" -- "$current") ;;
        files) compopt -o default ;;
        folders) compopt -o dirnames ;;
        branches) _llmch_branches ;;
    esac
}}

_llmch_branches() {{
    local name
    # A branch may have any name: it is quoted, and never evaluated.
    while IFS= read -r name; do
        [[ $name == "$current"* ]] && COMPREPLY+=("$(printf %q "$name")")
    done < <(git for-each-ref '--format=%(refname:short)' refs/heads 2>/dev/null)
}}

_llmch() {{
    local verb=${{COMP_WORDS[1]}} current=${{COMP_WORDS[COMP_CWORD]}}
    local option='' position=1 at=2 word options='' valued=''
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _llmch_offer words {first}
        return
    fi
    case $verb in
{spellings}
        *) return ;;
    esac
    while ((at < COMP_CWORD)); do
        word=${{COMP_WORDS[at]}}
        option=''
        if [[ " $valued " == *" $word "* ]]; then
            option=$word
            # `--option=value` is three words here.
            [[ ${{COMP_WORDS[at + 1]}} == '=' ]] && ((at += 1))
            ((at += 1))
            ((at < COMP_CWORD)) && option=''
        elif [[ $word != -* ]]; then
            ((position += 1))
        fi
        ((at += 1))
    done
    if [[ -n $option ]]; then
        [[ $current == '=' ]] && current=''
        case "$verb $option" in
{values}
        esac
    elif [[ $current == -* ]]; then
        _llmch_offer words "$options"
    else
        case "$verb $position" in
{positionals}
        esac
    fi
}}

complete -F _llmch llmch
"""
_OFFERS = {
    Kind.FILE: "files",
    Kind.FOLDER: "folders",
    Kind.BRANCH: "branches",
}


def render_bash(verbs: Sequence[VerbGrammar], first: Sequence[str], version: str) -> str:
    """Return the script; `first` are the words that may follow `llmch`."""
    return _SCRIPT.format(
        version=version,
        first=_quoted(first),
        spellings="\n".join(line for verb in verbs for line in _spellings(verb)),
        values="\n".join(line for verb in verbs for line in _values(verb)),
        positionals="\n".join(line for verb in verbs for line in _positionals(verb)),
    )


def _spellings(verb: VerbGrammar) -> Iterator[str]:
    yield f"        {verb.name})"
    yield f"            options={_quoted(verb.spellings)}"
    yield f"            valued={_quoted(verb.with_value)}"
    yield "            ;;"


def _values(verb: VerbGrammar) -> Iterator[str]:
    for option in verb.options:
        if option.value is not None and option.value.kind is not Kind.TEXT:
            pattern = " | ".join(f"'{verb.name} {each}'" for each in option.spellings)
            yield f"            {pattern}) {_offer(option.value)} ;;"


def _positionals(verb: VerbGrammar) -> Iterator[str]:
    for number, each in enumerate(verb.positionals, start=1):
        if each.value.kind is not Kind.TEXT:
            position = "*" if each.repeats else number
            yield f"            '{verb.name} '{position}) {_offer(each.value)} ;;"


def _offer(value: Value) -> str:
    if value.kind is Kind.WORDS:
        return f"_llmch_offer words {_quoted(value.words)}"
    return f"_llmch_offer {_OFFERS[value.kind]}"


def _quoted(words: Sequence[str] | Iterator[str]) -> str:
    return f"'{' '.join(words)}'"
