"""What the tools do: each a call of the daemon, or a look at the files, and its result.

Owns how a wait that came to its end goes on.  homi-mcp(1) describes the tools.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from homi.aclient import AsyncClient
from homi.client import not_answered
from homi.dial import Lost
from homi.errors import StorageFailed, TimedOut, Usage
from homi.far import FarRow, FarRows
from homi.mcp import tools
from homi.mcp.box import Box, Rows
from homi.mcp.caller import Caller, identify, names_of
from homi.mcp.directory import directory
from homi.mcp.result import Result, Seen
from homi.outgoing import Outgoing
from homi.reports import Answered, Found, Listing, SendReport, Waited
from homi.requests import About, Far, List

Seeing = TypeVar("Seeing")
Doer = Callable[[Any], Coroutine[Any, Any, Result]]

SLACK = 7.0  # s beyond its time that a daemon may be away before a call gives up
STORE_MAX = 45.0  # s for a message to be stored, within the time of a call
SILENT = "the daemon gave no answer"
NEEDS = {True: "human", False: None}


class Post:
    """One call of a tool, by whoever makes it, on connections of its own."""

    def __init__(self, client: AsyncClient, thread: str | None = None) -> None:
        """thread: the conversation that the client calls for, if it says."""
        self._client = client
        self._thread = thread

    async def do(self, call: tools.Arguments) -> Result:
        """What the call asks for; a HomiError where that cannot be."""
        doers: dict[type[tools.Arguments], Doer] = {
            tools.Send: self._send,
            tools.Ask: self._ask,
            tools.Reply: self._reply,
            tools.Inbox: self._inbox,
            tools.Read: self._read,
            tools.Ack: self._ack,
            tools.Wait: self._wait,
            tools.Who: self._who,
        }
        return await doers[type(call)](call)

    async def _me(self) -> Caller:
        """Whose call it is."""
        return await identify(self._client, self._thread)

    # ---- writing ----

    async def _send(self, call: tools.Send) -> Result:
        me = await self._me()
        needs = NEEDS[call.human]
        return await self.store(Outgoing(call.to, call.text, me.name, needs=needs))

    async def _reply(self, call: tools.Reply) -> Result:
        await self._me()
        about = await self._client.call(About(id=call.id.lower()), Found)
        message = Outgoing(about.to, call.text, about.name, reply_to=about.id)
        return await self.store(message)

    async def store(self, message: Outgoing) -> Result:
        """What became of a message; StorageFailed (74), naming its id, where nobody
        said so in time: sent once more it would be another."""
        try:
            async with asyncio.timeout(STORE_MAX):
                sent = await self._client.call(message.request(0, None), SendReport)
        except TimeoutError:
            raise _unknown(message, SILENT) from None
        except Lost as error:
            raise _unknown(message, error.text) from error
        return _sent(sent, str(message.sender))

    async def _ask(self, call: tools.Ask) -> Result:
        me = await self._me()
        needs = NEEDS[call.human]
        message = Outgoing(call.to, call.text, me.name, kind="ask", needs=needs)
        return await self._answer(me, message.id, message.raw(None), call.timeout)

    async def _answer(self, me: Caller, ask: str, raw: bytes, seconds: float) -> Result:
        """The answer to a question; how to go on where none came."""
        try:
            async with asyncio.timeout(seconds + SLACK):
                answer, wire = await self._client.answer(raw, seconds)
        except TimedOut as late:
            return _open(ask, late)
        except TimeoutError:
            raise not_answered(ask, Lost(SILENT)) from None
        except Lost as error:
            raise not_answered(ask, error) from error
        try:
            read = await self._look(me, lambda box: box.read(answer.answer, 0))
        except BaseException:
            wire.close()
            raise
        if read.seen is None:  # there is more of it: nobody has read it yet
            wire.close()
            return _answered(answer, read)
        return _answered(answer, read._replace(seen=Seen(*read.seen[:2], wire.close)))

    # ---- reading ----

    async def _inbox(self, call: tools.Inbox) -> Result:
        me = await self._me()

        def look(box: Box) -> tuple[Rows, int]:
            return box.listing(call.limit, every=call.all), box.pending()

        rows, pending = await self._look(me, look)
        head = f"{pending} pending for {', '.join(me.names)}"
        shown = len(rows.lines)
        if not call.all and pending > shown:
            head += f"; the newest {shown}"
        fields = {"name": me.name, "pending": pending, "messages": rows.fields}
        return Result("\n".join([head, *rows.lines]), fields)

    async def _read(self, call: tools.Read) -> Result:
        me = await self._me()
        found = await self._look(me, lambda box: box.read(call.id, call.offset))
        return found if me.live else found._replace(seen=None)

    async def _ack(self, call: tools.Ack) -> Result:
        me = await self._me()
        by_name = await self._look(me, lambda box: box.whole(call.ids))
        done = []
        for name, wanted in by_name.items():
            done += await self._client.ack(wanted, name)
        return Result(f"seen: {', '.join(done)}", {"seen": done})

    async def _wait(self, call: tools.Wait) -> Result:
        me = await self._me()
        if not call.ask:
            return await self._mail(me, call)
        ask, raw = await self._look(me, lambda box: box.question(call.ask))
        return await self._answer(me, ask, raw, call.timeout)

    async def _mail(self, me: Caller, call: tools.Wait) -> Result:
        """Wait for pending mail behind where an earlier wait ended."""
        after = behind(call.after)
        found = await self._first(me, after, call.timeout)
        if found is None:
            text = f"no new mail in {call.timeout:g} s; wait again to go on"
            return Result(text, {"messages": [], "next": call.after})
        after[found.name] = found.seq
        step = ",".join(f"{name}:{seq}" for name, seq in after.items())
        only = frozenset(found.ids)
        rows = await self._look(me, lambda box: box.listing(100, only=only))
        text = "\n".join([*rows.lines, f"[only newer mail: wait with after {step}]"])
        return Result(text, {"messages": rows.fields, "next": step})

    async def _first(
        self, me: Caller, after: dict[str, int], timeout: float
    ) -> Waited | None:
        """What comes first for one of the caller's names; None where nothing does."""
        waits = [
            asyncio.ensure_future(self._client.wait(name, after.get(name, 0), timeout))
            for name in me.names
        ]
        try:
            for one in asyncio.as_completed(waits):
                with contextlib.suppress(TimedOut):
                    return await one
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        return None

    async def _who(self, call: tools.Who) -> Result:
        named = self._thread is None
        me = await self._client.whoami()
        here = await self._client.call(List(), Listing)
        far: list[FarRow] = []
        if call.device:
            asked = None if call.device == "*" else call.device
            far = (await self._client.call(Far(device=asked), FarRows)).rows
        return directory(here, far, names_of(me) if named else ())

    async def _look(self, me: Caller, find: Callable[[Box], Seeing]) -> Seeing:
        """What find finds in the caller's mail, beside the loop."""
        return await asyncio.to_thread(_look, self._client.root, me, find)


