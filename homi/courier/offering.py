"""One hand-over: the letter made ready, the leg asked once, its outcome a move.

Owns what is remembered of a session between tries (its pace, its silence); all
of it may be lost.  Writes no ledger line: the drain does, before and after.
"""

import asyncio
import logging
from collections.abc import Callable
from enum import Enum

import msgspec

from homi.address import Name
from homi.clock import Clock
from homi.courier.hands import Hands
from homi.courier.moves import RETRY_MAX, Moment, Move, of_outcome
from homi.courier.pace import Key, Paces, Process
from homi.courier.rules import Wait, process_of
from homi.envelope import Kind, Reason, Rung, SessionRef, decode_msg
from homi.errors import StorageFailed
from homi.legs.base import Deferred, Held, Leg, Letter, Offered, Outcome, Witness
from homi.sessions import Session
from homi.settings import Settings
from homi.store.base import Store
from homi.store.mailbox import Item

log = logging.getLogger("homi.courier")

# A leg bounds its own waits (5 s for the client's close); this catches a leg
# that does not.
OFFER_LIMIT = 30.0  # s
UNREADABLE_RETRY = 60.0  # s: a line that cannot be read now may be mended

# The sender's address, the session, an ask -> the tag's socket, the line's socket.
ReplySocket = Callable[[str, Session, str], tuple[str, str]]
SettingsOf = Callable[[Name], Settings]


_ENDLESS = Deferred(Reason.UNREACHABLE, OFFER_LIMIT, unclear=True)


class NotRecorded(Exception):
    """The ledger took a line not: nothing may be done upon it."""


class Scope(Enum):
    """What a reason not to offer holds up."""

    LETTER = "letter"
    LANE = "lane"
    SESSION = "session"


class NotReady(msgspec.Struct, frozen=True):
    """Why nothing goes out now, and what it holds up."""

    wait: Wait
    scope: Scope


class Ready(msgspec.Struct, frozen=True):
    """A letter that may go out, with the lines that come before it."""

    item: Item
    session: Session
    leg: Leg
    letter: Letter
    key: Key
    taken: Move | None  # it stands there already: this line, and no offer
    intent: Move


