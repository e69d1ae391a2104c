"""The lines of one place, read in runs: for who takes them one after the other.

Owns one piece of the journal, and the check that what stands in it is the line that
was asked for; the mailbox itself reads all else.
"""

from homi.envelope import Envelope, decode_envelope
from homi.store.mailbox import Item, Mailbox

PIECE = 64 << 10  # bytes: opening a file for a line costs more than to read sixty


class Ahead:
    """Reads pending envelopes; keeps one piece at the most."""

    def __init__(self, box: Mailbox) -> None:
        """Nothing is read yet."""
        self._box = box
        self._start = 0
        self._piece = b""

    def read(self, item: Item) -> Envelope:
        """As Mailbox.read(); the lines behind it are at hand afterwards."""
        at, length = item.offset - self._start, item.length
        if not 0 <= at <= len(self._piece) - length:
            if length > PIECE:
                return self._box.read(item)
            self._load(item)
            at = 0
        line = self._piece[at : at + length]
        try:
            envelope = decode_envelope(line)
        except (ValueError, RecursionError):
            return self._again(item)
        # The journal may be another by now, or its lines may stand elsewhere.
        if envelope.seq != item.seq or item.id.encode() not in line:
            return self._again(item)
        return envelope

    def forget(self) -> None:
        """Keep nothing in memory."""
        self._piece = b""

    def _load(self, item: Item) -> None:
        """The piece that begins with its line; nothing where it cannot be read."""
        self._start = item.offset
        try:
            self._piece = self._box.piece(item.offset, PIECE)
        except OSError:
            self._piece = b""

    def _again(self, item: Item) -> Envelope:
        """The line alone, from the file as it is now."""
        self.forget()
        return self._box.read(item)
