"""Which devices' names are listed here, and when they are not for a while.

Owns the rule: while the link is wanted with its mirrors, and has not been down for
long.  What is listed under which name is homi.mirrors'.  homi-address(7).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from homi.address import Device, Name
from homi.clock import Clock
from homi.config import MIRROR_GRACE
from homi.errors import StorageFailed
from homi.mirrors import Mirrors

log = logging.getLogger("homi.links")


class Mirroring:
    """The mirrors of all devices, in step with their links."""

    def __init__(
        self,
        mirrors: Mirrors,
        known: Callable[[Device], Mapping[Name, int]],
        clock: Clock,
        grace: float = MIRROR_GRACE,
    ) -> None:
        """known: the names a device told of last.  Nothing runs before start()."""
        self._mirrors = mirrors
        self._known = known
        self._clock = clock
        self._grace = grace
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wanted: set[Device] = set()
        self._up: set[Device] = set()
        self._timers: dict[Device, asyncio.TimerHandle] = {}

    def start(self, loop: asyncio.AbstractEventLoop, wanted: Iterable[Device]) -> None:
        """These devices are mirrored; every link counts as down from now on."""
        self._loop = loop
        self._wanted = set(wanted)
        for device in {each.device for each in self._mirrors.all()} - self._wanted:
            self._sync(device, {})
        for device in self._wanted:
            self._wait(device)

    def stop(self) -> None:
        """Plan nothing more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._loop = None

    def want(self, device: Device, *, wanted: bool) -> None:
        """A person linked a device, with its names or without; or unlinked it."""
        if wanted:
            self._wanted.add(device)
            self._sync(device, self._known(device))
            if device not in self._up:
                self._wait(device)
            return
        self._wanted.discard(device)
        self._cancel(device)
        self._sync(device, {})
        self._mirrors.withdraw(device, away=False)

    def learned(self, device: Device) -> None:
        """The device told of other names."""
        if device in self._wanted:
            self._sync(device, self._known(device))

    def link(self, device: Device, *, up: bool) -> None:
        """The link to the device came up, or is down."""
        if up:
            self._up.add(device)
            self._cancel(device)
            self._mirrors.withdraw(device, away=False)
        elif device in self._up:
            self._up.discard(device)
            self._wait(device)

    def _wait(self, device: Device) -> None:
        """Withdraw what is listed of it unless its link comes up in time."""
        if self._loop is None or device not in self._wanted or device in self._timers:
            return
        # The loop's clock stands still in a suspend: time asleep is no time down.
        self._timers[device] = self._loop.call_later(self._grace, self._late, device)

    def _late(self, device: Device) -> None:
        """It was down for long."""
        del self._timers[device]
        if self._mirrors.of(device):
            log.info("%s: its names are not listed while it is away", device)
        self._mirrors.withdraw(device, away=True)

    def _cancel(self, device: Device) -> None:
        if timer := self._timers.pop(device, None):
            timer.cancel()

    def _sync(self, device: Device, names: Mapping[Name, int]) -> None:
        """Let the mirrors be these; a full disk leaves them as they were."""
        try:
            self._mirrors.sync(device, names, self._clock.wall())
        except StorageFailed as error:
            log.warning("the names of %s are not listed: %s", device, error.text)
