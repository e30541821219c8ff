"""The same model through several tools, on tasks that hidden tests judge."""
