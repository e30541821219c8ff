"""Runs `llmch` when Python is called as `python -m llmch`."""

from llmch.cli import command

if __name__ == "__main__":
    raise SystemExit(command())
