"""accept(): gate, commit, answer, hint, in that order, for every door."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from homi import ids
from homi.address import Device, Name
from homi.claims import State
from homi.clock import SystemClock
from homi.config import QUOTA_PENDING, Config
from homi.doors.office import Office
from homi.envelope import Kind, LedgerLine, MessageId, Msg, Rung, Via, encode
from homi.names import Names
from homi.owners import Owners
from homi.postmaster import Postmaster, Result, Stamp, Submission
from homi.sessions import Sessions
from homi.store.disk import RealDisk
from homi.store.mailbox import Item
from homi.store.memory import MemoryStore
from homi.store.quarantine import Quarantine
from homi.store.state import StateFile

CONTROL = Stamp(Via(door="control", uid=0, pid=1, verified=True))


class Turned(SystemClock):
    """The machine's clock until a test turns it."""

    now: float | None = None

    def wall(self) -> float:
        return super().wall() if self.now is None else self.now


class Bench:
    """A postmaster over the memory store, with what it told."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = MemoryStore()
        self.clock = Turned()
        file = StateFile(str(root / "names.json"), RealDisk(), State)
        self.names = Names(file)
        self.names.claim("ada", None, 0.0)
        self.names.claim("bob", None, 0.0)
        self.sessions = Sessions([root / "claude"], SystemClock())
        self.owners = Owners(self.names, self.sessions)
        self.owners.devices = lambda: [Device("lab"), Device("pi")]
        self.refused = root / "quarantine" / "refused.jsonl"
        self.postmaster = Postmaster(
            self.store,
            self.names,
            self.owners,
            Quarantine(str(root), RealDisk()),
            self.clock,
            Config(device="mini"),
        )
        self.hints: list[tuple[Name, Item]] = []
        self.postmaster.subscribe(lambda name, item: self.hints.append((name, item)))

    def office(self) -> Office:
        """What the verbs of a daemon with these parts know."""
        parts = (self.store, self.names, self.owners, self.sessions, self.postmaster)
        return Office(os.fspath(self.root), Config(device="mini"), *parts)

    async def send(
        self,
        msg: Msg,
        stamp: Stamp = CONTROL,
        raw: bytes | None = None,
        hops: tuple[str, ...] = (),
    ) -> Result:
        got: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        body = raw if raw is not None else encode(msg)
        self.postmaster.accept(
            Submission(msg, body, stamp, msg.to, got.set_result, hops)
        )
        async with asyncio.timeout(60):
            return await got


def letter(to: str = "bob", text: str = "hello", **fields: object) -> Msg:
    fields.setdefault("id", ids.new())
    return Msg(from_="ada", to=to, text=text, **fields)  # type: ignore[arg-type]


def runs(kind: Callable[[Path], object]) -> object:
    """A fixture by which a test runs a scenario over a fresh bench of that kind."""

    @pytest.fixture
    def run(tmp_path: Path) -> Callable[..., None]:
        def runner(scenario: Callable[..., Awaitable[None]]) -> None:
            async def main() -> None:
                await scenario(kind(tmp_path))

            asyncio.run(main())

        return runner

    return run


run = runs(Bench)


def test_what_is_answered_kept_stands_in_the_inbox_with_its_bytes(
    run: Callable[..., None],
) -> None:
    """The answer, the line and the hint agree on the seq."""

    async def scenario(bench: Bench) -> None:
        msg = letter()
        raw = encode(msg)[:-1] + ',"sig":"ü\u2028"}'.encode()
        result = await bench.send(msg, raw=raw)
        assert (result.kept, result.rung, result.to) == (True, Rung.STORED, "bob")
        name, item = bench.hints[0]
        assert (name, item.seq) == ("bob", result.seq)
        envelope = bench.store.mailbox(Name("bob")).read(item)
        assert bytes(envelope.msg) == raw
        assert envelope.via.door == "control"
        assert envelope.to == "bob"

    run(scenario)


def test_the_same_message_again_is_known_and_hinted_once(
    run: Callable[..., None],
) -> None:
    """A sender that repeats after a lost answer makes no second letter."""

    async def scenario(bench: Bench) -> None:
        msg = letter()
        first, second = await bench.send(msg), await bench.send(msg)
        assert (first.duplicate, second.duplicate) == (False, True)
        assert first.seq == second.seq
        assert len(bench.hints) == 1

    run(scenario)


def test_another_message_under_a_used_id_is_refused_and_kept_aside(
    run: Callable[..., None],
) -> None:
    """The first wins; the second is evidence of a fault, not mail."""

    async def scenario(bench: Bench) -> None:
        msg = letter()
        await bench.send(msg)
        result = await bench.send(letter(text="other", id=msg.id))
        assert not result.kept
        assert result.error is not None
        assert result.error.reason == "id-conflict"
        assert b"id-conflict" in bench.refused.read_bytes()
        assert len(bench.store.mailbox(Name("bob")).pending) == 1

    run(scenario)


def test_the_same_id_from_another_origin_is_another_message(
    run: Callable[..., None],
) -> None:
    """Nobody can shut another's message out by using its id first."""

    async def scenario(bench: Bench) -> None:
        msg = letter()
        await bench.send(msg)
        other = Stamp(Via(door="peer", session="s1", verified=True))
        result = await bench.send(letter(text="other", id=msg.id), other)
        assert result.kept
        assert not result.duplicate

    run(scenario)


