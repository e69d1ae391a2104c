"""What another device may ask, and the grant that each question needs.

Owns the decision; what is answered comes from who knows it, and which verb is which
question's is links.traffic's.  homi-protocol(7) lists them.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import msgspec

from homi.address import Device
from homi.errors import HomiError, NotAllowed, Usage
from homi.links.exchange import Exchange
from homi.links.frames import Req
from homi.links.traffic import Question
from homi.strict import plain

Answer = msgspec.Struct | HomiError
Reply = Callable[[Answer], None]


class Grant(StrEnum):
    """What a device may be granted."""

    NAMES = "names"  # to see which names are claimed here, and how they are
    TRACE = "trace"  # to see what became of the messages it sent
    CHECK = "check"  # to have a probe kept, and answered
    MOVE = "move"  # to have names moved here and from here
    ROOM = "room"  # to have its names join rooms here, and to see who is in them
    BLOB = "blob"  # to leave a blob here, and to get one by its hash
    SEATS = "seats"  # to look at the seats here, and to drive them


# A device of the same person may ask all of it, but type into a terminal.
DEFAULT = frozenset(Grant) - {Grant.SEATS}


class Asker(NamedTuple):
    """Who asks."""

    device: Device
    key: str  # SHA256:…, as the postmarks of its mail have it


Doer = Callable[[Asker, bytes, Reply], None]  # asker, the whole line, the way back


class Answering:
    """Makes answers of what does something for who may ask it."""

    def __init__(self, grants: Callable[[Device], frozenset[Grant]]) -> None:
        """grants: what a device has been granted."""
        self._grants = grants

    def guarded(self, grant: Grant, question: Question) -> Question:
        """The question for those who have the grant; all others get an error."""

        def asked(exchange: Exchange, req: Req, line: bytes) -> None:
            peer = exchange.peer
            if peer is None or grant not in self._grants(peer.device):
                who = "nobody" if peer is None else peer.device
                why = f"{who} is not granted {grant} here"
                exchange.reply(req.i, NotAllowed(why, reason="policy"))
            else:
                question(exchange, req, line)

        return asked

    def done_by(self, grant: Grant, doer: Doer) -> Question:
        """What doer does, guarded; nothing that a question holds ends the link."""

        def asked(exchange: Exchange, req: Req, line: bytes) -> None:
            i, peer = req.i, exchange.peer
            if peer is None:
                return
            asker = Asker(peer.device, peer.fingerprint)
            try:
                doer(asker, line, lambda answer: exchange.reply(i, answer))
            except HomiError as error:
                exchange.reply(i, error)
            except (msgspec.DecodeError, RecursionError) as error:
                words = f"{req.verb} not understood: {plain(error)}"
                exchange.reply(i, Usage(words))

        return self.guarded(grant, asked)
