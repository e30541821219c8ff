"""The process that the type checker runs in; started by path, it imports nothing of this project.

Requests come one a line, as JSON, on the first descriptor given; replies go to the second. mypy
works relative to the current folder and keeps state of its own, and code nested deep enough ends
its process: none of that may happen to the process that asks.
"""

from __future__ import annotations

import json
import os
import resource
import sys

# Of address space. The stubs of a large plan need a tenth of it.
_MAX_BYTES = 4 * 1024**3


def main(requests: int, replies: int) -> None:
    """Run the checker for each request until there are no more."""
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
