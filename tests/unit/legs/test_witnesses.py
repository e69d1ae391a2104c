"""Each session is asked of by the witness of its own client."""

import asyncio

from homi.envelope import MessageId, SessionRef
from homi.legs.base import Evidence, Letter, NoProof
from homi.legs.witnesses import Silent, Witnesses
from homi.sessions import Session

ID = MessageId("0190a1b2-0000-7000-8000-000000000001")
MINE = Session(pid=4711, start="1")
THREAD = Session(pid=0, start="codex:1", client="codex")


class Asked(Silent):
    """A witness that notes what it was asked."""

    def __init__(self) -> None:
        self.of: list[str] = []

    def taken_before(self, session: Session, message: MessageId) -> bool:
        self.of.append("taken_before")
        return True

    def watch(self, session: Session, letter: Letter) -> None:
        self.of.append("watch")

    def offered(self, session: Session, message: MessageId) -> None:
        self.of.append("offered")

    def changed(self, session: Session) -> None:
        self.of.append("changed")

    def forget(self, session: SessionRef, message: MessageId) -> None:
        self.of.append("forget")

    async def finish(self, session: Session) -> None:
        self.of.append("finish")


def test_a_session_is_asked_of_by_its_own_client_only() -> None:
    """Every question goes one way; forgetting has a ledger's reference alone."""
    claude, told = Asked(), list[Evidence]()
    witness = Witnesses({"claude": claude}, lambda _session, found: told.append(found))
    assert witness.taken_before(MINE, ID)
    witness.offered(MINE, ID)
    witness.changed(MINE)
    witness.forget(MINE.ref, ID)
    asyncio.run(witness.finish(MINE))
    asked = ["taken_before", "offered", "changed", "forget", "finish"]
    assert claude.of == asked
    witness.changed(THREAD)
    witness.forget(THREAD.ref, ID)
    asyncio.run(witness.finish(THREAD))
    assert claude.of == asked
    assert told == []


def test_of_a_client_without_a_witness_nothing_can_be_proven() -> None:
    """What it was offered stays offered, and says why."""
    told = list[tuple[SessionRef, Evidence]]()
    witness = Witnesses({}, lambda session, found: told.append((session, found)))
    assert not witness.taken_before(THREAD, ID)
    witness.offered(THREAD, ID)
    assert told == [(THREAD.ref, NoProof(ID))]
