"""A blob on its way to another device: no text leaves with a secret in it.

Owns which blobs are looked at.  What a secret is, homi.scan knows.
"""

import os

from homi.errors import BadMessage
from homi.scan.scanner import Scanner
from homi.store.blobs import Blobs

TEXT_MAX = 1 << 20  # bytes: what is longer, or no text, goes as it is


def leaving(blobs: Blobs, name: str) -> tuple[int, int]:
    """A descriptor to read the blob by, and its length; 65 where it is a text with a
    secret in it, by rule and place, 66 where there is none.  Takes its time: not for
    the loop."""
    fd, size = blobs.open(name)
    if size > TEXT_MAX:
        return fd, size
    try:
        text = os.pread(fd, size, 0).decode()
    except UnicodeDecodeError:
        return fd, size
    found = () if "\0" in text else Scanner().text(text, f"the blob {name[:12]}")
    if not found:
        return fd, size
    os.close(fd)
    places = "; ".join(f"{one.rule} in {one.field} at {one.offset}" for one in found)
    raise BadMessage(
        f"it may not leave this device with a secret in it: {places}",
        hint="take it out of the file",
        reason="scan",
    )
