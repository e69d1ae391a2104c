"""Another device that says over its link whatever a test wants.

Meets the daemon of a place as its homi would, through `homi link serve`, with the key
it is given; from then on nothing keeps it from breaking a rule.
"""

import contextlib
import json
import socket
import subprocess
import uuid
from asyncio import AbstractEventLoop
from typing import Any, cast

import msgspec

from homi.address import Device
from homi.clock import SystemClock
from homi.links import frames
from homi.links.frames import Hello, Proof, Tail, mail_line, mail_tail
from homi.links.greeting import Greeting, Here
from homi.links.identity import Identity
from tests.standin.closing import Closing
from tests.standin.place import PATIENCE, Place, homi_command

Json = dict[str, Any]


class Rogue(Closing):
    """One connection to the daemon of a place, as device."""

    def __init__(
        self, place: Place, device: str, identity: Identity, *, claims: str = ""
    ) -> None:
        """claims: the key its hello shows; its own if empty."""
        root = place.state
        self.device = device
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE)
        self._serve = subprocess.Popen(
            [*homi_command(), "--home", root, "link", "serve", "--peer", device],
            env=place.env(),
            cwd=place.work,
            stdin=subprocess.PIPE,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
        )
        theirs.close()
        assert self._serve.stdin is not None
        self._from, self._to = ours.makefile("rb"), self._serve.stdin
        ours.close()
        self._sent = 0
        here = Here(
            Device(device),
            identity,
            SystemClock(),
            cast(AbstractEventLoop, None),  # it sets no timer
        )
        pinned = Identity.load(root).public
        peer = Device(place.device)
        greeting = Greeting(here, lambda _device: pinned, dialled=True, peer=peer)
        line = greeting.hello()
        if claims:
            line = line.replace(identity.public.encode(), claims.encode())
        self.say(line[:-1])
        first = self.line()
        self.ended: Json = {}
        hello = frames.decode(first)
        if isinstance(hello, Hello):
            self.say(greeting.answer(first, hello)[:-1])
            said = self.line()
            proof = frames.decode(said)
            if isinstance(proof, Proof) and not claims:
                greeting.proven(proof)
                return
            # What it proved is not what was sent: its verdict on us follows.
            first = self.line() if isinstance(proof, Proof) else said
        self.ended = json.loads(first)

    def say(self, *lines: bytes) -> None:
        """Send lines; nothing happens where the daemon takes no more."""
        with contextlib.suppress(OSError):
            self._to.write(b"".join(line + b"\n" for line in lines))
            self._to.flush()

    def line(self) -> bytes:
        """The next line of the daemon; empty at the end, also in the middle of one."""
        while (line := self._from.readline()).endswith(b"\n"):
            if line != b"\n":
                return line[:-1]
        return b""

    def frame(self, *kinds: str) -> Json:
        """The next frame of these kinds, or the bye; empty at the end."""
        while line := self.line():
            frame: Json = json.loads(line)
            if frame["f"] in (*kinds, "bye"):
                return frame
        return {}

    def mail(
        self, msg: Json | bytes, to: str, hops: tuple[str, ...] | None = None
    ) -> Json:
        """Send one envelope; what the daemon says to it."""
        body = msg if isinstance(msg, bytes) else msgspec.json.encode(msg)
        way = (self.device,) if hops is None else hops
        msg = msgspec.Raw(body)
        tail = mail_tail(Tail(to=to, hops=way, verified=True, msg=msg))
        self._sent += 1
        self.say(mail_line(self._sent, tail)[:-1])
        return self.frame("ack")

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError):
            self._to.close()
        self._from.close()
        try:
            self._serve.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._serve.kill()
            self._serve.wait(PATIENCE)


def letter(**fields: object) -> Json:
    """A message of bob to ada on mini."""
    made: Json = {"id": str(uuid.uuid4()), "from": "bob", "to": "ada@mini", "text": "x"}
    return made | fields
