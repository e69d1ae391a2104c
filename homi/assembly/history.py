"""The finished mail of a name, out of one mailbox and into another.

Owns which messages are history: those that ended here, not those that went on after
their name.  homi-move(1).
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from homi.address import Device, Name
from homi.admitted import ImportedRow
from homi.doors.importing import bring
from homi.doors.office import Office
from homi.envelope import FINISHED, Rung
from homi.errors import BadMessage, NotReached, StorageFailed, from_wire
from homi.mail import past
from homi.mail.mail import Mail
from homi.mail.past import read_line
from homi.store.index import Query

log = logging.getLogger("homi.moving")

BATCH = 256  # messages on their way into a mailbox at once
BYTES = 2 << 20  # of them, the last one counted whole: each is in memory some times
ENDED = frozenset(FINISHED - {Rung.MOVED})
HOPELESS = (NotReached.code, StorageFailed.code)  # the next would fare no better

Aside = Callable[..., Coroutine[Any, Any, Any]]


class History:
    """The history of the mailboxes of one device."""

    def __init__(self, root: str, device: Device) -> None:
        """Reads nothing yet."""
        self._root = Path(root)
        self._device = device

    def count(self, name: Name) -> int:
        """How many messages ended in the mailbox of a name; beside the loop."""
        with Mail(self._root, log.warning) as mail:
            return sum(1 for _ in mail.entries(_ended(name)))

    def lines(self, name: Name) -> Iterator[bytes]:
        """Each of them as an exported line, oldest first; beside the loop.  What
        cannot be read is told in the log, and stays behind."""
        with Mail(self._root, log.warning) as mail:
            for entry in mail.entries(_ended(name)):
                try:
                    one = past.exported(entry, mail.letter(entry).envelope)
                except StorageFailed as error:
                    log.warning("%s stays behind: %s", entry.id, error.text)
                    continue
                # Who wrote it here is elsewhere from there.
                via = {"device": self._device} | (one.via or {})
                yield past.line(past.replaced(one, via))


class Bringing:
    """History on its way into mailboxes here."""

    def __init__(self, office: Office, aside: Aside) -> None:
        """Stores nothing yet."""
        self._office = office
        self._aside = aside

    async def __call__(self, name: Name, lines: Iterable[bytes]) -> tuple[int, int]:
        """How many of these stand in the mailbox now, and how many cannot be stored;
        75 or 74 where the rest has to wait."""
        whole, stored, bad = iter(lines), 0, 0
        while some := await self._aside(_some, whole):
            rows = await asyncio.gather(*(self._one(name, line) for line in some))
            for row in rows:
                if row.code in HOPELESS:
                    raise from_wire(row.code, row.error, row.hint)
                stored += not row.code
                bad += bool(row.code)
        return stored, bad

    async def _one(self, name: Name, line: bytes) -> ImportedRow:
        """What became of one."""
        told: asyncio.Future[ImportedRow] = asyncio.get_running_loop().create_future()
        try:
            found = read_line(line, pending=False)
        except BadMessage as error:
            return ImportedRow(code=error.code, error=error.text)
        bring(self._office, name, found, (os.getuid(), os.getpid()), told.set_result)
        return await told


def _ended(name: Name) -> Query:
    """What asks for them."""
    return Query(names=(name,), rungs=ENDED)


def _some(lines: Iterator[bytes]) -> list[bytes]:
    """The next of them; HomiError where they cannot be read."""
    found, size = list[bytes](), 0
    for line in islice(lines, BATCH):
        found.append(line)
        size += len(line)
        if size >= BYTES:
            break
    return found
