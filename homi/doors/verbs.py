"""What each verb of the control socket does, for one caller.

Owns who may do what to whose mail; storing and delivering are below.
homi-protocol(7) lists verbs, fields and answers.
"""

from collections.abc import Callable
from typing import Any

from homi.address import BUILT_IN, OWNER, Name, parse_address, parse_claimable
from homi.callers import Caller
from homi.clock import Clock, rfc3339
from homi.doors.answers import Answer, Reply, Tally, not_reached, reached, report
from homi.doors.office import Office
from homi.envelope import LADDER, LedgerLine, MessageId, Msg, Rung, Via
from homi.errors import (
    CannotCreate,
    HomiError,
    NoInput,
    NoSuchName,
    NotAllowed,
    TimedOut,
    Usage,
)
from homi.postmaster import Stamp, Submission
from homi.requests import (
    Ack,
    Acked,
    Await,
    CallerClass,
    Claim,
    Claimed,
    Done,
    Hello,
    List,
    Queue,
    Release,
    Request,
    Send,
    Status,
    Stop,
    Wait,
    Waited,
    Whoami,
)
from homi.strict import parse_msg
from homi.watchers import Waiter


class Verbs:
    """The verbs as one caller may use them."""

    def __init__(self, office: Office, caller: Caller, clock: Clock) -> None:
        """The postmark of this caller is made once."""
        self.caller = caller
        self._office = office
        self._clock = clock
        self._stamp = Stamp(_via(caller))
        self._waits: set[Waiter[Any]] = set()
        self._doers: dict[type[Request], Callable[[Any, Reply], None]] = {
            Send: self._send,
            Ack: self._ack,
            Await: self._await,
            Claim: self._claim,
            Hello: self._again,
            List: self._list,
            Queue: self._queue,
            Release: self._release,
            Status: self._status,
            Stop: self._stop,
            Wait: self._wait,
            Whoami: self._whoami,
        }

    def do(self, request: Request, reply: Reply) -> None:
        """Do the verb; reply comes once, now or later; HomiError: refused."""
        self._doers[type(request)](request, reply)

    def abandon(self) -> None:
        """The caller is gone: nobody waits for it any more."""
        for waiter in list(self._waits):
            waiter.cancel()
        self._waits.clear()

    # ---- mail ----

    def _send(self, request: Send, reply: Reply) -> None:
        """Store one message.  The reply names the rung it reached."""
        i, msg = request.i, bytes(request.msg)
        head = parse_msg(msg)
        sub = Submission(
            head, msg, self._stamp, head.to, lambda result: reply(i, report(result))
        )
        if head.from_ != self.caller.name and not self._may_speak_as(head):
            self._office.postmaster.refuse(sub, self._not_yours(head.from_))
            return
        self._office.postmaster.accept(sub)

    def _may_speak_as(self, head: Msg) -> bool:
        """Whether this caller may sign with the sender of head."""
        sender = Name(head.from_)
        if self.caller.caller is CallerClass.SESSION:
            return self._owns(sender)
        if sender == OWNER:
            return self.caller.caller is CallerClass.PERSON
        return self._office.names.get(sender) is not None and sender not in BUILT_IN

    def _not_yours(self, sender: str) -> HomiError:
        """Why this caller may not speak as sender."""
        if self.caller.caller is CallerClass.SESSION:
            return NotAllowed(
                f"the name {sender[:64]!r} is not this session's",
                hint=f"this session is {self.caller.name}",
            )
        if sender == OWNER:
            return NotAllowed(
                "only a person at a terminal speaks as owner",
                hint="name a claimed name with --from",
            )
        return NoSuchName(
            f"no name {sender[:64]!r} on this device to send as",
            hint="homi claim it first, or name another with --from",
        )

    def _ack(self, request: Ack, reply: Reply) -> None:
        """Record envelopes as seen, durably; unknown ids refuse the whole."""
        name = self._mailbox_of_mine(request.name, "ack")
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
        for given in todo:
            line = LedgerLine(
                seq=seqs[given],
                id=MessageId(given),
                rung=Rung.SEEN,
                at=rfc3339(self._clock.wall()),
                by=self._who(),
                proof=request.proof,
            )
            self._office.record(name, line, tally.done, durable=True)

    def _wait(self, request: Wait, reply: Reply) -> None:
        """Answer with the ids of pending mail after a seq, once there is some."""
        name = self._mailbox_of_mine(request.name, "wait")
        box, i = self._office.store.mailbox(name), request.i

        def check() -> Waited | None:
            fresh = [item for seq, item in box.pending.items() if seq > request.after]
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
        name, i = self._mailbox(request.name), request.i
        if request.rung not in LADDER:
            raise Usage(
                f"{request.rung} is no rung to wait for",
                hint=f"one of {', '.join(LADDER)}",
            )
        box = self._office.store.mailbox(name)
        if box.seq_of(request.id) is None:
            raise NoInput(f"no envelope {request.id[:64]} in the mailbox of {name}")

        def check() -> Answer | None:
            return reached(request.id, box.rung_of(request.id), request.rung, name)

        def answer(found: Answer | None) -> None:
            late: Answer = not_reached(request.rung, request.id, box.find(request.id))
            reply(i, late if found is None else found)

        self._hold(name, check, answer, request.timeout)

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

    # ---- names ----

    def _claim(self, request: Claim, reply: Reply) -> None:
        """Make a name; repeating it is no error."""
        name = parse_claimable(request.name)
        if request.take:
            self._needs_person("claim --take")
        claim, fresh = self._office.names.claim(name, request.cwd, self._clock.wall())
        if request.take:
            self._office.take(name)
        if why := self._office.unbound(claim.number):
            raise CannotCreate(f"{name} is claimed, but its socket cannot be: {why}")
        owner = self._office.owners.owner(name)
        reply(
            request.i,
            Claimed(
                name=claim.name,
                fresh=fresh,
                socket=self._office.socket_for(name),
                owner=owner.pid if owner else 0,
            ),
        )

    def _release(self, request: Release, reply: Reply) -> None:
        """End a claim; its mail stays on disk."""
        name = parse_claimable(request.name)
        if self.caller.caller is CallerClass.SESSION and not self._owns(name):
            raise NotAllowed(f"the name {name} is not this session's")
        self._office.names.release(name)
        pending = len(self._office.store.mailbox(name).pending)
        reply(request.i, Done(text=f"released {name}", pending=pending))

    # ---- state ----

    def _list(self, request: List, reply: Reply) -> None:
        reply(request.i, self._office.listing())

    def _queue(self, request: Queue, reply: Reply) -> None:
        name = None if request.name is None else self._mailbox(request.name)
        reply(request.i, self._office.queue(name))

    def _status(self, request: Status, reply: Reply) -> None:
        reply(request.i, self._office.status())

    def _whoami(self, request: Whoami, reply: Reply) -> None:
        reply(request.i, self._office.identity(self.caller))

    def _stop(self, request: Stop, reply: Reply) -> None:
        reply(request.i, Done(text="stopping"))
        self._office.stop()

    def _again(self, request: Hello, reply: Reply) -> None:
        raise Usage("hello was said already")

    # ---- whose ----

    def _owns(self, name: Name) -> bool:
        """Whether the calling session may decide over this name's mail now."""
        session = self.caller.session
        return session is not None and self._office.owners.belongs(name, session)

    def _mailbox(self, given: str) -> Name:
        """The local mailbox of an address."""
        return self._office.mailbox_name(parse_address(given))

    def _mailbox_of_mine(self, given: str | None, verb: str) -> Name:
        """The mailbox a changing verb means; 64 none named, 77 another's."""
        if given is None:
            if self.caller.name is None:
                raise Usage(f"{verb} needs a name here", hint=f"homi {verb} NAME")
            return self._mailbox(self.caller.name)
        name = self._mailbox(given)
        if self.caller.caller is CallerClass.SESSION and not self._owns(name):
            raise NotAllowed(
                f"the mailbox of {name} is not this session's",
                hint=f"this session is {self.caller.name}",
            )
        if name == OWNER and self.caller.caller is not CallerClass.PERSON:
            raise NotAllowed("only a person at a terminal does this for owner")
        return name

    def _needs_person(self, what: str) -> None:
        """77 unless a person at a terminal calls."""
        if self.caller.caller is not CallerClass.PERSON:
            raise NotAllowed(f"{what} needs a person at a terminal")

    def _who(self) -> str:
        """Who decided, as the ledger keeps it."""
        return f"{self.caller.name or self.caller.caller} pid {self.caller.pid}"


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
