"""How far each wake is: what fired, what was passed over, what is about to fire.

Owns the lines of wakes.jsonl.  A line stands in the file before what it tells of is
done; the death of the process loses none.  homi-mailbox(5) has the fields.
"""

from collections.abc import Iterable

import msgspec

from homi.store.lines import Finding
from homi.store.tally import Tally

FILE = "wakes.jsonl"
SLACK = 4_000  # lines beside those that count, before the file is written anew
DAY = 86_400.0  # s


class Firing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One envelope that is due, as it will be: a restart sends the very same."""

    slot: str  # what makes its id, with the wake's own
    at: float  # wall seconds it was due at; 0: an event
    missed: int = 0  # slots before it that nothing was sent for
    facts: list[tuple[str, str]] = []  # of an event
    marks: dict[str, str] = {}  # what of it is known from then on


class Progress(
    msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="wake"
):
    """Where one wake stands."""

    wake: str
    mark: float = 0.0  # wall seconds of the newest slot that was looked at
    n: int = 0  # of an interval: the number of that slot
    boot: str = ""  # of an interval: the boot in which up counts
    up: float = 0.0  # seconds of that boot at that slot
    fired: int = 0  # envelopes
    missed: int = 0  # slots that passed while nothing could be sent
    skipped: int = 0  # because the last one was not read yet
    last: str = ""  # id of the newest envelope
    at: float = 0.0  # wall seconds it was stored at
    seeded: bool = False  # of an event: what was there before is known
    ended: float = 0.0  # wall seconds since which it fires no more
    state: str = ""  # what is wrong, in a word
    failure: str = ""  # the same in words
    fix: str = ""  # what helps
    firing: list[Firing] = []


class Spent(
    msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="type", tag="spent"
):
    """The firings of what sessions made for one name, a day long."""

    name: str
    times: list[float] = []  # wall seconds


Line = Progress | Spent
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Line).decode


class Diary:
    """The progress of every wake of this device, kept."""

    def __init__(self, file: Tally) -> None:
        """Read what was written before; findings: what was unreadable."""
        self._file = file
        self._known: dict[str, Progress] = {}
        self._spent: dict[str, Spent] = {}
        broken = -1
        moved = file.clear()
        for offset, line in file.read():
            try:
                self._apply(_decode(line))
            except (ValueError, RecursionError):
                broken = offset if broken < 0 else broken
        lost = [] if broken < 0 else [file.set_aside(broken)]
        self.findings: list[Finding] = [*moved, *lost]

    def of(self, wake: str) -> Progress:
        """Where a wake stands; a new one at its beginning."""
        return self._known.setdefault(wake, Progress(wake=wake))

    def keep(self, progress: Progress, *, durable: bool = False) -> bool:
        """Write it down; False: the disk took it not.  durable: it outlives the
        power, too."""
        return self._write(progress, durable=durable)

    def spent(self, name: str, now: float) -> int:
        """How often sessions' own wakes fired for a name within a day."""
        times = self._spent.get(name, Spent(name=name)).times
        return sum(now - DAY < at <= now + DAY for at in times)

    def spend(self, name: str, now: float) -> None:
        """Once more."""
        before = self._spent.get(name, Spent(name=name)).times
        times = [at for at in before if now - DAY < at <= now + DAY]
        self._write(Spent(name=name, times=[*times, now]))

    def grant(self, name: str) -> None:
        """A person lets them go on."""
        if name in self._spent:
            self._write(Spent(name=name))

    def retain(self, wakes: Iterable[str]) -> None:
        """Forget every wake but these, and what the file has twice."""
        kept = set(wakes)
        self._known = {k: v for k, v in self._known.items() if k in kept}
        if self._file.lines > len(self._known) + len(self._spent):
            self._rewrite()

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def _write(self, line: Line, *, durable: bool = False) -> bool:
        self._apply(line)
        kept = self._file.append(_encode(line), durable=durable)
        if self._file.lines > SLACK + 2 * (len(self._known) + len(self._spent)):
            self._rewrite()
        return kept

    def _apply(self, line: Line) -> None:
        match line:
            case Progress():
                self._known[line.wake] = line
            case Spent():
                self._spent[line.name] = line

    def _rewrite(self) -> None:
        """A line each."""
        lines = [*self._known.values(), *self._spent.values()]
        self._file.rewrite(_encode(line) for line in lines)


def read(file: Tally) -> dict[str, Progress]:
    """Where each wake stands, read beside a daemon or without one."""
    known: dict[str, Progress] = {}
    for _, line in file.read():
        try:
            found = _decode(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, Progress):
            known[found.wake] = found
    return known
