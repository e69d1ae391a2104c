"""Which hand-overs a power cut may have made doubtful.

Owns boot.json.  A process death loses no evidence; a power cut may lose what was
appended unsynced, so what was stored before it is offered with the repeat mark.
"""

import logging
import os

import msgspec

from homi.clock import Clock, boot_id, rfc3339
from homi.errors import StorageFailed
from homi.store.disk import Disk
from homi.store.mailbox import Mailbox
from homi.store.state import StateFile

BOOT = "boot.json"

log = logging.getLogger("homi.store")


class _State(msgspec.Struct, kw_only=True):
    """Which boot the last daemon ran under and how it ended."""

    boot: str = ""
    clean: bool = False  # it left an empty ring behind: nothing was unsynced
    doubt: str = ""  # RFC 3339: mail stored before may have been handed over


class Boots:
    """The boots a state root has seen."""

    def __init__(self, root: str, disk: Disk, clock: Clock) -> None:
        """Read what the last daemon left."""
        self._file = StateFile(os.path.join(root, BOOT), disk, _State)
        before, self.findings = self._file.load()
        self._clock = clock
        now = boot_id()
        self._there = before and msgspec.structs.replace(before)
        self._state = before or _State(clean=True)
        self.clean = self._state.clean  # how the last daemon ended
        self.fresh_doubt = not self._state.clean and (
            not now or now != self._state.boot
        )
        self._state.boot = now
        self._state.clean = False

    def begin(self, mailboxes: list[Mailbox]) -> None:
        """Doubt what has to be doubted, and be under way: durable on return."""
        state = self._state
        if self.fresh_doubt:
            # Our own clock may have stepped back while the power was off.
            newest = max(
                (i.at for b in mailboxes for i in b.pending.values()), default=""
            )
            state.doubt = max(newest, rfc3339(self._clock.wall()))
        if state.doubt:
            for box in mailboxes:
                for item in box.pending.values():
                    if item.at <= state.doubt:
                        box.doubt(item)
        # A restart on a full disk finds it as it was written before.
        if state != self._there:
            self._file.save(state)

    def end(self) -> None:
        """Everything is synced: the next start has nothing to doubt anew.  Where that
        cannot be written it doubts too much, and nothing is lost."""
        self._state.clean = True
        try:
            self._file.save(self._state)
        except StorageFailed as error:
            log.warning("the next start will think this one was killed: %s", error.text)
