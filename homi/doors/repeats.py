"""Likely second tries of a line that was stored while its sender saw an error.

Owns the memory of the last letters before an unclean end.  Marks only: nothing
is ever dropped for looking alike.  homi-mailbox(5) describes the mark.
"""

import hashlib
import logging
from collections.abc import Iterable

import msgspec

from homi.address import Name
from homi.envelope import decode_msg
from homi.errors import HomiError
from homi.store.mailbox import Mailbox

log = logging.getLogger("homi.peer")

# Envelopes looked back per mailbox: a death can cut off no more senders than the
# door had connections.
LOOK_BACK = 256


class Repeats:
    """The last letter of each sender session to each name, before the end."""

    def __init__(self, doubtful: Iterable[Mailbox] = ()) -> None:
        """doubtful: the mailboxes found after an unclean end, none after a clean."""
        self._last: dict[tuple[str, Name], bytes] = {}
        for mailbox in doubtful:
            self._remember(mailbox)

    def is_repeat(self, session: str | None, place: str, text: str) -> bool:
        """Whether this is the first letter like the last one before the end."""
        if not self._last or session is None:
            return False
        key = (session, Name(place))
        if self._last.get(key) != _digest(text):
            return False
        del self._last[key]
        return True

    def _remember(self, mailbox: Mailbox) -> None:
        """Note the newest peer letter of each sender that is still pending."""
        senders: set[str] = set()
        newest = list(mailbox.pending.values())[-LOOK_BACK:]
        for item in reversed(newest):
            if item.sender in senders:
                continue
            senders.add(item.sender)
            try:
                envelope = mailbox.read(item)
                text = decode_msg(envelope.msg).text
            except (HomiError, msgspec.DecodeError) as error:
                log.warning("%s not compared with later letters: %s", item.id, error)
                continue
            if envelope.via.door == "peer" and envelope.via.session is not None:
                key = (envelope.via.session, mailbox.name)
                self._last.setdefault(key, _digest(text))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
