"""The person's repository: what a run demands of it, and the lock that a run holds."""
