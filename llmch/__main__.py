"""`python -m llmch`: the same as `llmch`."""

from llmch.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
