"""The ways to contain a command: bubblewrap, Landlock, or none."""
