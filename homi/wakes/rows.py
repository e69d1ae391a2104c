"""A wake as it is listed.

Owns the one word for how it is; asks nobody.  homi-wake(1) has the words.
"""

from homi.clock import rfc3339
from homi.wakes.letter import described
from homi.wakes.progress import Progress
from homi.wakes.state import TIMED, Wake
from homi.woken import WakeRow


def row(wake: Wake, at: Progress, next_: float | None, *, unread: bool) -> WakeRow:
    """One row.  next_: wall seconds of its next firing."""
    return WakeRow(
        id=wake.id,
        to=wake.to,
        from_=wake.from_,
        by=wake.by,
        at=wake.at,
        trigger=described(wake),
        state=_state(wake, at, unread=unread),
        next="" if next_ is None else rfc3339(next_),
        last=rfc3339(at.at) if at.at else "",
        message=at.last,
        fired=at.fired,
        missed=at.missed,
        skipped=at.skipped,
        failure=at.failure,
        fix=at.fix,
        until=wake.until,
        most=wake.most,
        spawn=wake.spawn,
    )


def _state(wake: Wake, at: Progress, *, unread: bool) -> str:
    """How it is, in a word: what a person must know first."""
    if at.ended:
        return at.state or "done"
    if wake.paused:
        return "paused"
    if at.state:
        return at.state
    if wake.trigger.kind not in TIMED and wake.trigger.kind != "exit" and not at.seeded:
        return "looking"
    return "unread" if unread else "on"
