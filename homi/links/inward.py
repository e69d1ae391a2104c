"""What comes in by a bundle: mail of another device, and what it says it has of ours.

Owns which messages that wait here a bundle proves to be over there.  Mail goes the way
of a link's, under the same key, so that neither brings again what the other did.
homi-bundle(1) states the rules.
"""

from collections.abc import Callable
from functools import partial

import msgspec

from homi.address import Device
from homi.clock import Clock, rfc3339
from homi.envelope import LedgerLine, MessageId, Rung
from homi.errors import BadMessage, NoSuchDevice, NotAllowed
from homi.ids import is_id
from homi.linked import Bundled, BundleRow
from homi.links import bundle, keys
from homi.links.book import Book, behind
from homi.links.feed import Books
from homi.links.frames import Mail, Refusal
from homi.links.greeting import Peer
from homi.links.intake import Desk, Intake
from homi.postmaster import Result, Submission
from homi.store.places import queue_of

_TOO_MANY = Refusal(code="not-reached", text="too many lanes of it are refused")


class Bundles:
    """Fits doors.bundling.Bundles."""

    def __init__(self, book: Book, books: Books, desk: Desk, clock: Clock) -> None:
        """Nothing is read yet."""
        self._book = book
        self._books = books
        self._desk = desk
        self._clock = clock

    def open(self, device: str, key: str) -> "Inward":
        """The way in of one bundle by device; 68 where it is not linked, 77 where
        another key than its own signed."""
        peering = self._book.need(device)
        if not peering.key:
            raise NoSuchDevice(f"the key of {peering.device} is not known here")
        if keys.fingerprint(peering.key) != key:
            raise NotAllowed(
                f"{key[:64]} is not the key that {peering.device} was paired with",
                reason="device-key",
            )
        end = partial(self._end, peering.device)
        return Inward(peering.device, peering.key, self._desk, end)

    def _end(
        self, device: Device, message: MessageId, done: Callable[[bool], None]
    ) -> None:
        """A message is on that device: that ends it here, if it waits for it."""
        for place in map(queue_of, behind(self._book.all(), device)):
            items = self._books.mailbox(place).find_all(message)
            # Of two that share an id only a link can tell which of them is there.
            if len(items) == 1:
                line = LedgerLine(
                    seq=items[0].seq,
                    id=message,
                    rung=Rung.RELAYED,
                    at=rfc3339(self._clock.wall()),
                    by=f"bundle {device}",
                )
                self._books.record(place, line, done, durable=True)
                return
        done(False)


class Inward:
    """One bundle on its way in."""

    def __init__(
        self,
        device: Device,
        key: str,
        desk: Desk,
        end: Callable[[MessageId, Callable[[bool], None]], None],
    ) -> None:
        """end is told each id of ours that the device has."""
        peer = Peer(device, key, "", bundle.VERSION, 0.0)
        self._intake = Intake(self, peer, self)
        self._desk = desk
        self._end = end
        self._closed = False
        self._known = False  # the one that is answered now was here before

    def take(self, lines: list[bytes], done: Callable[[Bundled], None]) -> None:
        """Deal with the next lines; done when all is durable or refused."""
        found = [bundle.read(line) for line in lines]
        if None in found:
            raise BadMessage("a line is none of a bundle")
        mails = [one for one in found if isinstance(one, Mail)]
        ids = [
            one for each in found if isinstance(each, bundle.Stored) for one in each.ids
        ]
        answer = _Answer(len(mails), len(ids), done)
        for at, mail in enumerate(mails):
            self._mail(mail, partial(answer.row, at))
        for message in ids:
            if is_id(message):
                self._end(message, answer.ended)
            else:
                answer.ended(False)

    def accept(self, sub: Submission) -> None:
        """Submit, and note what was known before."""
        answered = sub.done

        def done(result: Result) -> None:
            self._known = result.duplicate
            answered(result)

        sub.done = done
        sub.stamp.set_aside = True  # the file it came from is still there
        self._desk.accept(sub)

    def close(self, reason: str, text: str = "") -> None:
        """What comes now has to be read once more."""
        self._closed = True

    def _mail(self, mail: Mail, told: Callable[[BundleRow], None]) -> None:
        """Submit one message."""
        message = _id_of(mail)

        def answered(refusal: Refusal | None) -> None:
            told(_row(message, refusal, known=self._known))

        self._known = False
        if self._closed:
            answered(_TOO_MANY)
        else:
            self._intake.take(mail, answered)


class _Answer:
    """Given once every part of it is known."""

    def __init__(self, mails: int, ids: int, done: Callable[[Bundled], None]) -> None:
        self._rows = [BundleRow(id="")] * mails
        self._left = mails + ids
        self._relayed = 0
        self._done = done
        if not self._left:
            done(Bundled(rows=[]))

    def row(self, at: int, row: BundleRow) -> None:
        """What became of a message."""
        self._rows[at] = row
        self._settle()

    def ended(self, kept: bool) -> None:
        """A message of ours is over there, if that is kept here."""
        self._relayed += kept
        self._settle()

    def _settle(self) -> None:
        self._left -= 1
        if not self._left:
            self._done(Bundled(rows=self._rows, relayed=self._relayed))


def _row(message: str, refusal: Refusal | None, *, known: bool) -> BundleRow:
    """The outcome of a message as a row."""
    if refusal is None:
        return BundleRow(id=message, duplicate=known)
    return BundleRow(
        id=message,
        code=refusal.code,
        error=refusal.text,
        hint=refusal.hint,
        reason=refusal.reason,
        permanent=refusal.permanent,
    )


class _Id(msgspec.Struct, gc=False):
    """All that is told of a message beside its end."""

    id: str = ""


_decode_id = msgspec.json.Decoder(_Id).decode


def _id_of(mail: Mail) -> str:
    """Its id; empty where it is no message, which the intake says."""
    try:
        return _decode_id(mail.msg).id[:64]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
