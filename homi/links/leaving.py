"""A blob on its way to another device: no text leaves with a secret in it.

Owns which blobs are looked at.  What a secret is, homi.scan knows.
"""

import os

from homi.scan.scanner import Scanner, refusal
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
    refused = refusal(found, "take it out of the file")
    if refused is not None:
        os.close(fd)
        raise refused
    return fd, size
