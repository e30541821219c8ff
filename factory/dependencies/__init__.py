"""Has what a target declares prepared: outside the sandbox, and without running its code.

`--deps auto` asks for this, because it uses the network. Languages know what manifests say and
which installer follows them; here are the folders, the locks between processes, and the installers'
environment.
"""
