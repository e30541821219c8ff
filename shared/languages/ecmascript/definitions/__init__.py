"""Finds definitions of JavaScript and TypeScript by their names, and replaces them."""
