"""The version of the program. Imports nothing, so that `--version` costs nothing."""

VERSION = "0.1.0"
