"""Reads one configured value: converts it to its type, or refuses it with a message.

The readers are written by hand, without pydantic: commands that never plan or run read the
settings too, and the import of pydantic alone would cost them 150 ms.
"""
