"""Contains commands by bubblewrap, by Landlock, or not at all."""
