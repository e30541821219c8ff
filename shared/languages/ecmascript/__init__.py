"""Holds what JavaScript and TypeScript have in common: modules, packages, commands, contracts."""
