"""Mail for an address that is gone: led to one place, told of once, never lost."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from homi import ids
from homi.address import Name
from homi.astray import Astray, sender
from homi.envelope import Kind, MessageId, Msg, Via, decode_msg, encode
from homi.errors import NoInput
from homi.postmaster import Result, Stamp, Submission
from homi.reports import Found
from homi.turns import Counted
from tests.unit.postmaster.test_postmaster import Bench, runs

LATE = Stamp(Via(door="pickup", uid=0))
THERE = Stamp(Via(door="control", uid=0, pid=1, verified=True))
PEER = Stamp(Via(door="peer", uid=0, pid=1, verified=True))
LINK = Stamp(Via(door="link", device="lab", key="SHA256:abc", verified=True))


class Desk:
    """Notes what is submitted."""

    def __init__(self, led: list[Submission]) -> None:
        self.accept = led.append


class Town(Bench):
    """ada, bob and eve were here; eve is gone.  opened tells who began what."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.names.claim("eve", None, 0.0)
        self.names.release("eve")
        self.opened: dict[str, str] = {}
        astray = Astray(self.names, self.postmaster, self._opener)
        self.postmaster.astray = astray.lead

    def _opener(self, message: MessageId, told: Callable[[object], None]) -> None:
        to = self.opened.get(message)
        found = NoInput("not here") if to is None else Found(message, "x", to)
        asyncio.get_running_loop().call_soon(told, found)

    async def write(
        self, to: str = "eve", stamp: Stamp = LATE, **more: object
    ) -> Result:
        """One from ada; what became of it."""
        fields = {"from_": "ada", "to": to, "text": "hello"} | more
        msg = Msg(id=MessageId(ids.new()), **fields)  # type: ignore[arg-type]
        got: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        hops = ("lab",) if stamp is LINK else ()
        sub = Submission(msg, encode(msg), stamp, to, got.set_result, hops)
        self.postmaster.accept(sub)
        async with asyncio.timeout(60):
            result = await got
        for _ in range(20):
            await asyncio.sleep(0)
        return result

    def texts(self, name: str) -> list[str]:
        box = self.store.mailbox(Name(name))
        return [decode_msg(box.read(item).msg).text for item in box.pending.values()]


run = runs(Town)


def test_it_goes_to_who_began_the_conversation_and_its_writer_is_told(
    run: Callable[..., None],
) -> None:
    """By what it replies to, else by its thread."""

    async def scenario(town: Town) -> None:
        about = ids.new()
        town.opened = {about: "bob"}
        for way in ({"reply_to": about}, {"thread": about}):
            result = await town.write(**way)
            assert (result.kept, result.to) == (True, "bob")
        assert town.texts("bob") == ["hello"] * 2
        first, _ = town.texts("ada")
        assert "was for eve, which is no address any more: it went to bob" in first
        assert town.texts("postmaster") == []

    run(scenario)


@pytest.mark.parametrize("opener", [None, "eve", "ada", "nobody-at-all"])
def test_it_goes_to_the_postmaster_where_nobody_else_is(
    run: Callable[..., None], opener: str | None
) -> None:
    """Unknown, gone as well, or its own writer."""

    async def scenario(town: Town) -> None:
        about = ids.new()
        town.opened = {} if opener is None else {about: opener}
        result = await town.write(reply_to=about)
        assert (result.kept, result.to) == (True, "postmaster")
        assert town.texts("postmaster") == ["hello"]
        assert len(town.texts("ada")) == 1

    run(scenario)


@pytest.mark.parametrize(
    ("to", "stamp", "fields", "led"),
    [
        ("eve", LATE, {}, True),
        ("EVE", LATE, {}, True),
        ("eve", LINK, {}, True),
        ("eve", PEER, {}, True),
        ("never-was", PEER, {}, True),
        ("eve", THERE, {"kind": Kind.REPLY, "reply_to": ids.new()}, True),
        ("eve", THERE, {}, False),
        ("eve", THERE, {"reply_to": ids.new()}, False),
        ("never-was", LATE, {}, False),
        ("never-was", LINK, {}, False),
        ("never-was", THERE, {"kind": Kind.REPLY, "reply_to": ids.new()}, False),
    ],
)
def test_only_what_had_an_address_once_is_led_and_only_behind_its_writers_back(
    run: Callable[..., None],
    to: str,
    stamp: Stamp,
    fields: dict[str, object],
    led: bool,
) -> None:
    """Who is there is told 67; so is who wrote a name that never was."""

    async def scenario(town: Town) -> None:
        result = await town.write(to, stamp, **fields)
        assert result.kept is led
        assert town.texts("postmaster") == (["hello"] if led else [])
        assert (result.error is None) is led

    run(scenario)


def test_what_another_device_counts_goes_with_it(run: Callable[..., None]) -> None:
    """Else a turn that went astray would begin a chain of its own."""

    async def scenario(town: Town) -> None:
        told = Counted(MessageId(ids.new()), 3, 12)
        msg = Msg(id=MessageId(ids.new()), from_="ada", to="eve", text="hello")
        led: list[Submission] = []
        sub = Submission(msg, encode(msg), LINK, "eve", print, ("lab",))
        sub.told = told
        Astray(town.names, Desk(led), town._opener).lead(sub)  # type: ignore[arg-type]
        assert [(one.to, one.told) for one in led] == [("postmaster", told)]

    run(scenario)


def test_its_sender_is_named_with_the_device() -> None:
    msg = Msg(id=MessageId(ids.new()), from_="ada", to="eve", text="x")
    for stamp, name in ((LINK, "ada@lab"), (THERE, "ada")):
        assert sender(Submission(msg, b"", stamp, "eve", lambda _: None)) == name
