"""accept(): the one way into a mailbox, whoever sent it and by whichever door.

Owns the order gate, commit, answer, hint.  Knows nothing of sockets or sessions'
channels.  homi-overview(7) has the figure.
"""

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial

import msgspec
from msgspec.structs import replace

from homi import gate
from homi.address import OWNER, Name, parse_address, show
from homi.behind import behind
from homi.clock import Clock, Stamps
from homi.config import Config
from homi.digest import is_digest
from homi.envelope import MessageId, Msg, Reason, Rung, Via, encode
from homi.errors import BadMessage, HomiError, NoSuchName
from homi.guard import Guard
from homi.hops import is_loop, onward
from homi.names import Names
from homi.outward import Outward, shown_to
from homi.owners import Owners
from homi.replies import Replies, Told
from homi.rerouting import Rerouting
from homi.returns import Returns
from homi.routing import Place, elsewhere, resolve
from homi.space import Space
from homi.store.base import Kept, Mail, Store
from homi.store.mailbox import Item
from homi.store.quarantine import Quarantine

# A door that knows the postmaster has these of it.
from homi.submission import Result as Result
from homi.submission import Stamp as Stamp
from homi.submission import Submission as Submission

log = logging.getLogger("homi.postmaster")

# Parked or not, somebody waits for it; what the scan found once a person let it go.
HINTED = frozenset({None, Reason.APPROVAL, Reason.SCAN})
# Nothing may be filled further by what it refuses, nor keep a secret that it found.
UNKEPT = frozenset({"quota", "scan"})


