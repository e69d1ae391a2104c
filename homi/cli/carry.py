"""`homi link serve`, asked for a blob: one file over this process's standard streams.

Owns the far end of such a channel.  What may go which way the daemon says, for a
token that it granted; it is told the end by that connection.  homi-link(1).
"""

import _thread
import os
import select
from collections.abc import Callable
from functools import partial
from json import dumps

from homi.dial import Dial
from homi.errors import HomiError, NotReached
from homi.links import blobline
from homi.links.blobline import Lines
from homi.links.leaving import leaving
from homi.store.blobs import MOST, PIECE, Blobs, Part, failed
from homi.store.disk import RealDisk

STALL = 60.0  # s without a byte, and the other end is gone

Write = Callable[[bytes], None]


def run(dial: Dial, peer: str, token: str, write: Write) -> int:
    """Carry the blob that token is for, in its direction; 0 when it is whole."""
    ask = {"verb": "carry", "i": 1, "peer": peer, "token": token}
    granted = dial.ask(dumps(ask).encode() + b"\n")
    dial.settimeout(None)
    over = list[bool]()
    _thread.start_new_thread(_watch, (dial, over))
    blobs = Blobs(str(granted.get("root")), RealDisk())
    name = str(granted.get("sha256"))
    most = blobline.count(granted, "most", MOST)
    try:
        if granted.get("way") == "up":
            with blobs.part(name) as part:
                _receive(part, most, write)
        else:
            _send(blobs, name, write)
    except OSError as error:
        raise failed(error) from error
    finally:
        over.append(True)
    return 0


def _receive(part: Part, most: int, write: Write) -> None:
    """From the other end into the part."""
    write(blobline.has(part.at))
    lines = Lines()
    size = blobline.count(_line(lines), "size", most)
    if size < part.at:
        part.drop()
        raise NotReached("what was here is longer than that: it begins anew")
    while part.at < size:
        data = lines.take(size - part.at)
        if data:
            part.write(data)
        else:
            lines.feed(_read())
    part.finish()
    write(blobline.done())


def _send(blobs: Blobs, name: str, write: Write) -> None:
    """From the blob to the other end."""
    fd, size = leaving(blobs, name)
    write(blobline.holds(size))
    lines = Lines()
    at = blobline.count(_line(lines), "at", MOST)
    if at > size:  # what it has is none of this blob, which it will find
        _line(lines)
    os.lseek(fd, at, os.SEEK_SET)
    for data in iter(partial(os.read, fd, PIECE), b""):
        write(data)
    os.close(fd)
    blobline.ended(_line(lines))


def _line(lines: Lines) -> dict[str, object]:
    """The next line of the other end."""
    while (found := lines.line()) is None:
        lines.feed(_read())
    return found


def _read() -> bytes:
    """What comes next; 75 where nothing does."""
    if not select.select([0], [], [], STALL)[0]:
        raise NotReached(f"nothing came in {STALL:.0f} s")
    return os.read(0, PIECE)


def _watch(dial: Dial, over: list[bool]) -> None:
    """A daemon that ends, or takes the grant back, ends this; not what is over, whose
    last line is still to be written."""
    try:
        dial.answer()
    except HomiError:
        if not over:
            os._exit(os.EX_TEMPFAIL)
