"""What is asked of an app server, over its real socket."""

import asyncio
from pathlib import Path

import pytest

from homi.codex.server import Server, there
from homi.codex.thread import Cannot, Failed, Lost, Status, Unreachable
from homi.codex.wire import Wire
from homi.envelope import MessageId
from tests.standin.codex import AppServer, Conversation

ONE = MessageId("0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeee1")
TWO = MessageId("0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeee2")


def test_a_text_is_queued_under_its_id_and_found_in_the_history(tmp_path: Path) -> None:
    """The id comes back on the user's message of the turn it became."""

    async def main(thread: Conversation) -> None:
        server = Server(str(tmp_path))
        await server.add(thread.id, ONE, "hello")
        entries = await server.history(thread.id, {ONE})
        found = there(ONE, await server.rows(thread.id), entries)
        assert found is not None
        assert found == entries[-1]
        turns = await server.turns(thread.id)
        assert [turn.status for turn in turns] == ["completed"]
        said = await server.said(thread.id, turns[0].id)
        assert [one.item.words for one in said] == ["hello", "ACK"]
        assert there(TWO, [], entries) is None
        server.close()

    with AppServer(tmp_path) as codex:
        asyncio.run(main(codex.open()))


def test_what_waits_can_be_withdrawn_once(tmp_path: Path) -> None:
    """A row that left the queue is not withdrawn, and that is said."""

    async def main(thread: Conversation) -> None:
        server = Server(str(tmp_path))
        await server.add(thread.id, ONE, "runs")
        await server.add(thread.id, TWO, "waits")
        (row,) = await server.rows(thread.id)
        assert there(TWO, [row], []) == row
        assert await server.withdraw(thread.id, row.id)
        assert not await server.withdraw(thread.id, row.id)
        server.close()

    with AppServer(tmp_path) as codex:
        asyncio.run(main(codex.open(auto=None)))


def test_a_letter_is_found_pages_back(tmp_path: Path) -> None:
    """A thread that talked on since is read further back."""

    async def main(thread: Conversation) -> None:
        server = Server(str(tmp_path))
        await server.add(thread.id, ONE, "early")
        for number in range(120):
            await server.add(thread.id, MessageId(f"x{number}"), "later")
        entries = await server.history(thread.id, {ONE})
        assert there(ONE, [], entries) is not None
        assert len(await server.history(thread.id, {MessageId("x119")})) == 100
        server.close()

    with AppServer(tmp_path) as codex:
        asyncio.run(main(codex.open()))


def test_a_status_is_told_and_so_is_the_end(tmp_path: Path) -> None:
    """Notices come for every thread, without joining any; then none any more."""
    heard: list[tuple[str, Status | None]] = []

    async def main(codex: AppServer, thread: Conversation) -> None:
        server = Server(str(tmp_path))
        moved = asyncio.Event()
        server.subscribe(lambda *told: (heard.append(told), moved.set()))
        assert (await server.thread(thread.id)).status.word == "idle"
        assert server.agent == "codex/0.171.0"
        flag = "waitingOnApproval"
        await asyncio.to_thread(codex.become, thread, "active", flag)
        await asyncio.wait_for(moved.wait(), 60)
        moved.clear()
        await asyncio.to_thread(codex.down)
        await asyncio.wait_for(moved.wait(), 60)
        with pytest.raises(Unreachable):
            await server.thread(thread.id)
        await asyncio.to_thread(codex.up)
        assert (await server.thread(thread.id)).status.word == "waiting"
        server.close()

    with AppServer(tmp_path) as codex:
        thread = codex.open()
        asyncio.run(main(codex, thread))
        told = (thread.id, Status("active", ["waitingOnApproval"]))
        assert heard[:2] == [told, ("", None)]


def test_errors_say_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method that version lacks, a thread that is none, an answer that never came."""
    monkeypatch.setattr("homi.codex.wire.CALL_LIMIT", 0.2)

    async def main(codex: AppServer, thread: Conversation) -> None:
        server = Server(str(tmp_path))
        with pytest.raises(Failed, match="no rollout found") as found:
            await server.thread("0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeee9")
        assert not isinstance(found.value, Cannot | Lost)
        codex.unknown.add("thread/queue/add")
        with pytest.raises(Cannot):
            await server.add(thread.id, ONE, "x")
        codex.unknown.clear()
        codex.mute.add("thread/queue/add")
        with pytest.raises(Lost):
            await server.add(thread.id, ONE, "x")
        assert there(ONE, [], await server.history(thread.id, {ONE})) is not None
        server.close()

    with AppServer(tmp_path) as codex:
        asyncio.run(main(codex, codex.open()))


def test_a_title_run_is_nobodys_thread(tmp_path: Path) -> None:
    """It is short-lived and in the list of the loaded ones."""

    async def main() -> list[str]:
        server = Server(str(tmp_path))
        found = [thread.id for thread in await server.loaded()]
        server.close()
        return found

    with AppServer(tmp_path) as codex:
        thread, title = codex.open(), codex.open()
        title.ephemeral = True
        assert asyncio.run(main()) == [thread.id]


def test_who_speaks_no_websocket_is_unreachable(tmp_path: Path) -> None:
    """A socket file of a server that was killed, and somebody else's socket."""
    path = tmp_path / "sock"

    async def main() -> None:
        async def talk(
            _reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            writer.write(b"220 hello\r\n")
            writer.close()

        with pytest.raises(Unreachable):
            await Wire.open(str(path), lambda _m, _p: None)
        other = await asyncio.start_unix_server(talk, str(path))
        with pytest.raises(Unreachable):
            await Wire.open(str(path), lambda _m, _p: None)
        other.close()
        with pytest.raises(Unreachable):
            await Wire.open(str(path), lambda _m, _p: None)

    asyncio.run(main())