def test_an_unknown_name_is_refused_with_the_nearest_and_makes_no_mailbox(
    run: Callable[..., None],
) -> None:
    """A typo is told at once."""

    async def scenario(bench: Bench) -> None:
        result = await bench.send(letter(to="bbo"))
        assert not result.kept
        assert result.error is not None
        assert result.error.exit_status == 67
        assert "bob" in result.error.hint
        assert [str(box.name) for box in bench.store.mailboxes()] == []
        assert (await bench.send(letter(to="BOB@self"))).kept

    run(scenario)


def test_a_device_that_is_not_linked_leaves_nothing_of_whoever_is_told_so(
    run: Callable[..., None],
) -> None:
    """A session that hears no answer finds its text in quarantine."""

    async def scenario(bench: Bench) -> None:
        result = await bench.send(letter(to="bob@nowhere", text="to the caller"))
        assert result.error is not None
        assert result.error.exit_status == os.EX_NOHOST
        assert "pair" in result.error.hint
        assert not bench.refused.exists()
        peer = Stamp(Via(door="peer"))
        await bench.send(letter(to="bob@nowhere", text="from a socket"), peer)
        assert b"from a socket" in bench.refused.read_bytes()
        assert b"to the caller" not in bench.refused.read_bytes()

    run(scenario)


@pytest.mark.parametrize("to", ["../x", "a b", "", "x@nowhere", "-oX", "bob\n"])
def test_a_nasty_address_is_refused_by_the_one_grammar(
    run: Callable[..., None], to: str
) -> None:
    """Every door shares it; nothing is created."""

    async def scenario(bench: Bench) -> None:
        result = await bench.send(letter(to=to))
        assert not result.kept
        assert result.error is not None
        assert result.error.exit_status in (64, 68)
        assert bench.hints == []

    run(scenario)


def test_a_store_that_cannot_commit_refuses_and_says_that_the_id_is_safe(
    run: Callable[..., None],
) -> None:
    """Not known to be stored is not the same as not stored."""

    async def scenario(bench: Bench) -> None:
        bench.store.fail_next = 1
        msg = letter()
        result = await bench.send(msg)
        assert not result.kept
        assert result.error is not None
        assert (result.error.exit_status, result.error.reason) == (74, "disk")
        assert "same id" in result.error.hint
        assert (await bench.send(msg)).kept

    run(scenario)


def test_quota_refuses_the_newest_and_keeps_every_older_one(
    run: Callable[..., None],
) -> None:
    """Told to the sender, never dropped in silence; no copy fills the disk."""

    async def scenario(bench: Bench) -> None:
        box = bench.store.mailbox(Name("bob"))
        await bench.send(letter())
        item = next(iter(box.pending.values()))
        for seq in range(2, QUOTA_PENDING + 1):
            box.pending[seq] = item
        result = await bench.send(letter(text="over the top"))
        assert result.error is not None
        assert result.error.reason == "quota"
        assert b"over the top" not in bench.refused.read_bytes()
        assert (await bench.send(letter(to="ada"))).kept

    run(scenario)


def test_a_burst_that_waits_for_no_answer_gets_no_further_than_the_quota(
    run: Callable[..., None],
) -> None:
    """What is on its way to the disk counts; another mailbox has its own bound."""

    async def scenario(bench: Bench) -> None:
        results: list[Result] = []
        for _ in range(QUOTA_PENDING + 50):
            msg = letter()
            sub = Submission(msg, encode(msg), CONTROL, msg.to, results.append)
            bench.postmaster.accept(sub)
        assert (await bench.send(letter(to="ada"))).kept
        assert len(results) == QUOTA_PENDING + 50
        assert [result.kept for result in results].count(True) == QUOTA_PENDING
        over = [result.error for result in results if result.error is not None]
        assert {error.reason for error in over} == {"quota"}
        assert len(bench.store.mailbox(Name("bob")).pending) == QUOTA_PENDING

    run(scenario)


