"""A postmaster and the rooms above it, over the memory store."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from homi import ids
from homi.address import Name
from homi.envelope import LedgerLine, MessageId, Msg, Rung, Via, encode
from homi.postmaster import Result, Stamp, Submission
from homi.rooms.fanout import Fanout
from homi.rooms.lane import Lane
from homi.rooms.state import Rooms, State
from homi.store.disk import RealDisk
from homi.store.mailbox import Item, Mailbox
from homi.store.state import StateFile
from homi.submission import Permit
from tests.unit.postmaster.test_postmaster import CONTROL, Bench

TEAM = Name("team")
PATIENCE = 3600.0
# A session that is called so, by the kernel's word.
VERIFIED = Stamp(Via(door="peer", uid=0, pid=9, session="s", verified=True))


class Company(Bench):
    """A room of ada, bob and cyd, and what became of its mail."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.root = root
        self.names.claim("cyd", None, 0.0)
        self.dies = False  # whether what ends a message is still recorded
        self.fanout = self.again()
        self.rooms.open(TEAM, 0, 1.0)
        for name in ("ada", "bob", "cyd"):
            self.join(name)

    @property
    def rooms(self) -> Rooms:
        return self.fanout.rooms

    def again(self) -> Fanout:
        """The rooms as a daemon finds them that starts now."""
        file = StateFile(str(self.root / "rooms.json"), RealDisk(), State)
        rooms = Rooms(file, self.names)
        ways = (self.store, self.postmaster, self.end)
        fanout = Fanout(rooms, *ways, self.clock, PATIENCE)
        fanout.start(asyncio.get_running_loop())
        return fanout

    def end(self, name: Name, line: LedgerLine, done: Callable[[bool], None]) -> None:
        if not self.dies:
            self.store.record(name, line, done, durable=True)

    def join(self, member: str, *, notify: bool = False) -> bool:
        since = self.store.mailbox(TEAM).last_seq
        return bool(self.rooms.join(TEAM, [member], since, 1.0, notify=notify))

    async def post(
        self, text: str, sender: str = "ada", stamp: Stamp = VERIFIED, **more: object
    ) -> Result:
        """Send to the room, and let the members be served."""
        result = await self.send(_letter(sender, text, more), stamp)
        await settled()
        return result

    async def permit(self, text: str, words: str) -> None:
        """A person sends to the room and lets a secret leave."""
        msg = _letter("ada", text, {})
        sub = Submission(msg, encode(msg), CONTROL, msg.to, lambda _result: None)
        sub.permit = Permit("owner pid 1", words)
        self.postmaster.accept(sub)
        await settled()

    def texts(self, name: str) -> list[str]:
        """What is pending in a mailbox, in order."""
        box = self.store.mailbox(Name(name))
        return [_text(box, item) for item in box.pending.values()]

    def lines(self) -> list[tuple[str, Rung, str | None]]:
        """What the room's ledger says of copies: for whom, how far, why not."""
        told = self.store.ledgers[TEAM]
        return [(x.member, x.rung, x.reason) for x in told if x.member is not None]

    def read(self, name: str) -> None:
        """The owner of a name has read all that is pending."""
        box = self.store.mailbox(Name(name))
        for item in list(box.pending.values()):
            line = LedgerLine(seq=item.seq, id=item.id, rung=Rung.SEEN, at="x")
            self.store.record(box.name, line)
            self.fanout.recorded(box.name, line)

    def record(self, item: Item, rung: Rung) -> None:
        """A decision over a message in the room."""
        line = LedgerLine(seq=item.seq, id=item.id, rung=rung, at="x")
        self.store.record(TEAM, line, lambda _kept: self.fanout.recorded(TEAM, line))

    def lane(self, member: str) -> Lane:
        found = self.fanout.lane(TEAM, member)
        assert found is not None
        return found

    def finished(self) -> bool:
        """Whether nothing is pending in the room."""
        return not self.store.mailbox(TEAM).pending


async def settled() -> None:
    """Let all that follows from what was done be done."""
    for _ in range(60):
        await asyncio.sleep(0)


def _letter(sender: str, text: str, more: dict[str, object]) -> Msg:
    fields = {"id": MessageId(ids.new()), "to": "team"} | more
    return Msg(from_=sender, text=text, **fields)  # type: ignore[arg-type]


def _text(box: Mailbox, item: Item) -> str:
    raw = bytes(box.read(item).msg)
    return raw.partition(b'"text":"')[2].partition(b'"')[0].decode()


Scenario = Callable[[Company], Awaitable[None]]


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Scenario], None]:
    """Run a scenario over a fresh company."""

    def runner(scenario: Scenario) -> None:
        async def main() -> None:
            company = Company(tmp_path)
            try:
                await scenario(company)
            finally:
                company.fanout.stop()

        asyncio.run(main())

    return runner
