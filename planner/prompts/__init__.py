"""The prompts as templates, with what is filled in."""
