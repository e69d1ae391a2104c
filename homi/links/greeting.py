"""The meeting of two devices: hello, the versions, the keys and the proof of them.

Owns the decision whether the other end is the device it says it is; sends nothing.
homi-protocol(7) states what is signed.
"""

import base64
import binascii
import math
import secrets
from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import NamedTuple, Protocol

from homi import __version__
from homi.address import Device, is_name, show
from homi.clock import Clock
from homi.links import keys
from homi.links.frames import LEAST, VERSION, End, Hello, Proof, encode
from homi.links.pulse import KEEPALIVE, Parted
from homi.visible import visible

_DOMAIN = b"homi-link-1\0"


class Signer(Protocol):
    """The key of this device, as links.identity has it."""

    @property
    def public(self) -> str:
        """ssh-ed25519 and the key."""
        ...

    def sign(self, data: bytes) -> bytes:
        """The signature of data."""
        ...

    def verify(self, public: str, sig: bytes, data: bytes) -> bool:
        """Whether the holder of public signed data."""
        ...


class Here(NamedTuple):
    """This end of every link."""

    device: Device
    signer: Signer
    clock: Clock
    loop: AbstractEventLoop
    keepalive: float = KEEPALIVE  # s


class Peer(NamedTuple):
    """The other end, proven."""

    device: Device
    key: str  # its public key, as pinned
    software: str
    version: int  # spoken on this connection
    offset: float  # s its clock is ahead of ours: shown, never believed

    @property
    def fingerprint(self) -> str:
        """SHA256:… of its key."""
        return keys.fingerprint(self.key)


class Greeting:
    """What was said on one connection before it is open."""

    def __init__(
        self,
        here: Here,
        known: Callable[[str], str | None],
        *,
        dialled: bool,
        peer: Device | None,
    ) -> None:
        """known gives the pinned key of a device; peer is who must be there, if that
        is known.  dialled: this end opened the connection."""
        self._here = here
        self._known = known
        self._dialled = dialled
        self._expected = peer
        self._mine = b""
        self._theirs = b""
        self._nonce = secrets.token_hex(32)
        self._hello: Hello | None = None
        self._pinned = ""
        self._heard_at = 0.0

    def hello(self) -> bytes:
        """The first line of this end."""
        line = encode(
            Hello(
                v=VERSION,
                least=LEAST,
                device=self._here.device,
                peer=self._expected or "",
                software=f"homi {__version__}",
                key=self._here.signer.public,
                nonce=self._nonce,
                now=self._here.clock.wall(),
            )
        )
        self._mine = line[:-1]
        return line

    def answer(self, line: bytes, hello: Hello) -> bytes:
        """Our proof, for the hello that came as line; Parted where they cannot meet."""
        if self._hello is not None:
            raise Parted(End.PROTOCOL, "hello came twice")
        self._meet(hello)
        self._check_names(hello)
        self._pinned = self._pin(hello)
        self._hello, self._theirs = hello, line
        self._heard_at = self._here.clock.wall()
        sig = self._here.signer.sign(self._signed(by_dialler=self._dialled))
        return encode(Proof(sig=base64.b64encode(sig).decode("ascii")))

    def proven(self, proof: Proof) -> Peer:
        """Who is there; Parted where the signature says otherwise."""
        hello = self._hello
        if hello is None:
            raise Parted(End.PROTOCOL, "proof came before hello")
        try:
            sig = base64.b64decode(proof.sig, validate=True)
        except (binascii.Error, ValueError):
            raise Parted(End.AUTH, "the proof is no signature") from None
        data = self._signed(by_dialler=not self._dialled)
        if not self._here.signer.verify(self._pinned, sig, data):
            raise Parted(End.AUTH, f"{hello.device} did not prove its key")
        return Peer(
            device=Device(hello.device),
            key=self._pinned,
            software=hello.software,
            version=min(VERSION, hello.v),
            offset=hello.now - self._heard_at,
        )

    def _meet(self, hello: Hello) -> None:
        """Parted where there is no version that both speak.

        The text is the same truth on both ends: it names the device to be updated.
        """
        if hello.least <= VERSION and hello.v >= LEAST:
            return
        here, there = self._here.device, visible(hello.device)
        older = here if hello.least > VERSION else there
        raise Parted(
            End.VERSION,
            f"{visible(hello.software)} on {there} speaks link"
            f" {_spoken(hello.least, hello.v)}, homi {__version__} on {here} speaks"
            f" {_spoken(LEAST, VERSION)}: update homi on {older}",
        )

    def _check_names(self, hello: Hello) -> None:
        """Each must be who the other means."""
        device, here = hello.device, self._here.device
        if not is_name(device) or not math.isfinite(hello.now):
            raise Parted(End.PROTOCOL, f"hello: {show(device)} is no device")
        if self._expected not in (None, device):
            raise Parted(End.AUTH, f"{self._expected} was expected, {device} is there")
        if hello.peer not in ("", here):
            raise Parted(End.AUTH, f"{device} wants {show(hello.peer)}, this is {here}")
        if device == here:
            raise Parted(End.AUTH, f"both ends are called {here}")

    def _pin(self, hello: Hello) -> str:
        """The pinned key, which must be the one in hello."""
        pinned = self._known(hello.device)
        if pinned is None:
            raise Parted(End.AUTH, f"{hello.device} is not paired with this device")
        if keys.same(pinned, self._here.signer.public):
            raise Parted(End.AUTH, f"{hello.device} has the key of this device")
        if not keys.same(pinned, hello.key):
            raise Parted(
                End.DEVICE_KEY, f"the key of {hello.device} is not the pinned one"
            )
        return pinned

    def _signed(self, *, by_dialler: bool) -> bytes:
        """What that end signs: its role, then both hellos as they were sent."""
        role = b"dialler" if by_dialler else b"answerer"
        both = (self._mine, self._theirs)
        first, second = both if self._dialled else both[::-1]
        return _DOMAIN + b"\n".join((role, first, second))


def _spoken(least: int, most: int) -> str:
    """The versions from least to most."""
    return f"version {most}" if least == most else f"versions {least} to {most}"
