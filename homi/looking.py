"""What is looked up in the files while the daemon runs, beside its loop.

Owns the one thread for that and its bound; what is looked up is homi.mail's.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from homi.address import Name
from homi.envelope import MessageId
from homi.errors import HomiError, NotReached, Unavailable
from homi.mail.asked import about, answer_to, opener, whom
from homi.mail.mail import Mail
from homi.mail.shared import missing, rungs, steps
from homi.reports import Answered, Found
from homi.store.relayed import Sent, letters, sent

log = logging.getLogger("homi.looking")

WAITING = 16  # looks that may wait for the thread; a further one is told to come back

Answer = msgspec.Struct | HomiError
Reply = Callable[[Answer], None]
Find = Callable[[Mail], msgspec.Struct]


class Looking:
    """The thread that reads.  All calls on the loop's thread."""

    def __init__(self, root: Path) -> None:
        """Nothing runs before the first look."""
        self._root = root
        self._pool = ThreadPoolExecutor(1, "looking")
        self._waiting = 0

    def rungs(
        self, key: str, ids: list[MessageId], places: list[Name] | None, reply: Reply
    ) -> None:
        """How far those of ids are, in places (None: in all), that came by the link
        with that key."""
        self._look(lambda mail: rungs(mail, key, ids, places), reply)

    def steps(
        self, key: str, ids: list[MessageId], places: list[Name] | None, reply: Reply
    ) -> None:
        """What became of the first of ids there, if it came by the link with that
        key."""
        wanted = ids[0] if ids else MessageId("")
        self._look(lambda mail: steps(mail, key, wanted, places), reply)

    def answer_to(
        self, ask: MessageId, name: Name, told: Callable[[Answered | None], None]
    ) -> None:
        """Tell the answer that stands in the mailbox of who asked; None: none does."""

        def reply(found: Answer) -> None:
            told(found if isinstance(found, Answered) else None)

        self._look(lambda mail: answer_to(mail, ask, name), reply)

    def about(self, text: str, names: list[Name], reply: Reply) -> None:
        """What one of names must know to answer a message."""
        self._look(lambda mail: about(mail, text, names), reply)

    def whom(
        self, message: MessageId, queue: Name, told: Callable[[str], None]
    ) -> None:
        """Tell who answers what was sent to another device; nothing is told where that
        cannot be found."""

        def reply(found: Answer) -> None:
            if isinstance(found, Found):
                told(found.to)

        self._look(lambda mail: whom(mail, message, queue), reply)

    def opener(self, message: MessageId, reply: Reply) -> None:
        """Who began the conversation that the message is in."""
        self._look(lambda mail: opener(mail, message), reply)

    def sent(self, queue: Name, below: int | None, since: str, reply: Reply) -> None:
        """What went on from an out queue before the seq below: Sent."""
        self._look(lambda mail: sent(mail.index([queue]), queue, below, since), reply)

    def letters(
        self, queue: Name, found: Sent, by: frozenset[str], now: float, reply: Reply
    ) -> None:
        """Those of what went on from it that can go once more: Letters."""
        self._look(
            lambda mail: letters(mail.index([queue]), found.entries, by, now), reply
        )

    def missing(self, ids: list[MessageId], reply: Reply) -> None:
        """Those of ids that are nowhere here: FarMissing."""
        self._look(lambda mail: missing(mail, ids), reply)

    def stop(self) -> None:
        """Look no more; who waits is not answered."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _look(self, find: Find, reply: Reply) -> None:
        """Find it on the thread, reply on the loop."""
        if self._waiting >= WAITING:
            reply(NotReached("too many look at once", hint="ask again", reason="busy"))
            return
        self._waiting += 1
        loop = asyncio.get_running_loop()
        done = partial(self._found, loop, reply)
        self._pool.submit(self._find, find).add_done_callback(done)

    def _find(self, find: Find) -> Answer:
        """What find finds in the mail as it is now."""
        try:
            with Mail(self._root, log.warning) as mail:
                return find(mail)
        except HomiError as error:
            return error

    def _found(
        self,
        loop: asyncio.AbstractEventLoop,
        reply: Reply,
        future: "Future[Answer]",
    ) -> None:
        """Back to the loop; where the look had a bug it is told, and the link stays."""
        if future.cancelled():
            return
        bug = future.exception()
        if bug is not None:
            log.error("a look failed", exc_info=bug)
        answer = Unavailable("a bug of homi") if bug is not None else future.result()
        with contextlib.suppress(RuntimeError):  # the daemon ended meanwhile
            loop.call_soon_threadsafe(self._answer, reply, answer)

    def _answer(self, reply: Reply, answer: Answer) -> None:
        self._waiting -= 1
        reply(answer)
