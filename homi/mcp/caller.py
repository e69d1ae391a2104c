"""Who calls a tool: the session this process is a child of, never an argument.

Owns which names a call writes and reads as.  Measured anew for each call: a session
is renamed, and gets and loses names, while its tools run.  homi-mcp(1) has the rules.
"""

import asyncio
from pathlib import Path
from typing import NamedTuple

from homi.aclient import AsyncClient
from homi.dial import Absent
from homi.errors import NotAllowed
from homi.mail import Self, measure
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
    if thread is not None:
        raise _unbound(f"this Codex thread ({thread[:36]})")
    try:
        me = await client.whoami()
    except Absent:
        return await asyncio.to_thread(_from_files, client.root)
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


def _unbound(what: str) -> NotAllowed:
    """What is said to who has no name: which tool works all the same."""
    return NotAllowed(
        f"{what} has no name here, so it has no mail and cannot sign any",
        hint="homi-mcp(1) says which clients have one; the tool who works without",
    )
