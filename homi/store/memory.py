"""The store without a disk: the same promises, for tests of the layers above.

Owns nothing that lasts.  tests/contract holds it to what the real one does.
"""

import asyncio
from collections.abc import Callable

from homi.address import Name
from homi.envelope import DECISIONS, LedgerLine, MessageId
from homi.errors import HomiError
from homi.store.base import Kept, Mail, Pruned
from homi.store.mailbox import Mailbox, stamp
from homi.store.trouble import unknown

PLENTY = 1 << 40  # bytes free, unless a test says otherwise


class MemoryStore:
    """Implements homi.store.base.Store.  Ready at once; start() only for likeness."""

    def __init__(self) -> None:
        """Empty and open."""
        self.fail_next = 0  # how many submits and records shall fail from now on
        self.closed_text = ""  # a test may close accept; evidence still goes through
        self._stopped = False
        self.free = PLENTY
        self.largest = PLENTY
        self.inboxes: dict[Name, bytearray] = {}
        self.ledgers: dict[Name, list[LedgerLine]] = {}
        self._boxes: dict[Name, Mailbox] = {}
        self._known: dict[tuple[Name, str, MessageId], tuple[bytes, int]] = {}

    def mailbox(self, name: Name) -> Mailbox:
        """The mailbox or out queue of that place, made when it is new."""
        if (box := self._boxes.get(name)) is None:
            inbox = self.inboxes.setdefault(name, bytearray())

            def read_line(offset: int, length: int) -> bytes:
                return bytes(inbox[offset : offset + length])

            box = self._boxes[name] = Mailbox(name, read_line)
            self.ledgers[name] = []
        return box

    def known(self, name: Name) -> Mailbox | None:
        """The same where there is one; none is made."""
        return self._boxes.get(name)

    def mailboxes(self) -> list[Mailbox]:
        """Every mailbox asked for so far."""
        return [box for box in self._boxes.values() if box.device is None]

    def queues(self) -> list[Mailbox]:
        """Every out queue asked for so far."""
        return [box for box in self._boxes.values() if box.device is not None]

    def submit(self, mail: Mail) -> None:
        """Keep mail and tell its done on the next turn of the loop."""
        if not mail.barred:
            self.mailbox(mail.place).expect(1, len(mail.tail))
        asyncio.get_running_loop().call_soon(self._commit, mail)

    def record(
        self,
        name: Name,
        line: LedgerLine,
        done: Callable[[bool], None] | None = None,
        *,
        durable: bool = False,
    ) -> None:
        """Keep line and tell done on the next turn of the loop."""
        weak = not durable and line.rung not in DECISIONS
        asyncio.get_running_loop().call_soon(self._append, name, line, done, weak)

    def prune(self, names: list[Name], before: str, done: Pruned) -> None:
        """Nothing is closed here, so nothing goes."""
        asyncio.get_running_loop().call_soon(done, [], None)

    def clear(self, before: float, done: Pruned) -> None:
        """There are no blobs here."""
        asyncio.get_running_loop().call_soon(done, [], None)

    def closed(self) -> str:
        """What a test, or aclose, wrote into closed_text."""
        return self.closed_text

    def refusal(self, _name: Name) -> HomiError:
        """No file is in the way."""
        return unknown(self.closed_text or "a write failed")

    def free_bytes(self) -> int:
        """What a test wrote into free."""
        return self.free

    def commits(self) -> tuple[int, float]:
        """None took any time."""
        return 0, 0.0

    def largest_line(self) -> int:
        """What a test wrote into largest."""
        return self.largest

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing to do."""

    async def aclose(self) -> None:
        """Refuse everything from now on."""
        self.closed_text = "stopped"
        self._stopped = True

    def _commit(self, mail: Mail) -> None:
        """Settle one mail as a batch of one."""
        if not mail.barred:
            self.mailbox(mail.place).expect(-1, len(mail.tail))
        key = (mail.place, mail.origin, mail.id)
        before = self._known.get(key)
        if before is not None:
            same = before[0] == mail.msg
            mail.kept = Kept.KNOWN if same else Kept.CONFLICT
            mail.seq = before[1] if same else 0
        elif mail.barred or self.closed_text or self._fails():
            mail.kept = Kept.FAILED
        else:
            self._store(mail)
            self._known[key] = (mail.msg, mail.seq)
        mail.done(mail)

    def _store(self, mail: Mail) -> None:
        """Give mail its seq and line, and let the mailbox know."""
        box = self.mailbox(mail.place)
        inbox = self.inboxes[mail.place]
        mail.seq = box.last_seq + 1
        line = b'{"v":1,"seq":%d,%b' % (mail.seq, mail.tail)
        mail.offset, mail.length = len(inbox), len(line)
        inbox += line
        mail.kept = Kept.STORED
        mail.item = box.arrived(
            mail.seq,
            mail.offset,
            mail.length,
            mail.head,
            mail.via,
            stamp(mail.tail),
            mail.to,
        )

    def _append(
        self,
        name: Name,
        line: LedgerLine,
        done: Callable[[bool], None] | None,
        weak: bool,
    ) -> None:
        """Give line its n and let the mailbox know."""
        shut = self._stopped or (self.closed_text and not weak)
        kept = not shut and not self._fails()
        if kept:
            box = self.mailbox(name)
            line.n = box.last_n + 1
            self.ledgers[name].append(line)
            box.apply(line)
        if done is not None:
            done(kept)

    def _fails(self) -> bool:
        """Whether a test wants this one to fail."""
        self.fail_next, fails = max(0, self.fail_next - 1), self.fail_next > 0
        return fails
