"""What a person is told at once of mail that came for them: by a command of theirs.

Owns what is told and how often; never the text of mail, unless a person wished that.
homi.toml(5) has the settings.
"""

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Callable, Sequence

from homi.address import OWNER, Name
from homi.amount import amount
from homi.clock import Clock
from homi.envelope import Kind, Reason
from homi.store.mailbox import Item
from homi.visible import visible

log = logging.getLogger("homi.notify")

TITLE_MAX, BODY_MAX = 60, 180  # characters
BURST, RATE = 5, 0.1  # at once; then a second
LIMIT = 10.0  # s a command may take
# What some notifier, or the shell of one, acts on.
ACTIVE = frozenset("\"'`$\\<>&;|")

FirstLine = Callable[[Item], str]


class Notifier:
    """Tells a person by the configured command.  All calls on the loop's thread."""

    def __init__(
        self, command: Sequence[str], clock: Clock, first_line: FirstLine | None
    ) -> None:
        """first_line: of the text, where that is to be told; None: it is not."""
        self._command = list(command)
        self._clock = clock
        self._first_line = first_line
        self._left, self._at = float(BURST), clock.monotonic()
        self._unsaid = 0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def arrived(self, name: Name, item: Item) -> None:
        """New mail somewhere: if it is the person's, say so now, or of several at once
        how many there are."""
        if name != OWNER or not self._command:
            return
        if self._timer is not None or not self._spend():
            self._unsaid += 1
            self._later()
            return
        about = "" if self._first_line is None else self._first_line(item)
        self._say(_title(item), about or f"homi read {item.id}")

    def waits(self, name: Name, seat: str) -> None:
        """What name asks in a seat, only the person answers."""
        if self._command and self._spend():
            self._say(f"{name} waits for an approval", f"homi seat state {seat}")

    def close(self) -> None:
        """Say nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()

    def _spend(self) -> bool:
        """Whether one more may be said now."""
        now = self._clock.monotonic()
        self._left = min(float(BURST), self._left + (now - self._at) * RATE)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def _later(self) -> None:
        """Say how many came, once something may be said again."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(1.0 / RATE, self._sum)

    def _sum(self) -> None:
        self._timer = None
        if not self._spend():
            self._later()
            return
        count, self._unsaid = self._unsaid, 0
        self._say(amount(count, "more message") + " for you", "homi inbox")

    def _say(self, title: str, body: str) -> None:
        """Run the command, beside everything else."""
        program = shutil.which(self._command[0])
        if program is None:
            log.debug("no %s to notify by", self._command[0])
            return
        argv = [program, *self._command[1:], plain(title, TITLE_MAX)]
        task = asyncio.get_running_loop().create_task(
            _run([*argv, plain(body, BODY_MAX)]), name="notify"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _run(argv: list[str]) -> None:
    """One notification; what becomes of it is logged, no more."""
    null = asyncio.subprocess.DEVNULL
    try:
        child = await asyncio.create_subprocess_exec(
            *argv, stdin=null, stdout=null, stderr=null, start_new_session=True
        )
    except OSError as error:
        log.warning("cannot notify by %s: %s", argv[0], error.strerror)
        return
    try:
        async with asyncio.timeout(LIMIT):
            status = await child.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        status = await child.wait()
    if status:
        log.info("notifying by %s ended with %d", argv[0], status)


def plain(text: str, limit: int) -> str:
    """text on one line, without what a notifier acts on or nobody sees, cut; it never
    begins like an option."""
    shown = "".join(
        " " if one in ACTIVE or not one.isprintable() or visible(one) != one else one
        for one in text[: 4 * limit]
    )
    return " ".join(shown.split()).lstrip("-@")[:limit] or "mail"


def _title(item: Item) -> str:
    """What came, and from whom, as the postmark has it."""
    if item.reason is Reason.APPROVAL or item.kind is Kind.ASK:
        return f"{item.address} asks you"
    return f"{item.kind} from {item.address}"
