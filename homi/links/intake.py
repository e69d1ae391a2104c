"""Mail that comes in over one connection: from a frame to a submission.

Owns the postmark of a link and the order of a lane behind a refusal; who may write
what is the gate's to say.  homi-protocol(7) states the rules.
"""

import logging
from functools import partial
from typing import Protocol

from homi.address import is_name, show
from homi.config import PAIR_TURNS, TURNS
from homi.envelope import Via
from homi.errors import (
    BadMessage,
    HomiError,
    NotAllowed,
    NotReached,
    StorageFailed,
    Unavailable,
)
from homi.ids import is_id
from homi.links.exchange import Answered
from homi.links.frames import End, Mail, Refusal
from homi.links.greeting import Peer
from homi.links.questions import refusal
from homi.postmaster import Result, Stamp, Submission
from homi.strict import parse_msg
from homi.turns import Counted

log = logging.getLogger("homi.links")

HOPS_READ = 28  # devices named in one frame: more is not believed
STAMPS = 256  # postmarks kept ready: one for each way that leads over the link
LANES = 10_000  # refused on one connection; beyond it begins anew
# Trying again can help; whatever else is refused is refused for good.
TRANSIENT = (NotReached, StorageFailed, Unavailable)

Lane = tuple[str, str, str]  # device, sender, address


class Desk(Protocol):
    """The way into the postmaster."""

    def accept(self, sub: Submission) -> None:
        """sub.done comes once, now or later."""
        ...


class Ends(Protocol):
    """What mail comes in by: an exchange, or a bundle."""

    def close(self, reason: str, text: str = "") -> None:
        """No more of it is taken."""
        ...


class Intake:
    """What one proven peer sends."""

    def __init__(self, exchange: Ends, peer: Peer, desk: Desk) -> None:
        """exchange is closed where peer asks for too much."""
        self._exchange = exchange
        self._peer = peer
        self._key = peer.fingerprint
        self._accept = desk.accept
        self._stamps: dict[tuple[tuple[str, ...], bool, bool, str, int], Stamp] = {}
        self._refused: set[Lane] = set()  # until their first comes again

    def take(self, mail: Mail, answered: Answered) -> None:
        """Submit mail; answered comes once."""
        msg, hops = bytes(mail.msg), mail.hops
        try:
            head = parse_msg(msg)
            kind = (hops, mail.verified, mail.again, mail.room, mail.moved)
            stamp = self._stamps.get(kind) or self._stamp(mail, hops)
        except HomiError as error:
            self._refuse(str(mail.n), error, answered)
            return
        lane = (hops[0], head.from_, mail.to)
        if self._refused and lane in self._refused:
            if not mail.first:
                answered(_BEHIND)
                return
            self._refused.discard(lane)
        done = partial(self._done, lane, answered)
        sub = Submission(head, msg, stamp, mail.to, done, stamp.hops)
        if mail.turn is not None:
            sub.told = believed(mail.turn)
        self._accept(sub)

    def _check(self, hops: tuple[str, ...]) -> None:
        """The way it came must be one that leads here."""
        if not hops or hops[-1] != self._peer.device:
            raise NotAllowed(
                f"mail from {self._peer.device} must name it as the last of its hops"
            )
        if len(hops) > HOPS_READ:
            raise BadMessage(f"{len(hops)} hops, the limit is {HOPS_READ}")
        for hop in hops:
            if not is_name(hop):
                raise BadMessage(f"hops: {show(hop)} is no device")

    def _done(self, lane: Lane, answered: Answered, result: Result) -> None:
        """Stored, or refused."""
        if result.kept:
            answered(None)
            return
        error = result.error or StorageFailed("not known to be stored")
        if isinstance(error, TRANSIENT):
            self._refused.add(lane)
            if len(self._refused) > LANES:
                self._exchange.close(End.BUSY, f"over {LANES} lanes are refused")
        self._refuse(result.id, error, answered)

    def _refuse(self, what: str, error: HomiError, answered: Answered) -> None:
        """Tell the other end, which tells the sender."""
        log.info("%s from=%s refused (%s)", what, self._peer.device, error.text)
        answered(refusal(error, permanent=not isinstance(error, TRANSIENT)))

    def _stamp(self, mail: Mail, hops: tuple[str, ...]) -> Stamp:
        """The postmark of mail that came this way; HomiError where there is no way."""
        self._check(hops)
        if len(self._stamps) >= STAMPS:
            self._stamps.clear()
        peer = self._peer.device
        kind = hops, mail.verified, mail.again, mail.room, mail.moved
        found = self._stamps[kind] = Stamp(
            Via(
                door="link",
                device=hops[0],
                key=self._key,
                relay=None if hops[0] == peer else peer,
                verified=mail.verified,
                # Who it was for may have read it before this device went back.
                repeat=mail.again,
                room=_room(mail.room),
                moved=mail.moved,
            ),
            hops=hops,
        )
        return found


def believed(turn: Counted) -> Counted | None:
    """What another device says of a turn, within bounds; None where it names none."""
    if not is_id(turn.chain):
        return None
    n = min(max(turn.n, 1), PAIR_TURNS)
    return Counted(turn.chain, n, min(turn.limit, n - 1 + TURNS))


def _room(text: str) -> str | None:
    """The room it was copied from; BadMessage where that is no whole address."""
    name, _, device = text.partition("@")
    if text and not (is_name(name) and is_name(device)):
        raise BadMessage(f"room: {show(text)} is no room of a device")
    return text or None


_BEHIND = Refusal(code="not-reached", text="it waits behind an earlier one of its lane")
