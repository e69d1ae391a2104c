"""Mail that waits for one device on its way into the queue for another.

Owns what is kept of it there: its postmark, hops and id as they were, so that one
moved twice after a crash is stored once.  homi-queue(1) states the rules.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from homi import gate
from homi.address import Address, Device, Name, parse_address
from homi.clock import Clock
from homi.digest import is_digest
from homi.envelope import (
    Envelope,
    Msg,
    Reason,
    Rung,
    Via,
    decode_msg,
    encode,
    origin,
)
from homi.errors import BadMessage, HomiError, NoInput, NotReached, StorageFailed
from homi.hops import following, is_loop
from homi.outward import Told as Scanned
from homi.routing import Facts, Place, resolve
from homi.space import Space
from homi.store.base import Kept, Mail, Store
from homi.store.mailbox import Item, Mailbox

log = logging.getLogger("homi.postmaster")

# The other place is done with it because it went on from there, or came to an end
# that its reader is behind.
ARRIVED = frozenset({Rung.RELAYED, Rung.SEEN, Rung.ANSWERED})

Moved = Callable[[str | HomiError], None]  # where it waits now, or why it does not


class Scan(Protocol):
    """Looks at what is about to leave the device."""

    def concerns(self, via: Via) -> bool:
        """Whether mail with that postmark is looked at."""
        ...

    def check(self, head: Msg, msg: bytes, told: Scanned) -> None:
        """told comes once: why it may not leave, or None."""
        ...


class Rerouting:
    """Stores again, elsewhere, what waits in an out queue; ends nothing there."""

    def __init__(
        self,
        store: Store,
        facts: Facts,
        clock: Clock,
        space: Space,
        hint: Callable[[Name, Item], None],
        outward: Scan,
    ) -> None:
        """hint is told of each envelope that is new in its place."""
        self._store = store
        self._facts = facts
        self._clock = clock
        self._space = space
        self._hint = hint
        self._outward = outward

    def reroute(self, box: Mailbox, item: Item, device: Device, done: Moved) -> None:
        """Let what waits in the queue box wait for the same name on device, which
        may be this one; done comes once, when that is durable.  Until its end is
        recorded in box it waits in both."""
        try:
            place = self._place(item, device)
            envelope = box.read(item)
            head = _head(envelope, box)
        except HomiError as error:
            done(error)
            return
        mail = (_let_go(item, envelope), head)
        self._scan(envelope, mail, place, partial(self._submit, place, item, done))

    def forward(
        self, box: Mailbox, item: Item, to: Address, generation: int, done: Moved
    ) -> None:
        """Let what waits in the mailbox of a name follow the name to another device,
        which has it in that generation; done comes once, when that is durable, with
        the address.  A digest is only what lists mail here, and goes nowhere."""
        try:
            place = resolve(to, self._facts)
            envelope = box.read(item)
            head = _head(envelope, box)
        except HomiError as error:
            done(error)
            return
        if is_digest(head):
            done(place.to)
            return
        given = item.repeat or item.session is not None or envelope.via.repeat
        hops = following(tuple(envelope.hops), self._facts.device)
        now = _let_go(item, envelope)
        parked = Reason.LOOP if is_loop(hops) else now.via.parked
        via = replace(now.via, moved=generation, repeat=given, parked=parked)
        mail = (replace(now, via=via, hops=list(hops)), head)
        self._scan(envelope, mail, place, partial(self._submit, place, item, done))

    def bring(self, box: Mailbox, item: Item, done: Moved) -> None:
        """Let what waits here for what is older than it be in the mailbox of its name,
        whatever became of that; done comes once, when that is durable."""
        try:
            envelope = box.read(item)
            mail = (_let_go(item, envelope), _head(envelope, box))
        except HomiError as error:
            done(error)
            return
        name = parse_address(item.to).name
        self._submit(Place("mailbox", name, name), item, done, mail, None)

    def _scan(
        self,
        stored: Envelope,
        mail: tuple[Envelope, Msg],
        place: Place,
        store: Callable[[tuple[Envelope, Msg], HomiError | None], None],
    ) -> None:
        """Store the mail made of what is stored, once nothing is found in it."""
        via = stored.via
        # What a person let leave is theirs; the rest may be older than a rule.
        if place.local or via.parked is Reason.SCAN or not self._outward.concerns(via):
            store(mail, None)
        else:
            again = partial(store, mail)
            self._outward.check(mail[1], bytes(stored.msg), again)

    def _submit(
        self,
        place: Place,
        item: Item,
        done: Moved,
        mail: tuple[Envelope, Msg],
        found: HomiError | None,
    ) -> None:
        """Store it in its new place, unless the scan found something."""
        if found is not None:
            done(found)
            return
        envelope, head = mail
        tail = _tail(place, envelope)
        long = gate.too_long(len(tail), self._store.largest_line())
        if long is not None:
            done(long)
            return
        full = self._space.refusal(place.name, len(tail), place.to)
        told: Callable[[Mail], None] = partial(self._kept, item, full, done)
        if full is not None:
            told = self._space.short(place.name, place.to, full, told)
        moved = Mail(
            place.name,
            origin(envelope.via),
            head,
            envelope.via,
            bytes(envelope.msg),
            tail,
            told,
        )
        moved.to = place.to
        moved.barred = full is not None
        self._store.submit(moved)

    def _place(self, item: Item, device: Device) -> Place:
        """Where it goes; 67 and 68 as for mail."""
        name = parse_address(item.to).name
        place = resolve(Address(name, device), self._facts)
        if place.kind == "unclaimed":
            raise NotReached(
                f"a session has the name {name}, nobody claimed it",
                hint=f"homi claim {name}",
            )
        if place.to == item.to:
            raise NotReached(
                f"{name} on this device leads to {item.to} again",
                hint=f"homi alias rm {name}",
            )
        return place

    def _kept(
        self, item: Item, full: HomiError | None, done: Moved, mail: Mail
    ) -> None:
        """Stored there, or known there: what is held goes on being held."""
        if mail.kept is Kept.STORED and mail.item is not None:
            log.info("%s to=%s rerouted to=%s", mail.id, item.to, mail.to)
            self._hint(mail.place, mail.item)
            done(mail.to)
        elif mail.kept is Kept.KNOWN:
            done(self._known(mail))
        elif mail.kept is Kept.CONFLICT:
            done(
                BadMessage(
                    f"another message has that id in {mail.place}", reason="id-conflict"
                )
            )
        else:
            done(full or self._store.refusal(mail.place))

    def _known(self, mail: Mail) -> str | HomiError:
        """The place had it before: it waits or arrived there, or was ended there."""
        box = self._store.mailbox(mail.place)
        rung = box.rung_of(mail.id)
        if mail.seq in box.pending or rung in ARRIVED:
            return mail.to
        return NoInput(
            f"it was in {mail.place} before, and is {rung or 'finished'} there",
            hint=f"its text can be sent anew: homi read {mail.id}",
        )


def _let_go(item: Item, envelope: Envelope) -> Envelope:
    """What is held is held there from the first; what was let go here must not wait
    for that again there."""
    held = item.rung is Rung.PARKED
    parked = (item.reason or Reason.OPERATOR) if held else None
    return replace(envelope, via=replace(envelope.via, parked=parked))


def _head(envelope: Envelope, box: Mailbox) -> Msg:
    """What its sender wrote; 74 where that cannot be read any more."""
    try:
        return decode_msg(envelope.msg)
    except (ValueError, RecursionError) as error:
        raise StorageFailed(
            f"cannot read envelope {envelope.seq} of {box.name}: damaged line"
        ) from error


def _tail(place: Place, envelope: Envelope) -> bytes:
    """The line behind its seq: as it stood, but for the address; where it stays here
    it does not go on over this device."""
    hops = envelope.hops[:-1] if place.local else envelope.hops
    parts = (
        envelope.at.encode(),
        place.to.encode(),
        encode(envelope.via),
        b'"hops":%b,' % encode(hops) if hops else b"",
        bytes(envelope.msg),
    )
    return b'"at":"%b","to":"%b","via":%b,%b"msg":%b}\n' % parts
