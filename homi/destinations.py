"""Where an address leads, for mail that is to be stored there.

Owns the claim of a name by its first mail, and what is remembered of both.  The rule
itself is in homi.routing.  homi-address(7) is the page.
"""

import logging

from homi.address import OWNER, Device, Name, parse_address
from homi.clock import Clock
from homi.envelope import MessageId, Msg, Rung
from homi.errors import HomiError
from homi.names import Names
from homi.routing import Facts, Place, elsewhere, resolve
from homi.store.base import Store
from homi.submission import Result, Submission

log = logging.getLogger("homi.postmaster")


class Destinations:
    """The mailboxes and out queues of this device, by address."""

    def __init__(
        self, store: Store, names: Names, facts: Facts, clock: Clock, device: Device
    ) -> None:
        """Nothing is claimed before an address is looked up."""
        self._store = store
        self._names = names
        self._facts = facts
        self._clock = clock
        self.known: dict[str, Name] = {}  # what leads to its own mailbox, for now
        names.subscribe(lambda _name, _claim: self.known.clear())

    def place(self, to: str, *, for_person: bool = False) -> Place:
        """Where an address leads; a live session's name is claimed by its mail.  What
        is for a person is the owner's, whichever name here it is for."""
        address = parse_address(to)
        found = resolve(address, self._facts)
        if for_person and found.local:
            return Place("mailbox", OWNER, OWNER)
        if found.kind == "unclaimed":
            self._names.claim(found.name, None, self._clock.wall())
            log.info("%s claimed by its first mail", found.name)
        if found.name == address.name and not self._names.departures.older(found.name):
            # What an alias leads to may change with who lives.
            self.known[to] = found.name
        return found

    def open(self, name: str) -> Name:
        """The mailbox here of a name that a caller writes as, claimed if it was not;
        67 where there can be none."""
        return self.place(name).name

    def received(self, name: Name, message: MessageId) -> bool:
        """Whether the message is, or was, in that mailbox."""
        return self._store.mailbox(name).seq_of(message) is not None

    def holds(self, head: Msg, msg: bytes) -> bool | None:
        """Whether the mailbox of head.to holds these very bytes under that id already,
        whoever brought them; None: it had something of that id and is done with it."""
        try:
            place = resolve(parse_address(head.to), self._facts)
        except HomiError:
            return False
        if place.kind == "unclaimed":
            return False
        box = self._store.mailbox(place.name)
        item = box.find(head.id)
        if item is None:
            return None if box.seq_of(head.id) is not None else False
        return bytes(box.read(item).msg) == msg

    def was_here(self, sub: Submission) -> bool:
        """Whether its name moved to another device, and it was finished here before:
        then it is answered.  What follows the name is marked so."""
        address = parse_address(sub.to)
        if elsewhere(address, self._facts) is not None:
            return False
        alias = self._names.departures.moved(address.name)
        if alias is None:
            return False
        box, message = self._store.mailbox(alias.name), sub.head.id
        seq, rung = box.seq_of(message), box.rung_of(message)
        if seq is not None and seq not in box.pending and rung is not Rung.MOVED:
            sub.done(Result(message, True, Rung.STORED, alias.name, seq, True))
            return True
        if sub.stamp.via.moved != alias.moved:
            sub.stamp = sub.stamp.following(alias.moved)
        return False
