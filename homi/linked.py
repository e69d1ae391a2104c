"""What the daemon answers about links and bundles.

Owns the fields of these answers, which only grow.  homi-protocol(7) is the page.
"""

import msgspec

TURNED_AWAY = "turned-away"  # the state of a device that is not linked, and dials


class Turned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One who wanted in by a link, and was turned away."""

    at: str  # RFC 3339: its last try
    since: str  # RFC 3339: its first, since it was last let in or its link changed
    tries: int
    reason: str  # one of links.frames.End
    text: str  # in the words of who said it
    fix: str = ""  # what mends it
    origin: str = ""  # the address it came from, as sshd told it

    @property
    def whence(self) -> str:
        """Behind a verb: from where it came; empty where that is not known."""
        return f" from {self.origin}" if self.origin else ""


class LinkRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The link to a device as it is now."""

    device: str
    state: str
    text: str = ""  # in the words of who said it
    fix: str = ""  # what a person types to mend it
    since: str = ""  # RFC 3339: of the state
    next_try: str = ""  # RFC 3339
    failures: int = 0  # in a row
    host: str = ""  # what ssh dials; empty: it dials this device
    via: str = ""
    way: str = ""  # of the connection: dialled | accepted
    heard: str = ""  # RFC 3339: when a line came last
    ms: float | None = None  # of a round trip, measured now
    offset_s: float | None = None  # its clock is ahead of ours, as of `since`
    software: str = ""
    key: str = ""  # SHA256:… of the device
    said: str = ""  # what its shell and sshd print beside; no cause of anything
    mirror: bool = False
    seats: bool = False  # it may drive the seats here
    pending: int = 0  # messages that wait for it here
    oldest: str = ""  # RFC 3339
    turned: Turned | None = None  # that it dialled this device in vain


class LinkRows(msgspec.Struct, frozen=True):
    """Answer to links."""

    rows: list[LinkRow]


class Checked(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to link-check."""

    device: str
    probes: int  # sent
    kept: int  # durable over there, and answered
    ms: list[float]  # of each that was
    state: str
    text: str = ""
    fix: str = ""


class Carried(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to carry: what is granted."""

    root: str  # the state root
    way: str  # up: into blobs/ here; down: out of it
    sha256: str
    most: int  # bytes it may have


class Moved(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to blob."""

    device: str
    sha256: str
    size: int = 0
    known: bool = False  # it was there already


class BundleRow(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What became of one message of a bundle."""

    id: str
    duplicate: bool = False  # it was here before
    code: str = ""  # of homi.errors; empty: it is stored
    error: str = ""
    hint: str = ""
    reason: str = ""
    permanent: bool = False  # trying again cannot help


class Bundled(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to bundle: a row for each message, in their order."""

    rows: list[BundleRow]
    relayed: int = 0  # messages of ours that are known to be there, from now on
