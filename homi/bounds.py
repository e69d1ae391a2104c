"""The counters of agents' turns, kept: what is parked, whom it concerns, who goes on.

Owns the file limits.jsonl and what of the traffic counts; the decision itself is the
budget's.  A line stands in the file before its message is answered.  homi-limits(7).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from homi.address import OWNER, Name
from homi.budget import Budget
from homi.clock import Clock
from homi.digest import read
from homi.envelope import (
    FINISHED,
    Kind,
    LedgerLine,
    MessageId,
    Msg,
    Reason,
    Rung,
    SessionRef,
    decode_msg,
)
from homi.errors import StorageFailed
from homi.sessions import Session
from homi.store.base import Store
from homi.store.disk import Disk
from homi.store.lines import Finding
from homi.store.mailbox import Item
from homi.store.tally import Tally
from homi.turns import Cause, Counted, Line, Renewed, Sent, Turn, Wake

FILE = "limits.jsonl"
LINES_MIN = 20_000  # with more, and twice of what counts, it is written anew
CAUSING = frozenset({Kind.MAIL, Kind.ASK, Kind.REPLY, Kind.WAKE})

Process = tuple[int, str]  # pid and start time
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Line).decode


class Parked(NamedTuple):
    """A letter that waits for a person."""

    place: Name
    item: Item


class Bounds:
    """Counts turns and wakes; durable across the death of the process."""

    def __init__(self, root: str, store: Store, clock: Clock, disk: Disk) -> None:
        """Read what was counted before."""
        self._store = store
        self._clock = clock
        self._file = Tally(f"{root}/{FILE}", disk)
        self.budget, self.findings = replayed(self._file)
        self._lines_max = LINES_MIN
        if self.findings or self._file.lines > LINES_MIN:
            self._rewrite()

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    # ---- what is sent ----

    def judge(
        self,
        head: Msg,
        to: str,
        sender: str,
        process: Process | None,
        told: Counted | None = None,
    ) -> Turn | None:
        """Count a message of an agent, or one that answers something; what it is,
        with the reason where it is to be parked; None where it does not count."""
        budget = self.budget
        cause = head.reply_to
        if cause is None and process is not None and budget.causes:
            given = budget.causes.get(process)
            cause = None if given is None else given.id
        if cause is None and process is None and told is None:
            return None
        known = budget.turns.get(head.id)
        if known is not None and (known.from_, known.to) == (sender, to):
            return known  # a second try of the same
        if process is None and told is None and cause not in budget.turns:
            # A program that answers what no agent was caused to send begins anew.
            return None
        now = self._clock.wall()
        if told is not None and (renewed := budget.learned(told, now)) is not None:
            self._write(renewed)
        sent = Sent(head.id, sender, to, head.text, cause)
        turn, text = budget.judge(sent, now, told)
        if turn is not None:
            self._write(turn, text)
        return turn

    # ---- what is handed over ----

    def recorded(self, name: Name, item: Item, line: LedgerLine) -> None:
        """The courier wrote a line: a session was given a letter, perhaps."""
        listed = line.rung is Rung.OFFERED and line.reason is Reason.DIGEST
        # The intent counts: a quick session answers before its outcome is known, and
        # what is told later of an older letter makes that no newer.
        if line.session is not None and line.rung is Rung.INTENT:
            self.given(line.session, name, self._causing(name, item))
        out = line.rung is Rung.OFFERED and line.leg is not None and not listed
        if out and item.kind in CAUSING and item.address != OWNER:
            at = self._clock.wall()
            self._write(Wake(at=at, from_=item.address, name=name))

    def given(self, session: SessionRef, name: Name, item: Item) -> None:
        """A session was given a letter: it causes what the session sends next."""
        process = session.pid, session.start
        now = self.budget.causes.get(process)
        if item.kind not in CAUSING or (now is not None and now.id == item.id):
            return
        self._write(Cause(pid=process[0], start=process[1], id=item.id, name=name))

    def _causing(self, name: Name, item: Item) -> Item:
        """The letter that is given with item: of those in a digest the one that is
        furthest in its chain, else the newest."""
        if item.kind is not Kind.NOTICE:
            return item
        box, turns = self._store.mailbox(name), self.budget.turns
        try:
            which = read(item.seq, decode_msg(box.read(item).msg))
        except (StorageFailed, msgspec.MsgspecError):
            which = None
        if which is None:
            return item

        def far(letter: Item) -> tuple[int, int]:
            turn = turns.get(letter.id)
            return (turn.n if turn is not None else 0), letter.seq

        among = (
            letter
            for letter in box.pending.values()
            if which.lists(letter.seq) and letter.kind in CAUSING
        )
        return max(among, key=far, default=item)

    def rest(self, name: Name, item: Item) -> float:
        """Seconds until another letter of its sender may start a turn; 0: now."""
        if item.kind not in CAUSING or item.address == OWNER:
            return 0.0
        return self.budget.woken(item.address, name, self._clock.wall())

    def changed(self, old: Session | None, new: Session | None) -> None:
        """A session came to rest, or ended."""
        if new is None:
            if old is not None:
                self.ended(old.ref)
        elif old is not None and new.status == "idle" != old.status:
            self.idle(new.ref)

    def idle(self, session: SessionRef) -> None:
        """A session has nothing to do any more: what it finished causes no more.

        A letter it was given and has not read yet is what it will do next.
        """
        cause = self.budget.causes.get((session.pid, session.start))
        if cause is None or cause.id is None:
            return
        box = self._store.mailbox(Name(cause.name))
        if box.rung_of(cause.id) in FINISHED | {None}:
            self._write(Cause(pid=session.pid, start=session.start))

    def ended(self, session: SessionRef) -> None:
        """A process is gone."""
        if (session.pid, session.start) in self.budget.causes:
            self._write(Cause(pid=session.pid, start=session.start))

    # ---- a person ----

    def knows(self, message: MessageId) -> bool:
        """Whether there is a chain of that message, or something parked under it."""
        budget = self.budget
        if message in budget.turns or message in budget.chains:
            return True
        boxes = (*self._store.mailboxes(), *self._store.queues())
        return any(_is_parked(item) for box in boxes for item in box.find_all(message))

    def renew(self, message: MessageId) -> Renewed | None:
        """Let the chain of message go on, durably; None: it could not be recorded."""
        line = self.budget.renew(message, self._clock.wall())
        if not self._file.append(_encode(line), durable=True):
            return None
        self.budget.apply(line)
        return line

    def freed(self, message: MessageId, by: Renewed) -> list[Parked]:
        """The letters that go on by that; message itself is one in any case."""
        return [
            Parked(box.name, item)
            for box in (*self._store.mailboxes(), *self._store.queues())
            for item in box.pending.values()
            if _is_parked(item) and (item.id == message or self._freed(item, by))
        ]

    def _freed(self, item: Item, by: Renewed) -> bool:
        """Whether what was parked goes on."""
        turn = self.budget.turns.get(item.id)
        return turn is not None and self.budget.freed(turn, by)

    def _write(self, line: Line, text: str = "") -> None:
        """Count it, in the file too."""
        self.budget.apply(line, text)
        self._file.append(_encode(line))
        if self._file.lines > self._lines_max:
            self._rewrite()

    def _rewrite(self) -> None:
        """Without what is too old to count."""
        lines = self.budget.lines(self._clock.wall())
        self._file.rewrite(_encode(line) for line in lines)
        self._lines_max = max(LINES_MIN, 2 * self._file.lines)


def _is_parked(item: Item) -> bool:
    """Whether a bound keeps it."""
    return item.rung is Rung.PARKED and item.reason in (Reason.BUDGET, Reason.LOOP)


def replayed(file: Tally) -> tuple[Budget, list[Finding]]:
    """The counters as a file tells them; a line that cannot be read costs itself."""
    budget = Budget()
    broken = -1
    moved = file.clear()
    for offset, line in _entries(file):
        if line is None:
            broken = offset if broken < 0 else broken
        else:
            budget.apply(line)
    return budget, moved if broken < 0 else [*moved, file.set_aside(broken)]


def counted(root: Path, disk: Disk) -> Budget:
    """The counters of a state root, read beside a daemon or without one."""
    budget = Budget()
    for _, line in _entries(Tally(str(root / FILE), disk)):
        if line is not None:
            budget.apply(line)
    return budget


def _entries(file: Tally) -> Iterator[tuple[int, Line | None]]:
    """Each line of a file; None for one that cannot be read."""
    for offset, line in file.read():
        try:
            yield offset, _decode(line)
        except (ValueError, RecursionError):
            yield offset, None
