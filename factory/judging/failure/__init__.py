"""Reads the output of failed commands, and tells what a next attempt can act on."""
