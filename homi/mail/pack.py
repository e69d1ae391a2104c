"""What goes into a bundle for a device: the mail that waits for it, and what came from
it.  Reads files only, with or without a daemon.

Owns which messages those are, and in what order.  homi-bundle(1) states the rules.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from homi.address import Device, Name
from homi.clock import parse_rfc3339
from homi.config import LINE_MAX_ALONE
from homi.envelope import ASIDE, FINISHED, Envelope, MessageId, Reason, Rung
from homi.links import frames
from homi.links.book import Peering, behind
from homi.links.bundle import IDS_TOGETHER, Stored
from homi.links.keys import fingerprint
from homi.mail.places import Places
from homi.store.archive import segments
from homi.store.disk import RealDisk
from homi.store.lines import Unreadable, chunks, holding
from homi.store.places import LEDGER, QUEUE, folder_of, inbox_in, queue_of
from homi.store.reading import EnvelopeHead, MsgHead, iter_inbox, iter_ledger
from homi.turns import Turned

Lane = tuple[str | None, str, str]

_decode_head = msgspec.json.Decoder(EnvelopeHead).decode
_decode_from = msgspec.json.Decoder(MsgHead).decode


class Pack:
    """The lines of one bundle, behind its first."""

    def __init__(
        self,
        mail: Places,
        peerings: Iterable[Peering],
        device: Device,
        since: str,
        turn: Turned,
    ) -> None:
        """since (RFC 3339): what came from device before is not told of any more;
        turn tells as which turn a message counts here."""
        known = list(peerings)
        self._mail = mail
        there = set(mail.queues())
        over = map(queue_of, behind(known, device))
        self._queues = [_Queue(mail.root, place) for place in over if place in there]
        keys = [one.key for one in known if one.device == device and one.key]
        self._key = fingerprint(keys[0]) if keys else ""
        self._since = since
        self._turn = turn
        self.mails = 0
        self.ids = 0
        self.kept = 0  # by a person: they stay here, and what is behind them
        self.lost = 0  # unreadable, or too long for a link
        self.done = 0  # of the messages that wait

    def count(self) -> int:
        """How many messages wait, and can be read."""
        found = (one for queue in self._queues for one in queue.pending())
        return sum(isinstance(one, Envelope) for one in found)

    def lines(self) -> Iterator[bytes]:
        """The mail, in order, then the ids of what this device has from the other."""
        for queue in self._queues:
            yield from self._of(queue)
        ids: list[MessageId] = []
        for message in self._stored() if self._key else ():
            ids.append(message)
            if len(ids) == IDS_TOGETHER:
                yield frames.encode(Stored(ids))
                ids = []
        if ids:
            yield frames.encode(Stored(ids))

    def _of(self, queue: "_Queue") -> Iterator[bytes]:
        """The mail of one out queue; what a person holds holds its lane."""
        held: set[Lane] = set()
        for found in queue.pending():
            self.done += 1
            if isinstance(found, Unreadable):
                self._leave(f"{queue.path}: at offset {found.offset}: {found.text}")
                continue
            lane, reason = _lane(found), queue.reason(found)
            if reason is not None or lane in held:
                if reason not in ASIDE:
                    held.add(lane)
                self.kept += 1
                continue
            tail = self._tail(found)
            if len(tail) + frames.HEAD_MAX > LINE_MAX_ALONE:
                self._leave(
                    f"{queue.path}: message {found.seq} makes a line of {len(tail)}"
                    f" bytes, the limit is {LINE_MAX_ALONE}"
                )
                continue
            self.mails += 1
            yield frames.mail_line(self.mails, tail)

    def _tail(self, envelope: Envelope) -> bytes:
        """A message as a link would send it, behind its number."""
        via, hops = envelope.via, envelope.hops
        tail = frames.Tail(
            to=envelope.to,
            hops=hops,
            at=envelope.at,
            verified=via.verified,
            room=frames.whole_room(via.room, hops),
            turn=self._turn(_decode_from(envelope.msg).id),
            moved=via.moved,
            msg=envelope.msg,
        )
        return frames.mail_tail(tail)

    def _leave(self, text: str) -> None:
        """One that cannot go."""
        self.lost += 1
        self._mail.note(text)

    def _stored(self) -> Iterator[MessageId]:
        """The ids of what came from the device since, each as often as it is here."""
        wanted = self._key.encode()
        for path in self._inboxes():
            for _, line in holding(chunks(os.fspath(path), RealDisk()), wanted):
                head = _head(line)
                if head is None or head.via.door != "link":
                    continue
                if head.via.key == self._key and head.at >= self._since:
                    self.ids += 1
                    yield head.msg.id

    def _inboxes(self) -> Iterator[Path]:
        """Every file with such messages that was written since."""
        earliest = parse_rfc3339(self._since)
        for place in self._mail.places():
            folder = self._mail.root / folder_of(place)
            closed = segments(RealDisk(), os.fspath(folder))
            names = [each.inbox for each in closed] + [inbox_in(os.fspath(folder))]
            for path in (folder / name for name in names):
                try:
                    if path.stat().st_mtime >= earliest:
                        yield path
                except FileNotFoundError:
                    continue  # a place of which nothing was stored yet


class _Queue:
    """An out queue as its files stand; closed segments hold nothing that waits."""

    def __init__(self, root: Path, place: Name) -> None:
        folder = root / folder_of(place)
        self.path = folder / QUEUE
        self._ended: set[int] = set()
        self._reasons: dict[int, Reason | Rung | None] = {}  # as the ledger says it
        for _, line in iter_ledger(folder / LEDGER):
            if isinstance(line, Unreadable):
                continue  # what it told cannot be known: then its message waits
            if line.rung in FINISHED:
                self._ended.add(line.seq)
            else:
                parked = line.rung is Rung.PARKED
                self._reasons[line.seq] = (line.reason or line.rung) if parked else None

    def reason(self, found: Envelope) -> Reason | Rung | None:
        """Why it waits for a person; None: it does not."""
        return self._reasons.get(found.seq, found.via.parked)

    def pending(self) -> Iterator[Envelope | Unreadable]:
        """What waits, in order of arrival; what cannot be read among it."""
        for _, found in iter_inbox(self.path):
            if isinstance(found, Unreadable) or found.seq not in self._ended:
                yield found


def _lane(envelope: Envelope) -> Lane:
    """What is kept in order: who writes to whom."""
    return envelope.via.device, _decode_from(envelope.msg).from_, envelope.to


def _head(line: bytes) -> EnvelopeHead | None:
    """The fields of a line; None where it is none, which the index has told of."""
    try:
        return _decode_head(line)
    except (ValueError, RecursionError):
        return None
