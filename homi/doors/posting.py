"""The verbs of mail: send, ack, and the waits for it.

Owns the waits of one connection.  homi-protocol(7) lists fields and answers.
"""

from collections.abc import Callable
from typing import Any

from homi.address import Name
from homi.callers import Caller
from homi.clock import Clock, rfc3339
from homi.doors.answers import Answer, Doer, Reply, Tally, not_reached, reached, report
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.envelope import LADDER, LedgerLine, MessageId, Rung, Via
from homi.errors import NoInput, TimedOut, Usage
from homi.postmaster import Result, Stamp, Submission
from homi.reports import Acked, Waited
from homi.requests import Ack, Await, CallerClass, Request, Send, Wait
from homi.store.places import titled
from homi.strict import parse_msg
from homi.watchers import Waiter


class Posting:
    """What one caller sends, records as seen and waits for."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """The postmark of this caller is made once."""
        self._office = office
        self._rights = rights
        self._clock = clock
        session = rights.caller.session
        self.stamp = Stamp(_via(rights.caller), session.ref if session else None)
        self._waits: set[Waiter[Any]] = set()

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {
            Send: self._send,
            Ack: self._ack,
            Wait: self._wait,
            Await: self._await,
        }

    def abandon(self) -> None:
        """The caller is gone: nobody waits for it any more."""
        for waiter in list(self._waits):
            waiter.cancel()
        self._waits.clear()

    def _send(self, request: Send, reply: Reply) -> None:
        """Store one message.  The reply names the rung it reached."""
        i, msg = request.i, bytes(request.msg)
        head = parse_msg(msg)
        sub = Submission(
            head,
            msg,
            self.stamp,
            head.to,
            lambda result: reply(i, self._report(result)),
        )
        if request.allow_secret is not None:
            sub.permit = self._rights.permit(request.allow_secret)
        if head.from_ != self._rights.caller.name and not self._rights.may_sign(head):
            self._office.postmaster.refuse(sub, self._rights.not_yours(head.from_))
            return
        self._office.postmaster.accept(sub)

    def _report(self, result: Result) -> Answer:
        """What became of it; of a room's with how many members that has."""
        return report(result, self._office.members(result.to))

    def _ack(self, request: Ack, reply: Reply) -> None:
        """Record envelopes as seen, durably; unknown ids refuse the whole."""
        name = self._rights.own_mailbox(request.name, "ack")
        box = self._office.store.mailbox(name)
        seqs: dict[str, int] = {}
        for given in request.ids:
            seq = box.seq_of(MessageId(given))
            if seq is None:
                raise NoInput(
                    f"no envelope {given[:64]} in the mailbox of {name}",
                    hint=f"homi inbox {name}",
                )
            seqs[given] = seq
        todo = [given for given in seqs if box.find(MessageId(given)) is not None]
        tally = Tally(len(todo), request.i, reply, Acked(name=name, ids=list(seqs)))
        session = self._rights.caller.session
        for given in todo:
            item = box.find(MessageId(given))
            if item is not None and session is not None:
                self._office.given(session.ref, name, item)
            line = LedgerLine(
                seq=seqs[given],
                id=MessageId(given),
                rung=Rung.SEEN,
                at=rfc3339(self._clock.wall()),
                by=self._rights.who(),
                proof=request.proof,
            )
            self._office.record(name, line, tally.done, durable=True)

    def _wait(self, request: Wait, reply: Reply) -> None:
        """Answer with the ids of pending mail after a seq, once there is some."""
        name = self._rights.own_mailbox(request.name, "wait")
        box, i = self._office.store.mailbox(name), request.i

        def check() -> Waited | None:
            fresh = [
                item
                for seq, item in box.pending.items()
                if seq > request.after and item.rung is not Rung.PARKED
            ]
            if not fresh:
                return None
            ids = [str(item.id) for item in fresh]
            return Waited(name=name, ids=ids, seq=fresh[-1].seq)

        def answer(found: Waited | None) -> None:
            late = TimedOut(f"no mail for {name} in time")
            reply(i, late if found is None else found)

        self._hold(name, check, answer, request.timeout)

    def _await(self, request: Await, reply: Reply) -> None:
        """Answer when an envelope reached a rung, or can no longer reach it."""
        found, i = self._rights.place(request.name), request.i
        if request.rung not in LADDER:
            raise Usage(
                f"{request.rung} is no rung to wait for",
                hint=f"one of {', '.join(LADDER)}",
            )
        box = self._office.store.mailbox(found.name)
        if box.seq_of(request.id) is None:
            where = titled(found.name)
            raise NoInput(f"no envelope {request.id[:64]} in {where}")

        def check() -> Answer | None:
            return reached(request.id, box.rung_of(request.id), request.rung, found.to)

        def answer(found: Answer | None) -> None:
            late: Answer = not_reached(request.rung, request.id, box.find(request.id))
            reply(i, late if found is None else found)

        self._hold(found.name, check, answer, request.timeout)

    def _hold(
        self,
        name: Name,
        check: Callable[[], Any],
        answer: Callable[[Any], None],
        timeout: float | None,
    ) -> None:
        """Wait on behalf of this connection; forgotten with it."""

        def answered(found: object) -> None:
            if waiter is not None:
                self._waits.discard(waiter)
            answer(found)

        waiter: Waiter[Any] | None = None
        waiter = self._office.watchers.wait(name, check, answered, timeout)
        if waiter is not None:
            self._waits.add(waiter)


def _via(caller: Caller) -> Via:
    """What the credentials of the connection prove."""
    session = caller.session
    return Via(
        door="control",
        uid=caller.uid,
        pid=caller.pid,
        session=session.session_id if session else None,
        session_name=session.name if session else None,
        verified=session is not None or caller.caller is CallerClass.PERSON,
    )
