"""What may be asked of the daemon about moves.

Owns the fields; homi.requests lists it with all others.  homi-protocol(7).
"""

from homi.request import CallerClass, Request


class Move(Request, frozen=True, tag="move"):
    """Move a name to another device, or from there to here, or end such a move."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    name: str  # of another device, with it: it comes here
    device: str | None = None  # None: this one
    to: str | None = None  # what it is called there
    cwd: str | None = None  # its folder there
    fork: bool = False  # the conversation alone, the name stays
    session: str | None = None  # whose conversation goes along; None: the last one
    spawn: bool = False  # start an agent for it there
    dirty: bool = False  # whatever is in no commit is left behind
    dry_run: bool = False
    abort: bool = False
    force: bool = False  # without the other device

    @property
    def again(self) -> bool:
        """What is under way goes on, and of what is done it is told."""
        return not (self.fork or self.abort)
