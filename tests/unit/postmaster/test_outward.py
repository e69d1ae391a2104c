"""What stands in front of the out queues: what may leave, in which order, and by whose
word."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from homi.address import Device, Name, parse_address
from homi.envelope import Msg, Reason, Rung, Via, encode
from homi.outward import AT_ONCE
from homi.postmaster import Result, Stamp, Submission
from homi.scan import library, scanner
from homi.store.mailbox import Mailbox
from homi.store.places import queue_of
from homi.submission import Permit
from tests.unit.postmaster.test_postmaster import CONTROL, Bench, letter, runs
from tests.unit.postmaster.test_remote import LINK, settled

SECRET = "DB_PASS" + "WORD=hunter2hunter2"
LAB, PI = queue_of(Device("lab")), queue_of(Device("pi"))
PEER = Stamp(Via(door="peer", uid=0, pid=1, verified=True))


run = runs(Bench)


def out(bench: Bench, place: Name = LAB) -> Mailbox:
    return bench.store.mailbox(place)


async def permitted(bench: Bench, msg: Msg, words: str = "rotated") -> Result:
    """Sent by a person who lets it leave."""
    got: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
    sub = Submission(msg, encode(msg), CONTROL, msg.to, got.set_result)
    sub.permit = Permit("owner pid 1", words)
    bench.postmaster.accept(sub)
    async with asyncio.timeout(60):
        return await got


def test_a_secret_stays_on_the_device_and_out_of_every_record(
    run: Callable[..., None],
) -> None:
    """The refusal names rule and place, the quarantine keeps no text; the control is
    the same text for a name here."""

    async def scenario(bench: Bench) -> None:
        result = await bench.send(letter("gds@lab", SECRET))
        assert result.error is not None
        assert (result.error.code, result.error.reason) == ("bad-message", "scan")
        assert "password in text at 12" in result.error.text
        assert not out(bench).pending
        assert "hunter2" not in bench.refused.read_text()
        assert '"reason":"scan"' in bench.refused.read_text()
        assert (await bench.send(letter("bob", SECRET))).kept

    run(scenario)


def test_an_alias_of_another_device_leaves_it_too(run: Callable[..., None]) -> None:
    """What counts is where it goes, not how it is written."""

    async def scenario(bench: Bench) -> None:
        bench.names.add_alias("gds", parse_address("gds@lab"), 0.0)
        assert not (await bench.send(letter("gds", SECRET))).kept
        assert (await bench.send(letter("gds", "hello"))).kept

    run(scenario)


def test_what_another_device_wrote_is_not_judged_here(
    run: Callable[..., None],
) -> None:
    """It was judged where it was written; a bounce of it would say no more."""

    async def scenario(bench: Bench) -> None:
        hub = replace(letter("gds@pi", SECRET), from_="bob")
        assert (await bench.send(hub, LINK, hops=("lab",))).kept
        assert len(out(bench, PI).pending) == 1

    run(scenario)


def test_a_door_that_can_only_refuse_has_its_sender_told(
    run: Callable[..., None],
) -> None:
    """A session that sent natively learns why; nothing of the text comes back."""

    async def scenario(bench: Bench) -> None:
        assert not (await bench.send(letter("gds@lab", SECRET), PEER)).kept
        await settled(bench)
        box = bench.store.mailbox(Name("ada"))
        (item,) = box.pending.values()
        line = bytes(box.read(item).msg).decode()
        assert "password in text at 12" in line
        assert "hunter2" not in line

    run(scenario)


@pytest.mark.parametrize("known", [True, False])
def test_what_is_looked_at_for_long_overtakes_and_is_overtaken_by_nothing(
    run: Callable[..., None], known: bool
) -> None:
    """The library is loaded, and a long text read, while others wait their turn; mail
    for a name here does not wait."""

    async def scenario(bench: Bench) -> None:
        long = "config.sg.example" if not known else "word " * AT_ONCE
        texts = [long, "two", SECRET, "three", long, "four"]
        tasks = [
            asyncio.ensure_future(bench.send(letter("gds@lab", text))) for text in texts
        ]
        here = await bench.send(letter("bob", "here"))
        assert here.kept
        assert not tasks[0].done()
        results = [await task for task in tasks]
        assert [one.kept for one in results] == [True, True, False, True, True, True]
        box = out(bench)
        sent = [len(bytes(box.read(item).msg)) for item in box.pending.values()]
        ordered = [len(encode(letter("gds@lab", text))) for text in texts]
        assert sent == [size for at, size in enumerate(ordered) if at != 2]

    run(scenario)


def test_nothing_leaves_unscanned_where_the_library_is_missing(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """69 with the fix; what needs none of it goes on, also behind that."""
    monkeypatch.setattr(library, "_PLUGINS", "no_such_package")

    async def scenario(bench: Bench) -> None:
        first = asyncio.ensure_future(
            bench.send(letter("gds@lab", "see config.sg.example"))
        )
        second = asyncio.ensure_future(bench.send(letter("gds@lab", "hello")))
        error = (await first).error
        assert error is not None
        assert (error.code, "detect-secrets" in error.text) == ("unavailable", True)
        assert (await second).kept

    run(scenario)


def test_a_secret_in_an_address_is_in_no_record_either(
    run: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """The device is told; the control is a name that is none."""
    name = "sk-ant-" + "api03-ab3de6gh9jk2mn5pq8st1vw4xy7za0"

    async def scenario(bench: Bench) -> None:
        for to, text in ((f"{name}@lab", "hello"), ("nobody@nowhere", "hello")):
            error = (await bench.send(letter(to, text), PEER)).error
            assert error is not None
        await settled(bench)
        told = bench.refused.read_text() + caplog.text
        told += "".join(x.decode() for x in bench.store.inboxes.values())
        assert "a name on lab" in told
        assert "nobody@nowhere" in told
        assert name not in told

    with caplog.at_level("INFO"):
        run(scenario)


@pytest.mark.parametrize("long", [False, True])
def test_what_turns_out_to_need_a_library_that_is_missing_keeps_nobody_waiting(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch, *, long: bool
) -> None:
    """A token that begins on one line and ends on the next is not seen beforehand."""
    monkeypatch.setattr(library, "_PLUGINS", "no_such_package")
    text = "SG\n.aaaaaaaaaaaaaaaa\n" + ("word " * AT_ONCE if long else "")

    async def scenario(bench: Bench) -> None:
        first = asyncio.ensure_future(bench.send(letter("gds@lab", text)))
        second = asyncio.ensure_future(
            bench.send(letter("gds@lab", "hello " * AT_ONCE))
        )
        async with asyncio.timeout(20):
            error = (await first).error
            assert error is not None
            assert error.code == "unavailable"
            assert (await second).kept

    run(scenario)


@pytest.mark.parametrize("loading", [False, True])
def test_a_bug_that_one_message_meets_refuses_that_one_alone(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch, *, loading: bool
) -> None:
    """It is told where bugs are told; the control behind it leaves."""
    told: list[object] = []

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    text = "an " + "sg." * 8 if loading else "poison " * AT_ONCE

    async def scenario(bench: Bench) -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, what: told.append(what["exception"])
        )
        with monkeypatch.context() as patched:
            where = (library, "load") if loading else (scanner, "windows")
            patched.setattr(*where, broken)
            first = asyncio.ensure_future(bench.send(letter("gds@lab", text)))
            async with asyncio.timeout(20):
                error = (await first).error
        assert error is not None
        assert "the scan for secrets failed" in error.text
        assert [type(one) for one in told] == [ZeroDivisionError]
        async with asyncio.timeout(20):
            assert (await bench.send(letter("gds@lab", "hello " * AT_ONCE))).kept

    run(scenario)


def test_a_person_lets_it_leave_and_the_ledger_says_why(
    run: Callable[..., None],
) -> None:
    """It waits for nothing more, and its hint comes behind that line."""

    async def scenario(bench: Bench) -> None:
        lines = []
        record = bench.store.record
        bench.store.record = lambda name, line, *more, **options: (  # type: ignore[method-assign]
            lines.append((name, line, len(bench.hints))),
            record(name, line, *more, **options),
        )[1]
        result = await permitted(bench, letter("gds@lab", SECRET))
        assert (result.kept, result.rung) == (True, Rung.STORED)
        ((name, line, hints),) = lines
        assert (name, line.rung, line.by) == (LAB, Rung.STORED, "owner pid 1")
        assert (line.allowed, hints) == ("rotated", 0)
        (item,) = out(bench).pending.values()
        assert item.rung is Rung.STORED
        assert bench.hints == [(LAB, item)]

    run(scenario)


def test_a_permit_that_was_not_needed_leaves_no_trace(
    run: Callable[..., None],
) -> None:
    """Neither here nor for a text without a secret."""

    async def scenario(bench: Bench) -> None:
        assert (await permitted(bench, letter("gds@lab", "hello"))).kept
        assert (await permitted(bench, letter("bob", SECRET))).kept
        for place in (LAB, Name("bob")):
            (item,) = out(bench, place).pending.values()
            assert out(bench, place).read(item).via.parked is None

    run(scenario)


def test_what_dies_before_the_reason_is_kept_stays(run: Callable[..., None]) -> None:
    """Its line says that it is parked, so that a start finds it so."""

    async def scenario(bench: Bench) -> None:
        bench.store.record = lambda _name, _line, told=None, **_: (  # type: ignore[method-assign]
            told(False) if told else None
        )
        result = await permitted(bench, letter("gds@lab", SECRET))
        assert (result.kept, result.rung) == (True, Rung.PARKED)
        assert result.reason is Reason.SCAN
        (item,) = out(bench).pending.values()
        assert (item.rung, item.reason) == (Rung.PARKED, Reason.SCAN)

    run(scenario)


def test_what_a_person_let_leave_may_be_rerouted(run: Callable[..., None]) -> None:
    """It is not asked again, and waits there as it did here."""

    async def scenario(bench: Bench) -> None:
        msg = letter("gds@lab", SECRET)
        await permitted(bench, msg)
        item = out(bench).find(msg.id)
        assert item is not None
        told: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        bench.postmaster.reroute(out(bench), item, Device("pi"), told.set_result)
        assert await told == "gds@pi"
        there = out(bench, PI).find(msg.id)
        assert there is not None
        assert there.rung is Rung.STORED

    run(scenario)


def test_what_is_older_than_a_rule_is_not_rerouted(run: Callable[..., None]) -> None:
    """The control goes back to a name here."""

    async def scenario(bench: Bench) -> None:
        msg = letter("gds@lab", SECRET)
        sub = Submission(msg, encode(msg), CONTROL, msg.to, lambda _: None)
        sub.clear = True  # as nobody looked for it then
        bench.postmaster.accept(sub)
        await settled(bench)
        item = out(bench).find(msg.id)
        assert item is not None
        got: list[object] = []
        bench.names.claim("gds", None, 0.0)
        for device in ("pi", "mini"):
            bench.postmaster.reroute(out(bench), item, Device(device), got.append)
            await settled(bench)
        assert getattr(got[0], "reason", "") == "scan"
        assert got[1] == "gds"

    run(scenario)
