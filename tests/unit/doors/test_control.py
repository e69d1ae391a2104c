"""The control door over a real socket: hello, verbs, rights, bad lines."""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from homi import ids
from homi.address import OWNER, Device, Name
from homi.callers import Caller
from homi.claims import Came, State
from homi.clock import SystemClock
from homi.config import Config
from homi.dial import leaves
from homi.doors.answers import Answer
from homi.doors.control import ControlDoor
from homi.doors.office import Office
from homi.doors.verbs import Verbs
from homi.envelope import Reason, Rung
from homi.errors import BadConfig, HomiError, NotReached
from homi.inheritance import Bequest
from homi.names import Names
from homi.owners import Owners
from homi.postmaster import Postmaster
from homi.requests import CallerClass, Move
from homi.sessions import Session, Sessions
from homi.store.disk import RealDisk
from homi.store.memory import MemoryStore
from homi.store.places import queue_of
from homi.store.quarantine import Quarantine
from homi.store.state import StateFile

PERSON = Caller(caller=CallerClass.PERSON, uid=0, pid=7, name=OWNER)
SERVICE = Caller(caller=CallerClass.SERVICE, uid=0, pid=8)
SESSION = Caller(
    caller=CallerClass.SESSION,
    uid=0,
    pid=9,
    session=Session(pid=9, start="1", session_id="s-9", name="Zed", socket="/x.sock"),
    name=Name("zed"),
)


