"""The verbs of questions: ask, and what an answer needs to know.

Owns the waits for answers of one connection.  homi-protocol(7) lists fields and
answers, homi-ask(1) the rules.
"""

from functools import partial

from homi.address import OWNER, Name, parse_address
from homi.doors.answers import ENDED, Answer, Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.envelope import ANSWERED_KINDS, Kind, MessageId, Msg
from homi.errors import BadMessage, HomiError, NotReached, TimedOut, Usage
from homi.gate import answerer
from homi.ids import is_id
from homi.postmaster import Result, Stamp, Submission
from homi.reports import Answered, Found
from homi.requests import About, Ask, CallerClass, Request
from homi.routing import resolve
from homi.store.places import titled
from homi.strict import parse_msg
from homi.watchers import Waiter


class Asking:
    """What one caller asks, and what it is about to answer."""

    def __init__(self, office: Office, rights: Rights, stamp: Stamp) -> None:
        """stamp: the postmark of this caller."""
        self._office = office
        self._rights = rights
        self._stamp = stamp
        self._held: list[tuple[MessageId, Name]] = []  # asked, and where answers come
        self._waits: dict[MessageId, Waiter[object]] = {}
        self._gone = False

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Ask: self._ask, About: self._about}

    def abandon(self) -> None:
        """The caller is gone: its answers go where all mail goes."""
        self._gone = True
        for waiter in list(self._waits.values()):
            waiter.cancel()
        self._waits.clear()
        while self._held:
            self._let_go(*self._held[0])

    # ---- ask ----

    def _ask(self, request: Ask, reply: Reply) -> None:
        """Store the question, then wait for what its reader says."""
        i, msg = request.i, bytes(request.msg)
        head = parse_msg(msg)
        if head.kind is not Kind.ASK:
            raise BadMessage(f"a message of kind {head.kind} asks nothing")
        done = _Kept(self, request, head, reply)
        sub = Submission(head, msg, self._stamp, head.to, done)
        if request.allow_secret is not None:
            sub.permit = self._rights.permit(request.allow_secret)
        if head.from_ != self._rights.caller.name and not self._rights.may_sign(head):
            self._office.postmaster.refuse(
                Submission(head, msg, self._stamp, head.to, lambda _: None),
                refusal := self._rights.not_yours(head.from_),
            )
            reply(i, refusal)
            return
        # Whatever is answered must find a mailbox, and this caller waiting.
        name = self._office.postmaster.open(head.from_)
        self._office.asks.hold(head.id)
        self._held.append((head.id, name))
        self._office.postmaster.accept(sub)

    def kept(self, request: Ask, head: Msg, reply: Reply, result: Result) -> None:
        """The question is stored, or refused."""
        name = next((n for ask, n in self._held if ask == head.id), None)
        if name is None:
            return  # the caller went away meanwhile
        if result.error is not None:
            self._let_go(head.id, name)
            reply(request.i, result.error)
            return
        try:
            place = resolve(parse_address(result.to), self._office.facts).name
        except HomiError as error:  # what it was for is gone again
            self._let_go(head.id, name)
            reply(request.i, error)
            return
        self._office.asks.asked(head.id, answerer(result.to, head.needs))
        wait = partial(self._wait, request, head.id, (name, place), reply)
        if not result.duplicate:
            wait()
            return

        def looked(found: Answered | None) -> None:
            if (head.id, name) not in self._held:
                return  # the caller went away meanwhile
            if found is not None:
                self._office.asks.found(head.id, found)
            wait()

        # Before its own end is looked at: what expired may have left its default.
        self._office.answer_to(head.id, name, looked)

    def _wait(
        self, request: Ask, ask: MessageId, where: tuple[Name, Name], reply: Reply
    ) -> None:
        """Answer with the answer, or why there will be none."""
        asks, i = self._office.asks, request.i
        name, place = where
        box = self._office.store.mailbox(place)

        def check() -> Answer | None:
            found = asks.find(ask)
            rung = box.rung_of(ask)
            if found is None and rung in ENDED:
                return NotReached(
                    f"the question {ask} is {rung}, it will not be answered",
                    hint=f"homi trace {ask}",
                )
            return found

        def answer(found: object | None) -> None:
            self._waits.pop(ask, None)
            if not isinstance(
                found, Answered
            ):  # that one stays theirs until it is read
                self._let_go(ask, name)
            if isinstance(found, Answered | HomiError):
                reply(i, found)
            else:
                reply(i, _late(ask, titled(place), name))

        waiter = asks.waits.wait(ask, check, answer, request.timeout)
        if waiter is not None:
            self._waits[ask] = waiter

    def _let_go(self, ask: MessageId, name: Name) -> None:
        """An answer that comes from now on is mail like any other."""
        self._held.remove((ask, name))
        if self._office.asks.let_go(ask):
            self._office.wake(name)

    # ---- about ----

    def _about(self, request: About, reply: Reply) -> None:
        """Who asked and who is asked: from memory, else from the files."""
        names, i = self._answerers(request.name), request.i
        if is_id(request.id):
            for name in names:
                box = self._office.store.mailbox(name)
                if (item := box.find(MessageId(request.id))) is not None:
                    reply(i, _found(item.kind, Found(item.id, name, item.address)))
                    return

        def told(found: Answer) -> None:
            if not self._gone:
                reply(i, found)

        self._office.about(request.id, names, told)

    def _answerers(self, given: str | None) -> list[Name]:
        """The names whose mail this caller may answer; 64 and 77 as for every verb."""
        caller = self._rights.caller
        if given is not None:
            name = self._rights.own_mailbox(given, "reply")
            return [name]
        if caller.session is not None:
            owned = self._office.owners.names_of(caller.session.ref)
            own = [] if caller.name is None else [caller.name]
            return list(dict.fromkeys([*owned, *own]))
        if caller.caller is CallerClass.PERSON:
            return [OWNER]
        raise Usage(
            "who answers? neither a session nor a person at a terminal calls",
            hint="--from NAME, one that homi claim gave you",
        )


class _Kept:
    """What becomes of a question, told to the connection that asked."""

    __slots__ = ("_asking", "_head", "_reply", "_request")

    def __init__(self, asking: Asking, request: Ask, head: Msg, reply: Reply) -> None:
        self._asking = asking
        self._request = request
        self._head = head
        self._reply = reply

    def __call__(self, result: Result) -> None:
        """Once, now or later."""
        self._asking.kept(self._request, self._head, self._reply, result)


def _found(kind: Kind, found: Found) -> Answer:
    """The same, refused where nobody reads an answer."""
    if kind in ANSWERED_KINDS:
        return found
    return BadMessage(f"{found.id} is a {kind}: automatic, nobody reads a reply")


def _late(ask: MessageId, where: str, name: Name) -> TimedOut:
    """Nobody answered yet."""
    return TimedOut(
        f"no answer in time; the question {ask} stays in {where}",
        hint=f"do not ask again: a late answer comes into the mailbox of {name}",
    )
