"""Writes the completion scripts for bash, fish and zsh."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto


class WordSource(Enum):
    """Say where the words come from that a shell offers for a value."""

    TEXT = auto()
    WORDS = auto()
    FILE = auto()
    FOLDER = auto()
    BRANCH = auto()


@dataclass(frozen=True, slots=True)
class Value:
    """Describe a value; `words` are all that a value of `WordSource.WORDS` can be."""

    name: str
    kind: WordSource
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """Describe an option. `value` is `None` if it takes none.

    `rivals` are the spellings of options that exclude it; its own are among them
    unless it may be repeated.
    """

    spellings: tuple[str, ...]
    meaning: str
    value: Value | None
    rivals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Positional:
    """Describe a word that is known by its position; one that `repeats` is the last."""

    value: Value
    optional: bool
    repeats: bool


@dataclass(frozen=True, slots=True)
class VerbGrammar:
    """Describe what may follow a verb."""

    name: str
    purpose: str
    options: tuple[Option, ...]
    positionals: tuple[Positional, ...]

    @property
    def spellings(self) -> Iterator[str]:
        return (spelling for option in self.options for spelling in option.spellings)

    @property
    def with_value(self) -> Iterator[str]:
        taking = (option for option in self.options if option.value is not None)
        return (spelling for option in taking for spelling in option.spellings)


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
_OFFERS = {WordSource.FILE: "files", WordSource.FOLDER: "folders", WordSource.BRANCH: "branches"}


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
        if option.value is not None and option.value.kind is not WordSource.TEXT:
            pattern = " | ".join(f"'{verb.name} {each}'" for each in option.spellings)
            yield f"            {pattern}) {_offer(option.value)} ;;"


def _positionals(verb: VerbGrammar) -> Iterator[str]:
    for number, each in enumerate(verb.positionals, start=1):
        if each.value.kind is not WordSource.TEXT:
            position = "*" if each.repeats else number
            yield f"            '{verb.name} '{position}) {_offer(each.value)} ;;"


def _offer(value: Value) -> str:
    if value.kind is WordSource.WORDS:
        return f"_llmch_offer words {_quoted(value.words)}"
    return f"_llmch_offer {_OFFERS[value.kind]}"


def _quoted(words: Sequence[str] | Iterator[str]) -> str:
    return f"'{' '.join(words)}'"


_FISH_SCRIPT = r"""# Completion for llmch {version}; `llmch completion fish` wrote this.

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
    WordSource.TEXT: "-x",
    WordSource.FILE: "-r -F",
    WordSource.FOLDER: "-x -a '(__fish_complete_directories (commandline -ct))'",
    WordSource.BRANCH: "-x -a '(__llmch_branches)'",
}


def render_fish(verbs: Sequence[VerbGrammar], first: Sequence[str], version: str) -> str:
    """Return the script; `first` are the words that may follow `llmch`."""
    purposes = {each.name: each.purpose for each in verbs}
    lines = [_first(each, purposes) for each in first]
    lines += [line for verb in verbs for line in _verb(verb)]
    return _FISH_SCRIPT.format(version=version, lines="\n".join(lines))


def _first(word: str, purposes: dict[str, str]) -> str:
    meaning = f" -d {_quoted_fish(purposes[word])}" if word in purposes else ""
    return f"complete -c llmch -n __llmch_first -a {_quoted_fish(word)}{meaning}"


def _verb(verb: VerbGrammar) -> Iterator[str]:
    for option in verb.options:
        yield _option(verb, option)
    for number, each in enumerate(verb.positionals):
        if each.value.kind is not WordSource.TEXT:
            had = f"__llmch_at {verb.name} {number} {' '.join(verb.with_value)}"
            condition = _quoted_fish(f"__llmch_verb {verb.name}" if each.repeats else had)
            source = _source(each.value, is_option=False)
            yield f"complete -c llmch -n {condition} {source}"


def _option(verb: VerbGrammar, option: Option) -> str:
    spellings = " ".join(
        f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in option.spellings
    )
    value = f" {_source(option.value, is_option=True)}" if option.value is not None else ""
    condition = _quoted_fish(f"__llmch_verb {verb.name}")
    return f"complete -c llmch -n {condition} {spellings}{value} -d {_quoted_fish(option.meaning)}"


def _source(value: Value, *, is_option: bool) -> str:
    if value.kind is WordSource.WORDS:
        source = f"-x -a {_quoted_fish(' '.join(value.words))}"
    else:
        source = _SOURCES[value.kind]
    # Only an option can require a value (`-x`, `-r`).
    return source if is_option else source.replace("-x ", "-f ").replace("-r -F", "-F")


def _quoted_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_ZSH_SCRIPT = r"""#compdef llmch
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
    WordSource.TEXT: " ",
    WordSource.FILE: "_files",
    WordSource.FOLDER: "_files -/",
    WordSource.BRANCH: "_llmch_branches",
}
_MEANS_SOMETHING = re.compile(r"[\[\]:\\]")


def render_zsh(verbs: Sequence[VerbGrammar], first: Sequence[str], version: str) -> str:
    """Return the script; `first` are the words that may follow `llmch`."""
    purposes = {each.name: each.purpose for each in verbs}
    return _ZSH_SCRIPT.format(
        version=version,
        verbs="\n".join(f"            {_quoted_zsh(_described(each, purposes))}" for each in first),
        cases="\n".join(line for verb in verbs for line in _case(verb)),
    )


def _described(word: str, purposes: dict[str, str]) -> str:
    purpose = purposes.get(word)
    return word if purpose is None else f"{word}:{_escaped(purpose)}"


def _case(verb: VerbGrammar) -> Iterator[str]:
    specs = [spec for option in verb.options for spec in _option_zsh(option)]
    specs += [_positional(number, each) for number, each in enumerate(verb.positionals, start=1)]
    yield f"        {verb.name})"
    yield "            _arguments \\"
    yield " \\\n".join(f"                {_quoted_zsh(each)}" for each in specs)
    yield "            ;;"


def _option_zsh(option: Option) -> Iterator[str]:
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
    action = (
        f"({' '.join(value.words)})" if value.kind is WordSource.WORDS else _ACTIONS[value.kind]
    )
    return f"{_escaped(value.name)}:{action}"


def _escaped(text: str) -> str:
    return _MEANS_SOMETHING.sub(r"\\\g<0>", text)


def _quoted_zsh(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
