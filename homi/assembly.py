"""Rooms and bodies, joined to the parts of a daemon that they concern.

Owns who tells them what; what comes of it is theirs.  homi-room(1).
"""

import os
from collections.abc import Callable

from homi import ids
from homi.address import Name
from homi.courier.courier import Courier
from homi.courier.orders import Job
from homi.doors.office import Office, Shown
from homi.envelope import (
    Kind,
    LedgerLine,
    MessageId,
    Msg,
    Reason,
    Rung,
    Via,
    encode,
)
from homi.errors import NotReached, StorageFailed
from homi.legs.base import Letter
from homi.legs.threads import Answer
from homi.postmaster import Postmaster
from homi.reach import Reach
from homi.requests import Deed
from homi.rooms.fanout import Fanout
from homi.rooms.state import Rooms, State
from homi.sessions import Session
from homi.store.disk import RealDisk
from homi.store.mailbox import Item
from homi.store.state import StateFile
from homi.submission import Result, Stamp, Submission

FILE = "rooms.json"
DAY = 86_400.0  # s
TURN_END = "turn-end"  # a tag: nobody wrote it as an answer, a turn ended with it


def connect(office: Office, courier: Courier, reach: Reach) -> Fanout:
    """Read who is in which room; what comes is fanned out from start() on."""
    path = os.path.join(office.root, FILE)
    rooms = Rooms(StateFile(path, RealDisk(), State), office.names)
    patience = office.config.bounce_after * DAY
    ways = (office.store, office.postmaster, office.record_end)
    fanout = Fanout(rooms, *ways, reach.clock, patience)
    office.rooms = fanout
    moved, explain, order = office.moved, office.explain, office.order

    def tell(name: Name, line: LedgerLine) -> None:
        moved(name, line)
        fanout.recorded(name, line)

    def shown(place: Name, item: Item) -> Shown:
        known = fanout.explain if rooms.has(place) else explain
        rung, reason, until = known(place, item)
        if rung is Rung.HELD and reason is Reason.NO_OWNER:
            # What it is bound to has no session just now, and that is known better.
            reason = reach.why(place) or reason
        return rung, reason, until

    def ordered(name: Name, job: Job) -> None:
        if job.do is Deed.FLUSH and rooms.has(name):
            fanout.flush(name)
        order(name, job)

    office.moved, office.explain, office.order = tell, shown, ordered
    office.absent = reach.why
    reach.answer(turn_end(office.postmaster))
    courier.subscribe(lambda name, _item, line: fanout.recorded(name, line))
    office.names.subscribe(lambda name, _claim: fanout.revive(name))
    return fanout


def turn_end(postmaster: Postmaster) -> Answer:
    """What stores the last words of a turn that was asked something as the answer.

    Its id is made of the question's, so that one that is stored again after a crash is
    the same.
    """

    def answer(
        letter: Letter, session: Session, text: str, told: Callable[[bool], None]
    ) -> None:
        msg, via = letter.msg, letter.envelope.via
        to = msg.from_ if via.device is None else f"{msg.from_}@{via.device}"
        head = Msg(
            id=MessageId(ids.derived(TURN_END, letter.place, msg.id)),
            from_=letter.place,
            to=to,
            text=text,
            kind=Kind.REPLY,
            reply_to=msg.id,
            tags=[TURN_END],
        )

        def settle(result: Result) -> None:
            # What is refused for good is read all the same.
            told(not isinstance(result.error, NotReached | StorageFailed))

        postmark = Via(door="homi", session=session.session_id, verified=True)
        stamp = Stamp(postmark, session.ref)
        postmaster.accept(Submission(head, encode(head), stamp, to, settle))

    return answer
