"""A plan as steps, each with the files before and after it, and what can be found fault with."""
