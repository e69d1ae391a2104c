"""Sends what is due of one wake after the other, each slot once.

Owns the order: what is about to be sent is written down, it is submitted, its outcome
is written down.  A restart begins with what stands there.  homi-wake(1).
"""

import logging
from collections.abc import Callable
from functools import partial

from homi.address import show
from homi.clock import Clock
from homi.config import DAY_WAKES
from homi.envelope import MessageId, encode
from homi.errors import HomiError, NotReached, StorageFailed
from homi.ids import last_part
from homi.submission import Result, Submission
from homi.wakes.letter import letter, message_id, stamp
from homi.wakes.progress import Diary, Firing, Progress
from homi.wakes.state import SESSION, Wake

log = logging.getLogger("homi.wakes")

RETRY_FIRST, RETRY_MAX = 5.0, 300.0  # s
BUDGET = "budget"  # what only a person ends
FAILING = "failing"
Told = Callable[[], None]
RUN = "run:"  # how the slot of one begins that somebody ordered


def failing(at: Progress, error: HomiError) -> bool:
    """Note what is wrong; whether that is news."""
    if at.failure == error.text:
        return False
    at.state = error.reason or FAILING
    at.failure, at.fix = error.text, error.hint
    log.warning("wake=%s: %s", last_part(at.wake), error.text)
    return True


class Ways:
    """What a firing asks of the rest of a daemon; set by whoever connects them."""

    def __init__(self, accept: Callable[[Submission], None]) -> None:
        """Without the rest nothing is unread, all is local and nobody is told."""
        self.accept = accept
        self.unread: Callable[[str, MessageId], bool] = lambda _to, _id: False
        self.plain: Callable[[str], bool] = lambda _to: False
        self.spawn: Callable[[str], None] = lambda _to: None
        self.warn: Callable[[str, MessageId, str], None] = lambda _key, _id, _text: None


