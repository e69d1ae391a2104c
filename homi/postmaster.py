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
from homi.address import Name, show
from homi.admission import Admission
from homi.behind import behind
from homi.clock import Clock, Stamps
from homi.config import Config
from homi.destinations import Destinations
from homi.digest import is_digest
from homi.envelope import MessageId, Msg, Reason, Rung, Via, encode
from homi.errors import BadMessage, HomiError, NoSuchDevice, NoSuchName
from homi.hops import onward
from homi.names import Names
from homi.outward import Outward, shown_to
from homi.owners import Owners
from homi.replies import Replies, Told
from homi.rerouting import Rerouting
from homi.returns import Returns
from homi.routing import Place
from homi.space import Space
from homi.store.base import Kept, Mail, Store
from homi.store.mailbox import Item
from homi.store.places import device_of
from homi.store.quarantine import Quarantine

# A door that knows the postmaster has these of it.
from homi.submission import Result as Result
from homi.submission import Stamp as Stamp
from homi.submission import Submission as Submission
from homi.submission import way

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
        self._space = Space(store, config.reserve << 20, self.device)
        self._hints: list[Callable[[Name, Item], None]] = []  # of mail for names here
        self._onward: list[Callable[[Name, Item], None]] = []  # of what waits to leave
        self.refused: Counter[str] = Counter()  # by reason, since the start
        self._now = Stamps(clock).now
        there = Destinations(store, names, self._facts, clock, self.device)
        self._there = there
        self.open, self.received, self.holds = there.open, there.received, there.holds
        # Leads what was for a name that is gone elsewhere; False: it is refused.
        self.astray: Callable[[Submission], bool] = lambda _sub: False
        # Whether somebody waits for an answer to that: theirs is behind nothing.
        self.awaits: Callable[[MessageId | None], bool] = lambda _about: False
        self.replies = Replies(store, names, clock)
        self.on_reply = self.replies.on_reply
        self.admission = Admission(names, store, self.replies)
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

    def subscribe(
        self, hint: Callable[[Name, Item], None], *, here: bool = True, out: bool = True
    ) -> None:
        """Call hint with each envelope newly stored in a mailbox (here) or out queue
        (out); losing a call costs time only."""
        if here:
            self._hints.append(hint)
        if out:
            self._onward.append(hint)

    def on_answered(self, told: Told) -> None:
        """Call told when an envelope was answered by a reply, or was bounced."""
        self.replies.on_answered(told)
        self._on_bounced(told)

    def accept(self, sub: Submission) -> None:
        """Judge and commit; sub.done comes on the loop, now (refused) or later."""
        stamp, head, store, hops = sub.stamp, sub.head, self._store, sub.hops
        # What a person is to see, or let go, is looked at each time.
        plain = not head.needs and sub.permit is None
        known = self._there.known.get(sub.to) if plain else None
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
            parked = self.admission.parked(sub, place, to, hops)
            if isinstance(parked, HomiError):
                self.refuse(sub, parked)
                return
            if parked is not None:
                via = replace(via, parked=parked)
                json = encode(via)
        if late is not None:
            place, to, hops = late.name, late.to, onward(hops, self.device)
        came = stamp.came if hops is stamp.hops else way(hops)
        parts = (self._now(), to.encode(), json, came, sub.msg)
        tail = b'"at":"%b","to":"%b","via":%b,%b"msg":%b}\n' % parts
        refusal = self.admission.refusal(sub, place, len(tail))
        if refusal is not None:
            self.refuse(sub, refusal)
            return
        digest = head.tags and is_digest(head)
        full = None if digest else self._space.refusal(place, len(tail), to)
        done: Callable[[Mail], None] = partial(self._committed, sub, full)
        if full is not None:
            done = self._space.short(place, to, full, done)
        mail = Mail(place, stamp.origin, head, via, sub.msg, tail, done)
        mail.to = to
        mail.barred = full is not None  # it still answers for what it holds
        store.submit(mail)

    def _led(self, sub: Submission) -> Place | None:
        """Where it goes; None where it does not, or not before it was scanned."""
        try:
            found = self._there.place(sub.to, for_person=bool(sub.head.needs))
        except HomiError as error:
            if not (isinstance(error, NoSuchName) and self.astray(sub)):
                self.refuse(sub, error)
            return None
        if found.local:
            return found
        return None if self._there.was_here(sub) or self.outward.holds(sub) else found

    def _behind(self, sub: Submission, name: Name) -> Place | None:
        """Where it waits for older mail of that name, if it has to."""
        if self.awaits(sub.head.reply_to):
            return None
        return behind(self._names.departures, self._store, self.device, sub, name)

    def refuse(self, sub: Submission, error: HomiError) -> None:
        """Answer with error; keep what was refused in quarantine with the reason."""
        reason = error.reason or error.code
        self.refused[reason] += 1
        to = shown_to(sub.to, error)
        log.info("%s to=%s status=refused (%s)", sub.head.id, show(to), error.text)
        # A link tries again until there is room: the other device keeps that.
        passing = reason == "disk" or (reason == "quota" and sub.stamp.linked)
        # Whoever waits for this answer has the text, and nothing here could let it in.
        passing |= isinstance(error, NoSuchDevice) and sub.stamp.via.door == "control"
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
        guard = self.admission.guard
        words = None if guard is None else guard.words(mail.id, mail.to)
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
            self.refuse(sub, full or self._store.refusal(mail.place))

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
        for hint in self._hints if device_of(place) is None else self._onward:
            hint(place, item)


def _told(done: Callable[[bool], None], result: Result) -> None:
    """Pass on whether it was kept."""
    done(result.kept)
