"""Judges whether tests and commands of JavaScript and TypeScript can prove anything."""