class Offering:
    """Hands letters over; one at a time per mailbox."""

    def __init__(
        self,
        store: Store,
        legs: list[Leg],
        witness: Witness,
        reply_socket: ReplySocket,
        hands: Hands,
        clock: Clock,
        settings: SettingsOf,
    ) -> None:
        """The first of legs that serves a session is the one that is used; settings
        tells what a name chose among them."""
        self._settings = settings
        # Seconds until a letter's sender may start a turn again, whoever counts that.
        self.rest: Callable[[Name, Item], float] = lambda _name, _item: 0.0
        self._store = store
        self._legs = legs
        self._witness = witness
        self._reply_socket = reply_socket
        self._hands = hands
        self._clock = clock
        self._paces = Paces()
        self._silent: dict[Process, tuple[int, float]] = {}  # failures, next try
        self._tries: dict[tuple[Name, int], int] = {}
        self._said_no: dict[tuple[Name, int], Session] = {}
        self._unreadable: dict[tuple[Name, int], float] = {}

    def prepare(
        self, name: Name, item: Item, session: Session, *, repeat: bool, again: bool
    ) -> Ready | NotReady:
        """The letter ready for session, or why it cannot go out now.

        again: it goes out although the conversation may hold it.
        """
        chosen = self._settings(name)
        if (quiet := chosen.quiet_until(self._clock.wall())) is not None:
            return NotReady(Wait(Reason.OPERATOR, quiet, lane=True), Scope.SESSION)
        leg = self._leg(session, chosen)
        if leg is None or session.shut is not None:
            return _not_ready(Scope.SESSION, session.shut or Reason.UNREACHABLE)
        process, now = process_of(session.ref), self._clock.monotonic()
        failures, rest = self._silent.get(process, (0, 0.0))
        if failures > 1 and rest > now:
            return self._later(Scope.SESSION, Reason.UNREACHABLE, rest - now)
        if self._hands.room(session) <= 0:
            return _not_ready(Scope.SESSION, Reason.PACED)
        letter = self._letter(name, item, session, repeat=repeat, again=again)
        if letter is None:
            return self._later(Scope.LETTER, Reason.DISK, UNREADABLE_RETRY)
        key = self._key(item, session, letter)
        self._paces.choose(name, *chosen.pace)
        wait = self._paces.wait(name, key, (item.id, repeat), now)
        if wait > 0.0:
            return self._later(Scope.LANE, Reason.PACED, wait)
        if (rest := self.rest(name, item)) > 0.0:
            return self._later(Scope.LANE, Reason.BUDGET, rest)
        return Ready(
            item,
            session,
            leg,
            letter,
            key,
            None if again else self._there_already(name, letter, session, leg.name),
            Move(rung=Rung.INTENT, session=session.ref, leg=leg.name, repeat=repeat),
        )

    async def hand_over(self, ready: Ready) -> Move:
        """Offer once, its intent being recorded; the line after it."""
        item, session, letter = ready.item, ready.session, ready.letter
        self._hands.give(session, letter.place, item.id)
        self._witness.watch(session, letter)
        now = self._clock.monotonic()
        content = (item.id, letter.repeat)
        self._paces.spend(letter.place, ready.key, content, now)
        outcome: Outcome = _ENDLESS
        try:
            async with asyncio.timeout(OFFER_LIMIT):
                outcome = await ready.leg.offer(letter, session)
        except TimeoutError:
            log.error("%s to=%s via=%s no end", item.id, letter.place, ready.leg.name)
        if isinstance(outcome, Offered):
            self._witness.offered(session, item.id)
        elif isinstance(outcome, Deferred) and outcome.unclear:
            self._hands.wonder(session, item.id)
        else:
            self._paces.unsent(letter.place, ready.key)
        moment = self._remember((letter.place, item.seq), session, outcome)
        move = of_outcome(outcome, session.ref, ready.leg.name, moment)
        return msgspec.structs.replace(move, repeat=letter.repeat)

    def adopt(self, name: Name, item: Item) -> Move | None:
        """Watch a letter an earlier run of homi handed over; its line if it is there.

        Whatever became of it then, only evidence moves it while the process lives.
        """
        if item.session is None or self._hands.has(item.session, name, item.id):
            return None
        session = self._hands.session(item.session)
        if session is None:
            return None
        letter = self._letter(name, item, session, repeat=item.repeat)
        if letter is None:
            return None
        there = self._there_already(name, letter, session, None)
        if there is None:
            self._hands.give(session, name, item.id)
            self._witness.watch(session, letter)
            if item.rung is not Rung.HELD:
                # Of one the client held, silence says nothing.
                self._witness.offered(session, item.id)
        return None if item.taken else there

    def too_fast(self, item: Item, ref: SessionRef) -> None:
        """The client's guard was hit: that sender's bucket there is empty."""
        session = self._hands.session(ref)
        if session is not None:
            address = item.address
            key = _key_of(self._reply_socket(address, session, ""), item, session)
            self._paces.empty(key, self._clock.monotonic())

    def unchanged(self, name: Name, seq: int, owner: Session | None) -> bool:
        """Whether the owner's record is what it was when it could not take it."""
        return owner is not None and self._said_no.get((name, seq)) == owner

    def stopped(
        self, name: Name, session: Session
    ) -> tuple[Reason | None, float | None]:
        """Why nothing of name is tried with the session now, and until when (wall
        seconds)."""
        quiet = self._settings(name).quiet_until(self._clock.wall())
        if quiet is not None:
            return Reason.OPERATOR, quiet
        if session.shut is not None:
            return session.shut, None
        failures, again = self._silent.get(process_of(session.ref), (0, 0.0))
        left = again - self._clock.monotonic()
        if failures > 1 and left > 0:
            return Reason.UNREACHABLE, self._clock.wall() + left
        return None, None

    def allows(self, name: Name, leg: Leg) -> bool:
        """Whether the name was left that leg."""
        chosen = self._settings(name).legs
        return not chosen or leg.name in chosen

    def revive(self, process: Process) -> None:
        """The session's record changed: try it again without delay."""
        self._silent.pop(process, None)
        for key in [
            k for k, s in self._said_no.items() if process_of(s.ref) == process
        ]:
            del self._said_no[key]

    def forget(self, name: Name, seq: int) -> None:
        """The letter is finished, or no more for this session."""
        self._tries.pop((name, seq), None)
        self._said_no.pop((name, seq), None)
        self._unreadable.pop((name, seq), None)

    def forget_process(self, process: Process) -> None:
        """The process is gone."""
        self._silent.pop(process, None)
        self._paces.forget(process)

    def _leg(self, session: Session, chosen: Settings) -> Leg | None:
        """The leg to use: the safest, or the first of those that were chosen."""
        legs = self._legs
        if chosen.legs:
            legs = [leg for name in chosen.legs for leg in legs if leg.name == name]
        return next((leg for leg in legs if leg.serves(session)), None)

    def _there_already(
        self, name: Name, letter: Letter, session: Session, leg: str | None
    ) -> Move | None:
        """The line for a letter the conversation holds; watched from here on."""
        if not self._witness.taken_before(session, letter.msg.id):
            return None
        self._hands.give(session, name, letter.msg.id)
        self._witness.watch(session, letter)
        return Move(rung=Rung.TAKEN, session=session.ref, leg=leg, by="transcript")

    def _letter(
        self,
        name: Name,
        item: Item,
        session: Session,
        *,
        repeat: bool,
        again: bool = False,
    ) -> Letter | None:
        """The letter from its inbox line; None, and logged, if it is unreadable."""
        key, now = (name, item.seq), self._clock.monotonic()
        if self._unreadable.get(key, now) > now:
            return None
        try:
            envelope = self._store.mailbox(name).read(item)
            msg = decode_msg(envelope.msg)
        except (StorageFailed, msgspec.MsgspecError) as error:
            log.error("%s to=%s unreadable: %s", item.id, name, error)
            self._unreadable[key] = now + UNREADABLE_RETRY
            return None
        # What a hook prints has no tag, and so no address to answer.
        reply, line = "", ""
        if session.socket:
            ask = item.id if item.kind is Kind.ASK else ""
            reply, line = self._reply_socket(item.address, session, ask)
        return Letter(
            place=name,
            envelope=envelope,
            msg=msg,
            repeat=repeat,
            possible_repeat=item.via_repeat,
            reply_socket=reply,
            line_socket=line,
            pulled=session.listed and not session.socket,
            again=again,
        )

    def _key(self, item: Item, session: Session, letter: Letter) -> Key:
        return _key_of((letter.reply_socket, letter.line_socket), item, session)

    def _remember(
        self, key: tuple[Name, int], session: Session, outcome: Outcome
    ) -> Moment:
        """Keep what the next try needs; how often it ended this way before."""
        process, now = process_of(session.ref), self._clock.monotonic()
        tries = self._tries.get(key, 0)
        if isinstance(outcome, Deferred):
            self._tries[key] = tries + 1
        else:
            self._tries.pop(key, None)
        self._said_no.pop(key, None)
        if isinstance(outcome, Held | Deferred):
            self._said_no[key] = session
        if isinstance(outcome, Deferred) and outcome.reason is Reason.UNREACHABLE:
            # One letter's failure holds its lane; a second in a row is the session's.
            failures = self._silent.get(process, (0, 0.0))[0] + 1
            rest = min(outcome.after * 2.0 ** min(failures - 1, 16), RETRY_MAX)
            self._silent[process] = (failures, now + rest)
        else:
            self._silent.pop(process, None)
        return Moment(self._clock.wall(), now, tries)

    def _later(self, scope: Scope, reason: Reason, delay: float) -> NotReady:
        until = self._clock.wall() + delay
        return NotReady(Wait(reason, until, lane=True), scope)


def _not_ready(scope: Scope, reason: Reason) -> NotReady:
    """Until some event."""
    return NotReady(Wait(reason, lane=True), scope)


def _key_of(sockets: tuple[str, str], item: Item, session: Session) -> Key:
    """What the client's guard counts by: the socket the line names as its sender."""
    return sockets[1] or sockets[0] or item.sender, process_of(session.ref)
