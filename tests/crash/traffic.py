"""Senders at every door of a daemon that is killed under them, and what they were told.

Each sender notes which ids it was promised.  verify() holds the mailboxes against
that: every promised id exactly once and in the order of its lane, nothing invented.
"""

import contextlib
import itertools
import json
import os
import random
import socket
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from homi.clock import rfc3339
from homi.errors import HomiError
from homi.store import pickup
from tests.standin import wire
from tests.standin.place import Place

DOOR_WAIT = 60.0  # s for one answer; a daemon that neither answers nor dies is a bug


class Sender(threading.Thread):
    """One lane: sends one message after another until told to stop."""

    def __init__(self, place: Place, to: str, told: Callable[[], None]) -> None:
        """to: the recipient's name; told is called after each promise."""
        super().__init__(daemon=True)
        self.place = place
        self.to = to
        self.told = told
        self.promised: list[str] = []
        self.sent: list[str] = []
        self.cut = 0  # sends that ended in an error
        self.wrong: list[str] = []
        self.stopping = threading.Event()
        self.pause = threading.Event()

    def run(self) -> None:
        """Send until stopped."""
        for count in itertools.count():
            if self.stopping.is_set():
                return
            message = str(uuid.uuid4())
            self.sent.append(message)
            if self.send(message, f"{self.name} {count}"):
                self.promised.append(message)
                self.told()
            else:
                self.cut += 1
                self.pause.wait(0.005)

    def send(self, message: str, text: str) -> bool:
        """One try; whether it was promised."""
        raise NotImplementedError

    def stop(self) -> None:
        """End after the try that is under way."""
        self.stopping.set()

    def close(self) -> None:
        """Let go of what is open."""


class ControlSender(Sender):
    """A service that signs as a claimed name; the same id again after a cut."""

    wire: Any = None

    def send(self, message: str, text: str) -> bool:
        """Until promised or stopped: the id is safe to send again."""
        msg = {"id": message, "from": "svc", "to": self.to, "text": text}
        while not self.stopping.is_set():
            try:
                answer = self._ask({"verb": "send", "msg": msg})
            except (OSError, ValueError):
                self.cut += 1
                self.close()
                self.pause.wait(0.005)
                continue
            if "ok" in answer:
                return True
            if answer["error"]["code"] not in ("io", "not-reached"):
                self.wrong.append(str(answer))
                return False
        return False

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.wire is None:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(DOOR_WAIT)
            try:
                sock.connect(str(self.place.state / "homi.sock"))
                self.wire = sock.makefile("rwb")
            finally:
                sock.close()
            self._line({"verb": "hello", "v": 1, "software": "crash"})
        return self._line(request)

    def _line(self, request: dict[str, Any]) -> dict[str, Any]:
        self.wire.write(json.dumps(request).encode() + b"\n")
        self.wire.flush()
        line = self.wire.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the daemon is gone")
        return dict(json.loads(line))

    def close(self) -> None:
        """Drop the connection."""
        if self.wire is not None:
            with contextlib.suppress(OSError):
                self.wire.close()
            self.wire = None


class PeerSender(Sender):
    """A native sender: promised is a clean close, and nothing is sent twice."""

    path = ""

    def send(self, message: str, text: str) -> bool:
        """One native send of its own tool."""
        own = f"uds:{self.place.run}/cc-socks/1.sock"
        content = wire.tagged(text, own, self.name, "prompting")
        data = wire.lines("0" * 32, wire.message(content, own, message))
        return wire.deliver(self.path, data, self.to, message).ok


class PickupSender(Sender):
    """What the command line does while the daemon is down: a synced file."""

    def send(self, message: str, text: str) -> bool:
        """Promised when the file stands."""
        msg = {"id": message, "from": "svc", "to": self.to, "text": text}
        spooled = pickup.Spooled(
            at=rfc3339(0.0),
            caller="service",
            uid=os.getuid(),
            pid=os.getpid(),
            msg=msgspec.Raw(json.dumps(msg).encode()),
        )
        try:
            pickup.write(self.place.state, spooled)
        except HomiError as error:
            self.wrong.append(str(error))
            return False
        self.pause.wait(0.02)  # a command line is slower than this loop
        return True


class Traffic:
    """All lanes to some names, each with a promise counter one may wait for."""

    def __init__(self, place: Place, names: list[str]) -> None:
        """One sender a door and name; the peer sockets are read off the records."""
        self.place = place
        self._news = threading.Condition()
        self._count = 0
        self.senders: list[Sender] = []
        for name in names:
            record = place.planted(name)
            assert record is not None, f"{name} is not planted"
            peer = PeerSender(place, name, self._told)
            peer.path = record["messagingSocketPath"]
            self._add(peer, "peer", name)
            self._add(ControlSender(place, name, self._told), "control", name)
        self._add(PickupSender(place, names[0], self._told), "pickup", names[0])

    def _add(self, sender: Sender, door: str, name: str) -> None:
        sender.name = f"{door}-{name}"
        self.senders.append(sender)

    def _told(self) -> None:
        with self._news:
            self._count += 1
            self._news.notify_all()

    def start(self) -> None:
        """Let all send."""
        for sender in self.senders:
            sender.start()

    def more(self, count: int, patience: float = 90.0) -> bool:
        """Wait for so many further promises; False when they do not come."""
        with self._news:
            goal = self._count + count
            return self._news.wait_for(lambda: self._count >= goal, patience)

    def stop(self) -> None:
        """End all senders.  The daemon must be up: what is under way is answered."""
        for sender in self.senders:
            sender.stop()
        for sender in self.senders:
            sender.join(DOOR_WAIT + 5)
            assert not sender.is_alive(), f"{sender.name} hangs"
            sender.close()

    def verify(self) -> Counter[str]:
        """Hold the mailboxes against the promises; what was found, by kind."""
        found: Counter[str] = Counter()
        for name in sorted({sender.to for sender in self.senders}):
            stored = [line["msg"]["id"] for line in self.place.lines(name)]
            doubled = [one for one, n in Counter(stored).items() if n > 1]
            assert not doubled, f"{name}: stored twice: {doubled}"
            place = {message: at for at, message in enumerate(stored)}
            lanes = [sender for sender in self.senders if sender.to == name]
            sent = {message for sender in lanes for message in sender.sent}
            # The postmaster's own: a digest of a long backlog, for whoever lives.
            sent |= {
                line["msg"]["id"]
                for line in self.place.lines(name)
                if line["msg"].get("auto") and line["msg"]["from"] == "postmaster"
            }
            assert set(stored) <= sent, f"{name}: invented {set(stored) - sent}"
            for sender in lanes:
                assert not sender.wrong, sender.wrong
                lost = [one for one in sender.promised if one not in place]
                assert not lost, f"{sender.name}: promised and lost: {lost}"
                kept = [place[one] for one in sender.sent if one in place]
                assert kept == sorted(kept), f"{sender.name}: out of order"
                found["promised"] += len(sender.promised)
                found["cut"] += sender.cut
            found["stored"] += len(stored)
        return found


def seed(default: int = 0) -> random.Random:
    """The generator of a random test; its seed is printed and can be set."""
    number = int(os.environ.get("HOMI_TEST_SEED", default or random.randrange(1 << 32)))
    print(f"HOMI_TEST_SEED={number}")
    return random.Random(number)


def spooled(root: Path) -> int:
    """How many files wait in pickup/."""
    return len(list((root / "pickup").glob("[!.]*.json")))