class Line:
    """One client connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, *requests: object) -> list[dict[str, Any]]:
        raw = b"".join(
            r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n"
            for r in requests
        )
        self.writer.write(raw)
        return [await self.answer() for _ in requests]

    async def answer(self) -> dict[str, Any]:
        async with asyncio.timeout(60):
            found: dict[str, Any] = json.loads(await self.reader.readline())
            return found

    async def ended(self) -> bool:
        async with asyncio.timeout(60):
            return await self.reader.read() == b""


class House:
    """A control door over the memory store; who calls is set by the test."""

    def __init__(self, root: Path) -> None:
        self.path = root / "homi.sock"
        self.caller = PERSON
        self.stopped = asyncio.Event()
        self.store = MemoryStore()
        self.names = Names(StateFile(str(root / "names.json"), RealDisk(), State))
        sessions = Sessions([root / "claude"], SystemClock())
        owners = Owners(self.names, sessions)
        config = Config(device="mini")
        postmaster = Postmaster(
            self.store,
            self.names,
            owners,
            Quarantine(str(root), RealDisk()),
            SystemClock(),
            config,
        )
        self.office = Office(
            str(root), config, self.store, self.names, owners, sessions, postmaster
        )
        self.office.stop = self.stopped.set
        postmaster.subscribe(lambda name, _item: self.office.watchers.moved(name))
        self.door = ControlDoor(self.path, "mini", self._verbs)
        self.lines: list[Line] = []

    def _verbs(self, _pid: int, _uid: int, _thread: str | None) -> Verbs:
        return Verbs(self.office, self.caller, SystemClock())

    async def emptied(self) -> None:
        """Wait until nobody waits: each request is answered after what is before it."""
        other = await self.connect()
        for _ in range(1000):
            if not self.office.watchers.count():
                return
            await other.ask({"verb": "whoami"})
        raise AssertionError("a wait outlives its caller")

    async def connect(self, caller: Caller = PERSON, *, hello: bool = True) -> Line:
        self.caller = caller
        line = Line(*await asyncio.open_unix_connection(str(self.path)))
        self.lines.append(line)
        if hello:
            (welcome,) = await line.ask({"verb": "hello", "v": 1, "software": "test"})
            assert welcome["ok"]["v"] == 1
        return line


Scenario = Callable[[House], Awaitable[None]]


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Scenario], None]:
    os.chmod(tmp_path, 0o700)

    def runner(scenario: Scenario) -> None:
        async def main() -> None:
            house = House(tmp_path)
            house.door.start()
            try:
                await scenario(house)
            finally:
                house.door.close()
                for line in house.lines:
                    line.writer.close()
                    with contextlib.suppress(OSError):
                        await line.writer.wait_closed()

        asyncio.run(main())

    return runner


def msg(to: str = "ada", sender: str = "owner", **more: object) -> dict[str, object]:
    return {"id": ids.new(), "from": sender, "to": to, "text": "hi"} | more


def send(body: dict[str, object], i: int = 1) -> dict[str, object]:
    return {"verb": "send", "i": i, "msg": body}


def test_the_socket_is_private_from_its_first_moment(
    run: Callable[[Scenario], None],
) -> None:
    """0600 whatever the umask of who started the daemon."""

    async def scenario(house: House) -> None:
        assert house.path.stat().st_mode & 0o777 == 0o600
        house.door.stop_accepting()  # and tells that callers wait, to its owner alone
        assert house.path.stat().st_mode & 0o777 == 0o700

    run(scenario)


def test_the_folder_of_the_socket_is_made_private(tmp_path: Path) -> None:
    """A root too deep for a socket puts it into a runtime folder nobody made yet."""

    async def main() -> None:
        folder = tmp_path / "run" / "homi"
        door = ControlDoor(folder / "abc.sock", "mini", lambda *_: None)  # type: ignore[arg-type,return-value]
        door.start()
        assert folder.stat().st_mode & 0o777 == 0o700
        door.close()
        folder.chmod(0o755)
        with pytest.raises(BadConfig):
            door.start()

    asyncio.run(main())


def test_a_message_is_stored_and_answered_by_its_index(
    run: Callable[[Scenario], None],
) -> None:
    """Pipelined requests each get their own answer."""

    async def scenario(house: House) -> None:
        line = await house.connect()
        (claimed,) = await line.ask({"verb": "claim", "i": 5, "name": "ada"})
        assert claimed["i"] == 5
        assert claimed["ok"]["fresh"] is True
        answers = await line.ask(*[send(msg(), i) for i in range(1, 65)])
        assert [answer["i"] for answer in answers] == list(range(1, 65))
        assert {answer["ok"]["rung"] for answer in answers} == {"stored"}
        assert len(house.store.mailbox(Name("ada")).pending) == 64

    run(scenario)


def test_versions_that_differ_are_both_named(run: Callable[[Scenario], None]) -> None:
    """76 with both numbers and the remedy; nothing else is understood before."""

    async def scenario(house: House) -> None:
        line = await house.connect(hello=False)
        (answer,) = await line.ask({"verb": "hello", "v": 99, "software": "homi 9"})
        assert answer["error"]["code"] == "version"
        assert "99" in answer["error"]["text"]
        assert "protocol" in answer["error"]["text"]
        assert await line.ended()
        line = await house.connect(hello=False)
        (answer,) = await line.ask(send(msg()))
        assert answer["error"]["code"] == "version"
        assert await line.ended()

    run(scenario)


@pytest.mark.parametrize(
    "bad",
    [
        b"{\n",
        b"[1]\n",
        b'{"verb":"fly","i":3}\n',
        b'{"verb":"ls","i":3,"force":true}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b'{"verb":"wait","i":3,"after":"x"}\n',
    ],
)
def test_a_bad_line_is_answered_and_harms_no_other(
    run: Callable[[Scenario], None], bad: bytes
) -> None:
    """One bad request never ends a connection, let alone the daemon."""

    async def scenario(house: House) -> None:
        line = await house.connect()
        (answer,) = await line.ask(bad)
        assert answer["error"]["code"] == "usage"
        (after,) = await line.ask({"verb": "ls", "i": 4})
        assert after["ok"]["device"] == "mini"

    run(scenario)


def test_privileged_fields_are_unknown_to_the_ordinary_schema(
    run: Callable[[Scenario], None],
) -> None:
    """author, class or force are decided by credentials, never by a field."""

    async def scenario(house: House) -> None:
        line = await house.connect(SERVICE)
        for extra in ({"author_kind": "human"}, {"force": True}, {"caller": "person"}):
            (answer,) = await line.ask(send(msg()) | extra)
            assert answer["error"]["code"] == "usage"

    run(scenario)


def test_each_class_speaks_only_as_it_may(run: Callable[[Scenario], None]) -> None:
    """owner for a person, its own names for a session, claimed ones for a service."""

    async def scenario(house: House) -> None:
        person = await house.connect(PERSON)
        await person.ask({"verb": "claim", "name": "ada"})
        service = await house.connect(SERVICE)
        session = await house.connect(SESSION)

        async def status(line: Line, sender: str) -> str:
            (answer,) = await line.ask(send(msg(sender=sender)))
            return "ok" if "ok" in answer else answer["error"]["code"]

        assert await status(person, "owner") == "ok"
        assert await status(person, "ada") == "ok"
        assert await status(person, "nobody") == "no-such-name"
        assert await status(service, "owner") == "not-allowed"
        assert await status(service, "ada") == "ok"
        assert await status(service, "postmaster") == "no-such-name"
        assert await status(session, "zed") == "ok"
        assert await status(session, "ada") == "not-allowed"
        assert await status(session, "owner") == "not-allowed"

    run(scenario)


def test_an_ack_needs_the_mailbox_to_be_the_callers(
    run: Callable[[Scenario], None],
) -> None:
    """Another session's ack would end mail its owner never saw."""

    async def scenario(house: House) -> None:
        person = await house.connect(PERSON)
        await person.ask({"verb": "claim", "name": "ada"})
        body = msg()
        await person.ask(send(body))
        session = await house.connect(SESSION)
        ack = {"verb": "ack", "i": 2, "ids": [body["id"]], "name": "ada"}
        (answer,) = await session.ask(ack)
        assert answer["error"]["code"] == "not-allowed"
        (answer,) = await person.ask(ack | {"proof": "transcript"})
        assert answer["error"]["code"] == "usage", "a caller proves no more than this"
        (answer,) = await person.ask(ack)
        assert answer["ok"] == {"name": "ada", "ids": [body["id"]]}
        assert house.store.mailbox(Name("ada")).pending == {}
        (again,) = await person.ask(ack)
        assert again["ok"]["ids"] == [body["id"]]
        (unknown,) = await person.ask(ack | {"ids": [ids.new()]})
        assert unknown["error"]["code"] == "no-input"

    run(scenario)


