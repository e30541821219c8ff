"""Reads interfaces that are written as declarations of TypeScript."""
