"""Who lives: the agent sessions of this device, and notices of their changes."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from homi.address import Name
from homi.clock import Clock
from homi.envelope import SessionRef


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A live agent process, as its own record describes it."""

    pid: int
    start: str  # field 22 of /proc/<pid>/stat, or the system's own text
    session_id: str = ""  # the conversation: /clear changes it, pid and start stay
    name: str = ""  # as the session writes it
    address: Name | None = None  # the name folded to the grammar
    cwd: str = ""
    socket: str = ""  # empty: it has none, nothing can be handed to it
    status: str = ""  # idle | busy | waiting | ""
    waiting_for: str = ""
    version: str = ""
    entrypoint: str = ""
    kind: str = ""
    config_dir: str = ""  # the folder that holds sessions/ and projects/
    since: int = 0  # ms since the epoch, its own clock: when it took its name
    hidden: bool = False  # spare or parked: its own client does not list it

    @property
    def ref(self) -> SessionRef:
        """The identity a ledger line keeps."""
        return SessionRef(self.pid, self.start, self.session_id)

    @property
    def can_own(self) -> bool:
        """Whether a name can belong to it: it has a socket and takes turns."""
        raise NotImplementedError


Subscriber = Callable[[Session | None, Session | None], None]


class Sessions:
    """The live sessions of every watched registry.  All calls on the loop's thread."""

    def __init__(self, config_dirs: list[Path], clock: Clock) -> None:
        """Nothing is read before attach() or rescan()."""
        self.live: dict[int, Session] = {}

    def by_pid(self, pid: int) -> Session | None:
        """The live session that is this process."""
        raise NotImplementedError

    def by_ref(self, ref: SessionRef) -> Session | None:
        """The live session of that pid and start time, whatever its conversation."""
        raise NotImplementedError

    def by_address(self, name: Name) -> list[Session]:
        """The live sessions of that folded name, the one that had it first first."""
        raise NotImplementedError

    def subscribe(self, callback: Subscriber) -> None:
        """Call back with (None, new), (old, new) or (old, None), in order."""
        raise NotImplementedError

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch from now on, and read what is there: it is told as having appeared."""
        raise NotImplementedError

    def detach(self) -> None:
        """Watch no more; tells nothing.  attach() may follow."""
        raise NotImplementedError

    def rescan(self) -> None:
        """Read everything again, for a notice that got lost."""
        raise NotImplementedError
