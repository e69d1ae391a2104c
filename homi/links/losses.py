"""What is known to be lost over there, or was not compared: per queue, its first seq.

Owns recall.json, so that a crash while some are sent again forgets none of them.
homi-mailbox(5) has the fields.
"""

import logging

import msgspec

from homi.address import Name
from homi.errors import StorageFailed
from homi.store.state import StateFile

log = logging.getLogger("homi.links")

FILE = "recall.json"


class Marks(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The whole of recall.json."""

    lost: dict[str, int] = {}  # by queue: the first seq that is being sent again


class Losses:
    """How far back each queue has to be compared."""

    def __init__(self, file: StateFile[Marks]) -> None:
        """Load the file."""
        self._file = file
        found, self.findings = file.load()
        self._lost = dict(found.lost) if found else {}
        self._doubts: dict[Name, int] = {}  # up to that seq nothing was compared

    def first(self, queue: Name) -> int | None:
        """From which seq of that queue on all has to be compared, though its newest are
        known there: some were being sent again, or went before there was an answer."""
        known = [seqs[queue] for seqs in (self._lost, self._doubts) if queue in seqs]
        return min(known, default=None)

    def marked(self, queue: Name) -> bool:
        """Whether some are known to be lost: no newer mail may get in front of them."""
        return queue in self._lost

    def doubt(self, queue: Name, newest: int) -> bool:
        """It goes without an answer; whether it did so before."""
        before = queue in self._doubts
        self._doubts.setdefault(queue, newest)
        return before

    def compared(self, queue: Name) -> None:
        """There was an answer, as far back as it had to be."""
        self._doubts.pop(queue, None)

    def mark(self, queue: Name, seq: int) -> None:
        """From that seq on some are being sent again: not forgotten in a crash."""
        if self._lost.get(queue, seq + 1) > seq:
            self._lost[queue] = seq
            self._save()

    def unmark(self, queue: Name) -> None:
        """All is there again."""
        if self._lost.pop(queue, None) is not None:
            self._save()

    def _save(self) -> None:
        try:
            self._file.save(Marks(lost=self._lost))
        except StorageFailed as error:
            # The next meeting asks about the newest all the same.
            log.warning("%s", error.text)
