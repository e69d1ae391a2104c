"""What facts and silence prove of one letter in the hands of one session.

Pure: facts in, evidence out, `now` is an argument.  Knows nothing of files and
timers.  homi-legs(7) lists the conclusions and what each rests on.
"""

from collections.abc import Callable
from enum import StrEnum

import msgspec

from homi.envelope import MessageId
from homi.legs.base import (
    Blocked,
    Evidence,
    Ignored,
    ModelFailed,
    NoProof,
    Seen,
    Taken,
)
from homi.legs.transcript import Fact, What

Maker = Callable[[int, str], bool]

IDLE = 5.0  # s at rest: an accepted letter is on disk after 0.1
MOVED = 2.0  # s after a change of conversation: a fork's copies are on disk by then


class Doubt(StrEnum):
    """Why a session's transcript proves nothing."""

    NO_TRANSCRIPT = "no transcript"
    FORMAT = "format"


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The session as it is when a conclusion is drawn; times are monotonic."""

    conversation: str
    since: float  # it is in this conversation
    idle_since: float | None  # None: it is not at rest
    busy_at: float | None  # last known to work
    has_file: bool  # a transcript of any of its conversations is there
    matched: bool  # a letter was found in its transcript by id before


class Place:
    """Where a letter stands in one conversation."""

    __slots__ = ("entrypoint", "failed", "kin", "lost", "uuid")

    def __init__(self, fact: Fact) -> None:
        """fact is the line that took the letter in."""
        self.uuid = fact.uuid
        self.entrypoint = fact.entrypoint
        self.kin = {fact.uuid}  # it, and the lines that hang on it
        self.lost = False  # a compaction left it out
        self.failed = False  # the client gave up asking the model

    def follow(self, fact: Fact) -> None:
        """Keep track of what hangs on our line."""
        if fact.uuid and fact.parent in self.kin:
            self.kin.add(fact.uuid)

    def speaks(self, fact: Fact) -> bool:
        """Whether the writer of fact had our letter: the one that took it, since two
        may write one file, or another whose line hangs on ours."""
        return fact.entrypoint == self.entrypoint or fact.parent in self.kin


class Case:
    """One letter: told the facts in file order, asked for conclusions in between."""

    def __init__(
        self,
        message: MessageId,
        address: str,
        ours: Maker,
        started: float,
        *,
        pulled: bool = False,
    ) -> None:
        """address: the line's from, by which the session's notices name the sender.
        pulled: a hook printed it, so that an answer without it proves that it is lost.
        ours: whether a process is the daemon that may have offered it."""
        self.id = message
        self.started = started
        self.offered: float | None = None  # when the hand-over ended cleanly
        self.doubt: Doubt | None = None  # set by conclude(): why there is no proof
        self._address = address
        self._ours = ours
        self._pulled = pulled
        self._answered = False  # the model was asked without it
        self._places: dict[str, Place] = {}
        self._told_in: set[str] = set()  # conversations it was told to stand in
        self._told: set[type[Evidence]] = set()
        self._queued = self._noticed = False
        self._hook_dropped = self._untagged = False
        self._damaged = self._strange = self._known = False
        self._news = False  # facts came that no conclusion has looked at yet

    @property
    def closed(self) -> bool:
        """Whether nothing more can come: no fact is needed any more."""
        return bool(self._told & {Seen, Blocked})

    @property
    def settled(self) -> bool:
        """Whether only a new fact can change anything: time alone will not."""
        told = bool(self._told & {NoProof, ModelFailed, Ignored})
        return self.closed or (told and not self._news)

    def learn(self, fact: Fact, conversation: str) -> Evidence | None:
        """The evidence in one line of a conversation's transcript, each kind once;
        Taken once a conversation, since a fork carries our line with it."""
        if self.closed:
            return None
        self._news = True
        place = self._places.get(conversation)
        if place is not None and not place.lost:
            place.follow(fact)
            found = self._after(place, fact)
        else:
            found = self._before(fact)
        if fact.what is What.TAKEN and self._is_ours(fact):
            self._places[conversation] = Place(fact)
            found = self._taken_in(conversation)
        if self.offered is not None:
            self._note_sign(fact)
        return self._once(found)

    def conclude(self, view: View, now: float) -> Evidence | None:
        """What the state of things says where no line does, each kind once."""
        if self.closed:
            return None
        if self._places:
            self._news = False
            return self._once(self._conclude_taken(view, now))
        if self.offered is None:
            return None
        if self._pulled:
            return self._once(self._conclude_unread(now - self.offered))
        if view.idle_since is None:
            return None
        if now - max(view.idle_since, self.offered) < IDLE:
            return None
        self._news = False
        return self._once(self._conclude_silent(view))

    def _after(self, place: Place, fact: Fact) -> Evidence | None:
        """A line behind the one that took the letter."""
        if fact.what is What.ANSWER and place.speaks(fact):
            return Seen(self.id)
        if fact.what is What.FAILED and place.speaks(fact):
            place.failed = True
        elif fact.what is What.COMPACTED and place.uuid not in fact.kept:
            place.lost = True
        return None

    def _before(self, fact: Fact) -> Evidence | None:
        """A line while the letter is not in that conversation."""
        mine = fact.id == self.id
        if fact.what is What.BLOCKED and mine and not self._places:
            return Blocked(self.id)
        if fact.what is What.QUEUED and mine:
            self._queued = True
        elif fact.what is What.HOOK_DROPPED:
            self._hook_dropped = self._queued
        elif fact.what is What.NOTICE:
            self._noticed |= mine or bool(self._address and self._address in fact.text)
        elif fact.what is What.UNTAGGED and mine:
            self._untagged = True
        return None

    def _taken_in(self, conversation: str) -> Evidence | None:
        """Taken, unless that was told of this conversation."""
        if conversation not in self._told_in:
            self._told_in.add(conversation)
            self._told.discard(Taken)
        return Taken(self.id)

    def _is_ours(self, fact: Fact) -> bool:
        """Our letter, written by our daemon where the session saw who wrote it."""
        if fact.id != self.id:
            return self.id in fact.briefed
        return fact.maker is None or self._ours(*fact.maker)

    def _note_sign(self, fact: Fact) -> None:
        """What the lines after the offer say of the file itself."""
        if fact.what is What.DAMAGED:
            self._damaged = True
        elif fact.what is What.STRANGE:
            self._strange = True
        else:
            self._known = True
            self._answered |= fact.what is What.ANSWER

    def _conclude_taken(self, view: View, now: float) -> Evidence | None:
        """It is in a conversation, and no answer came."""
        place = self._places.get(view.conversation)
        if place is None:
            # After /clear nothing will be asked with it in it.
            return Ignored(self.id) if now - view.since >= MOVED else None
        if place.failed and view.idle_since is not None:
            return ModelFailed(self.id)
        return None

    def _conclude_unread(self, passed: float) -> Evidence | None:
        """A hook printed it, and the model answered without it since."""
        if not self._answered or self._damaged or passed < IDLE:
            return None
        self._news = False
        return Ignored(self.id)

    def _conclude_silent(self, view: View) -> Evidence | None:
        """It was accepted, the session is at rest, and it is in no conversation."""
        turned = view.busy_at is not None and view.busy_at >= self.started
        if self._queued and self._hook_dropped:
            return Blocked(self.id)
        if self._untagged:
            return self._no_proof(Doubt.FORMAT)
        if self._damaged:
            return self._no_proof(None)
        if self._queued or self._noticed:
            return None
        if not view.has_file:
            return self._no_proof(Doubt.NO_TRANSCRIPT if turned else None)
        if view.matched or self._known:
            return Ignored(self.id)
        return self._no_proof(Doubt.FORMAT if turned and self._strange else None)

    def _no_proof(self, doubt: Doubt | None) -> NoProof:
        """No proof to be had; with a doubt it holds for the session's other mail."""
        self.doubt = doubt
        return NoProof(self.id)

    def _once(self, found: Evidence | None) -> Evidence | None:
        """found, unless that kind was told before."""
        if found is None or type(found) in self._told:
            return None
        self._told.add(type(found))
        return found