def test_a_wait_is_answered_by_the_mail_it_waits_for(
    run: Callable[[Scenario], None],
) -> None:
    """And carries where to go on."""

    async def scenario(house: House) -> None:
        person = await house.connect(PERSON)
        await person.ask({"verb": "claim", "name": "ada"})
        waiting = await house.connect(PERSON)
        request = {"verb": "wait", "i": 9, "name": "ada", "timeout": 30}
        waiting.writer.write(json.dumps(request).encode() + b"\n")
        (status,) = await waiting.ask({"verb": "status", "i": 1})
        assert status["ok"]["accept"] == "open"
        body = msg()
        await person.ask(send(body))
        answer = await waiting.answer()
        assert answer["i"] == 9
        assert answer["ok"]["ids"] == [body["id"]]
        (late,) = await waiting.ask(
            request | {"after": answer["ok"]["seq"], "timeout": 0}
        )
        assert late["error"]["code"] == "timed-out"

    run(scenario)


def test_a_wait_on_an_unknown_name_is_an_error_not_a_silence(
    run: Callable[[Scenario], None],
) -> None:
    """Quiet and broken must not look the same."""

    async def scenario(house: House) -> None:
        person = await house.connect(PERSON)
        (answer,) = await person.ask({"verb": "wait", "name": "bob", "timeout": 0})
        assert answer["error"]["code"] == "no-such-name"
        service = await house.connect(SERVICE)
        (answer,) = await service.ask({"verb": "wait", "timeout": 0})
        assert answer["error"]["code"] == "usage"

    run(scenario)


