"""The steps of the test: mail that goes at once, mail that waits, mail that is drained.

Owns what each step proves.  homi-selftest(1) lists them.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from homi.clock import parse_rfc3339
from homi.envelope import SHOWN, LedgerLine, Rung
from homi.errors import Bug, HomiError
from homi.selftest.place import Place, Session
from homi.store.lines import Unreadable
from homi.store.reading import iter_inbox, iter_ledger

ADA, BOB = "ada", "bob"
SEEN = "8"  # s until the letter must be seen


class Step(msgspec.Struct, frozen=True):
    """One step that was done."""

    step: str
    ms: float
    text: str
    ok: bool = True


def steps(place: Place) -> Iterator[Step]:
    """Each as it is done; the last is the one that failed, if one does."""
    trial = Trial(place)
    for name, do in STEPS:
        begun = time.monotonic()
        try:
            text, ok = do(trial), True
        except HomiError as error:
            text, ok = error.text, False
        yield Step(name, round((time.monotonic() - begun) * 1000, 1), text, ok)
        if not ok:
            return


class Trial:
    """Two agents and a daemon."""

    def __init__(self, place: Place) -> None:
        """Nothing is started."""
        self._place = place
        self._agents: dict[str, Session] = {}

    def start(self) -> str:
        """A daemon answers."""
        return f"a daemon answers, pid {self._place.start()}"

    def claim(self) -> str:
        """Two agents are listed, and each makes its name an address."""
        for name in (ADA, BOB):
            self._agents[name] = self._place.session(name)
        for name in (ADA, BOB):
            self._do(name, "claim", name)
        return f"the agents {ADA} and {BOB} have their names"

    def send(self) -> str:
        """A letter goes up the ladder at once."""
        self._do(ADA, "send", "--wait-for", "seen", "--timeout", SEEN, BOB, "one")
        return f"a letter from {ADA} to {BOB}: {self._ladder(1)}"

    def kill(self) -> str:
        """Without its session the letter is kept."""
        process = self._agents.pop(BOB).process
        process.kill()
        process.wait()
        self._do(ADA, "send", "--key", "two", BOB, "two")
        if Rung.SEEN in self._rungs(2):
            raise Bug("a letter for a session that was killed counts as seen")
        return f"{BOB} was killed; a second letter is kept: {self._ladder(2)}"

    def drain(self) -> str:
        """A new session of the name gets what was kept."""
        self._agents[BOB] = self._place.session(BOB)
        wait = ("--wait-for", "seen", "--timeout", SEEN)
        self._do(ADA, "send", "--key", "two", *wait, BOB, "two")
        return f"{BOB} is back, and has it: {self._ladder(2)}"

    def stop(self) -> str:
        """The daemon ends in order, with every line readable."""
        self._place.stop()
        box = self._box
        lines = [*iter_inbox(box / "inbox.jsonl"), *iter_ledger(box / "ledger.jsonl")]
        bad = [one for _, one in lines if isinstance(one, Unreadable)]
        if bad:
            raise Bug(f"{len(bad)} lines cannot be read: {bad[0].text}")
        return f"the daemon ended; {len(lines)} lines tell it all"

    @property
    def _box(self) -> Path:
        """The mailbox that is written to."""
        return self._place.root / "mail" / BOB

    def _do(self, name: str, *argv: str) -> str:
        """What a command of that agent's says."""
        agent = self._agents[name]
        agent.ask(*self._place.homi(*argv))
        try:
            return agent.told()
        except Bug as error:
            raise Bug(f"homi {argv[0]} by {name}: {error.text}") from error

    def _rungs(self, seq: int) -> dict[Rung, str]:
        """Each rung that the letter reached, with the time."""
        found: dict[Rung, str] = {}
        for _, line in iter_inbox(self._box / "inbox.jsonl"):
            if not isinstance(line, Unreadable) and line.seq == seq:
                found[Rung.STORED] = line.at
        for _, entry in iter_ledger(self._box / "ledger.jsonl"):
            if isinstance(entry, LedgerLine) and entry.seq == seq:
                found.setdefault(SHOWN.get(entry.rung, entry.rung), entry.at)
        return found

    def _ladder(self, seq: int) -> str:
        """The rungs for a person, each with how long after the first it came."""
        rungs = self._rungs(seq)
        first = min(map(parse_rfc3339, rungs.values()), default=0.0)
        told = [
            f"{rung} {(parse_rfc3339(at) - first) * 1000:.0f} ms"
            for rung, at in rungs.items()
        ]
        return ", ".join(told) or "nothing is known of it"


# In order.
STEPS: tuple[tuple[str, Callable[[Trial], str]], ...] = (
    ("start", Trial.start),
    ("claim", Trial.claim),
    ("send", Trial.send),
    ("kill", Trial.kill),
    ("drain", Trial.drain),
    ("stop", Trial.stop),
)
