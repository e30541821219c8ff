"""Runs `llmch` when Python is called as `python -m llmch`."""

from llmch.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