def test_awaiting_a_rung_ends_when_it_is_reached_or_cannot_be(
    run: Callable[[Scenario], None],
) -> None:
    """75 keeps saying that the message is kept."""

    async def scenario(house: House) -> None:
        person = await house.connect(PERSON)
        await person.ask({"verb": "claim", "name": "ada"})
        body = msg()
        await person.ask(send(body))
        request = {"verb": "await", "name": "ada", "id": body["id"], "timeout": 0}
        (stored,) = await person.ask(request | {"rung": "stored"})
        assert stored["ok"]["rung"] == "stored"
        (late,) = await person.ask(request | {"rung": "seen"})
        assert late["error"]["code"] == "not-reached"
        assert "kept" in late["error"]["text"]
        (odd,) = await person.ask(request | {"rung": "held"})
        assert odd["error"]["code"] == "usage"
        await person.ask({"verb": "ack", "ids": [body["id"]], "name": "ada"})
        (seen,) = await person.ask(request | {"rung": "seen"})
        assert seen["ok"]["rung"] == "seen"

    run(scenario)


def test_the_queue_tells_each_pending_envelope_and_why(
    run: Callable[[Scenario], None],
) -> None:
    """As the courier sees it now, of one name or of all."""

    async def scenario(house: House) -> None:
        person = await house.connect(PERSON)
        for name in ("ada", "bob"):
            await person.ask({"verb": "claim", "name": name})
            await person.ask(send(msg(to=name)))
        house.office.explain = lambda _name, _item: (
            Rung.HELD,
            Reason.NO_OWNER,
            None,
        )
        (everything,) = await person.ask({"verb": "queue"})
        assert [row["name"] for row in everything["ok"]["rows"]] == ["ada", "bob"]
        (one,) = await person.ask({"verb": "queue", "name": "bob"})
        (row,) = one["ok"]["rows"]
        assert (row["rung"], row["reason"]) == ("held", "no-owner")
        (none,) = await person.ask({"verb": "queue", "name": "cyd"})
        assert none["error"]["code"] == "no-such-name"

    run(scenario)


def test_an_agent_cannot_stop_the_postmaster(run: Callable[[Scenario], None]) -> None:
    """The verb is not in a session's union at all, and it is told so (77)."""

    async def scenario(house: House) -> None:
        session = await house.connect(SESSION)
        (answer,) = await session.ask({"verb": "stop", "i": 6})
        assert (answer["i"], answer["error"]["code"]) == (6, "not-allowed")
        assert not house.stopped.is_set()
        person = await house.connect(PERSON)
        (answer,) = await person.ask({"verb": "stop"})
        assert answer["ok"]["text"] == "stopping"
        assert house.stopped.is_set()

    run(scenario)


def test_a_message_of_a_megabyte_comes_in_whole(
    run: Callable[[Scenario], None],
) -> None:
    """Well over a stream reader's default limit; one byte more is told with both
    numbers."""

    async def scenario(house: House) -> None:
        person = await house.connect(PERSON)
        await person.ask({"verb": "claim", "name": "ada"})
        (answer,) = await person.ask(send(msg(text="x" * 1_048_576)))
        assert "ok" in answer
        (over,) = await person.ask(send(msg(text="x" * 1_048_577)))
        assert over["error"]["reason"] == "too-large"
        assert "1048577" in over["error"]["text"]
        assert "1048576" in over["error"]["text"]

    run(scenario)