class Postmaster:
    """Judges, commits and answers submissions; hints whoever delivers them."""

    def __init__(
        self,
        store: Store,
        names: Names,
        owners: Owners,
        quarantine: Quarantine,
        clock: Clock,
        config: Config,
    ) -> None:
        """Nothing is read or written before the first accept."""
        self._store = store
        self._names = names
        self.quarantine = quarantine
        self._clock = clock
        self.device = config.device_name()
        self._facts = owners.facts(self.device)
        self._space = Space(store, config.reserve << 20)
        self._hints: list[Callable[[Name, Item], None]] = []
        self.refused: Counter[str] = Counter()  # by reason, since the start
        self._places: dict[str, Name] = {}
        self._now = Stamps(clock).now
        names.subscribe(lambda _name, _claim: self._places.clear())
        # Leads what was for a name that is gone elsewhere; False: it is refused.
        self.astray: Callable[[Submission], bool] = lambda _sub: False
        # Whether somebody waits for an answer to that: theirs is behind nothing.
        self.awaits: Callable[[MessageId | None], bool] = lambda _about: False
        self.replies = Replies(store, names, clock)
        self.on_reply = self.replies.on_reply
        self.guard: Guard | None = None  # set by the daemon
        back = Returns(store, names, self._facts, clock, self._write)
        self._on_bounced = back.on_bounced
        self.tell, self.remind = back.tell, back.remind
        self.bounce, self.give_back = back.bounce, back.give_back
        self.outward = Outward(self.accept, self.refuse, self.tell)
        ways = (store, self._facts, clock, self._space, self._hint, self.outward)
        self.warn = back.warn
        rerouting = Rerouting(*ways)
        self.reroute, self.forward = rerouting.reroute, rerouting.forward
        self.bring = rerouting.bring

    def subscribe(self, hint: Callable[[Name, Item], None]) -> None:
        """Call hint with each newly stored envelope; losing a call costs time only."""
        self._hints.append(hint)

    def on_answered(self, told: Told) -> None:
        """Call told when an envelope was answered by a reply, or was bounced."""
        self.replies.on_answered(told)
        self._on_bounced(told)

    def accept(self, sub: Submission) -> None:
        """Judge and commit; sub.done comes on the loop, now (refused) or later."""
        stamp, head, store, hops = sub.stamp, sub.head, self._store, sub.hops
        # What a person is to see, or let go, is looked at each time.
        plain = not head.needs and sub.permit is None
        known = self._places.get(sub.to) if plain else None
        late: Place | None = None
        if known is not None:
            to: str = known
            place = known
        elif (found := self._led(sub)) is None:
            return
        else:
            to, place, stamp = found.to, found.name, sub.stamp
            hops = hops if found.local else onward(hops, self.device)
            late = self._behind(sub, place)
        fresh = self.outward.withheld and not self.received(place, head.id)
        if fresh and self.outward.stops(sub, place):
            return
        via, json = stamp.via, stamp.json
        if not (plain and stamp.free):
            parked = self._parked(sub, place, to, hops)
            if isinstance(parked, HomiError):
                self.refuse(sub, parked)
                return
            if parked is not None:
                via = replace(via, parked=parked)
                json = encode(via)
        if late is not None:
            place, to, hops = late.name, late.to, onward(hops, self.device)
        came = b'"hops":%b,' % encode(hops) if hops else b""
        parts = (self._now(), to.encode(), json, came, sub.msg)
        tail = b'"at":"%b","to":"%b","via":%b,%b"msg":%b}\n' % parts
        refusal = self._refusal(sub, place, len(tail))
        if refusal is not None:
            self.refuse(sub, refusal)
            return
        full = None if is_digest(head) else self._space.refusal(place, len(tail))
        done: Callable[[Mail], None] = partial(self._committed, sub, full)
        if full is not None:
            done = self._space.short(place, full, done)
        mail = Mail(place, stamp.origin, head, via, sub.msg, tail, done)
        mail.to = to
        mail.barred = full is not None  # it still answers for what it holds
        store.submit(mail)

    def _led(self, sub: Submission) -> Place | None:
        """Where it goes; None where it does not, or not before it was scanned."""
        try:
            found = self._place(sub.to, for_person=bool(sub.head.needs))
        except HomiError as error:
            if not (isinstance(error, NoSuchName) and self.astray(sub)):
                self.refuse(sub, error)
            return None
        if found.local:
            return found
        return None if self._was_here(sub) or self.outward.holds(sub) else found

    def _behind(self, sub: Submission, name: Name) -> Place | None:
        """Where it waits for older mail of that name, if it has to."""
        if self.awaits(sub.head.reply_to):
            return None
        return behind(self._names.departures, self._store, self.device, sub, name)

    def _was_here(self, sub: Submission) -> bool:
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

    def refuse(self, sub: Submission, error: HomiError) -> None:
        """Answer with error; keep what was refused in quarantine with the reason."""
        reason = error.reason or error.code
        self.refused[reason] += 1
        to = shown_to(sub.to, error)
        log.info("%s to=%s status=refused (%s)", sub.head.id, show(to), error.text)
        # A link tries again until there is room: the other device keeps that.
        passing = reason == "disk" or (reason == "quota" and sub.stamp.linked)
        if not passing and not sub.stamp.set_aside:
            kept = b"" if reason in UNKEPT else sub.msg
            self.quarantine.refuse(
                reason,
                kept,
                {"id": sub.head.id, "to": to, "text": error.text}
                | msgspec.to_builtins(sub.stamp.via),
            )
        sub.done(Result(sub.head.id, kept=False, rung=Rung.REFUSED, error=error))

    def _write(self, head: Msg, to: str, done: Callable[[bool], None]) -> None:
        """Submit mail of the postmaster's own."""
        stamp = Stamp(Via(door="homi", verified=True))
        told = partial(_told, done)
        self.accept(Submission(head, encode(head), stamp, to, told))

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

    def open(self, name: str) -> Name:
        """The mailbox here of a name that a caller writes as, claimed if it was not;
        67 where there can be none."""
        return self._place(name).name

    def received(self, name: Name, message: MessageId) -> bool:
        """Whether the message is, or was, in that mailbox."""
        return self._store.mailbox(name).seq_of(message) is not None

    def _place(self, to: str, *, for_person: bool = False) -> Place:
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
            self._places[to] = found.name
        return found

    def _refusal(self, sub: Submission, place: Name, length: int) -> HomiError | None:
        """Why it is not taken, wherever there may be room for it."""
        head, via = sub.head, sub.stamp.via
        if self._names.is_room(place) and (why := gate.room_refused(head, via)):
            return why
        linked = sub.stamp.linked
        return (
            self._link_refused(sub, place)
            if linked
            else gate.kind_refused(head, via.door)
        ) or gate.too_long(length, self._store.largest_line())

    def _link_refused(self, sub: Submission, place: Name) -> HomiError | None:
        """Why another device may not submit that.  What follows a name that came from
        there may be of any kind: it was admitted where the name was."""
        device, about, via = sub.stamp.via.device, sub.head.reply_to, sub.stamp.via
        peer = via.relay or device
        if via.moved and peer and self._names.departures.follows(place, sub.to, peer):
            return None
        ours = about is not None and self.replies.sent(device, about)
        return gate.link_refused(sub.head, device, ours=ours)

    def _parked(
        self, sub: Submission, place: Name, to: str, hops: tuple[str, ...]
    ) -> Reason | HomiError | None:
        """Why it is kept but goes no further by itself, or is not taken at all."""
        if hops and is_loop(hops):
            return Reason.LOOP
        if sub.head.needs and place == OWNER:
            return Reason.APPROVAL
        if sub.permit is not None and (sub.clear or self._names.is_room(place)):
            return Reason.SCAN  # until the ledger says who let it leave, and why
        if self.guard is None or sub.stamp.free:
            return None
        stamp = sub.stamp
        return self.guard.judge(sub.head, to, stamp.via, stamp.process, sub.told)

    def _settle(self, sub: Submission, mail: Mail, reason: Reason | None) -> None:
        """It goes on; with a reason it waits for a person, who is told once of what it
        belongs to."""
        if reason is None:
            sub.done(Result(mail.id, True, Rung.STORED, mail.to, mail.seq))
            self._arrived(mail)
            return
        log.info("%s to=%s status=parked (%s)", mail.id, mail.to, reason)
        result = Result(mail.id, True, Rung.PARKED, mail.to, mail.seq)
        sub.done(replace(result, reason=reason))
        words = None if self.guard is None else self.guard.words(mail.id, mail.to)
        if words is not None:
            self.warn(*words)
        self._arrived(mail)

    def _committed(self, sub: Submission, full: HomiError | None, mail: Mail) -> None:
        """Answer the door from the outcome at the commit point, then hint."""
        kept = mail.kept
        if kept is Kept.STORED:
            parked = mail.via.parked
            if parked is Reason.SCAN and sub.permit is not None:
                settle = partial(self._settle, sub, mail)
                line = sub.permit.line(mail.seq, mail.id, self._clock.wall())
                self._store.record(
                    mail.place,
                    line,
                    lambda kept: settle(None if kept else parked),
                    durable=True,
                )
            else:
                self._settle(sub, mail, parked)
        elif kept is Kept.KNOWN:
            rung = Rung.PARKED if mail.via.parked else Rung.STORED
            sub.done(Result(mail.id, True, rung, mail.to, mail.seq, duplicate=True))
        elif kept is Kept.CONFLICT:
            self.refuse(
                sub,
                BadMessage(
                    f"id {mail.id} was used before for another message",
                    hint="a new message needs an id, or a --key, of its own",
                    reason="id-conflict",
                ),
            )
        else:
            why = self._store.closed() or "a write failed"
            self.refuse(sub, full or gate.store_closed(why))

    def _arrived(self, mail: Mail) -> None:
        """Hint of new mail; a reply also answers what it replies to."""
        if mail.item is not None and mail.via.parked in HINTED:
            self._hint(mail.place, mail.item)
        if mail.via.was is not None or mail.via.door == gate.ROOM:
            return  # history answers nothing, nor does what answered in its room
        if mail.head.reply_to is not None:
            self.replies.came(mail)

    def _hint(self, place: Name, item: Item) -> None:
        """Tell whoever delivers it that it is there."""
        for hint in self._hints:
            hint(place, item)


def _told(done: Callable[[bool], None], result: Result) -> None:
    """Pass on whether it was kept."""
    done(result.kept)
