"""A blob on its way to another device: no text leaves with a secret in it, nor one
that was refused as a message.

Owns which blobs are looked at.  What a secret is, homi.scan knows.
"""

import os

from homi.clock import SystemClock
from homi.config import MAX_TEXT_BYTES
from homi.errors import HomiError
from homi.scan.scanner import Scanner, refusal
from homi.store.blobs import Blobs
from homi.store.disk import RealDisk
from homi.withheld import Withheld

TEXT_MAX = 1 << 20  # bytes: what is longer, or no text, is not looked through


def leaving(blobs: Blobs, name: str) -> tuple[int, int]:
    """A descriptor to read the blob by, and its length; 65 where it is a text with a
    secret in it, by rule and place, 66 where there is none.  Takes its time: not for
    the loop."""
    fd, size = blobs.open(name)
    try:
        refused = _refused(blobs, name, fd, size)
    except UnicodeDecodeError:
        return fd, size
    except BaseException:
        os.close(fd)
        raise
    if refused is not None:
        os.close(fd)
        raise refused
    return fd, size


def _refused(blobs: Blobs, name: str, fd: int, size: int) -> HomiError | None:
    """Why the blob may not leave; ValueError where it is no text."""
    if size > MAX_TEXT_BYTES:
        return None
    text = os.pread(fd, size, 0).decode()
    if size <= TEXT_MAX and "\0" not in text:
        found = Scanner().text(text, f"the blob {name[:12]}")
        if (refused := refusal(found, "take it out of the file")) is not None:
            return refused
    return Withheld.of(blobs.root, SystemClock(), RealDisk()).why(text)
