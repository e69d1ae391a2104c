"""Which seats that names are bound to can be reached.

Owns the rule that a seat lives while its program does.  homi-seat(1).
"""

import asyncio

from homi.address import Name
from homi.bodies import Standing
from homi.claims import Body
from homi.names import Names
from homi.pidwatch import PidWatch
from homi.sessions import Sessions

CLIENT = "seat"


class SeatWatch(Standing):
    """Tells sessions of every bound seat whose program lives."""

    def __init__(self, names: Names, sessions: Sessions) -> None:
        """Subscribes to both."""
        super().__init__(CLIENT, names, sessions)
        self._pids = PidWatch(self._ended)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch from now on; what stands is told."""
        self._pids.attach(loop)
        super().start(loop)

    def stop(self) -> None:
        """Watch nothing more."""
        super().stop()
        self._pids.detach()

    def _ended(self, pid: int) -> None:
        """A watched program is gone, and does not come back."""
        for name, body in list(self._standing.items()):
            if process_of(body)[0] == pid:
                self._fall(name)

    def _stand(self, name: Name, body: Body) -> None:
        """Unless its program is gone, or it stands for a name already."""
        if body.ref in (stood.ref for stood in self._standing.values()):
            return
        pid, start = process_of(body)
        if pid and self._pids.watch(pid, start):
            super()._stand(name, body)

    def _fall(self, name: Name) -> None:
        """With the watch over its program."""
        self._pids.forget(process_of(self._standing[name])[0])
        super()._fall(name)


def process_of(body: Body) -> tuple[int, str]:
    """The program that a seat was opened with; 0 where the id is none of a seat."""
    _pane, _, rest = body.id.partition(".")
    pid, _, start = rest.partition(".")
    return (int(pid) if pid.isdecimal() else 0), start
