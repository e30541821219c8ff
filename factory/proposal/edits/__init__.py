"""Reads parts of files in a reply, and assembles whole files from them."""
