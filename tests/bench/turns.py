"""How soon kept mail becomes a turn of a live session.

The session is a stand-in, a process of its own, that ends each turn by itself.  What
is measured is what the daemon says on its socket: when it accepted a message, and
when it had offered it.
"""

import contextlib
import json
import socket
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench import profiles
from tests.bench.report import Figure, Goal, progress
from tests.bench.setup import HELLO, PATIENCE, Machine, Quiet, Setup
from tests.standin import journals
from tests.standin.closing import Closing
from tests.standin.place import until

GROUP = "turns"
PER_SENDER = 12  # messages: more in a row from one sender would be paced
REST = 0.1  # s: an idle session has been so for a while, and its files lie still
NAME = "ada"
APPEARS = 5  # sessions that appear, each for mail of its own


class Wire(Closing):
    """A control connection, asked one thing at a time."""

    def __init__(self, path: Path) -> None:
        """Hello is said."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(30)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rwb")
        self._file.write(HELLO)
        self._file.flush()
        self._file.readline()

    def ask(self, **request: object) -> dict[str, Any]:
        """What was done; RuntimeError where the daemon refuses."""
        self.put(**request)
        return dict(self.get()["ok"])

    def put(self, **request: object) -> None:
        """Ask, and do not wait."""
        self._file.write(json.dumps(request).encode() + b"\n")
        self._file.flush()

    def get(self) -> dict[str, Any]:
        """The next answer, as a whole."""
        answer: dict[str, Any] = json.loads(self._file.readline())
        if "ok" not in answer:
            raise RuntimeError(f"{answer}")
        return answer

    def send(self, sender: str, to: str, number: int) -> str:
        """Send a message of 1 KiB; its id."""
        made = journals.message_id(to, number)
        msg = {"id": made, "from": sender, "to": to, "text": "x" * 900}
        self.ask(verb="send", msg=msg)
        return made

    def wait(self, name: str, message: str, rung: str) -> None:
        """Return when the message got that far."""
        asked = {"name": name, "id": message, "rung": rung, "timeout": 20}
        self.ask(verb="await", **asked)

    def close(self) -> None:
        """Close it."""
        self._file.close()
        self._socket.close()


def measure(setup: Setup) -> list[Figure]:
    """Both lines; the daemon is sampled in a second run where the first missed."""
    progress("turns")
    offered, _ = _offered(setup, sampled=False)
    if offered.verdict == "MISSED":
        offered = offered._replace(profile=_offered(setup, sampled=True)[1])
    return [offered, _appeared(setup)]


def _senders(count: int) -> list[str]:
    return [f"n{number:04d}" for number in range(1 + count // PER_SENDER)]


def _offered(setup: Setup, *, sampled: bool) -> tuple[Figure, tuple[str, ...]]:
    """Stored, then offered to a session that is idle: the time between; a profile."""
    accepts, gaps = [], []
    senders = _senders(setup.sizes.turns)
    with Machine('device = "here"\n') as place:
        journals.write_names(place.state, [NAME, *senders])
        place.start(PATIENCE, **profiles.wanted(setup.folder))
        session = place.session(NAME, "--auto")
        with (
            Wire(place.state / "homi.sock") as wire,
            _sampler(setup, place, sampled=sampled) as sampler,
        ):
            for number in range(setup.sizes.turns):
                begun = time.perf_counter()
                message = wire.send(senders[number % len(senders)], NAME, number)
                accepted = time.perf_counter()
                wire.wait(NAME, message, "offered")
                gaps.append(time.perf_counter() - accepted)
                accepts.append(accepted - begun)
                wire.wait(NAME, message, "seen")
                _idle(session.pid, place.registry)
                time.sleep(REST)
        where = sampler.lines if sampler else ()
    late = sorted(gaps)[len(gaps) * 9 // 10]
    accept = statistics.median(accepts)
    figure = Figure(
        GROUP,
        "stored to offered, an idle session: p50",
        statistics.median(gaps) * 1000,
        Goal(2, most=True, unit="ms"),
        f"after an accept of {accept * 1000:.2f} ms; p90 {late * 1000:.1f} ms",
    )
    return figure, where


def _sampler(
    setup: Setup, place: Machine, *, sampled: bool
) -> contextlib.AbstractContextManager[profiles.Sampler | None]:
    """What samples the daemon of place, or nothing."""
    if not sampled:
        return contextlib.nullcontext()
    return profiles.Sampler(place.pid, setup.folder)


def _idle(pid: int, registry: Path) -> None:
    """Wait until the session says that its turn is over."""

    def over() -> bool:
        try:
            record = json.loads((registry / f"{pid}.json").read_text())
        except ValueError:
            return False  # torn: it is being written
        return bool(record.get("status") == "idle")

    until(over, "the session is idle")


def _appeared(setup: Setup) -> Figure:
    """A session appears whose name has mail: the time to its first turn."""
    taken = list(_appearances(setup))
    return Figure(
        GROUP,
        "a session appears, to its first held turn",
        statistics.median(taken) * 1000,
        Goal(300, most=True, unit="ms"),
        f"worst of {len(taken)}: {max(taken) * 1000:.0f} ms",
    )


def _appearances(setup: Setup) -> Iterator[float]:
    """Seconds from ready to turn, a name and a session each."""
    names = [f"late{number}" for number in range(max(setup.runs, APPEARS))]
    with Quiet('device = "here"\n') as place:
        journals.write_names(place.state, ["n0000", *names])
        place.start(PATIENCE)
        with Wire(place.state / "homi.sock") as wire:
            for name in names:
                wire.send("n0000", name, 0)
            for name in names:
                session = place.session(name, "--auto")
                begun = time.perf_counter()
                session.wait("turn")
                yield time.perf_counter() - begun
