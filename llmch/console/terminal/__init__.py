"""Shows lines in colour on a terminal, and below them the work under way."""
