"""`homi link serve`: joins this process's standard streams to the postmaster.

What sshd runs for another device.  Proves nothing and reads no frame: the daemon
does.  Part of the fast path: standard library only.  homi-link(1) is the page.
"""

import _socket
import _thread
import importlib
import os
from _json import encode_basestring as quote

from homi.dial import Dial
from homi.errors import HomiError, Usage

SIZE = 256 << 10  # bytes moved at a time
ASKED = "SSH_ORIGINAL_COMMAND"  # what the device over there wants, as sshd tells it
FROM = "SSH_CONNECTION"  # the address it came from first, as sshd tells it

# What the daemon refuses, in the words of an exchange.
REASONS = {"no-such-device": "auth", "not-allowed": "paused"}


def run(path: str, peer: str) -> int:
    """Carry one exchange with peer over the socket at path until a side ends it; 0.

    What keeps it from beginning is told as the exchange would: the other end reads
    frames, and stderr is no place for a cause.
    """
    try:
        wanted = os.environ.get(ASKED, "").split()
        if wanted[:1] == ["blob"] and len(wanted) == 2:
            return _blob(path, peer, wanted[1])
        if wanted not in ([], ["exchange"]):
            raise Usage("a link carries an exchange, or a blob by its token")
        with Dial(path) as dial:
            came = os.environ.get(FROM, "").split(" ")[0]
            who = f'"peer":{quote(peer)},"origin":{quote(came)}'
            dial.ask(f'{{"verb":"link","i":1,{who}}}\n'.encode("utf-8", "replace"))
            dial.settimeout(None)
            _carry(dial)
    except HomiError as error:
        text = f"{error.text} ({error.hint})" if error.hint else error.text
        reason = REASONS.get(error.code, error.code)
        said = quote(text[:500])
        # code: for a channel that carries a blob.
        bye = f'{{"f":"bye","reason":"{reason}","text":{said},"code":"{error.code}"}}\n'
        _write(b"\n" + bye.encode("utf-8", "replace"))
        raise
    return 0


def _blob(path: str, peer: str, token: str) -> int:
    """Carry one blob; what that takes is loaded for it alone."""
    carry = importlib.import_module("homi.cli.carry")
    with Dial(path) as dial:
        return int(carry.run(dial, peer, token, _write))


def _carry(dial: Dial) -> None:
    """Move bytes both ways, neither way waiting for the other."""
    # What an rc file printed without a newline must not stand before a frame.
    _write(b"\n" + dial.rest())
    connection = dial.socket
    _thread.start_new_thread(_inwards, (connection,))
    try:
        while data := connection.recv(SIZE):
            _write(data)
    except OSError:
        return  # the daemon died, or sshd is gone: there is nobody to tell


def _inwards(connection: "_socket.socket") -> None:
    """From stdin to the daemon, until there is no more."""
    try:
        while data := os.read(0, SIZE):
            connection.sendall(data)
        connection.shutdown(_socket.SHUT_WR)
    except OSError:
        return


def _write(data: bytes) -> None:
    """All of data to stdout."""
    while data:
        data = data[os.write(1, data) :]
