"""What is told of another device: its names, and what became of a message there.

Owns the fields of these answers, on a link and on the control socket alike; they only
grow.  homi-protocol(7) is the page.
"""

import msgspec

from homi.envelope import Reason, Rung


class FarName(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A name claimed on another device."""

    name: str
    generation: int = 0
    live: bool = False  # a session has it
    pending: int | None = None  # messages in its mailbox; None: not asked
    status: str = ""  # what its session says of itself


class FarNames(msgspec.Struct, frozen=True, omit_defaults=True):
    """The names of one device."""

    names: list[FarName]


class FarRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of one linked device."""

    device: str
    state: str  # of its link
    asked: bool = False  # it answered just now; else this is what was known last
    at: str = ""  # RFC 3339, our clock: when this was true; empty: never heard
    why: str = ""  # why it did not answer
    names: list[FarName] = []
    via: str = ""  # the device its mail goes over, which tells no names of it


def untold(via: str) -> str:
    """Why a device that is linked over another is not asked: a question is for the
    device at the other end of a link, and what that may see is granted to it alone."""
    return f"reached over {via}, which tells no names of it"


class FarRows(msgspec.Struct, frozen=True):
    """Answer to far: a row a device."""

    rows: list[FarRow]


class Step(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of what became of a message on another device."""

    name: str  # of the mailbox there, or @DEVICE where it went on
    rung: str
    at: str  # RFC 3339, the clock of that device
    reason: str = ""
    leg: str = ""  # of the first line: the door it came by
    pid: int = 0
    by: str = ""
    proof: str = ""
    repeat: bool = False
    until: str = ""  # RFC 3339


class Steps(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to steps: what a device tells of a message that was sent there."""

    device: str
    steps: list[Step] = []
    asked: bool = False  # it answered just now
    why: str = ""  # why it did not


class FarRung(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """How far one message is there."""

    id: str
    rung: Rung
    at: str = ""  # RFC 3339, the clock of that device
    reason: Reason | None = None
    by: str = ""


class FarMissing(msgspec.Struct, frozen=True):
    """Those of the messages asked about that a device does not have."""

    missing: list[str]


class FarRungs(msgspec.Struct, frozen=True):
    """Those of the messages asked about that came from who asks."""

    rungs: list[FarRung]