def behind(text: str) -> dict[str, int]:
    """Where an earlier wait ended, by name; Usage (64) where it is no such text."""
    found = {}
    for part in filter(None, text.split(",")):
        name, _, seq = part.partition(":")
        if not seq.isdecimal() or len(seq) > 18:
            raise Usage(
                f"{text[:64]} is not where a wait ended",
                hint="after is what an earlier wait called next",
            )
        found[name] = int(seq)
    return found


def _look(root: Path, me: Caller, find: Callable[[Box], Seeing]) -> Seeing:
    """On a thread of its own."""
    with Box(root, me) as box:
        return find(box)


def _unknown(message: Outgoing, why: str) -> StorageFailed:
    """What is known of a message whose answer never came."""
    return StorageFailed(
        f"{why}: {message.id} is not known to be stored",
        hint=f"homi trace {message.id} tells; sent once more it would be another",
    )


def _sent(sent: SendReport, sender: str) -> Result:
    """What became of a message."""
    why = f" ({sent.reason})" if sent.reason else ""
    fields = {"id": sent.id, "rung": str(sent.rung), "to": sent.to, "from": sender}
    if sent.reason:
        fields["reason"] = sent.reason
    return Result(f"{sent.rung}{why} {sent.id} to {sent.to} as {sender}", fields)


def _answered(answer: Answered, read: Result) -> Result:
    """An answer, as it is read."""
    shown = {key: read.fields.get(key) for key in ("from", "text", "offset")}
    fields: dict[str, Any] = {
        "answered": True,
        "id": answer.id,
        "answer": answer.answer,
        "verified": answer.verified,
    }
    fields |= {key: value for key, value in shown.items() if value is not None}
    if answer.default:
        fields["default"] = True
    return read._replace(fields=fields)


def _open(ask: str, late: TimedOut) -> Result:
    """A question that nobody answered yet, and how its asker goes on."""
    on = f"wait with ask {ask} to go on; a late answer also comes as mail"
    fields = {"answered": False, "id": ask, "text": on}
    return Result(f"{late.text}; {on}", fields)
