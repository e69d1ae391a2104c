"""How much is measured, with what, and where; a daemon under load.

Figures of one run are comparable with each other only: a shared machine moves them
by a factor of two.  So everything is interleaved and shown as a ratio.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.bench import kit
from tests.standin import journals
from tests.standin.place import Place

SENDER = "bench"
PATIENCE = 120.0  # s for a start with a thousand names on a busy machine
HELLO = b'{"verb":"hello","v":1,"software":"bench"}\n'
UUID = "01900000-0000-7000-8000-@@@@@@@@@@@@"


class Sizes(NamedTuple):
    """How much of everything."""

    names: int = 1000
    sessions: int = 200
    clients: int = 64
    crowd: int = 512
    messages: int = 1_000_000
    few: int = 20_000  # messages of the mailbox that the large one is held against
    pending: int = 10_000
    lines: int = 20_000  # of `send --lines`
    turns: int = 90
    commands: int = 15  # repetitions of one command
    settle: float = 2.0  # s after which the store is at rest and a daemon idle
    drained: int = 20_000  # messages of an out queue that is emptied
    singles: int = 400  # one after the other
    away: int = 100_000  # queued for a device that is away
    blob: int = 64 << 20  # bytes


TINY = Sizes(20, 3, 4, 8, 1500, 300, 100, 200, 4, 2, 0.1, 400, 10, 600, 1 << 20)


class Setup(NamedTuple):
    """What every measurement is given."""

    tools: kit.Tools
    folder: Path  # scratch, on the disk that is measured
    runs: int = 5
    seconds: float = 1.0  # of each load
    sizes: Sizes = Sizes()


class Quiet(Place):
    """A place that shows what its daemon said only where the measurement broke."""

    def tell(self) -> None:
        """Nothing, as long as all is well."""
        if sys.exc_info()[0] is not None:
            super().tell()


class Machine(Quiet):
    """One whose daemon takes mail without a quota, and can be slowed."""

    def program(self) -> list[str]:
        """The daemon as the benchmark runs it."""
        return [sys.executable, str(kit.HERE / "server.py")]

    @property
    def socket(self) -> Path:
        """The control socket."""
        return self.state / "homi.sock"

    @property
    def pid(self) -> int:
        """Of the daemon that runs."""
        assert self.daemon is not None
        return self.daemon.pid


@contextlib.contextmanager
def machine(sizes: Sizes, **env: str) -> Iterator[Machine]:
    """A fresh daemon with all its names claimed."""
    with Machine('device = "here"\n') as place:
        journals.write_names(place.state, [SENDER, *names(sizes)])
        place.start(PATIENCE, **env)
        yield place


def names(sizes: Sizes) -> list[str]:
    """The names that a load goes to."""
    return [f"n{number:04d}" for number in range(sizes.names)]


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Nothing of that process runs meanwhile: it must not disturb another's figure."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def request(to: str = "n%%%%") -> bytes:
    """One send of 1 KiB on the control socket."""
    msg = f'"id":"{UUID}","from":"{SENDER}","to":"{to}","text":"'
    return kit.padded(f'{{"verb":"send","msg":{{{msg}', '"}}')


class Loads:
    """The load generator against homi's control socket, and against the C server."""

    def __init__(self, setup: Setup, device: str = "") -> None:
        """The request is written once; device: where the names are, if not here."""
        self._setup = setup
        self._request = setup.folder / f"control{device}.req"
        self._request.write_bytes(request(f"n%%%%@{device}" if device else "n%%%%"))
        self._hello = setup.folder / "hello.req"
        self._hello.write_bytes(HELLO)

    def homi(self, place: Machine, *options: str) -> kit.Load:
        """So many clients for the usual time against the daemon of place."""
        return self._load(place.pid, place.socket, "-H", str(self._hello), *options)

    def warm(self, place: Machine) -> None:
        """Every mailbox exists, and every path was taken once, before a figure is."""
        count = self._setup.sizes.names
        self.homi(place, "-c", "8", "-k", str(count), "-n", str(2 * count), "-d", "30")

    def reference(self, *options: str) -> kit.Load:
        """The same against a fresh C server on a fresh file."""
        path, data = self._setup.folder / "ref.sock", self._setup.folder / "ref.data"
        data.unlink(missing_ok=True)
        argv = [str(self._setup.tools.gcref), str(path), str(data), "ack"]
        with kit.serving(argv, path) as pid:
            return self._load(pid, path, *options)

    def _load(self, pid: int, path: Path, *options: str) -> kit.Load:
        usual = ("-d", str(self._setup.seconds))
        return kit.load(
            self._setup.tools, pid, str(path), self._request, *usual, *options
        )
