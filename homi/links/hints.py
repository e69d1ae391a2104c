"""How far a message got on the other device: told to its sender's, and taken in.

Owns which lines of a ledger are worth a hint, and that only ids which wait, or waited,
in an out queue of ours are believed to have one.  A lost hint costs age; it is asked
for when two devices meet.  homi-protocol(7).
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

import msgspec

from homi.address import Device, Name
from homi.clock import Clock, parse_rfc3339, rfc3339
from homi.envelope import LADDER, SHOWN, LedgerLine, MessageId, Rung
from homi.far import FarRung
from homi.ids import is_id
from homi.links import frames
from homi.store.base import Store
from homi.store.mailbox import Item

GATHER = 0.02  # s: the steps of one hand-over are one hint
EARLY = 0.2  # s until a hint that overtook its ack is looked at again
EARLY_TRIES = 25
KEPT = 10_000  # messages whose way back, or early hint, is remembered
ASKED = 1_000  # ids of one queue that are asked about at a meeting, the newest
MARKS = 30  # held, deferred and the like of one message that are kept
AT_ONCE = 250  # of them in one question

# What is told, and believed of a message that was relayed.
WORTH = frozenset(
    {
        Rung.OFFERED,
        Rung.SEEN,
        Rung.ANSWERED,
        Rung.HELD,
        Rung.DEFERRED,
        Rung.PARKED,
        Rung.BOUNCED,
        Rung.EXPIRED,
        Rung.CANCELLED,
        Rung.DROPPED,
    }
)
OPEN = frozenset({Rung.RELAYED, Rung.OFFERED})  # more may become of it

Key = tuple[Name, MessageId]


Value = TypeVar("Value")


class Way(Protocol):
    """An exchange that is up."""

    def tell(self, frame: frames.Rung) -> None:
        """Send a frame nobody answers."""
        ...


class Hints:
    """What is told of messages from elsewhere, and learned of ours."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        up: Callable[[Device], Way | None],
        over: Callable[[Device], Iterable[Name]],
        moved: Callable[[Name], None],
    ) -> None:
        """up: the exchange with a linked device; over: the out queues whose mail goes
        over it; moved is told of each queue in which something was learned."""
        self._store = store
        self._clock = clock
        self._up = up
        self._over = over
        self._moved = moved
        self._loop: asyncio.AbstractEventLoop | None = None
        self._gathered: dict[tuple[Device, MessageId], frames.Rung] = {}
        self._came: OrderedDict[Key, Device] = OrderedDict()  # by which link
        # Marks of it, and the last one.
        self._said: OrderedDict[Key, tuple[int, str]] = OrderedDict()
        self._early: dict[Key, tuple[FarRung, Device, int]] = {}

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hints are sent from now on, about what is pending already, too."""
        self._loop = loop
        for box in (*self._store.mailboxes(), *self._store.queues()):
            for item in box.pending.values():
                self.arrived(box.name, item)

    # ---- told ----

    def arrived(self, place: Name, item: Item) -> None:
        """A message was stored; one that came over a link has a way back."""
        if item.link is not None:
            came = self._came
            came[place, item.id] = item.link
            if len(came) > KEPT:
                came.popitem(last=False)

    def recorded(self, place: Name, line: LedgerLine) -> None:
        """Something became of a message: tell the device it came from."""
        if (link := self._came.get((place, line.id))) is not None:
            self._tell(link, line)

    def _tell(self, device: Device, line: LedgerLine) -> None:
        """Gather a line as a hint; a later one about the same message replaces it."""
        rung = SHOWN.get(line.rung, line.rung)
        if self._loop is None or rung not in WORTH or self._up(device) is None:
            return
        if not self._gathered:
            self._loop.call_later(GATHER, self._flush)
        self._gathered[device, line.id] = frames.Rung(
            id=line.id,
            rung=rung,
            at=line.there or line.at,
            reason=line.reason or "",
            by=(line.by or "")[:200],
        )

    def _flush(self) -> None:
        """Send what was gathered."""
        gathered, self._gathered = self._gathered, {}
        for (device, _message), frame in gathered.items():
            if (way := self._up(device)) is not None:
                way.tell(frame)

    # ---- learned ----

    def learn(self, device: Device, frame: frames.Rung) -> None:
        """A hint from a device; what makes no sense is passed over."""
        try:
            told = msgspec.convert(msgspec.to_builtins(_bare(frame)), FarRung)
        except msgspec.ValidationError:
            return  # of a later version
        self.take(device, told)

    def take(self, device: Device, told: FarRung) -> None:
        """Record it in each queue over that device that has, or had, the id."""
        if told.rung not in WORTH or not is_id(told.id):
            return
        for place in self._over(device):
            self._take(place, device, told, EARLY_TRIES)

    def _take(self, place: Name, device: Device, told: FarRung, tries: int) -> None:
        """Record what is news; what is not acked yet waits for its ack."""
        message = MessageId(told.id)
        box = self._store.mailbox(place)
        seq, now = box.seq_of(message), box.rung_of(message)
        if seq is None or now is None or not self._news(place, told, now):
            return
        if box.find(message) is not None:
            self._wait(place, device, told, tries)
            return
        line = LedgerLine(
            seq=seq,
            id=message,
            rung=told.rung,
            at=rfc3339(self._clock.wall()),
            reason=told.reason,
            by=f"{device}: {told.by}" if told.by else str(device),
            there=_stamp(told.at),
        )

        def recorded(kept: bool) -> None:
            if kept:
                self._moved(place)
                self.recorded(place, line)

        self._store.record(place, line, recorded)

    def _news(self, place: Name, told: FarRung, now: Rung) -> bool:
        """Whether a hint says more than is known; marks beside the ladder only so
        often, so that no device fills our disk with them."""
        if told.rung in LADDER:
            return now not in LADDER or LADDER.index(told.rung) > LADDER.index(now)
        key, mark = (place, MessageId(told.id)), f"{told.rung} {told.reason or ''}"
        count, last = self._said.get(key, (0, ""))
        if mark == last or count >= MARKS:
            return False
        _keep(self._said, key, (count + 1, mark))
        return now is not told.rung

    def _wait(self, place: Name, device: Device, told: FarRung, tries: int) -> None:
        """Look again a little later; the newest hint about it counts."""
        key = (place, MessageId(told.id))
        self._said.pop(key, None)
        if self._loop is None or (len(self._early) >= KEPT and key not in self._early):
            return
        if key not in self._early:
            self._loop.call_later(EARLY, self._again, key)
        self._early[key] = (told, device, tries)

    def _again(self, key: Key) -> None:
        told, device, tries = self._early.pop(key)
        if tries:
            self._take(key[0], device, told, tries - 1)

    def places(self, ids: Iterable[MessageId]) -> list[Name] | None:
        """The mailboxes and queues that these are in; None where the files alone know
        that of one."""
        wanted = set(ids)
        left, found = set(wanted), []
        for box in (*self._store.mailboxes(), *self._store.queues()):
            if known := box.known(wanted):
                left -= known
                found.append(box.name)
        return None if left else found

    def waiting(self, device: Device) -> int:
        """How many messages are to go over to it."""
        return sum(len(self._store.mailbox(p).pending) for p in self._over(device))

    def open(self, device: Device) -> Iterable[list[str]]:
        """The ids to ask a device about: relayed there, and not known to be read."""
        for place in self._over(device):
            box = self._store.mailbox(place)
            ids = [one for one in box.finished() if box.rung_of(one) in OPEN]
            ids = ids[-ASKED:]
            for start in range(0, len(ids), AT_ONCE):
                yield [str(one) for one in ids[start : start + AT_ONCE]]


def _keep(kept: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    """Remember value under key, and of too many the newest."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > KEPT:
        # The first of a plain dict lies behind all those that were taken out of it.
        kept.popitem(last=False)


def _bare(frame: frames.Rung) -> dict[str, str]:
    """The fields of a hint that say something."""
    fields = {
        "id": frame.id,
        "rung": frame.rung,
        "at": frame.at,
        "reason": frame.reason,
        "by": frame.by,
    }
    return {key: value for key, value in fields.items() if value}


def _stamp(at: str) -> str | None:
    """A time another device tells, where it is one."""
    try:
        return rfc3339(parse_rfc3339(at))
    except (ValueError, OverflowError, OSError):
        return None
