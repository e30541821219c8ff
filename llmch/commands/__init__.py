"""One verb a file: its flags, and the call that does it."""
