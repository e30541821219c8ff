"""Finds the toolchains on the user's PATH: what commands are shown of them, and what they are not."""
