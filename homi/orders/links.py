"""What may be asked of the daemon about links and other devices: one struct a verb.

Owns the fields; homi.requests lists them with all others.  homi-protocol(7).
"""

from typing import Literal

import msgspec

from homi.envelope import MessageId
from homi.request import CallerClass, Request


class Link(Request, frozen=True, tag="link"):
    """Let this connection carry an exchange with the device peer from now on."""

    peer: str
    origin: str = ""  # where it dialled from, as sshd says: it is shown, no more


class Carry(Request, frozen=True, tag="carry"):
    """What the token lets this process carry for the device peer, until it hangs up."""

    peer: str
    token: str


class MoveBlob(Request, frozen=True, tag="blob"):
    """Have a blob there, or here, that is on one of the two; answered when it is."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    looks = True  # what is there is there
    do: Literal["put", "get"]
    device: str
    sha256: str


class Links(Request, frozen=True, tag="links"):
    """How the link to each device is, or to that one; measured where probe is set."""

    looks = True
    device: str | None = None
    probe: bool = True


class AddLink(Request, frozen=True, tag="link-add"):
    """Keep what is given of a device; None leaves what is known of it."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    device: str
    key: str | None = None
    host: str | None = None  # empty: it dials this device
    via: str | None = None  # empty: over no other
    home: str | None = None
    exe: str | None = None
    mirror: bool | None = None
    seats: bool | None = None  # it may drive the seats here: a person says so


class OrderLink(Request, frozen=True, tag="link-order"):
    """Remove a link, or let it rest, or let it work again."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    do: Literal["rm", "pause", "resume"]
    device: str


class CheckLink(Request, frozen=True, tag="link-check"):
    """Have three probes kept durably over there and answered."""

    looks = True
    device: str


class Bundle(Request, frozen=True, tag="bundle"):
    """Take in lines of a bundle that was checked: mail of device, and what it has of
    ours.  key: the fingerprint of the key that signed it."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    device: str
    key: str
    lines: list[msgspec.Raw]


class Far(Request, frozen=True, tag="far"):
    """The names of another linked device, or of every one: asked of them now."""

    looks = True
    device: str | None = None


class FarTrace(Request, frozen=True, tag="far-trace"):
    """What became of the message id on the device it was sent to."""

    looks = True
    device: str
    id: MessageId
