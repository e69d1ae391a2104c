"""Mail for another device in a file, signed: its lines, and whether they may be read.

Owns the form of a bundle, and what is refused before anything of it is stored; opens
no file and stores nothing.  homi-protocol(7) is the format.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

import msgspec

from homi import __version__
from homi.address import Device, is_name, show
from homi.config import LINE_MAX_ALONE
from homi.envelope import MessageId
from homi.errors import BadMessage, NoSuchDevice, NotAllowed, VersionMismatch
from homi.links import frames, keys
from homi.links.frames import Count, Frame, Mail, Short, Unknown

VERSION = 1  # what is written here, and all that is read
HEAD_MAX = 8192  # bytes of the first line
IDS_TOGETHER = 256  # of a line that says what is stored
_DOMAIN = b"homi-bundle-1\0"
_AGAIN = "copy it again, or have it written again"


class Bundle(Frame, frozen=True, kw_only=True):
    """The first line."""

    v: Count
    from_: Short = msgspec.field(name="from")  # the device that wrote it
    to: Short  # the device it is for
    software: Short = ""
    key: Annotated[str, msgspec.Meta(max_length=1024)]  # ssh-ed25519 AAAA…
    at: Short = ""  # when it was written, by the clock over there
    count: Annotated[int, msgspec.Meta(ge=0)] = 0  # messages that waited then


class Stored(Frame, frozen=True):
    """Messages of the device it is for that the writer has."""

    ids: list[MessageId]


class Seal(Frame, frozen=True):
    """The last line: the signature over all before it, base64."""

    sig: Short


class Version(msgspec.Struct, frozen=True):
    """What every version of the first line tells."""

    f: str
    v: int
    software: object = ""


_KINDS: tuple[type[Frame], ...] = (Bundle, Mail, Stored, Seal)
_TAGS = {kind.__struct_config__.tag for kind in _KINDS}
_DECODE = msgspec.json.Decoder(Bundle | Mail | Stored | Seal).decode
_GLANCE = msgspec.json.Decoder(Unknown).decode
_VERSION = msgspec.json.Decoder(Version).decode


def sealed(
    head: Bundle, lines: Iterable[bytes], sign: Callable[[bytes], bytes]
) -> Iterator[bytes]:
    """A whole bundle, line by line: head, lines, and the signature of them all."""
    digest = hashlib.sha256()
    first = frames.encode(head)
    digest.update(first)
    yield first
    for line in lines:
        digest.update(line)
        yield line
    sig = sign(_DOMAIN + digest.digest())
    yield frames.encode(Seal(sig=base64.b64encode(sig).decode("ascii")))


def head_of(here: Device, to: Device, key: str, at: str, count: int) -> Bundle:
    """The first line of a bundle this homi writes."""
    software = f"homi {__version__}"
    return Bundle(
        v=VERSION, from_=here, to=to, software=software, key=key, at=at, count=count
    )


class Check:
    """What stands between a bundle and its being read: told every line, then the end.

    Each call raises for what no bundle for this device has.
    """

    def __init__(
        self,
        here: Device,
        known: Callable[[str], str | None],
        verify: Callable[[str, bytes, bytes], bool],
    ) -> None:
        """known gives the pinned key of a linked device, empty where there is none;
        verify says whether the holder of a key signed."""
        self._here = here
        self._known = known
        self._verify = verify
        self._digest = hashlib.sha256()
        self._pinned = ""
        self._last = b""  # not in the digest yet: it may be the seal
        self._seal: Seal | None = None
        self.head: Bundle | None = None
        self.lines = 0
        self.mails = 0

    def line(self, line: bytes) -> None:
        """The next line, line feed included."""
        self.lines += 1
        if self.head is None:
            self.head = self._begin(line)
        elif len(line) > LINE_MAX_ALONE:
            raise BadMessage(
                f"line {self.lines} has over {LINE_MAX_ALONE} bytes, no message"
                " makes so long a line"
            )
        else:
            self._digest.update(self._last)
            self._check(line)
        self._last = line

    def end(self) -> Bundle:
        """There is no more: what its writer says of it, which is proven now."""
        if self.head is None:
            raise BadMessage("it is empty, not a bundle")
        if self._seal is None:
            raise BadMessage(
                f"it is cut short behind line {self.lines}: {self.mails} of"
                f" {self.head.count} messages are there, its signature is not",
                hint=_AGAIN,
            )
        if not self._signed(self._seal.sig):
            raise BadMessage(
                f"it was changed on its way, or {self.head.from_} did not write it",
                hint=_AGAIN,
            )
        return self.head

    def _begin(self, line: bytes) -> Bundle:
        """The first line tells who it is from and for."""
        found = None if len(line) > HEAD_MAX else _version(line)
        if found is not None and found.v > VERSION:
            raise VersionMismatch(
                f"it is of version {found.v}, by {show(str(found.software))};"
                f" homi {__version__} reads version {VERSION}",
                hint="update homi here, or have it written by an older one",
            )
        head = None if found is None else _decoded(line)
        if not isinstance(head, Bundle):
            raise BadMessage("it is no bundle: its first line is not that of one")
        self._pinned = self._pin(head)
        return head

    def _pin(self, head: Bundle) -> str:
        """The key that must have signed; a stranger, another's and a changed key are
        refused by name."""
        writer = head.from_
        if not is_name(writer):
            raise BadMessage(f"{show(writer)} is no device")
        if head.to != self._here:
            raise BadMessage(
                f"{writer} wrote it for {show(head.to)}, this device is {self._here}"
            )
        pinned = self._known(writer)
        if not pinned:
            raise NoSuchDevice(
                f"{writer} is not paired with {self._here}"
                if pinned is None
                else f"the key of {writer} is not known here",
                hint=f"homi pair, or homi link add {writer} --key KEY",
                reason="auth",
            )
        if not keys.same(pinned, head.key):
            raise NotAllowed(
                f"its key is not the one that {writer} was paired with",
                hint=f"homi link add {writer} --key KEY, if you trust the new one",
                reason="device-key",
            )
        return pinned

    def _check(self, line: bytes) -> None:
        """A later line, in its place."""
        if self._seal is not None:
            raise BadMessage(f"line {self.lines} stands behind its signature")
        found = _decoded(line)
        if found is None and not line.endswith(b"\n"):
            return  # the end tells that it is cut short
        if found is None or isinstance(found, Bundle):
            raise BadMessage(f"line {self.lines} is none of a bundle", hint=_AGAIN)
        if isinstance(found, Seal):
            self._seal = found
        elif isinstance(found, Mail):
            self.mails += 1
            if found.n != self.mails:
                raise BadMessage(
                    f"line {self.lines} is message {found.n} where {self.mails} is"
                    " due: it was reordered or cut",
                    hint=_AGAIN,
                )

    def _signed(self, sig: str) -> bool:
        """Whether the pinned key signed all but the last line."""
        try:
            raw = base64.b64decode(sig, validate=True)
        except (binascii.Error, ValueError):
            return False
        return self._verify(self._pinned, raw, _DOMAIN + self._digest.digest())


def read(line: bytes) -> Mail | Stored | None:
    """A line of a bundle that was checked; None: it says nothing to be done."""
    found = _decoded(line)
    return found if isinstance(found, Mail | Stored) else None


def _decoded(line: bytes) -> Bundle | Mail | Stored | Seal | Unknown | None:
    """What a line says; Unknown of a later homi, None where it is no line of ours."""
    try:
        known: Bundle | Mail | Stored | Seal = _DECODE(line)
        return known
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        found = _GLANCE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return None if found.f in _TAGS else found


def _version(line: bytes) -> Version | None:
    """The version of a bundle by its first line; None where it is none."""
    try:
        found = _VERSION(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if found.f == "bundle" else None
