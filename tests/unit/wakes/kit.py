"""Wakes over the memory store, in a time that is turned, with deaths at any step."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from homi import ids
from homi.address import Name
from homi.clock import parse_rfc3339, rfc3339
from homi.envelope import LedgerLine, MessageId, Rung, decode_msg
from homi.postmaster import Submission
from homi.store.disk import RealDisk
from homi.store.state import StateFile
from homi.wakes.firing import Ways
from homi.wakes.keeper import WakeKeeper
from homi.wakes.state import Book, State, Trigger, Wake
from tests.unit.courier.twins import turn
from tests.unit.postmaster.test_postmaster import Bench

START = parse_rfc3339("2026-11-30T12:00:30.000Z")
ADA = Name("ada")


class Died(BaseException):
    """The process is gone."""


class Clocks:
    """Reads the turned loop; a test steps the wall clock or lets the machine sleep."""

    def __init__(self) -> None:
        self.stepped = 0.0
        self.slept = 0.0

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def boot(self) -> float:
        return self.monotonic() + self.slept

    def wall(self) -> float:
        return START + self.boot() + self.stepped


class Mortal(RealDisk):
    """A disk under a process that dies at one of its steps."""

    def __init__(self, left: int | None = None) -> None:
        self.left = left  # steps it still lives; None: without end
        self.dead = False
        for name in ("pwrite", "rename"):
            setattr(self, name, self._around(getattr(RealDisk, name)))

    def step(self) -> None:
        """One step; the last one is death."""
        if self.dead:
            raise Died
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.dead = True
                raise Died

    def _around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def both(*args: object) -> object:
            self.step()
            done = call(*args)
            self.step()
            return done

        return both


class Land(Bench):
    """A postmaster, and the wakes above it in one life after another."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.root = root
        self.clocks = Clocks()
        self.clock = self.clocks  # type: ignore[assignment]
        self.disk = Mortal()
        self.warned: list[str] = []
        self.spawned: list[str] = []
        self.working: set[str] = set()  # what a session was given and goes on with
        self.lives = 0
        self.keeper = self.begin()

    def begin(self, left: int | None = None) -> WakeKeeper:
        """The wakes as a daemon finds them that starts now; it lives so many steps."""
        self.disk = disk = Mortal(left)
        self.lives += 1

        def accept(sub: Submission) -> None:
            disk.step()
            told = sub.done
            sub.done = lambda result: None if disk.dead else told(result)
            self.postmaster.accept(sub)
            disk.step()

        ways = Ways(accept)
        ways.unread = self.unread
        ways.warn = lambda _key, _about, text: self.warned.append(text)
        ways.spawn = self.spawned.append
        file = StateFile(os.fspath(self.root / "wakes.json"), disk, State)
        self.keeper = WakeKeeper(
            Book(file), os.fspath(self.root), disk, self.clocks, ways
        )
        self.keeper.start(asyncio.get_running_loop())
        return self.keeper

    def die(self) -> None:
        """The process is gone; what it had in flight reaches nobody."""
        self.disk.dead = True
        self.keeper._timer.stop()
        self.keeper.events.stop()

    def unread(self, to: str, message: MessageId) -> bool:
        box = self.store.mailbox(Name(to))
        return box.find(message) is not None or message in self.working

    def add(self, kind: str, value: str, **fields: Any) -> Wake:  # noqa: ANN401
        """One more wake, for ada."""
        wake = self.wake(kind, value, **fields)
        self.keeper.add(wake, lambda: None)
        return wake

    def fill(self, wakes: Iterable[Wake]) -> None:
        """Let the file hold these: one by one it is written as often."""
        file = StateFile(os.fspath(self.root / "wakes.json"), RealDisk(), State)
        file.load()
        file.save(State(wakes={wake.id: wake for wake in wakes}))

    def wake(self, kind: str, value: str, **fields: Any) -> Wake:  # noqa: ANN401
        """A wake as it is made now."""
        zone = fields.pop("zone", "UTC" if kind == "cron" else "")
        trigger = Trigger(kind=kind, value=value, zone=zone)  # type: ignore[arg-type]
        given = {"to": "ada", "from_": "owner", "text": "go", "by": "person"} | fields
        at = rfc3339(self.clocks.wall())
        return Wake(id=ids.new(), trigger=trigger, at=at, **given)

    def read(self) -> None:
        """Ada has read all there is."""
        box = self.store.mailbox(ADA)
        for item in list(box.pending.values()):
            line = LedgerLine(seq=item.seq, id=item.id, rung=Rung.SEEN, at="x")
            self.store.record(ADA, line)

    def facts(self, name: str, to: str = "ada") -> list[str]:
        """That fact of every envelope that was stored, in order."""
        found = []
        for text in self.texts(to):
            lines = [x for x in text.splitlines() if x.startswith(f"{name}: ")]
            found.append(lines[0].partition(": ")[2] if lines else "")
        return found

    def texts(self, to: str = "ada") -> list[str]:
        """Every text that was stored, read or not."""
        lines = bytes(self.store.inboxes.get(Name(to), b"")).splitlines()
        raws = (msgspec.json.decode(x, type=dict[str, msgspec.Raw]) for x in lines)
        return [decode_msg(raw["msg"]).text for raw in raws]

    def hours(self, wake: Wake | None = None) -> list[str]:
        """The slots, as HH:MM of their day."""
        return [slot[11:16] for slot in self.facts("slot")]


Scenario = Callable[[Land], Awaitable[None]]


def play(root: Path, scenario: Scenario) -> None:
    """Run a scenario; a death is caught where it comes."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_caught)
        land = Land(root)
        try:
            await scenario(land)
        finally:
            land.die()

    turn(main())


def _caught(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What the loop met: a death is wanted."""
    if not isinstance(context.get("exception"), Died):
        loop.default_exception_handler(context)
        raise AssertionError(context)  # noqa: TRY004


async def minutes(count: float) -> None:
    """Let so much time pass."""
    await asyncio.sleep(count * 60)
