"""The daemon for a Python program: `from homi import Client`.

Owns what is asked again after a lost connection: whatever may be done twice.
Imports no asyncio.  homi-python(3) is the page.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Self, TypeVar, Unpack

import msgspec

from homi import paths
from homi.connection import Connection
from homi.dial import Absent, Late, Lost
from homi.envelope import LADDER, MessageId, Rung
from homi.errors import HomiError, NotReached, StorageFailed, TimedOut, Usage
from homi.outgoing import Fields, Outgoing, Question
from homi.reports import (
    Acked,
    Answered,
    Claimed,
    Found,
    Freed,
    Identity,
    Listing,
    NameRow,
    QueueReport,
    QueueRow,
    SendReport,
    StatusReport,
    Waited,
)
from homi.requests import (
    About,
    Ack,
    Ask,
    Await,
    Claim,
    List,
    Proof,
    Queue,
    Release,
    Request,
    Status,
    Wait,
    Whoami,
)
from homi.window import Window

Answer = TypeVar("Answer", bound=msgspec.Struct)
Result = TypeVar("Result")

PATIENCE = 10.0  # s a daemon that went away in mid-call may take to come back
REDIAL = 0.05  # s between tries
AWAY = "the daemon went away and did not come back"
WINDOW = 64  # requests on their way at once: beyond it nothing gets faster
TIMEOUT = 60.0  # s for a rung, unless something else is said
ANSWER_TIME = 100.0  # s for an answer, as long as homi ask waits


class Client:
    """One daemon.  For one thread; close() it, or use it in a with.

    It connects at the first call, and again where the connection was lost: a send
    keeps its id, so that asking twice stores once.
    """

    def __init__(self, home: str | Path | None = None) -> None:
        """home: the state root, by default the one the command homi uses."""
        self.root = paths.state_root(None if home is None else str(home))
        self._connection: Connection | None = None

    # ---- mail ----

    def send(
        self,
        to: str,
        text: str,
        *,
        wait_for: str | None = None,
        timeout: float = TIMEOUT,
        **fields: Unpack[Fields],
    ) -> SendReport:
        """Store one message; the rung it reached, its id and its place.

        fields are those of Outgoing.  wait_for a rung: NotReached (75) where timeout
        seconds were not enough; it is stored all the same.  StorageFailed (74):
        not known to be stored; the id is in the text, and with a key a repeat is safe.
        """
        message = Outgoing(to, text, **fields)
        rung = None if wait_for is None else known_rung(wait_for)
        try:
            report = self._again(
                lambda at: at.call(message.request(1, at.welcome.name), SendReport)
            )
        except Lost as error:
            raise not_known(message, error) from error
        if rung is None or rung == report.rung:
            return report
        return msgspec.structs.replace(report, rung=self._await(report, rung, timeout))

    def ask(
        self,
        to: str,
        text: str,
        *,
        timeout: float = ANSWER_TIME,
        **fields: Unpack[Question],
    ) -> Answered:
        """Ask one name, and wait for its answer, which then counts as read.

        TimedOut (124) where none came in time: the question stays, and a late answer
        is mail.  Asked again with the same id and the same words it is the same
        question.  NotReached (75) where it ended unanswered, or nobody could tell.
        """
        message = Outgoing(to, text, kind="ask", **fields)
        deadline = time.monotonic() + timeout

        def ask(at: Connection) -> Answered:
            left = max(0.0, deadline - time.monotonic())
            raw = msgspec.Raw(message.raw(at.welcome.name))
            return at.wait(Ask(i=1, msg=raw, timeout=left), Answered, left)

        try:
            answer = self._again(ask)
        except Lost as error:
            raise not_answered(message.id, error) from error
        with contextlib.suppress(HomiError):  # it is read twice then
            self.ack([answer.answer], answer.name, "read")
        return answer

    def reply(self, message: str, text: str, sender: str | None = None) -> SendReport:
        """Answer the message of that id, or of one that starts so, as who received
        it, or as sender; NoInput (66) where there is none, NotAllowed (77) where
        another received it."""
        about = self.call(About(i=1, id=message.lower(), name=sender), Found)
        return self.send(about.to, text, sender=about.name, reply_to=about.id)

    def send_many(
        self, messages: Iterable[Outgoing], window: int = WINDOW
    ) -> Iterator[SendReport | HomiError]:
        """What became of each, in their order: a report, or why it was refused.

        Up to window of them are on their way at once, and so many are taken from
        messages before the first result is given.
        """
        flow = Window(messages, window)
        try:
            while flow.fill():
                self._again(flow.exchange)
                yield from flow.results()
        finally:
            if not flow.empty:
                self.close()  # answers may still come, which nobody would read

    def ack(
        self, ids: Iterable[str], name: str | None = None, proof: Proof = "ack"
    ) -> list[str]:
        """Record messages of name, or of the caller's own name, as seen, durably;
        all of them as they are known now.  proof: read, where their text was."""
        request = Ack(i=1, ids=list(ids), name=name, proof=proof)
        return self.call(request, Acked).ids

    def inbox(self, name: str | None = None) -> list[QueueRow]:
        """The pending mail of name, None: of all, and what each waits for."""
        return self.call(Queue(i=1, name=name), QueueReport).rows

    def wait(
        self, name: str | None = None, after: int = 0, timeout: float | None = None
    ) -> Waited:
        """Wait for pending mail behind the seq after; TimedOut (124) if none came."""
        deadline = None if timeout is None else time.monotonic() + timeout

        def ask(at: Connection) -> Waited:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            request = Wait(i=1, name=name, after=after, timeout=left)
            return at.wait(request, Waited, left)

        return self._again(ask)

    # ---- names ----

    def claim(self, name: str, cwd: str | None = None) -> Claimed:
        """Make name a durable address; fresh is false where it was one already."""
        return self.call(Claim(i=1, name=name, cwd=cwd), Claimed)

    def release(self, name: str) -> Freed:
        """End a claim; its mail stays.  Not asked again where the connection is lost:
        whether it was done shows in names()."""
        connection = self._open()
        try:
            return connection.call(Release(i=1, name=name), Freed)
        except Lost:
            self.close()
            raise

    def names(self) -> list[NameRow]:
        """Every claimed name, as the daemon knows it; nothing is measured."""
        return self.call(List(i=1), Listing).names

    # ---- the whole ----

    def status(self) -> StatusReport:
        """How the daemon is."""
        return self.call(Status(i=1), StatusReport)

    def whoami(self) -> Identity:
        """Who the caller is to the daemon, and which name is its own."""
        return self.call(Whoami(i=1), Identity)

    def call(self, request: Request, answer: type[Answer]) -> Answer:
        """The answer to any request of homi-protocol(7) that may be asked twice."""
        return self._again(lambda at: at.call(request, answer))

    def close(self) -> None:
        """End the connection; the next call makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    # ---- how ----

    def _await(self, report: SendReport, rung: Rung, timeout: float) -> Rung:
        """The rung it reached, rung or a higher one."""
        deadline = time.monotonic() + timeout

        def ask(at: Connection) -> SendReport:
            left = max(0.0, deadline - time.monotonic())
            request = Await(
                i=1, name=report.to, id=MessageId(report.id), rung=rung, timeout=left
            )
            return at.wait(request, SendReport, left)

        try:
            return self._again(ask).rung
        except (TimedOut, Lost) as error:
            raise not_reached(report, rung, error) from error

    def _again(self, ask: Callable[[Connection], Result]) -> Result:
        """What ask gets from a connection; asked once more on a new one where it was
        lost.  Late (69) is told at once: the daemon may still be at it."""
        try:
            # A daemon that dies while it greets is lost like any other.
            return ask(self._open())
        except Late:
            self.close()
            raise
        except Lost:
            self.close()
        connection = self._reopen()
        try:
            return ask(connection)
        except Lost:
            self.close()
            raise

    def _open(self) -> Connection:
        """The connection there is, else a new one; Absent (69) without a daemon."""
        if self._connection is None:
            self._connection = Connection(self.root)
        return self._connection

    def _reopen(self) -> Connection:
        """A connection to a daemon that went away, once it is back; Lost (69)."""
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                return self._open()
            except (Absent, Lost) as error:
                if time.monotonic() > limit:
                    raise Lost(AWAY, hint=error.hint) from error
            time.sleep(REDIAL)


