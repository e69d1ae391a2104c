"""The leg to Claude Code: one letter written to a session's own socket.

Owns the hand-over and what its end says; what becomes of the letter afterwards is
the witness's.  Measured on Claude Code 2.1.332; homi-legs(7) has the outcomes.
"""

import asyncio
import logging
import os
import socket
import stat
from pathlib import Path
from typing import Protocol

from homi.clock import Clock
from homi.envelope import CLAUDE, Reason, Rung
from homi.legs import render
from homi.legs.base import Deferred, Held, Letter, Offered, Outcome
from homi.peers.frame import build_message, build_rename, build_tag
from homi.peers.registry import peer_token
from homi.sessions import Session

LINE_MAX = 1_048_576  # UTF-16 units: over it the session drops the connection unread
SETTLE = 5.0  # s for writing, reading and the clean close, as the clients allow it
# Seconds until another try.  A change of the session's record comes sooner.
FULL_AFTER = 2.0  # its backlog is full: it is alive and behind
GONE_AFTER = 5.0  # nobody listens, or it closed over our bytes
SILENT_AFTER = 35.0  # it hangs; its own guard drops an equal text for 30 s

_log = logging.getLogger(__name__)


class Learnt(Protocol):
    """What the leg asks of whoever reads the sessions' transcripts."""

    def proofs(self, session: Session) -> frozenset[Rung]:
        """What can be proven of letters to session."""
        ...


class ClaudeLeg:
    """Hands letters to sessions of Claude Code that have a socket."""

    name = "claude"
    client = CLAUDE

    def __init__(self, clock: Clock, learnt: Learnt) -> None:
        """learnt: the witness, which finds out what a session proves."""
        self._clock = clock
        self._learnt = learnt

    def serves(self, session: Session) -> bool:
        """Whether the session has a socket at all."""
        return session.listed and bool(session.socket)

    def proofs(self, session: Session) -> frozenset[Rung]:
        """OFFERED always; SEEN unless the witness found no way to prove it."""
        return self._learnt.proofs(session)

    async def offer(self, letter: Letter, session: Session) -> Outcome:
        """Write it once.  A clean close within SETTLE is Offered, all else Deferred."""
        if not session.socket:
            return Held(Reason.UNREACHABLE)
        if not _is_our_socket(session.socket):
            return Deferred(Reason.UNREACHABLE, GONE_AFTER)
        data = message_bytes(letter, session)
        began = self._clock.monotonic()
        outcome = await _hand_over(session.socket, data)
        delay = self._clock.monotonic() - began
        _log.debug(
            "%s pid=%d delay=%.3f %s", letter.msg.id, session.pid, delay, outcome
        )
        return outcome


async def rename(session: Session, name: str) -> bool:
    """Ask a session to go by another name, once; whether its channel took that.

    Whether it does shows in its own record.
    """
    if not _is_our_socket(session.socket):
        return False
    data = build_rename(name, token=_token(session))
    return isinstance(await _hand_over(session.socket, data), Offered)


def message_bytes(letter: Letter, session: Session) -> bytes:
    """The bytes of one hand-over; the head alone where the whole is too long."""
    data = _message(letter, session, render.turn(letter))
    if _units(data) > LINE_MAX:
        data = _message(letter, session, render.pointer(letter))
    return data


def _message(letter: Letter, session: Session, text: str) -> bytes:
    """Auth and message line around text.

    The mode is what the sender's client asserted, never more, and session_id makes
    the session drop the line if it is in another conversation by now.
    """
    content = build_tag(
        text,
        letter.reply_socket or letter.line_socket,
        render.sender_tag(letter),
        letter.msg.mode,
    )
    return build_message(
        content,
        letter.msg.id,
        letter.line_socket or letter.reply_socket,
        token=_token(session),
        session_id=session.session_id or None,
    )


def _token(session: Session) -> str | None:
    """What the session published for those who write to it."""
    sessions = str(Path(session.config_dir) / "sessions")
    return peer_token(sessions, session.socket) if session.config_dir else None


def _units(data: bytes) -> int:
    """The length of data in UTF-16 units, at most; short data is not measured."""
    if len(data) <= LINE_MAX:
        return len(data)
    return len(data.decode("utf-8", "replace").encode("utf-16-le")) // 2


def _is_our_socket(path: str) -> bool:
    """Whether path is a socket of our user's, and not a link to one."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):  # ValueError: a path no file can have
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid()


async def _hand_over(path: str, data: bytes) -> Outcome:
    """Connect, write, half-close and wait for the close."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.setblocking(False)
        try:
            sock.connect(path)  # a unix socket connects at once or not at all
        except BlockingIOError:
            return Deferred(Reason.UNREACHABLE, FULL_AFTER)
        except OSError:
            return Deferred(Reason.UNREACHABLE, GONE_AFTER)
        return await _write(sock, data)


async def _write(sock: socket.socket, data: bytes) -> Outcome:
    """Write all of it and wait for the close; the socket stays the caller's."""
    loop = asyncio.get_running_loop()
    written = False
    try:
        async with asyncio.timeout(SETTLE):
            await loop.sock_sendall(sock, data)
            written = True
            sock.shutdown(socket.SHUT_WR)
            # A session writes nothing back; were it to, only its close counts.
            while await loop.sock_recv(sock, 4096):
                pass
    except TimeoutError:
        # Written, it may yet be read: nobody can take the bytes back.
        return Deferred(Reason.UNREACHABLE, SILENT_AFTER, unclear=written)
    except OSError:
        # Closed over our bytes, or gone while we wrote: not read.
        return Deferred(Reason.UNREACHABLE, GONE_AFTER)
    return Offered()
