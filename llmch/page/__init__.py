"""Draws a run as one page of HTML that needs nothing else: no network, no server, no other file."""