def known_rung(rung: str) -> Rung:
    """A rung that one can wait for, by its word; Usage (64) where it is none."""
    if rung not in LADDER:
        raise Usage(f"no rung {rung[:32]!r}", hint=f"one of {', '.join(LADDER)}")
    return Rung(rung)


def not_reached(report: SendReport, rung: Rung, error: HomiError) -> NotReached:
    """What is known of a stored message whose rung nobody told."""
    return NotReached(
        f"not known to be {rung}: {error.text}",
        hint=f"{report.id} is stored; do not send it again",
    )


def not_answered(message: str, error: HomiError) -> NotReached:
    """What is known of a question when nobody is there to tell."""
    return NotReached(
        f"not known to be answered: {error.text}",
        hint=f"homi trace {message} tells; an answer comes into the mailbox",
    )


def not_known(message: Outgoing, error: Lost) -> StorageFailed:
    """What is known of a message whose answer never came."""
    if message.key:  # its id is made of that, and is not the one it has here
        return StorageFailed(
            f"{error.text}: the message of key {message.key} is not known to be stored",
            hint="the same key is safe to send again",
        )
    return StorageFailed(
        f"{error.text}: {message.id} is not known to be stored",
        hint=f"homi trace {message.id} tells; the same id is safe to send again",
    )
