"""Lists the verbs with their purposes and examples, the module of each, and the topics of `help`.

The module of a verb is imported only when the verb is called.
"""

_GROUPS = {
    "Begin with these": {
        "init": "write settings and a specification to begin with",
        "do": "make one change that you describe in a sentence, with its test",
        "plan": "compile a specification into work orders",
        "show": "show what a plan will do: files, commands, requirements, costs, what has landed",
        "run-all": "execute a plan's work orders on one branch",
        "status": "show how far a repo's latest run is",
        "report": "show a run as a page or in short, or what carries out each requirement",
        "retry": "make one order of a plan again, with a hint for the model",
    },
    "Other ways from a specification to commits": {
        "build": "plan a specification and execute the plan in one go",
        "run": "execute one work order on a repo",
    },
    "Look into plans and orders": {
        "check": "judge a plan by all rules, without a model",
        "explain": "explain a rule's code or a stage of failure, and what to do about it",
        "diff": "show what an attempt at an order changed, or how two plans differ",
        "repro": "run the command that failed again, on the files of the rejected attempt",
    },
    "Decide in a model's place": {
        "accept": "judge what anybody did for an order like an attempt, and accept it",
        "skip": "leave an order out, and say why",
        "reset": "end a repo's unfinished run by force; commits stay",
    },
    "Look at commits and the machine": {
        "verify": "say what of the claims of commits can be proven; needs no model",
        "drift": "say what holds of each requirement at a commit, by its tests; needs no model",
        "doctor": "report what works on this machine, and how to fix the rest",
    },
    "Several machines": {
        "fleet": "set up a fleet's database, show what the fleet does, wait for a plan, cancel one",
        "worker": "take steps of orders for a fleet, until it is interrupted",
    },
    "For other programs": {"mcp": "serve plans, runs and their proofs as tools of an MCP client"},
    "Try it, and learn more": {
        "demo": "build a shipped example from its specification; needs no key",
        "help": "explain a topic that is listed below, or list the options of a verb",
        "completion": "print the script that completes command lines in bash, zsh or fish",
    },
}
VERBS = {verb: purpose for verbs in _GROUPS.values() for verb, purpose in verbs.items()}

# Words that are not listed any longer, and what they mean.
OLD_WORDS = {"graph": ("show", "--graph"), "submit": ("run-all", "--on", "fleet", "--detach")}

TOPICS = {
    "exit-codes": "what an exit code means",
    "stages": "where an attempt at an order can fail, and what to do then",
    "settings": "every setting: its flag, its variable, its default",
    "environment": "the variables that llmch reads",
    "sandbox": "what the commands of a repository may do, and what they may not",
    "files": "what a run leaves, and where",
}
FIRST_OPTIONS = ("--help", "--version")

EXAMPLES = {
    "init": "llmch init",
    "do": 'llmch do "Refuse a negative amount" src/shop.py',
    "plan": "llmch plan --spec spec.yaml --outdir ../plan",
    "run": "llmch run --work-order ../plan/WO-01.json",
    "run-all": "llmch run-all --workdir ../plan",
    "build": "llmch build --spec spec.yaml",
    "show": "llmch show ../plan",
    "check": "llmch check ../plan",
    "explain": "llmch explain E101",
    "report": "llmch report --html report.html --open",
    "status": "llmch status --watch",
    "diff": "llmch diff WO-01 2",
    "repro": "llmch repro WO-01",
    "retry": 'llmch retry WO-02 --hint "totals are whole cents"',
    "accept": "llmch accept WO-02 --commit HEAD",
    "skip": 'llmch skip WO-02 --reason "done in another repo"',
    "verify": "llmch verify main..work --rerun",
    "drift": "llmch drift",
    "reset": "llmch reset",
    "doctor": "llmch doctor",
    "fleet": "llmch fleet status",
    "worker": "llmch worker --slots 2",
    "mcp": "llmch mcp --repo . --max-cost 5",
    "demo": "llmch demo hello",
    "help": "llmch help exit-codes",
    "completion": "llmch completion bash",
}

_USAGE = """\
usage: llmch VERB [OPTIONS]

Turns a product specification into verified commits: a model proposes, the harness decides.

{groups}

Topics of `llmch help TOPIC`:
{topics}

  -h, --help     print this text; `llmch VERB --help` lists the options of a verb
  -V, --version  print the version

Start with `llmch demo`. For a repo of your own, in its folder and with a key in OPENAI_API_KEY
(another vendor's key: `llmch help environment`):
  llmch init
  llmch build --spec spec.yaml
or step by step:
  llmch plan --spec spec.yaml --outdir ../plan
  llmch run-all --workdir ../plan
"""


def render_help() -> str:
    groups = (f"{title}:\n{_render_names(verbs)}" for title, verbs in _GROUPS.items())
    return _USAGE.format(groups="\n\n".join(groups), topics=_render_names(TOPICS))


def _render_names(purposes: dict[str, str]) -> str:
    width = max(map(len, (*VERBS, *TOPICS)))
    return "\n".join(f"  {name:<{width}}  {purpose}" for name, purpose in purposes.items())


def module_of(verb: str) -> str:
    return f"llmch.verbs.{verb.replace('-', '_')}"
