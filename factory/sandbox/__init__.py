"""Runs untrusted commands, only through `detect.open_sandbox(choice, policy).run(argv, ...)`."""
