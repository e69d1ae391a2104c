"""Two devices for a measurement, both daemons real: laptop dials mini over sshd.

The ssh server is OpenSSH's own on the loopback, one process a connection; it runs
`homi link serve` by a forced command, as pairing sets it up.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from homi.links.identity import Identity
from homi.store import words
from homi.store.database import Database
from homi.store.index import Index
from tests.bench import kit, profiles
from tests.bench.setup import PATIENCE, SENDER, Machine
from tests.bench.turns import Wire
from tests.standin import journals
from tests.standin.closing import Closing
from tests.standin.place import Place, homi_command, until
from tests.standin.sshd import Sshd

STEP = 0.005  # s between two looks at a journal
NAME = "n0000"
LATE = 300.0  # s for a drain
LOOK = 0.2  # s between two looks into an index
PAUSE = 1.5  # s: what is done at rest begins a second behind the last mail
IDLE = 0.1  # of a core, all of them together


class Drain(NamedTuple):
    """How an out queue was emptied."""

    rate: float  # messages a second, from the first ack to the last
    cpu: tuple[float, float]  # us a message of both daemons


class Pair(Closing):
    """laptop and mini, linked, without quotas."""

    def __init__(self, names: list[str], profile: Path | None = None) -> None:
        """Both daemons run; the link is up.  names: claimed at both.  profile: where
        each has a folder of its name, if they are to be sampled."""
        self._ends = contextlib.ExitStack()
        try:
            self.laptop = self._machine("laptop")
            self.mini = self._machine("mini")
            self.sshd = self._ends.enter_context(_Quiet(self.mini))
            self.sshd.reach(self.laptop)
            for one in (self.laptop, self.mini):
                journals.write_names(one.state, [SENDER, *names])
                Identity.load(one.state)
                seen = profiles.wanted(profile / one.device) if profile else {}
                one.start(PATIENCE, **seen)
            self._link()
            self.is_("up")
        except BaseException:
            self._ends.close()
            raise

    def _machine(self, device: str) -> Machine:
        """A place of that name; nothing runs."""
        made = Machine(f'device = "{device}"\n', device=device)
        return self._ends.enter_context(made)

    def _link(self) -> None:
        """As pairing leaves it."""
        here, there = key_of(self.laptop), key_of(self.mini)
        homi = " ".join(homi_command())
        serve = f"{homi} --home {self.mini.state} link serve --peer laptop"
        self.sshd.authorize(f'restrict,command="{serve}" {here} homi:laptop\n')
        with self.wire(self.mini) as wire:
            wire.ask(verb="link-add", device="laptop", key=here)
        with self.wire(self.laptop) as wire:
            wire.ask(verb="link-add", device="mini", key=there, host="mini")

    def wire(self, at: Machine) -> Wire:
        """A control connection."""
        return Wire(at.socket)

    def is_(self, state: str) -> None:
        """Wait until laptop's link is so."""
        with self.wire(self.laptop) as wire:

            def holds() -> bool:
                return state_of(wire) == state

            until(holds, f"the link is {state}", PATIENCE)

    def isnt(self, state: str) -> None:
        """Wait until laptop's link is not so."""
        with self.wire(self.laptop) as wire:
            until(lambda: state_of(wire) != state, f"the link is not {state}", PATIENCE)

    def order(self, what: str, state: str) -> None:
        """Pause the link, or let it go on; return when it is so."""
        with self.wire(self.laptop) as wire:
            wire.ask(verb="link-order", do=what, device="mini")
        self.is_(state)

    def rest(self) -> None:
        """Wait until neither daemon is at work."""
        rest(self.laptop, self.mini)

    @property
    def ledger(self) -> Path:
        """Of laptop's out queue for mini."""
        return self.laptop.state / "out" / "mini" / "ledger.jsonl"

    def cut(self) -> None:
        """Kill what serves the connection, as the loss of it does."""
        for pid in self.sshd.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def ssh(self, command: str, given: bytes = b"") -> float:
        """Seconds of one command at mini by a fresh connection of the user's ssh."""
        begun = time.perf_counter()
        subprocess.run(
            [self.laptop.bin / "ssh", "mini", command],
            input=given,
            env=self.laptop.env(),
            capture_output=True,
            timeout=60,
            check=True,
        )
        return time.perf_counter() - begun

    def drain(self, count: int) -> Drain:
        """Let count messages go that wait, and wait until the last is acked."""
        watch = Watch(self.ledger)
        before = [kit.cpu(one.pid) for one in (self.laptop, self.mini)]
        with self.wire(self.laptop) as wire:
            wire.ask(verb="link-order", do="resume", device="mini")
        first = watch.until(1)
        begun = time.perf_counter()
        last = watch.until(count)
        rate = (last - first) / (time.perf_counter() - begun)
        after = [kit.cpu(one.pid) for one in (self.laptop, self.mini)]
        here, there = (
            (b - a) * 1e6 / count for a, b in zip(before, after, strict=True)
        )
        return Drain(rate, (here, there))

    def close(self) -> None:
        """End everything and prove it."""
        self._ends.close()


class Watch:
    """Counts what is added to a journal from now on."""

    def __init__(self, path: Path) -> None:
        """What stands there does not count."""
        self._path = path
        self._read = path.stat().st_size if path.exists() else 0
        self.count = 0

    def until(self, count: int) -> int:
        """Wait until so many lines were added; how many there are then."""
        deadline = time.monotonic() + LATE
        while True:
            self.count += sum(piece.count(b"\n") for piece in self._more())
            if self.count >= count:
                return self.count
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.count} of {count} were acked in {LATE} s")
            time.sleep(STEP)

    def _more(self) -> Iterator[bytes]:
        """What was added since the last look."""
        with contextlib.suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
            self._read += len(data)
            yield data


class _Quiet(Sshd):
    """One whose log is nobody's to read, as long as all is well."""

    def close(self) -> None:
        """As ever, the log taken away before."""
        self.down()
        self.cut()
        self.log.unlink(missing_ok=True)
        super().close()


def rest(*places: Machine) -> None:
    """Wait until none of these has work left, or is at it: an index that catches up
    shares the interpreter with what is measured next, and far behind it does so while
    mail moves.  A daemon that is quiet may only wait for its disk, with all of that
    before it."""
    for one in places:
        until(partial(knows_all, one.state), "its index knows all mail", LATE, LOOK)
    deadline = time.monotonic() + LATE
    busy = 1.0
    while busy > IDLE and time.monotonic() < deadline:
        before = sum(kit.cpu(one.pid) for one in places)
        time.sleep(PAUSE)
        busy = (sum(kit.cpu(one.pid) for one in places) - before) / PAUSE


def knows_all(root: Path) -> bool:
    """Whether the index there knows the mail in all journals, and its words."""
    with Index.open(root) as index:
        if index.lag()[1]:
            return False
    with contextlib.closing(Database(str(root))) as database:
        return not words.behind(database)


def key_of(one: Place) -> str:
    """The public key of the device."""
    return Identity.load(one.state).public


def state_of(wire: Wire, device: str = "mini") -> str:
    """How the daemon at the other end of wire says its link is."""
    rows: list[dict[str, Any]] = wire.ask(verb="links", probe=False)["rows"]
    return next(str(row["state"]) for row in rows if row["device"] == device)
