"""Prepares what a target declares to need: outside the sandbox, and without running its code.

`--deps auto` asks for this, because it uses the network. A model may have written the manifests,
so only names, versions and hashes are taken from them, into a folder that holds nothing else.
"""
