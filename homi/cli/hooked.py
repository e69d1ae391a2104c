"""`homi hook`: what an agent's hook prints of the mail that waits for its session.

Owns the patience of a hook and the form of its output; never fails and never waits.
Part of the fast path: standard library only.  homi-hook(1) is the page.
"""

import _signal  # type: ignore[import-not-found]  # as in homi.cli.fast
import os
from _json import encode_basestring as quote

from homi.cli.submission import socket_path
from homi.dial import Dial, decode
from homi.errors import HomiError

# A turn waits for its hooks.  A daemon answers in some 10 ms, behind the sync of a slow
# disk in 50; whoever waits for a model does not notice four times that.
PATIENCE = 0.2  # s, for all of it
RESTART = 2.0  # s instead, where one homi gives way to the next
GIVEN_MAX = 32 << 20  # bytes of what the client tells its hook: a prompt stands in it
EVENTS = {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "stop": ""}


def run(home: str, event: str) -> int:
    """Print what there is for the session, and confirm that it is out; always 0."""
    path = socket_path(home)
    _signal.signal(_signal.SIGALRM, lambda *_: _late(path))
    _signal.setitimer(_signal.ITIMER_REAL, PATIENCE)
    try:
        _ask(path, event)
    except (HomiError, OSError, UnicodeError):
        return 0  # no daemon, another version: nothing that a model need be told
    finally:
        # Python's end puts back what the signal does by itself, which is to kill.
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    return 0


def _late(path: str | None) -> None:
    """End here, or once later where the file of the socket says that callers wait for
    the next homi: at the end of a turn nobody asks again before the next one."""
    _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
    try:
        waits = path is not None and os.lstat(path).st_mode & 0o100
    except OSError:
        waits = 0
    if not waits:
        os._exit(0)
    _signal.setitimer(_signal.ITIMER_REAL, RESTART - PATIENCE)


def _ask(path: str | None, event: str) -> None:
    """One brief from the daemon onto stdout."""
    session = decode(_given()).get("session_id")
    if path is None or not isinstance(session, str):
        return
    with Dial(path, RESTART) as dial:
        if dial.welcome.get("caller") != "session":
            return
        asked = f'"event":{quote(event)},"session_id":{quote(session)}'
        text = dial.ask(f'{{"verb":"hook","i":1,{asked}}}\n'.encode()).get("text")
        if not text:
            return
        name = quote(EVENTS[event])
        _write(
            f'{{"hookSpecificOutput":{{"hookEventName":{name},'
            f'"additionalContext":{quote(str(text))}}}}}\n'.encode()
        )
        dial.ask(b'{"verb":"printed","i":2}\n')


def _given() -> bytes:
    """What the client wrote to its hook; a person at a terminal writes nothing."""
    parts, size = [], 0
    while not os.isatty(0) and size <= GIVEN_MAX and (data := os.read(0, 1 << 20)):
        parts.append(data)
        size += len(data)
    return b"".join(parts)


def _write(data: bytes) -> None:
    """All of data to stdout."""
    while data:
        data = data[os.write(1, data) :]
