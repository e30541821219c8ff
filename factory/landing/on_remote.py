"""Lands commits on a branch of a remote, where nobody's clone decides what has landed."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from factory.landing.land import Landing
from factory.landing.notes_on_remote import publish_notes
from shared.errors import CommandFailed
from shared.git import refs, remote_refs
from shared.git.identity import Identity

_PATIENCE_SECONDS: Final = 30.0
_AGAIN_AFTER_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class LandingOnRemote:
    """Land the commits of one run on a branch of `remote`, and then `here`, in a clone.

    `author` signs the commits of the notes, where others have added notes at the same time.
    """

    here: Landing
    remote: str
    author: Identity

    @property
    def branch(self) -> str:
        """Return the name of the branch."""
        return self.here.branch

    def land(self, new: str, old: str) -> Path | None:
        """Move the remote's branch from `old` to `new`, and then the clone's.

        A branch that is at `new` already was moved by this call, whose answer was lost, or by a run
        that made the same commit. Raises `CommandFailed` where someone else moved it, and where the
        remote refuses for half a minute. The notes on what landed before go along.
        """
        with contextlib.suppress(CommandFailed):  # they are tried again at the next landing
            self.publish_notes()
        self._push(new, "" if old == refs.NO_COMMIT else old)
        return self.here.land(new, old)

    def publish_notes(self) -> None:
        """Bring the notes on commits to the remote; see `factory.landing.notes_on_remote`."""
        publish_notes(self.here.git, self.remote, self.author)

    def _push(self, new: str, old: str) -> None:
        """Move the remote's branch; a remote that refuses is asked again for a while."""
        git, ref = self.here.git, self.here.ref
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return remote_refs.move_ref(git, self.remote, ref, new, old)
            except remote_refs.NoCredential:
                raise
            except CommandFailed as refused:
                error = refused
            found = self._standing(otherwise=old)
            if found == new:
                return None
            if found != old:
                raise CommandFailed(
                    f"branch {self.branch!r} of the remote was left as it is: someone else moved "
                    "it in the meantime",
                    "what has landed stays; the same plan again goes on from the branch's tip",
                )
            if time.monotonic() > until:
                raise error
            time.sleep(_AGAIN_AFTER_SECONDS)

    def _standing(self, *, otherwise: str) -> str:
        """Return where the remote's branch is; `otherwise` where the remote does not answer."""
        ref = self.here.ref
        with contextlib.suppress(CommandFailed):
            return remote_refs.list_refs(self.here.git, self.remote, ref).get(ref, "")
        return otherwise
