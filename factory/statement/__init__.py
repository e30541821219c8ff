"""States how a commit was made and judged."""