class Firer:
    """Sends for every wake; on the loop's thread."""

    def __init__(
        self,
        diary: Diary,
        ways: Ways,
        clock: Clock,
        stored: Callable[[Wake, Firing], None],
        done: Callable[[Wake], None],
    ) -> None:
        """stored is called with each envelope that is stored, before that is noted;
        where it fails the envelope is sent again, as a repeat.  done: behind it."""
        self.ways = ways
        self._diary = diary
        self._clock = clock
        self._stored = stored
        self._done = done
        self._flying: set[str] = set()
        self._failures: dict[str, int] = {}
        self._asked: dict[str, list[tuple[str, Told]]] = {}  # slots somebody waits for
        self.retry: Callable[[str, float], None] = lambda _wake, _at: None

    def busy(self, wake: Wake) -> bool:
        """Whether something of it is under way or waits to be."""
        return bool(self._diary.of(wake.id).firing)

    def overlaps(self, wake: Wake) -> bool:
        """Whether the newest envelope was not read, or what it caused goes on."""
        last = self._diary.of(wake.id).last
        return bool(last) and self.ways.unread(wake.to, MessageId(last))

    def fire(self, wake: Wake, firings: list[Firing], *, durable: bool = False) -> None:
        """Send these, in order.  durable: what they tell of happens once only."""
        at = self._diary.of(wake.id)
        at.firing = [*at.firing, *firings]
        self._diary.keep(at, durable=durable)
        self.resume(wake)

    def order(self, wake: Wake, firing: Firing, told: Told) -> None:
        """Send this one; told once it is stored, or the wake fails or rests."""
        self._asked.setdefault(wake.id, []).append((firing.slot, told))
        self.fire(wake, [firing], durable=True)

    def resume(self, wake: Wake) -> None:
        """Go on with what stands there, where nothing is under way."""
        at = self._diary.of(wake.id)
        if not at.firing or wake.id in self._flying:
            return
        if not self._granted(wake, at):
            self._answer(wake.id)
            return
        firing = at.firing[0]
        self._flying.add(wake.id)
        try:
            plain = self.ways.plain(wake.to)
        except HomiError as error:
            self._failed(wake, at, error)
            return
        head = letter(wake, firing, plain=plain)
        told = partial(self._told, wake, firing)
        self.ways.accept(Submission(head, encode(head), stamp(wake), wake.to, told))

    def forget(self, wake: str) -> None:
        """It is removed: an outcome still to come is nobody's."""
        self._flying.discard(wake)
        self._failures.pop(wake, None)
        self._answer(wake)

    def _answer(self, wake: str, slot: str = "") -> None:
        """Tell who waits for that slot; empty: for any of the wake."""
        asked = self._asked.pop(wake, [])
        if left := [one for one in asked if slot not in ("", one[0])]:
            self._asked[wake] = left
        for each, told in asked:
            if slot in ("", each):
                told()

    def _granted(self, wake: Wake, at: Progress) -> bool:
        """Whether what a session made may still fire; a person is told where not."""
        now = self._clock.wall()
        if wake.by != SESSION or self._diary.spent(wake.to, now) < DAY_WAKES:
            return True
        if at.state != BUDGET:
            at.state, at.fix = BUDGET, f"homi wake resume {last_part(wake.id)}"
            at.failure = f"fired {DAY_WAKES} times in a day without a person"
            self._diary.keep(at)
            self._warn(wake, message_id(wake, at.firing[0].slot))
        self.retry(wake.id, now + RETRY_MAX)
        return False

    def _warn(self, wake: Wake, about: MessageId) -> None:
        text = (
            f"Wakes that sessions made for {wake.to} fired {DAY_WAKES} times in a day"
            f" and rest now. homi wake resume {last_part(wake.id)} lets them go on."
        )
        self.ways.warn(f"wakes/{wake.to}/{about}", about, text)

    def _told(self, wake: Wake, firing: Firing, result: Result) -> None:
        """The outcome of one."""
        if wake.id not in self._flying:
            return
        at, error = self._diary.of(wake.id), result.error
        # Another text under its id was this slot, too: sent before the counts that
        # stand in it were lost.
        known = error is not None and error.reason == "id-conflict"
        if error is not None and not known:
            self._failed(wake, at, error)
            return
        try:
            self._stored(wake, firing)
        except HomiError as trouble:
            self._failed(wake, at, trouble)
            return
        self._flying.discard(wake.id)
        self._failures.pop(wake.id, None)
        now = self._clock.wall()
        at.firing = [each for each in at.firing if each.slot != firing.slot]
        if not firing.slot.startswith(RUN):
            at.fired += 1
        at.state = at.failure = at.fix = ""
        at.last, at.at = result.id, now
        if wake.by == SESSION:
            self._diary.spend(wake.to, now)
        self._diary.keep(at)
        log.info(
            "%s wake=%s to=%s slot=%s status=%s",
            *(result.id, last_part(wake.id), show(wake.to), show(firing.slot)),
            "known" if known or result.duplicate else result.rung,
        )
        if wake.spawn:
            self.ways.spawn(wake.to)
        self._done(wake)
        self._answer(wake.id, firing.slot)
        self.resume(wake)

    def _failed(self, wake: Wake, at: Progress, error: HomiError) -> None:
        """It is tried again where that may help; else this slot is given up."""
        self._flying.discard(wake.id)
        failing(at, error)
        lasting = not isinstance(error, NotReached | StorageFailed)
        if lasting:
            # An event that is not told is not marked: it is found again.
            at.firing = at.firing[1:]
            self._failures.pop(wake.id, None)
        self._diary.keep(at)
        times = self._failures[wake.id] = self._failures.get(wake.id, 0) + 1
        wait = min(RETRY_FIRST * 2.0 ** min(times - 1, 10), RETRY_MAX)
        self.retry(wake.id, self._clock.wall() + wait)
        self._answer(wake.id)
