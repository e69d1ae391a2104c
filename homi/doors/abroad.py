"""The verbs that ask other devices: their names, and what became of mail there.

Owns that an answer is given once, when every device has answered or is late; who asks
stands above the doors, behind the protocol below.  homi-protocol(7) lists the verbs.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from homi.address import Device, nearest, parse_name
from homi.company import Guest
from homi.doors.answers import Answer, Doer, Reply
from homi.envelope import MessageId
from homi.errors import NotReached, not_linked
from homi.far import FarRow, FarRows, Steps
from homi.requests import Far, FarTrace, Request


class Neighbours(Protocol):
    """Who asks other devices, within a time."""

    def devices(self) -> Iterable[Device]:
        """Every linked device."""
        ...

    def far(self, device: Device, done: Callable[[FarRow], None]) -> None:
        """The names of a device, from itself if it answers in time, else as known."""
        ...

    def steps(
        self, device: Device, message: MessageId, done: Callable[[Steps], None]
    ) -> None:
        """What became of a message that was sent to a device."""
        ...

    def rooms(
        self, device: Device, asked: Guest, done: Callable[[Answer], None]
    ) -> None:
        """What a device answers about its rooms, or why it does not."""
        ...


class Alone:
    """No other device is linked."""

    def devices(self) -> Iterable[Device]:
        """None."""
        return ()

    def far(self, device: Device, done: Callable[[FarRow], None]) -> None:
        """Nothing is known of it."""
        done(FarRow(device, "unreachable"))

    def steps(
        self, device: Device, _message: MessageId, done: Callable[[Steps], None]
    ) -> None:
        """Nobody tells."""
        done(Steps(device))

    def rooms(
        self, device: Device, _asked: Guest, done: Callable[[Answer], None]
    ) -> None:
        """Nobody answers."""
        done(NotReached(f"{device} is not reached", reason="unreachable"))


class Abroad:
    """The verbs about other devices for one caller."""

    def __init__(self, neighbours: Callable[[], Neighbours]) -> None:
        """neighbours: who is asked, once the daemon has them."""
        self._neighbours = neighbours
        self._gone = False

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Far: self._far, FarTrace: self._trace}

    def abandon(self) -> None:
        """Nobody waits for an answer any more."""
        self._gone = True

    def _far(self, request: Far, reply: Reply) -> None:
        """Ask every device at once; answer when the last has answered or is late."""
        neighbours = self._neighbours()
        if request.device is None:
            devices = sorted(neighbours.devices())
        else:
            devices = [self._need(request.device)]
        rows: dict[Device, FarRow] = {}

        def done(row: FarRow) -> None:
            rows[Device(row.device)] = row
            if len(rows) == len(devices):
                self._tell(reply, request.i, FarRows([rows[one] for one in devices]))

        for device in devices:
            neighbours.far(device, done)
        if not devices:
            reply(request.i, FarRows([]))

    def _trace(self, request: FarTrace, reply: Reply) -> None:
        """Ask the device, or the one its mail goes over."""
        device = self._need(request.device)

        def done(found: Steps) -> None:
            self._tell(reply, request.i, found)

        self._neighbours().steps(device, request.id, done)

    def _tell(self, reply: Reply, i: int, answer: Answer) -> None:
        """The way back, unless the caller went away meanwhile."""
        if not self._gone:
            reply(i, answer)

    def _need(self, given: str) -> Device:
        """A linked device; 68 with the nearest where it is none."""
        device = Device(parse_name(given))
        linked = list(self._neighbours().devices())
        if device in linked:
            return device
        raise not_linked(device, "homi link ls shows them", nearest(device, linked))