def test_what_comes_in_a_restart_is_told_that_it_is_left_alone(
    run: Callable[[Scenario], None],
) -> None:
    """So the next homi can be asked whatever it is."""

    async def scenario(house: House) -> None:
        line = await house.connect()
        (before,) = await line.ask({"verb": "whoami", "i": 1})
        assert "ok" in before
        house.door.heir = Bequest()
        claim = {"verb": "claim", "i": 7, "name": "late"}
        line.writer.write(b"no JSON: nobody can be told\n")
        left = await line.ask(claim, {"verb": "stop", "i": 8})
        assert [(each["i"], leaves(each)) for each in left] == [(7, True), (8, True)]
        assert not house.stopped.is_set()
        house.door.heir = None

    run(scenario)


def test_probes_and_callers_that_vanish_leave_nothing_behind(
    run: Callable[[Scenario], None],
) -> None:
    """200 connections without a byte, and a wait whose caller died."""

    async def scenario(house: House) -> None:
        for _ in range(200):
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(str(house.path))
        person = await house.connect(PERSON)
        await person.ask({"verb": "claim", "name": "ada"})
        gone = await house.connect(PERSON)
        gone.writer.write(b'{"verb":"wait","name":"ada","timeout":60}\n')
        await gone.ask({"verb": "whoami"})
        assert house.office.watchers.count() == 1
        gone.writer.transport.abort()
        await house.emptied()
        assert (await person.ask({"verb": "ls"}))[0]["ok"]["names"]

    run(scenario)


def test_a_socket_taken_away_under_us_is_bound_again(
    run: Callable[[Scenario], None],
) -> None:
    """A cleaner of old files must not cut the daemon off for ever; who is connected
    stays so."""

    async def scenario(house: House) -> None:
        before = await house.connect()
        house.path.unlink()
        async with asyncio.timeout(60):
            while not house.path.exists():
                await before.ask({"verb": "whoami"})
        assert house.path.stat().st_mode & 0o777 == 0o600
        after = await house.connect()
        assert "ok" in (await after.ask({"verb": "whoami"}))[0]
        assert "ok" in (await before.ask({"verb": "whoami"}))[0]

    run(scenario)


def test_a_file_in_the_place_of_the_socket_is_left_alone(
    run: Callable[[Scenario], None],
) -> None:
    """It is somebody's; who is connected is served on."""

    async def scenario(house: House) -> None:
        line = await house.connect()
        house.path.unlink()
        house.path.write_text("mine")
        for _ in range(20):
            assert "ok" in (await line.ask({"verb": "whoami"}))[0]
        assert house.path.read_text() == "mine"
        house.path.unlink()
        async with asyncio.timeout(60):
            while not house.path.exists():
                await line.ask({"verb": "whoami"})
        assert "ok" in (await (await house.connect()).ask({"verb": "whoami"}))[0]

    run(scenario)


class FullDan:
    """The moves of a device on which one mailbox is full."""

    def move(self, request: Move, done: Callable[[Answer], None]) -> None:
        """Nobody asks."""
        raise NotImplementedError

    def newer(self, name: Name) -> HomiError | None:
        """Room, for that name."""
        return NotReached("no room", reason="quota") if name == "dan" else None


def test_what_waits_for_older_mail_of_a_name_is_told_with_it(
    run: Callable[[Scenario], None],
) -> None:
    """Of two names in that queue each has its own reason, and one that is released
    says how many of its messages these are."""

    async def scenario(house: House) -> None:
        line = await house.connect()
        for name, device in (("cyd", "lab"), ("dan", "pi")):
            came = Came(device=Device(device), name=Name(name))
            house.names.departures.arrive(Name(name), came, 9, 0.0, {})
            await line.ask(send(msg(name)))
        house.office.moves = FullDan()
        house.office.way = lambda _device: Reason.MOVING
        (report,) = await line.ask({"verb": "queue", "name": "dan"})
        place = queue_of(Device("mini"))
        ways = {place: "moving", "cyd@mini": "", "dan@mini": "quota"}
        assert report["ok"]["ways"] == ways
        (freed,) = await line.ask({"verb": "release", "name": "cyd"})
        assert (freed["ok"]["pending"], freed["ok"]["newer"]) == (1, 1)

    run(scenario)
