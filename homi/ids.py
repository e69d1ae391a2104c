"""Message ids: UUIDs in the one shape the agent clients keep.

Standard library only, since the fast path of `homi send` imports it.
"""

import hashlib
import os
import re
import time

# Claude Code keeps an id only in this shape; version and variant digits are free
# (measured on 2.1.332).
SHAPE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII
)


def new() -> str:
    """A fresh UUIDv7: the milliseconds of now, then 74 random bits."""
    bits = (time.time_ns() // 1_000_000) & ((1 << 48) - 1)
    value = bits << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 7 << 76
    return shape(value & ~(0x3 << 62) | 2 << 62)


def derived(*parts: str) -> str:
    """The one id of these parts: the same parts, the same id, on every device."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return shape(int.from_bytes(hashlib.sha256(text).digest()[:16], "big"))


def shape(value: int) -> str:
    """128 bits as 8-4-4-4-12 hex digits."""
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def last_part(message: str) -> str:
    """What people call a message by: the part of its id behind the last dash."""
    return message.rpartition("-")[2]


def halves(message: str) -> tuple[str, str]:
    """What stands before the last part of an id, its dash with it, and that part."""
    tail = last_part(message)
    return message[: len(message) - len(tail)], tail


def is_id(text: str) -> bool:
    """Whether text is an id in lower case, matched whole."""
    return SHAPE.fullmatch(text) is not None
