"""Renders the prompts, reads the replies of a model, and checks what a reply may write."""
