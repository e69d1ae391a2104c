"""A process that stores mail as fast as it can, until it is killed.

Prints the id of each mail on a line of its own before it submits it (`try`) and
once it is acknowledged (`ok`), so that whoever killed it knows what was promised.
Fault points come by HOMI_FAULT, as for the daemon.
"""

import asyncio
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

from homi.address import Name
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import LedgerLine, MessageId, Msg, Rung, Via, encode, origin
from homi.store import engine
from homi.store.base import Kept, Mail
from homi.store.store import DiskStore

AT = "2026-11-29T22:30:00.123Z"
VIA = Via(door="control", uid=1000)
SENDERS = 6
NAMES = ("ada", "bob", "@mini")  # two mailboxes and an out queue


def say(word: str, mail: Mail) -> None:
    """One line, written whole: a kill must not tear it."""
    os.write(1, f"{word} {mail.place} {mail.id}\n".encode())


class Sender:
    """Sends one mail after the other to its name; every fourth is acked."""

    def __init__(self, store: DiskStore, number: int, pad: str) -> None:
        """Nothing is sent yet."""
        self._store = store
        self._place = Name(NAMES[number % len(NAMES)])
        self._number = number
        self._pad = pad
        self._sent = 0

    def send(self) -> None:
        """Submit the next one."""
        self._sent += 1
        text = f"{self._number}/{self._sent} {self._pad}"
        message = MessageId(str(uuid.uuid4()))
        head = Msg(id=message, from_=f"s{self._number}", to=self._place, text=text)
        msg = encode(head)
        tail = b'"at":"%b","to":"%b","via":%b,"msg":%b}\n' % (
            AT.encode(),
            self._place.encode(),
            encode(VIA),
            msg,
        )
        mail = Mail(self._place, origin(VIA), head, VIA, msg, tail, self._done)
        say("try", mail)
        self._store.submit(mail)

    def _done(self, mail: Mail) -> None:
        assert mail.kept is Kept.STORED, mail.kept
        say("ok", mail)
        rung = Rung.DROPPED if mail.seq % 4 == 0 else Rung.OFFERED
        self._store.record(
            mail.place,
            LedgerLine(seq=mail.seq, id=mail.id, rung=rung, at=AT),
            self._recorded(mail, rung),
        )
        self.send()

    @staticmethod
    def _recorded(mail: Mail, rung: Rung) -> Callable[[bool], None]:
        def done(ok: bool) -> None:
            assert ok
            say(rung.value, mail)

        return done


async def main(root: Path, pad: int) -> None:
    """Send until killed."""
    engine.CHECKPOINT_IDLE = 0.01  # type: ignore[assignment]
    store = DiskStore.open(root, Config(ring=1), SystemClock())
    store.start(asyncio.get_running_loop())
    os.write(1, b"ready - -\n")
    for number in range(SENDERS):
        Sender(store, number, "x" * pad).send()
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
