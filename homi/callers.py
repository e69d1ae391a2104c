"""Who calls: the class and the default sender of a connection's other end.

Owns the order of the proofs: ancestors, then variables, then the terminal.  It
guards against accident between processes of one user, not against an enemy;
homi-overview(7) says so.
"""

import os

import msgspec

from homi.address import OWNER, Name
from homi.owners import Owners
from homi.peers import process
from homi.requests import CallerClass
from homi.sessions import Session, Sessions


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """What the peer credentials of a connection prove."""

    caller: CallerClass
    uid: int
    pid: int
    session: Session | None = None
    name: Name | None = None  # msg.from of a caller that names none


def classify(
    pid: int,
    uid: int,
    sessions: Sessions,
    owners: Owners | None = None,
    thread: str | None = None,
) -> Caller:
    """The class of the process: its ancestors first, then variables and terminal.

    thread: of Codex, that it says it is a tool of.  It is that thread then, or nobody:
    whatever session may have started Codex, many threads live in one process of it.

    Whatever cannot be read proves nothing: such a caller is a service.
    """
    if thread is not None:
        bound = owners is not None and below_codex(pid)
        session = owners.thread(thread) if owners is not None and bound else None
        session = session or _headless(pid, sessions)
    else:
        session = session_above(pid, sessions)
    if session is not None:
        return Caller(
            caller=CallerClass.SESSION,
            uid=uid,
            pid=pid,
            session=session,
            name=default_name(session, owners),
        )
    if thread is None and uid == os.getuid() and is_person(pid):
        return Caller(caller=CallerClass.PERSON, uid=uid, pid=pid, name=OWNER)
    return Caller(caller=CallerClass.SERVICE, uid=uid, pid=pid)


def below_codex(pid: int) -> bool:
    """Whether a Codex is among the ancestors of the process: a program of that name,
    or a script of that name and what runs it."""
    return any(
        os.path.basename(word) == b"codex"
        for each in process.ancestors(pid)
        for word in process.arguments(each)[:2]
    )


def _headless(pid: int, sessions: Sessions) -> Session | None:
    """What a run of Codex that homi began is for: that process has one thread."""
    for each in process.ancestors(pid):
        if (body := sessions.worked_for(each)) is not None:
            return body if body.entrypoint == "codex" else None
    return None


def session_above(pid: int, sessions: Sessions) -> Session | None:
    """The live session that is the process or the nearest of its ancestors; below the
    run of a command the name that it is for, whatever client that command is."""
    above = process.ancestors(pid)
    for each in above:
        if (body := sessions.worked_for(each)) is not None:
            return body
    for each in above:
        session = sessions.by_pid(each)
        # A pid alone proves nothing: the session may have ended a moment ago.
        if session is not None and process.alive(each, session.start):
            return session
    return None


def is_person(pid: int) -> bool:
    """Whether someone sits before it: a terminal, and no agent's variables."""
    return process.agent_variables(pid) is False and process.has_terminal(pid)


def default_name(session: Session, owners: Owners | None) -> Name | None:
    """What a session's mail is from when it does not say: the one claimed name it
    owns, else its own name folded, or the one it is behind."""
    if owners is None:
        return session.address
    owned = owners.names_of(session.ref)
    return owned[0] if len(owned) == 1 else owners.public(session)
