"""Two devices on one machine, linked over a real sshd.

Each is a Place with a daemon of its own; the ssh server of the one that is dialled
runs `homi link serve` by a forced command, as pairing sets it up.
"""

import contextlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from homi.links.identity import Identity
from tests.standin import sshd
from tests.standin.closing import Closing
from tests.standin.place import PATIENCE, Place, homi_command, until
from tests.standin.sshd import Sshd

SETTINGS = 'device = "{device}"\nring = 8\nreserve = 1\nkeepalive = {keepalive}\n'


def place(device: str, keepalive: float = 15) -> Place:
    """A place with that device name."""
    return Place(SETTINGS.format(device=device, keepalive=keepalive), device=device)


def key_of(one: Place) -> str:
    """The public key of the device; made if there is none."""
    return Identity.load(one.state).public


def linked_pair(
    laptop: Iterable[str] = (), mini: Iterable[str] = ()
) -> "Iterator[Pair]":
    """For a fixture: two devices whose link is up, with the names each has claimed."""
    sshd.need()
    with Pair() as made:
        made.link()
        made.both_up()
        for place, names in ((made.laptop, laptop), (made.mini, mini)):
            for name in names:
                place.ok("claim", name)
        yield made


class Pair(Closing):
    """laptop dials mini."""

    def __init__(self, keepalive: float = 15, *, trust: bool = True) -> None:
        """Both daemons run; nothing is linked.  trust: the laptop knows the host."""
        self._ends = contextlib.ExitStack()
        self.laptop = self._ends.enter_context(self.place("laptop", keepalive))
        self.mini = self._ends.enter_context(self.place("mini", keepalive))
        self.sshd = self._ends.enter_context(Sshd(self.mini))
        self.sshd.reach(self.laptop, trust=trust)
        for one in (self.laptop, self.mini):
            one.state.mkdir(mode=0o700)
            key_of(one)
            one.start()

    def place(self, device: str, keepalive: float) -> Place:
        """One of the two."""
        return place(device, keepalive)

    def forced(self, peer: Place, at: Place | None = None) -> str:
        """The line of authorized_keys that lets peer's daemon in."""
        homi = " ".join(homi_command())
        root = (at or self.mini).state
        serve = f"{homi} --home {root} link serve --peer {peer.device}"
        return f'restrict,command="{serve}" {key_of(peer)} homi:{peer.device}\n'

    def let_in(self) -> None:
        """mini's ssh server takes the laptop's device key."""
        self.sshd.authorize(self.forced(self.laptop))

    def book(self) -> None:
        """Each daemon is told of the other."""
        laptop, mini = key_of(self.laptop), key_of(self.mini)
        self.mini.ok("link", "add", "laptop", "--key", laptop)
        self.laptop.ok("link", "add", "mini", "--key", mini, "--host", "mini")

    def link(self) -> None:
        """As pairing leaves it."""
        self.let_in()
        self.book()

    def row(self, at: Place, device: str) -> dict[str, Any]:
        """How a link is, as its daemon knows it."""
        out = at.ok("link", "ls", "--no-probe", "--json")
        rows = {row["device"]: row for row in map(json.loads, out.splitlines())}
        return dict(rows[device])

    def is_(self, at: Place, device: str, state: str) -> dict[str, Any]:
        """Wait until a link is so; its row."""
        found: dict[str, Any] = {}

        def holds() -> bool:
            found.update(self.row(at, device))
            return bool(found["state"] == state)

        try:
            until(holds, f"{device} is {state} at {at.device}", PATIENCE, 0.05)
        except AssertionError as error:
            raise AssertionError(f"{error}: {found}") from error
        return found

    def both_up(self) -> None:
        """Wait until the link is up on both ends."""
        self.is_(self.laptop, "mini", "up")
        self.is_(self.mini, "laptop", "up")

    def close(self) -> None:
        """End everything and prove it."""
        self._ends.close()
