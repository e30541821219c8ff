"""Makes the working trees in which orders are carried out, each with a sandbox for commands.

A working tree is reset to its baseline between attempts.
"""
