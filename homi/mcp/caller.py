"""Who calls a tool: the session this process is a child of, never an argument.

Owns which names a call writes and reads as.  Measured anew for each call: a session
is renamed, and gets and loses names, while its tools run.  homi-mcp(1) has the rules.
"""

import asyncio
import os
from pathlib import Path
from typing import NamedTuple

from homi.aclient import AsyncClient
from homi.callers import below_codex
from homi.dial import Absent
from homi.errors import NotAllowed
from homi.mail import Self, ShownMail, measure
from homi.reports import Identity
from homi.requests import CallerClass

THREAD = "threadId"  # in _meta of a call: which of its conversations Codex calls for


class Caller(NamedTuple):
    """Whose call it is."""

    names: tuple[str, ...]  # its own; it writes as the first
    device: str = ""
    live: bool = True  # a daemon runs

    @property
    def name(self) -> str:
        """What it writes as."""
        return self.names[0]


async def identify(client: AsyncClient, thread: str | None) -> Caller:
    """Whose call it is; NotAllowed (77), saying why, where it has no name here.

    thread: the conversation the client calls for.  Then it is that, and not whatever
    session happened to start the client.
    """
    try:
        me = await client.whoami()
    except Absent:
        if thread is not None:
            return await asyncio.to_thread(_thread_from_files, client.root, thread)
        return await asyncio.to_thread(_from_files, client.root)
    if thread is not None and me.caller is not CallerClass.SESSION:
        raise _no_thread(thread)
    return caller_of(me)


def names_of(me: Identity) -> tuple[str, ...]:
    """The names a session has, its own first; nobody else has any."""
    if me.caller is not CallerClass.SESSION:
        return ()
    return tuple(dict.fromkeys(filter(None, (me.name, *me.names))))


def caller_of(me: Identity) -> Caller:
    """As the daemon measured it.  A person's terminal above a client whose sessions
    homi does not know makes a model no person."""
    names = names_of(me)
    if me.caller is not CallerClass.SESSION:
        raise _unbound("this client's session")
    if not names:
        raise NotAllowed(
            "this session has no name that could be an address",
            hint="its user gives it one; the tool who works without",
        )
    return Caller(names, me.device)


def _from_files(root: Path) -> Caller:
    """The same while no daemon runs."""
    me: Self = measure(root, lambda _: None)
    if me.caller is not CallerClass.SESSION or me.name is None:
        raise _unbound("this client's session")
    return Caller((me.name,), live=False)


def _thread_from_files(root: Path, thread: str) -> Caller:
    """The name that the thread is bound to, while no daemon runs."""
    for name, claim in ShownMail(root, lambda _: None).shown().claims.items():
        body = claim.get("body")
        bound = isinstance(body, dict) and (body.get("client"), body.get("id"))
        if bound == ("codex", thread) and below_codex(os.getpid()):
            return Caller((str(name),), live=False)
    raise _no_thread(thread)


def _no_thread(thread: str) -> NotAllowed:
    """What is said to a thread without a name, and how its person gives it one."""
    return NotAllowed(
        f"this Codex thread ({thread[:36]}) has no name here, so it has no mail and"
        " cannot sign any",
        hint=f"its user gives it one: homi codex peer NAME --thread {thread[:36]}",
    )


def _unbound(what: str) -> NotAllowed:
    """What is said to who has no name: which tool works all the same."""
    return NotAllowed(
        f"{what} has no name here, so it has no mail and cannot sign any",
        hint="homi-mcp(1) says which clients have one; the tool who works without",
    )
