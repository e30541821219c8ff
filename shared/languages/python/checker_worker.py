"""Runs mypy in a process of its own. It is started by path and imports nothing of this project.

Requests arrive on the first descriptor given, as one line of JSON each; replies go to the second.
mypy works relative to the current folder, keeps state of its own, and may end its process on code
that is nested too deep. None of that may happen to the process that asks.
"""

from __future__ import annotations

import json
import os
import resource
import sys

# The limit of the address space. The stubs of a large plan need a tenth of it.
_MAX_BYTES = 4 * 1024**3


def main(requests: int, replies: int) -> None:
    """Run the checker for each request, until the descriptor `requests` is closed."""
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from mypy import api

    with os.fdopen(requests, encoding="utf-8") as lines, os.fdopen(replies, "w") as out:
        for line in lines:
            request = json.loads(line)
            os.environ["MYPYPATH"] = request["path"]
            stdout, stderr, status = api.run(request["arguments"])
            reply = {"stdout": stdout, "stderr": stderr, "status": status}
            out.write(json.dumps(reply) + "\n")
            out.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
