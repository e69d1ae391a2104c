"""What goes back to a sender: notices, and bounces of what came to nothing.

Owns their fields, and their ids, which are made of what they are about: one that is
written again after a crash is the same.  Nobody answers them.
"""

from collections.abc import Callable
from typing import Protocol

from homi import ids
from homi.address import OWNER, POSTMASTER, Device, Name
from homi.clock import Clock, rfc3339
from homi.envelope import AGENT_KINDS, Kind, LedgerLine, MessageId, Msg, Reason, Rung
from homi.names import Names
from homi.routing import Facts
from homi.store.base import Store
from homi.store.mailbox import Item

# Submits a message to an address; told whether it was kept.
Write = Callable[[Msg, str, Callable[[bool], None]], None]


class Record(Protocol):
    """Writes a ledger line and tells those who wait for it."""

    def __call__(
        self,
        name: Name,
        line: LedgerLine,
        done: Callable[[bool], None],
        *,
        durable: bool,
    ) -> None:
        """done(False): it is not in the ledger."""
        ...


class Bounce(Protocol):
    """Ends an envelope that cannot be delivered, and tells its sender."""

    def __call__(
        self,
        place: Name,
        item: Item,
        reason: Reason | None,
        text: str,
        by: str,
        done: Callable[[bool], None] | None,
    ) -> None:
        """done(False): it is still pending."""
        ...


class Returns:
    """The mail that a device's postmaster writes.

    What is its own is never answered, so that no two of them talk for ever.
    """

    def __init__(
        self, store: Store, names: Names, facts: Facts, clock: Clock, write: Write
    ) -> None:
        """Nothing is written before something has to be told."""
        self._store = store
        self._names = names
        self._facts = facts
        self._clock = clock
        self._write = write
        self._bounced: list[Callable[[Name, LedgerLine], None]] = []

    def on_bounced(self, told: Callable[[Name, LedgerLine], None]) -> None:
        """Call told with the line of each bounce, once it is recorded."""
        self._bounced.append(told)

    def tell(
        self,
        sender: str,
        about: MessageId,
        kind: Kind,
        step: str,
        text: str,
        done: Callable[[bool], None] | None = None,
    ) -> None:
        """Tell a sender, here or on another device, what became of its message; once
        per step, by the id."""
        if kind in AGENT_KINDS:
            to = self._reachable(sender)
            head = _written(Kind.NOTICE, self._facts.device, about, step, to, text)
            self._write(head, to, done or _ignore)

    def warn(self, key: str, about: MessageId, text: str) -> None:
        """Tell the person something once for each key."""
        head = Msg(
            id=MessageId(ids.derived("warning", self._facts.device, key)),
            from_=POSTMASTER,
            to=OWNER,
            text=text,
            kind=Kind.NOTICE,
            reply_to=about,
            auto=True,
        )
        self._write(head, OWNER, _ignore)

    def remind(self, name: Name, item: Item) -> None:
        """Give the owner of name a letter that makes its model try again."""
        text = (
            f"The model failed while message {item.id} waited above. Please read what"
            " is unread there and go on."
        )
        step = f"{name}/model/{self._clock.wall():.0f}"
        head = _written(Kind.NOTICE, self._facts.device, item.id, step, name, text)
        self._write(head, name, _ignore)

    def bounce(
        self,
        place: Name,
        item: Item,
        reason: Reason | None,
        text: str,
        by: str | None = None,
        done: Callable[[bool], None] | None = None,
    ) -> None:
        """End an envelope that comes to nothing; done tells whether that is recorded.

        Its sender is told before: a crash between the two repeats a message that its
        id makes the same.
        """

        def end(told: bool) -> None:
            if not told:
                (done or _ignore)(False)
                return
            at = rfc3339(self._clock.wall())
            line = LedgerLine(
                seq=item.seq, id=item.id, rung=Rung.BOUNCED, at=at, reason=reason, by=by
            )

            def recorded(kept: bool) -> None:
                (done or _ignore)(kept)
                for each in self._bounced if kept else ():
                    each(place, line)

            self._store.record(place, line, recorded)

        self.give_back(place, item, text, end)

    def give_back(
        self, place: Name, item: Item, text: str, done: Callable[[bool], None]
    ) -> None:
        """Tell its sender that it comes to nothing; done tells whether its end may be
        recorded now.  Of what nobody wrote nobody is told."""
        if item.kind not in AGENT_KINDS:
            done(True)
            return
        to = self._reachable(item.address)
        words = f"Your message {item.id} to {item.to} was not delivered: {text}."
        head = _written(Kind.BOUNCE, self._facts.device, item.id, place, to, words)

        def first(told: bool) -> None:
            if told or to == POSTMASTER:
                done(told)
            else:
                self._write(head, POSTMASTER, done)  # the sender's mailbox is full

        self._write(head, to, first)

    def _reachable(self, sender: str) -> str:
        """The sender's own address where mail gets there, else the postmaster's."""
        name, _, device = sender.partition("@")
        if device:
            return sender if device in self._facts.devices() else POSTMASTER
        claimed = name == OWNER or self._names.get(Name(name)) is not None
        return name if claimed else POSTMASTER


def _written(
    kind: Kind, device: Device, about: MessageId, step: str, to: str, text: str
) -> Msg:
    """A message of this device's postmaster."""
    return Msg(
        id=MessageId(ids.derived(str(kind), device, about, step)),
        from_=POSTMASTER,
        to=to,
        text=text,
        kind=kind,
        reply_to=about,
        auto=True,
    )


def _ignore(_kept: bool) -> None:
    """What cannot be stored is logged where it was refused."""
