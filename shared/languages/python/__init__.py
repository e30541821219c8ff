"""Python: its syntax, stubs, type checker, conformance and skeletons."""
