"""What a turn ended with, stored as the answer to what it was asked.

Owns the id of such an answer: one that is stored again after a crash is the same.
homi-legs(7).
"""

from collections.abc import Callable

from homi import ids
from homi.envelope import Kind, MessageId, Msg, Via, encode
from homi.errors import NotReached, StorageFailed
from homi.legs.base import Letter
from homi.legs.threads import Answer
from homi.postmaster import Postmaster
from homi.sessions import Session
from homi.submission import Result, Stamp, Submission

TURN_END = "turn-end"  # a tag: nobody wrote it as an answer, a turn ended with it


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
