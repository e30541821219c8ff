"""The type checker in a process of its own, and what it says."""
