"""Finds the toolchains on the user's PATH, and says what of them commands are shown."""
