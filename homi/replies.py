"""What a reply makes of the message it is about, once it is stored.

Owns who may answer: whoever the message was sent to, and nobody else.
homi-ask(1) states the rule.
"""

from collections.abc import Callable

from homi.address import OWNER, POSTMASTER, Device, Name
from homi.clock import Clock, rfc3339
from homi.envelope import Kind, LedgerLine, MessageId, Rung, decode_msg
from homi.errors import StorageFailed
from homi.gate import answerer
from homi.names import Names
from homi.store.base import Mail, Store
from homi.store.mailbox import Item, Mailbox
from homi.store.places import queue_of

Told = Callable[[Name, LedgerLine], None]
# A message that left its queue, that queue, told whose answer it waits for, if known.
Whom = Callable[[MessageId, Name, Callable[[str], None]], None]
ANSWERS = frozenset({Kind.MAIL, Kind.REPLY})


class Replies:
    """The replies that come in, and what they are about."""

    def __init__(self, store: Store, names: Names, clock: Clock) -> None:
        """Nobody is told of them yet."""
        self._store = store
        self._names = names
        self._clock = clock
        self._replied: list[Callable[[Mail], None]] = []
        self._answered: list[Told] = []
        self.whom: Whom = lambda _message, _queue, _told: None

    def on_reply(self, told: Callable[[Mail], None]) -> None:
        """Call told with each reply of who was asked, and with what stands for one
        where nobody answered in time (is_default)."""
        self._replied.append(told)

    def on_answered(self, told: Told) -> None:
        """Call told when a reply moved an envelope of that mailbox to answered."""
        self._answered.append(told)

    def sent(self, device: str | None, message: MessageId) -> bool:
        """Whether the message was sent from here to that device."""
        box = self._queue(device)
        return box is not None and box.seq_of(message) is not None

    def came(self, mail: Mail) -> None:
        """Something with a reply_to is stored: tell whose answer it is."""
        about = mail.head.reply_to
        if about is None or about == mail.id or mail.head.kind not in ANSWERS:
            return  # nothing answers itself out of its mailbox
        if is_default(mail):
            self._tell(mail)
            return
        box = self._asked(mail)
        seq = box.seq_of(about) if box is not None else None
        if box is None or seq is None:
            return
        self._tell(mail)
        line = LedgerLine(
            seq=seq,
            id=about,
            rung=Rung.ANSWERED,
            at=rfc3339(self._clock.wall()),
            by=f"reply {mail.id}",
            proof="reply",
        )
        if box.device is None:
            self._record(box.name, line)
            return
        from_ = f"{mail.head.from_}@{mail.via.device}"

        def told(to: str) -> None:
            if to == from_:  # others write from there, too
                self._record(box.name, line)

        # What is gone is looked up in the files; that device tells of it in any case.
        if (item := box.find(about)) is None:
            self.whom(about, box.name, told)
        elif (to := _waits_for(box, item)) is not None:
            told(to)

    def _record(self, place: Name, line: LedgerLine) -> None:
        """It is answered."""

        def told(done: bool) -> None:
            if done:
                for answer in self._answered:
                    answer(place, line)

        self._store.record(place, line, told)

    def _tell(self, mail: Mail) -> None:
        """An answer came."""
        for told in self._replied:
            told(mail)

    def _asked(self, mail: Mail) -> Mailbox | None:
        """Where all lies that was sent to who wrote this."""
        name = Name(mail.head.from_)
        if name == OWNER and not mail.via.verified:
            return None  # what is for a person no program answers
        if mail.via.device is not None:
            return self._queue(mail.via.device)
        if self._names.get(name) is None or mail.head.auto:
            return None
        return self._store.mailbox(name)

    def _queue(self, device: str | None) -> Mailbox | None:
        """What was sent to a device; None where nothing ever was, whatever it is."""
        return self._store.known(queue_of(Device(device))) if device else None


def _waits_for(box: Mailbox, item: Item) -> str | None:
    """Whose answer what waits in an out queue needs; None where it cannot be read."""
    try:
        needs = decode_msg(box.read(item).msg).needs
    except (StorageFailed, ValueError, RecursionError):
        return None
    return answerer(item.to, needs)


def is_default(mail: Mail) -> bool:
    """Whether it is what an ask itself gave as its answer, from a postmaster."""
    head = mail.head
    written = head.auto and head.kind is Kind.REPLY and head.from_ == POSTMASTER
    return written and mail.via.door in ("homi", "link")
