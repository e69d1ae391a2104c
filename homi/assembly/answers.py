"""What a turn or a run ended with, stored as the answer to what it was asked.

Owns the id of such an answer: one that is stored again after a crash is the same.
homi-legs(7).
"""

from collections.abc import Callable

from homi import ids
from homi.address import Name
from homi.commands.binding import CLIENT
from homi.commands.run import Plan
from homi.envelope import Kind, MessageId, Msg, SessionRef, Via, encode
from homi.errors import NotReached, StorageFailed
from homi.legs.base import Letter
from homi.legs.command import Answer as RunAnswer
from homi.legs.threads import Answer
from homi.postmaster import Postmaster
from homi.sessions import Session
from homi.submission import Result, Stamp, Submission

TURN_END = "turn-end"  # a tag: nobody wrote it as an answer, a turn ended with it

Told = Callable[[bool], None]


def turn_end(postmaster: Postmaster) -> Answer:
    """What stores the last words of a turn that was asked something as the answer."""

    def answer(letter: Letter, session: Session, text: str, told: Told) -> None:
        msg, via = letter.msg, letter.envelope.via
        to = msg.from_ if via.device is None else f"{msg.from_}@{via.device}"
        head = _head(letter.place, to, msg.id, text)
        _store(postmaster, head, session.ref, told)

    return answer


def run_end(postmaster: Postmaster) -> RunAnswer:
    """What stores what a command said as the answer to the letter it was given."""

    def answer(plan: Plan, text: str, told: Told) -> None:
        ref = SessionRef(0, f"{CLIENT}:{plan.body}", plan.body)
        head = _head(plan.name, plan.to, plan.message, text)
        _store(postmaster, head, ref, told)

    return answer


def _head(name: Name, to: str, question: MessageId, text: str) -> Msg:
    """The answer of name; its id is made of the question's, so that one that is stored
    again after a crash is the same."""
    return Msg(
        id=MessageId(ids.derived(TURN_END, name, question)),
        from_=name,
        to=to,
        text=text,
        kind=Kind.REPLY,
        reply_to=question,
        tags=[TURN_END],
    )


def _store(postmaster: Postmaster, head: Msg, ref: SessionRef, told: Told) -> None:
    """Have it accepted; told whether that is done with."""

    def settle(result: Result) -> None:
        # What is refused for good is read all the same.
        told(not isinstance(result.error, NotReached | StorageFailed))

    postmark = Via(door="homi", session=ref.id, verified=True)
    postmaster.accept(
        Submission(head, encode(head), Stamp(postmark, ref), head.to, settle)
    )
