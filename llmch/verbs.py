"""The verbs and what each is for. A verb's module is imported when it is called, not before."""

VERBS = {
    "plan": "compile a specification into work orders",
    "check": "judge a plan by all rules, without a model",
    "run": "execute one work order on a repo",
    "run-all": "execute a plan's work orders on one branch",
    "build": "plan a specification and execute the plan, as one",
    "status": "show where a repo's latest run stands",
    "reset": "end a repo's unfinished run by force; commits stay",
    "doctor": "say what would work on this machine",
    "graph": "show which of a plan's orders need which",
    "report": "show what carries out each requirement of a specification",
    "explain": "say what a rule's code means and how to mend it",
    "demo": "build a shipped example from its specification",
}

_USAGE = """\
usage: llmch VERB [OPTIONS]

Turns a product specification into verified commits: a model proposes, the harness decides.

{verbs}

  -h, --help       this text; `llmch VERB --help` has a verb's options
  -V, --version    the version

First steps: `llmch demo` needs no key. For your own: `llmch plan --spec SPEC --outdir plan`,
then `llmch run-all --repo REPO --workdir plan`.
"""


def render_help() -> str:
    """Return the text of `llmch --help`."""
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {purpose}" for verb, purpose in VERBS.items())
    return _USAGE.format(verbs=verbs)


def module_of(verb: str) -> str:
    """Return the name of the module that implements `verb`."""
    return f"llmch.commands.{verb.replace('-', '_')}"
