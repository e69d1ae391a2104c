"""How far an envelope got, as one ledger line after another tells.

Owns what a line makes of what stood before it; pure.  homi-mailbox(5).
"""

from typing import Protocol

from homi.envelope import FINISHED, LADDER, LedgerLine, Reason, Rung, SessionRef

HANDED_OVER = frozenset({Rung.OFFERED, Rung.TAKEN})


class Standing(Protocol):
    """How far an envelope got, as its ledger lines tell."""

    rung: Rung
    reason: Reason | None
    session: SessionRef | None  # of the last hand-over
    taken: bool  # it stands in that session's conversation
    repeat: bool  # must carry the repeat mark if offered again


def follow(standing: Standing, line: LedgerLine) -> None:
    """What a ledger line makes of an envelope that is pending."""
    standing.rung = line.rung
    standing.reason = line.reason
    if line.session is not None:
        standing.session = line.session
    if line.rung is Rung.INTENT:
        standing.taken = False
    elif line.rung is Rung.TAKEN:
        standing.taken = True
    if line.repeat or line.rung in HANDED_OVER:
        standing.repeat = True


def climbed(ended: Rung, later: Rung) -> Rung:
    """The rung of a finished envelope behind a later line: it may rise, and end only
    where it had gone on to another device."""
    if ended is Rung.RELAYED and later in FINISHED:
        return later
    if ended in LADDER and later in LADDER:
        return max(ended, later, key=LADDER.index)
    return ended
