"""A terminal that shows lines in colour, and below them what is going on."""
