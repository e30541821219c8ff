"""Prepares `node_modules` of a JavaScript project from its lock, without running a script."""
