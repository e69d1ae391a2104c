"""A running session that is asked to go by another name."""

import asyncio

from msgspec.structs import replace

from homi.address import Name
from homi.clock import SystemClock
from homi.doors.renaming import Renaming
from homi.sessions import Session, Sessions

OLD, NEW = Name("old"), Name("new")
# One without a record: its status and name are told, not read.
BODY = Session(pid=0, start="x:1", session_id="1", address=OLD, client="x")


def renamed(heeds: int) -> list[Session | None]:
    """What is told of a session that heeds the nth request; 0: none."""
    asked: list[str] = []
    found: list[Session | None] = []

    async def main() -> None:
        sessions = Sessions([], SystemClock())
        sessions.stand(BODY)
        done = asyncio.Event()

        async def ask(session: Session, name: str) -> bool:
            asked.append(name)
            await asyncio.sleep(0)  # it writes to a socket
            if len(asked) == heeds:
                sessions.stand(replace(BODY, address=Name(name)))
            else:
                sessions.stand(replace(BODY, status=str(len(asked))))
            return True

        def told(session: Session | None) -> None:
            found.append(session)
            done.set()

        Renaming(sessions, ask, shown=0.05).change(BODY, NEW, told)
        async with asyncio.timeout(60):
            await done.wait()

    asyncio.run(main())
    return found


def test_a_session_is_asked_until_its_own_record_has_the_name() -> None:
    """One that just began passes a request over."""
    assert [one and one.address for one in renamed(2)] == [NEW]


def test_a_session_that_keeps_its_name_is_told_as_it_is() -> None:
    assert [one and one.address for one in renamed(0)] == [OLD]
