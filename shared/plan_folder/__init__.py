"""The plan on disk: the names of its files, how they are read, and how they are written."""
