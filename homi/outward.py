"""What stands in front of the out queues: no message leaves with a secret in it.

Owns the order in which messages are looked at, what a person lets pass, and that a
text which was refused gets out by no other hand.  What a secret is, homi.scan knows.
homi-send(1) states the rules.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial

from homi import gate
from homi.address import BUILT_IN, Name
from homi.clock import SystemClock
from homi.envelope import Kind, MessageId, Msg, Reason, Via
from homi.errors import BadMessage, HomiError, Unavailable
from homi.scan.scanner import Scanner, Steps, refusal
from homi.submission import Submission
from homi.withheld import Withheld

log = logging.getLogger("homi.postmaster")

AT_ONCE = 4_096  # bytes looked at where they stand: a millisecond of computing
HINT = "take it out; a person may let it leave with --allow-secret REASON"

Told = Callable[[HomiError | None], None]  # why it may not leave; None: it may
# A sender, the id and the kind of its message, a step, words for it.
Tell = Callable[[str, MessageId, Kind, str, str], None]


class Outward:
    """Looks at each message once, in the order they come."""

    def __init__(
        self,
        accept: Callable[[Submission], None],
        refuse: Callable[[Submission, HomiError], None],
        tell: Tell,
    ) -> None:
        """Each message that is held comes back to accept or refuse; tell writes to a
        sender whose door can say no more than no.  Nothing is loaded yet."""
        self._accept = accept
        self._refuse = refuse
        self._tell = tell
        self._scanner = Scanner()
        self._waiting: deque[tuple[Msg, bytes, Told]] = deque()
        self._steps: Steps | None = None  # of the first that waits
        self.withheld = Withheld(None, SystemClock())  # the daemon's are kept

    def holds(self, sub: Submission) -> bool:
        """Whether sub must not go on from here: accept is called with it once it may,
        now or later, or refuse."""
        if sub.clear or not self.concerns(sub.stamp.via):
            return False
        self.check(sub.head, sub.msg, partial(self._judged, sub))
        return True

    def stops(self, sub: Submission, place: Name) -> bool:
        """Whether sub, for a name here, was refused: its text was not let out before,
        and whoever it is handed to may be less careful with it."""
        if sub.clear or not self._hands_on(sub, place):
            return False
        found = self.withheld.why(sub.head.text)
        if found is not None:
            self._deny(sub, found)
        return found is not None

    def _hands_on(self, sub: Submission, place: Name) -> bool:
        """Whether by sub an agent or a program brings a text to another: not to a
        person, to itself, or as the copy of what a room had already."""
        via = sub.stamp.via
        if via.door == gate.HISTORY:
            return True
        if not self.concerns(via) or via.door == gate.ROOM or sub.stamp.person:
            return False
        # A name that nothing proves may be anybody's: that one writes to another.
        return place not in BUILT_IN and not (via.verified and place == sub.head.from_)

    def concerns(self, via: Via) -> bool:
        """Whether a message is this device's to judge: what another device wrote was
        judged there, and what the postmaster writes quotes nobody."""
        return via.device is None and via.door != "homi"

    def check(self, head: Msg, msg: bytes, told: Told) -> None:
        """Call told once, now or later, but never before that of an earlier one."""
        small = len(msg) <= AT_ONCE and not self._waiting
        if small and not self._scanner.needs(msg):
            told(self._judge(head, msg))
            return
        self._waiting.append((head, msg, told))
        if len(self._waiting) == 1:
            self._begin()

    def reason(self, words: str) -> HomiError | None:
        """Why words cannot be kept as the reason of a person."""
        found = self._scanner.text(words, "the reason for --allow-secret")
        return refusal(found, HINT)

    def _judge(self, head: Msg, msg: bytes) -> HomiError | None:
        """Why a message may not leave, told at once."""
        try:
            return refusal(self._scanner.findings(head, msg), HINT)
        except HomiError as error:  # it could not be looked at
            return error

    def _judged(self, sub: Submission, found: HomiError | None) -> None:
        """It may leave, or a person lets it; else its sender hears where to look."""
        if self.withheld:
            again = sub.head.id if found is not None else ""
            found = _joined(found, self.withheld.why(sub.head.text, again))
        if found is None:
            sub.permit = None
        elif sub.permit is None or found.reason != Reason.SCAN:
            if found.reason == Reason.SCAN:
                self.withheld.remember(sub.head)
            self._deny(sub, found)
            return
        sub.clear = True
        self._accept(sub)

    def _deny(self, sub: Submission, found: HomiError) -> None:
        """Refuse it; whoever can be told no more than no gets a notice."""
        self._refuse(sub, found)
        if sub.stamp.via.door == "peer":
            head = sub.head
            words = f"was refused: {found.text}; {found.hint}"
            to = shown_to(sub.to, found)
            words = f"Your message {head.id} to {to} {words}."
            self._tell(head.from_, head.id, head.kind, "refused", words)

    def _begin(self) -> None:
        """Look at the first that waits, once all is there that it needs."""
        head, msg, _ = self._waiting[0]
        loop = asyncio.get_running_loop()
        if self._scanner.needs(msg):
            loading = loop.run_in_executor(None, self._scanner.load)
            loading.add_done_callback(self._loaded)
            return
        self._steps = self._scanner.steps(head, msg)
        loop.call_soon(self._step)

    def _loaded(self, future: asyncio.Future[None]) -> None:
        """Go on, or refuse what cannot be judged."""
        error = future.exception()
        if isinstance(error, HomiError):
            log.error("%s", error.text)
            self._end(error)
        elif error is not None:
            self._end(failed())
            raise error
        else:
            self._begin()

    def _step(self) -> None:
        """One piece of the first; others have their turn between two."""
        if self._steps is None:
            return
        # A bug that one message meets must not keep all that wait behind it.
        judged: HomiError | None = failed()
        ended = True
        try:
            next(self._steps)
            ended = False
        except StopIteration as end:
            judged = refusal(end.value, HINT)
        except HomiError as error:
            judged = error
        finally:
            if ended:
                self._end(judged)
        if not ended:
            asyncio.get_running_loop().call_soon(self._step)

    def _end(self, error: HomiError | None) -> None:
        """The first is judged; the next one's turn."""
        self._steps = None
        _, _, told = self._waiting[0]
        try:
            told(error)  # what it submits comes behind those that wait
        finally:
            self._waiting.popleft()
            if self._waiting:
                asyncio.get_running_loop().call_soon(self._begin)


def shown_to(to: str, error: HomiError) -> str:
    """Where a message was to go, as it may be told: where it was refused for a secret
    only the device, since the name there may be that."""
    _, at, device = to.partition("@")
    return f"a name on {device}" if at and error.reason == Reason.SCAN else to


def _joined(found: HomiError | None, earlier: HomiError | None) -> HomiError | None:
    """Both reasons against one message as one."""
    if found is None or earlier is None or found.reason != Reason.SCAN:
        return found or earlier
    text = f"{found.text}; {earlier.text}"
    return BadMessage(text, hint=found.hint, reason=found.reason)


def failed() -> HomiError:
    """What a sender is told of a message that nobody could look at."""
    return Unavailable(
        "the scan for secrets failed, so it may not leave this device",
        hint="the log of the daemon says why",
    )
