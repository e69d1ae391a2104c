"""What may be asked of the daemon about wakes: one struct a verb.

Owns the fields; homi.requests lists them with all others.  homi-protocol(7).
"""

from typing import Literal

import msgspec

from homi.request import Request


class WakeAdd(Request, frozen=True, tag="wake-add"):
    """Send text to an address whenever a trigger says so."""

    soon = True
    to: str
    text: str
    kind: Literal["cron", "every", "at", "file", "pr", "exit"]
    value: str  # an expression, seconds, RFC 3339, a pattern, OWNER/REPO, a seat
    zone: str = ""  # of an expression; empty: UTC
    from_: str | None = msgspec.field(name="from", default=None)
    missed: Literal["once", "skip", "all"] = "once"
    overlap: Literal["skip", "queue"] = "skip"
    jitter: int = 0  # seconds
    until: str = ""  # RFC 3339
    most: int = 0  # firings; 0: without end
    spawn: bool = False


class WakeOrder(Request, frozen=True, tag="wake-order"):
    """Remove a wake, let it rest or go on, or fire it now."""

    soon = True
    do: Literal["rm", "pause", "resume", "run"]
    wake: str  # its id, the start of that one's last part, or a name that has one
    key: str = ""  # of a run: the same again is the same firing


class Wakes(Request, frozen=True, tag="wakes"):
    """Every wake, or those for one name, or that one."""

    looks = True
    which: str | None = None
