"""A plan: parsed, projected onto the repository's files, sealed as a manifest."""
