"""The daemon for a program with an event loop: `from homi import AsyncClient`.

Owns what is asked again after a lost connection: whatever may be done twice.
homi-python(3) is the page.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack

import msgspec

from homi import paths
from homi.client import (
    ANSWER_TIME,
    AWAY,
    PATIENCE,
    REDIAL,
    TIMEOUT,
    WINDOW,
    known_rung,
    not_answered,
    not_known,
    not_reached,
)
from homi.connection import GRACE
from homi.dial import Absent, Late, Lost
from homi.envelope import MessageId, Rung
from homi.errors import HomiError
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
from homi.wire import Wire

Answer = TypeVar("Answer", bound=msgspec.Struct)
Result = TypeVar("Result")


class AsyncClient:
    """One daemon, for any number of tasks of one loop; use it in an async with.

    Calls made at once share a connection and do not wait for each other.  A task may
    be cancelled in any of them: the others go on, and what it asked for may still be
    done, as with a send whose answer nobody waits for.
    """

    def __init__(
        self, home: str | Path | None = None, *, thread: str | None = None
    ) -> None:
        """home: the state root, by default the one the command homi uses; thread: of
        Codex, that this process is a tool of."""
        self._thread = thread
        self.root = paths.state_root(None if home is None else str(home))
        self._wire: Wire | None = None
        self._opening = asyncio.Lock()

    # ---- mail ----

    async def send(
        self,
        to: str,
        text: str,
        *,
        wait_for: str | None = None,
        timeout: float = TIMEOUT,
        **fields: Unpack[Fields],
    ) -> SendReport:
        """As Client.send()."""
        message = Outgoing(to, text, **fields)
        rung = None if wait_for is None else known_rung(wait_for)
        report = await self._send(message)
        if rung is None or rung == report.rung:
            return report
        reached = await self._await(report, rung, timeout)
        return msgspec.structs.replace(report, rung=reached)

    async def ask(
        self,
        to: str,
        text: str,
        *,
        timeout: float = ANSWER_TIME,
        **fields: Unpack[Question],
    ) -> Answered:
        """As Client.ask(); on a connection of its own, which ends with it."""
        message = Outgoing(to, text, kind="ask", **fields)
        own = (await self._open()).welcome.name
        try:
            answer, wire = await self.answer(message.raw(own), timeout)
        except Lost as error:
            raise not_answered(message.id, error) from error
        # While its connection is open the answer comes in no turn beside.
        with contextlib.closing(wire), contextlib.suppress(HomiError):
            await wire.call(
                Ack(ids=[answer.answer], name=answer.name, proof="read"), Acked
            )
        return answer

    async def answer(self, msg: bytes, timeout: float) -> tuple[Answered, Wire]:
        """The answer to a question by its bytes, which are stored unless they are; not
        recorded as read, and nobody else's until the connection is closed."""
        raw = msgspec.Raw(msg)
        return await self._held(
            lambda left: Ask(msg=raw, timeout=left), Answered, timeout
        )

    async def reply(
        self, message: str, text: str, sender: str | None = None
    ) -> SendReport:
        """As Client.reply()."""
        about = await self.call(About(id=message.lower(), name=sender), Found)
        return await self.send(about.to, text, sender=about.name, reply_to=about.id)

    async def send_many(
        self, messages: Iterable[Outgoing], window: int = WINDOW
    ) -> AsyncIterator[SendReport | HomiError]:
        """As Client.send_many(); what is on its way when it is closed is cancelled."""
        source = iter(messages)
        flow: deque[asyncio.Task[SendReport | HomiError]] = deque()
        try:
            while True:
                while len(flow) < max(1, window):
                    message = next(source, None)
                    if message is None:
                        break
                    flow.append(asyncio.create_task(self._result(message)))
                if not flow:
                    return
                yield await flow[0]
                flow.popleft()
        finally:
            for task in flow:
                task.cancel()

    async def ack(
        self, ids: Iterable[str], name: str | None = None, proof: Proof = "ack"
    ) -> list[str]:
        """As Client.ack()."""
        request = Ack(ids=list(ids), name=name, proof=proof)
        return (await self.call(request, Acked)).ids

    async def inbox(self, name: str | None = None) -> list[QueueRow]:
        """As Client.inbox()."""
        return (await self.call(Queue(name=name), QueueReport)).rows

    async def wait(
        self, name: str | None = None, after: int = 0, timeout: float | None = None
    ) -> Waited:
        """As Client.wait(); on a connection of its own, which ends with it."""
        return await self._long(
            lambda left: Wait(name=name, after=after, timeout=left), Waited, timeout
        )

    # ---- names ----

    async def claim(self, name: str, cwd: str | None = None) -> Claimed:
        """As Client.claim()."""
        return await self.call(Claim(name=name, cwd=cwd), Claimed)

    async def release(self, name: str) -> Freed:
        """As Client.release(): not asked again where the connection is lost."""
        return await (await self._open()).call(Release(name=name), Freed)

    async def names(self) -> list[NameRow]:
        """As Client.names()."""
        return (await self.call(List(), Listing)).names

    # ---- the whole ----

    async def status(self) -> StatusReport:
        """As Client.status()."""
        return await self.call(Status(), StatusReport)

    async def whoami(self) -> Identity:
        """As Client.whoami()."""
        return await self.call(Whoami(), Identity)

    async def call(self, request: Request, answer: type[Answer]) -> Answer:
        """As Client.call()."""
        return await self._again(lambda wire: wire.call(request, answer))

    async def aclose(self) -> None:
        """End the connection; calls that wait for an answer are told so."""
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    async def __aenter__(self) -> Self:
        """The client itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()

    # ---- how ----

    async def _send(self, message: Outgoing) -> SendReport:
        """Store one message."""

        def ask(wire: Wire) -> Coroutine[Any, Any, SendReport]:
            request = message.request(0, wire.welcome.name)
            return wire.call(request, SendReport)

        try:
            return await self._again(ask)
        except Lost as error:
            raise not_known(message, error) from error

    async def _result(self, message: Outgoing) -> SendReport | HomiError:
        """What became of one of many."""
        try:
            return await self._send(message)
        except HomiError as error:
            return error

    async def _await(self, report: SendReport, rung: Rung, timeout: float) -> Rung:
        """The rung it reached, rung or a higher one."""
        id_ = MessageId(report.id)
        try:
            found = await self._long(
                lambda left: Await(name=report.to, id=id_, rung=rung, timeout=left),
                SendReport,
                timeout,
            )
        except Lost as error:
            raise not_reached(report, rung, error) from error
        return found.rung

    async def _again(
        self, ask: Callable[[Wire], Coroutine[Any, Any, Result]]
    ) -> Result:
        """What ask gets from the connection; asked once more on a new one where it
        was lost.  Late (69) is told at once: the daemon may still be at it."""
        try:
            return await ask(await self._open())
        except Late:
            raise
        except Lost:
            again = await self._back(self._open)
        return await ask(again)

    async def _long(
        self,
        make: Callable[[float | None], Request],
        answer: type[Answer],
        seconds: float | None,
    ) -> Answer:
        """The answer of a verb that takes its time."""
        found, wire = await self._held(make, answer, seconds)
        wire.close()
        return found

    async def _held(
        self,
        make: Callable[[float | None], Request],
        answer: type[Answer],
        seconds: float | None,
    ) -> tuple[Answer, Wire]:
        """The same, and the connection of its own that it came by: who is cancelled
        ends that, and the daemon waits for nobody."""
        loop = asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds
        try:
            wire = await self._fresh()
        except Lost:  # it died while it greeted
            wire = await self._back(self._fresh)
        while True:
            left = None if deadline is None else max(0.0, deadline - loop.time())
            limit = None if left is None else left + GRACE
            try:
                return await wire.call(make(left), answer, limit), wire
            except Late:
                wire.close()
                raise
            except Lost:
                wire.close()
                wire = await self._back(self._fresh)
            except BaseException:
                wire.close()
                raise

    async def _fresh(self) -> Wire:
        """A connection of its own."""
        return await Wire.open(self.root, self._thread)

    async def _open(self) -> Wire:
        """The connection there is, else a new one; Absent (69) without a daemon."""
        async with self._opening:
            if self._wire is None:
                self._wire = await self._fresh()
            elif self._wire.lost is not None:
                try:
                    self._wire = await self._back(self._fresh)
                except Lost as error:  # nothing was asked yet
                    raise Absent(error.text, hint=error.hint) from error
            return self._wire

    async def _back(self, reach: Callable[[], Coroutine[Any, Any, Wire]]) -> Wire:
        """A connection to a daemon that went away, once it is back; Lost (69)."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + PATIENCE
        while True:
            try:
                return await reach()
            except (Absent, Lost) as error:
                if loop.time() > limit:
                    raise Lost(AWAY, hint=error.hint) from error
            await asyncio.sleep(REDIAL)
