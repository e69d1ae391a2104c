"""The mail of a state root for a command: what is damaged is told on stderr.

Owns nothing else; homi.mail reads.  homi-mailbox(5) has the files.
"""

from collections.abc import Iterator
from pathlib import Path

from homi import mail
from homi.address import OWNER, Name
from homi.cli.caller import Self, measure, own
from homi.cli.output import note
from homi.cli.progress import Progress
from homi.envelope import decode_envelope
from homi.errors import NotAllowed, StorageFailed
from homi.mail.places import readable
from homi.requests import CallerClass
from homi.store.index import Entry, Query
from homi.store.places import device_of


class Mail(mail.Mail):
    """The mailboxes under one state root, and what is in them."""

    def __init__(self, root: Path) -> None:
        """Nothing is read yet.  A root others can reach is refused (78)."""
        super().__init__(root, note, Progress("reading mail into the index,"))
        self._me: Self | None = None  # who reads, once that matters

    def place(self, text: str) -> Name:
        """As of every mail; self is the caller's own name."""
        return super().place(own(self.root, text))

    def recipient(self, text: str) -> str:
        """As of every mail; self is the caller's own name."""
        return super().recipient(own(self.root, text))

    def entries(self, query: Query) -> Iterator[Entry]:
        """As of every mail; an agent is shown nothing that is for a person."""
        return (one for one in super().entries(query) if not self._for_person(one))

    def line(self, entry: Entry) -> bytes:
        """As of every mail; 77 where it is for a person, and an agent reads."""
        if self._for_person(entry):
            raise NotAllowed(f"{entry.id} is for a person", hint="homi-answer(1)")
        return super().line(entry)

    def brief(self, entry: Entry, wanted: bool = True) -> str | None:
        """As of every mail; nothing of what is for a person, where an agent reads."""
        return super().brief(entry, wanted and not self._for_person(entry))

    def _for_person(self, entry: Entry) -> bool:
        """Whether it needs a person and who reads is an agent that did not write it."""
        if entry.name != OWNER and device_of(entry.name) is None:
            return False
        if self._me is None:
            self._me = measure(self.root)
        if self._me.caller is not CallerClass.SESSION:
            return False
        if entry.device is None and entry.from_ == self._me.name:
            return False
        try:
            envelope = decode_envelope(super().line(entry))
        except (StorageFailed, ValueError, RecursionError):
            return False
        msg = readable(envelope.msg)
        return msg is None or bool(msg.needs)