def test_a_full_mailbox_still_knows_what_it_holds(run: Callable[..., None]) -> None:
    """A sender that repeats for want of an answer is told that it is stored."""

    async def scenario(bench: Bench) -> None:
        msg = letter()
        first = await bench.send(msg)
        bench.store.free = 0
        again = await bench.send(msg)
        assert (again.kept, again.duplicate, again.seq) == (True, True, first.seq)
        assert not (await bench.send(letter())).kept

    run(scenario)


def test_a_line_the_ring_cannot_take_is_refused_with_both_numbers(
    run: Callable[..., None],
) -> None:
    """Not a failure of the disk: sending it again would never help."""

    async def scenario(bench: Bench) -> None:
        bench.store.largest = 500
        refused = await bench.send(letter(text="x" * 600))
        assert refused.error is not None
        assert refused.error.reason == "too-large"
        assert "500" in refused.error.text
        assert (await bench.send(letter())).kept

    run(scenario)


def test_the_disk_reserve_refuses_and_frees_itself(run: Callable[..., None]) -> None:
    """Freed space is noticed without a restart."""

    async def scenario(bench: Bench) -> None:
        bench.store.free = 10 << 20
        refused = await bench.send(letter())
        assert refused.error is not None
        assert refused.error.reason == "quota"
        bench.store.free = 1 << 40
        assert (await bench.send(letter())).kept

    run(scenario)


def test_a_reply_answers_what_it_replies_to(run: Callable[..., None]) -> None:
    """Only in the mailbox of who replies, and only by its seq."""

    async def scenario(bench: Bench) -> None:
        asked = letter(to="bob")
        await bench.send(asked)
        told: list[LedgerLine] = []
        bench.postmaster.on_answered(lambda _name, line: told.append(line))
        reply = Msg(
            id=MessageId(ids.new()),
            from_="bob",
            to="ada",
            text="done",
            reply_to=asked.id,
        )
        await bench.send(reply)
        await asyncio.sleep(0)
        assert [line.rung for line in told] == [Rung.ANSWERED]
        assert bench.store.mailbox(Name("bob")).pending == {}

    run(scenario)


def test_a_notice_comes_once_per_step_and_never_about_a_notice(
    run: Callable[..., None],
) -> None:
    """Its id is made of what it is about; two postmasters must not talk for ever."""

    async def scenario(bench: Bench) -> None:
        about = MessageId(ids.new())
        for kind in (Kind.MAIL, Kind.MAIL, Kind.NOTICE, Kind.BOUNCE):
            bench.postmaster.tell("ada", about, kind, "expired", "it expired")
        bench.postmaster.tell("stranger", about, Kind.MAIL, "denied", "denied")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        ada = bench.store.mailbox(Name("ada")).pending
        assert [item.kind for item in ada.values()] == [Kind.NOTICE]
        kept = bench.store.mailbox(Name("postmaster")).pending
        assert len(kept) == 1

    run(scenario)


def test_the_postmark_tells_the_devices_own_time(run: Callable[..., None]) -> None:
    """Whatever the second it falls into, and when the clock steps back."""

    async def scenario(bench: Bench) -> None:
        found = []
        for wall in (1764467000.1236, 1764467000.9999, 1764467001.0, 1764460000.5):
            bench.clock.now = wall
            result = await bench.send(letter())
            box = bench.store.mailbox(Name("bob"))
            found.append(box.read(result.seq).at)
        assert found == [
            "2025-11-30T01:43:20.123Z",
            "2025-11-30T01:43:20.999Z",
            "2025-11-30T01:43:21.000Z",
            "2025-11-29T23:46:40.500Z",
        ]

    run(scenario)


def test_a_reminder_goes_to_the_name_itself_and_is_never_answered(
    run: Callable[..., None],
) -> None:
    """It is mail like any other, so that the next request of the model holds all."""

    async def scenario(bench: Bench) -> None:
        await bench.send(letter())
        box = bench.store.mailbox(Name("bob"))
        (item,) = box.pending.values()
        bench.postmaster.remind(Name("bob"), item)
        await asyncio.sleep(0)
        notice = list(box.pending.values())[-1]
        assert (notice.kind, notice.from_) == (Kind.NOTICE, "postmaster")
        assert notice.reply_to == item.id
        assert box.find(item.id) is item

    run(scenario)
