"""Holds the version of the program; it imports nothing, so that `--version` is fast."""

VERSION = "0.1.0"
