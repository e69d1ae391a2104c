"""Who wanted in by a link and was not let: when, from where, why, and what mends it.

Owns whom what is kept of a device lets in at all, and that a flood of the others fills
neither memory nor the log.  homi-link(1) has the fields.
"""

import logging
from typing import NamedTuple

from homi.address import Device, is_name, show
from homi.clock import Clock, rfc3339
from homi.errors import HomiError, NoSuchDevice, NotAllowed
from homi.linked import Turned
from homi.links.book import Book, Peering
from homi.links.frames import End
from homi.visible import visible

log = logging.getLogger("homi.links")

MOST = 32  # devices kept: far more than one person has, and a screen of them
PERIOD = 3_600.0  # s in which one reason of one device is logged once
KEPT = 86_400.0  # s it is shown behind the last try
ORIGIN_MAX = 64  # characters of where it came from: an address, and its zone

# Of an end before any mail, what is told here; every other is told by the link alone.
_TOLD = {End.AUTH, End.DEVICE_KEY, End.VERSION, End.PROTOCOL}
_REASONS = {"no-such-device": End.AUTH, "not-allowed": End.PAUSED}  # by code


def let_in(book: Book, given: str) -> Peering:
    """What is kept of the device that may come in as given; 68, 77 where none may."""
    peering, here = book.get(given), book.device
    if peering is None or not (peering.key or peering.via):
        who = show(given)
        hint = f"homi pair from {who}, or here"
        raise NoSuchDevice(f"{who} is not paired with {here}", hint=hint)
    if peering.via is not None:
        raise NoSuchDevice(no_link(book, peering.device))
    if peering.paused:
        hint = f"on {here}: homi link resume {given}"
        raise NotAllowed(f"{here} paused its link with {given}", hint=hint)
    return peering


def no_link(book: Book, device: Device) -> str:
    """Why a device that sshd let in, or that proved its key, has no link of its own."""
    peering, here = book.get(device), book.device
    if peering is None or peering.via is None:
        return f"{device} is not paired with {here}"
    return (
        f"{here} has {device} behind {peering.via}, not linked directly; on {here}:"
        f" homi link add {device} --via ''"
    )


class _Seen(NamedTuple):
    """What is kept of one device."""

    row: Turned
    at: float  # monotonic seconds of the last try
    logged: dict[str, float]  # by reason: when it was


class TurnedAway:
    """The last of each device that was turned away."""

    def __init__(self, book: Book, clock: Clock) -> None:
        """Nobody was yet."""
        self._book = book
        self._clock = clock
        self._seen: dict[str, _Seen] = {}
        self._crowd = -PERIOD  # when it was last logged that there are more

    def rows(self) -> dict[str, Turned]:
        """By device, in the last day."""
        self._forget_old()
        return {device: one.row for device, one in self._seen.items()}

    def forget(self, device: str) -> None:
        """It was let in, or what is kept of it changed: what was said is old."""
        self._seen.pop(device, None)

    def refused(self, given: str, origin: str, error: HomiError) -> None:
        """Whom sshd let in as given got this error in place of a hello."""
        reason = _REASONS.get(error.code)
        if reason is not None:
            self._note(given, origin, reason, error.text)

    def ended(self, device: Device, origin: str, reason: str, text: str) -> None:
        """An exchange that it dialled ended before it carried anything."""
        if reason in _TOLD:
            self._note(device, origin, End(reason), text)

    def _note(self, given: str, origin: str, reason: End, text: str) -> None:
        """Keep it, and log what is news."""
        now = self._clock.monotonic()
        device = given if is_name(given) else show(given)
        before = self._seen.get(device)
        if before is None and not self._room(device, now):
            return
        at = rfc3339(self._clock.wall())
        row = Turned(
            at=at,
            since=before.row.since if before else at,
            tries=before.row.tries + 1 if before else 1,
            reason=reason,
            text=visible(text),
            fix=self._fix(device, reason),
            origin=visible(origin[:ORIGIN_MAX]),
        )
        logged = before.logged if before else {}
        self._seen[device] = _Seen(row, now, logged)
        if now - logged.get(reason, -PERIOD) >= PERIOD:
            logged[reason] = now
            words = f"{row.text} ({row.fix})" if row.fix else row.text
            log.warning("link %s turned-away%s: %s", device, row.whence, words)

    def _fix(self, device: str, reason: End) -> str:
        """What mends it; here, where it does not say otherwise."""
        peering = self._book.get(device)
        pair = f"on {device}: homi pair USER@HOST"
        if reason is End.PAUSED:
            return f"homi link resume {device}"
        if reason is End.VERSION:
            return "update the older of the two homi"
        if reason is End.PROTOCOL:
            return f"on {device}: homi log -n 20"
        if reason is End.DEVICE_KEY:
            return f"{pair}, if it was set up anew"
        if peering is None:
            return f"{pair}; to keep it out: homi link expel {device}"
        via = peering.via is not None
        return f"homi link add {device} --via ''" if via else pair

    def _room(self, device: str, now: float) -> bool:
        """Whether one more is kept; to a linked device a stranger gives way."""
        self._forget_old()
        if len(self._seen) < MOST:
            return True
        strangers = [one for one in self._seen if self._book.get(one) is None]
        if strangers and self._book.get(device) is not None:
            del self._seen[strangers[0]]
            return True
        if now - self._crowd >= PERIOD:
            self._crowd = now
            log.warning("link: over %d devices are turned-away, others too", MOST)
        return False

    def _forget_old(self) -> None:
        """Who has given up is no news."""
        least = self._clock.monotonic() - KEPT
        for device in [one for one, seen in self._seen.items() if seen.at < least]:
            del self._seen[device]
