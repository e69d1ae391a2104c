"""What is counted of the traffic, what is parked, and what outlives the process."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from homi import ids
from homi.address import OWNER, Device, Name
from homi.bounds import FILE, Bounds, counted
from homi.config import TURNS
from homi.digest import tags
from homi.envelope import (
    Kind,
    LedgerLine,
    MessageId,
    Msg,
    Reason,
    Rung,
    SessionRef,
    Via,
    decode_msg,
    encode,
)
from homi.errors import NotAllowed
from homi.guard import Guard
from homi.policy import Policy
from homi.postmaster import Result, Stamp, Submission
from homi.store.disk import RealDisk
from homi.turns import Counted
from tests.unit.postmaster.test_postmaster import Bench, letter

ADA, BOB = SessionRef(11, "1", "a"), SessionRef(12, "1", "b")
PERSON = Stamp(Via(door="control", uid=0, pid=1, verified=True))
SERVICE = Stamp(Via(door="control", uid=0, pid=2))
LINK = Stamp(Via(door="link", device="lab", key="SHA256:abc", verified=True))


def stamp(session: SessionRef) -> Stamp:
    via = Via(door="control", uid=0, pid=session.pid, session="x", verified=True)
    return Stamp(via, session)


class Guarded(Bench):
    """A bench with bounds whose file is under root, and a policy."""

    def __init__(self, root: Path, policy: Policy) -> None:
        super().__init__(root)
        self.root, self.policy = root, policy
        self.again()

    def again(self) -> None:
        """As after a restart."""
        root = str(self.root)
        self.bounds = Bounds(root, self.store, self.clock, RealDisk())
        self.postmaster.admission.guard = Guard(
            self.bounds, self.policy, Device("mini")
        )

    def given(self, session: SessionRef, name: str, message: str) -> None:
        """The courier is about to hand a letter over."""
        item = self.store.mailbox(Name(name)).find(MessageId(message))
        assert item is not None
        line = LedgerLine(
            seq=item.seq, id=item.id, rung=Rung.INTENT, at="", session=session
        )
        self.bounds.recorded(Name(name), item, line)

    async def turns(self, count: int) -> tuple[str, Rung]:
        """ada and bob answer each other; the last of count and its rung."""
        last, result = (await self.send(letter("ada"), PERSON)).id, None
        for n in range(count):
            me, you = ("ada", "bob") if n % 2 == 0 else ("bob", "ada")
            session = ADA if me == "ada" else BOB
            self.given(session, me, last)
            msg = Msg(id=ids.new(), from_=me, to=you, text=f"{n} it is")
            result = await self.send(msg, stamp(session))
            last = result.id
        assert result is not None
        return last, result.rung

    def warnings(self) -> list[Msg]:
        box = self.store.mailbox(OWNER)
        return [decode_msg(box.read(item).msg) for item in box.pending.values()]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., None]:
    """Run a scenario over a fresh bench, with that policy."""

    def runner(
        scenario: Callable[[Guarded], object], policy: Policy | None = None
    ) -> None:
        async def main() -> None:
            await scenario(Guarded(tmp_path, policy or Policy()))  # type: ignore[misc]

        asyncio.run(main())

    return runner


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_the_thirteenth_turn_is_kept_parked_and_told_of_once(
    run: Callable[..., None],
) -> None:
    """From its line on: no crash lets it out."""

    async def scenario(bench: Guarded) -> None:
        last, rung = await bench.turns(TURNS)
        assert rung is Rung.STORED
        assert bench.warnings() == []
        bench.given(ADA, "ada", last)
        over = Msg(id=ids.new(), from_="ada", to="bob", text="one more")
        result = await bench.send(over, stamp(ADA))
        assert (result.kept, result.rung) == (True, Rung.PARKED)
        assert result.reason is Reason.BUDGET
        box = bench.store.mailbox(Name("bob"))
        item = box.find(over.id)
        assert item is not None
        assert (item.rung, item.reason) == (Rung.PARKED, Reason.BUDGET)
        assert box.read(item).via.parked is Reason.BUDGET
        assert (Name("bob"), item) not in bench.hints
        again = await bench.send(over, stamp(ADA))
        assert again.duplicate
        other = msgspec.structs.replace(over, id=ids.new(), text="and one more")
        await bench.send(other, stamp(ADA))
        await settled()
        (warning,) = bench.warnings()
        assert warning.kind is Kind.NOTICE
        assert f"homi continue {warning.reply_to}" in warning.text

    run(scenario)


def test_counters_and_causes_are_what_they_were_after_a_restart(
    run: Callable[..., None],
) -> None:
    """Also where the last line was cut short."""

    async def scenario(bench: Guarded) -> None:
        last, _ = await bench.turns(TURNS)
        bench.given(ADA, "ada", last)
        with (bench.root / FILE).open("ab") as file:
            file.write(b'{"type":"turn","id":"')
        bench.bounds.close()
        bench.again()
        assert bench.bounds.findings == []
        over = Msg(id=ids.new(), from_="ada", to="bob", text="one more")
        assert (await bench.send(over, stamp(ADA))).rung is Rung.PARKED
        assert counted(bench.root, RealDisk()).turns == bench.bounds.budget.turns

    run(scenario)


def test_an_unreadable_line_is_kept_aside_and_costs_itself_only(
    run: Callable[..., None],
) -> None:
    async def scenario(bench: Guarded) -> None:
        await bench.turns(3)
        bench.bounds.close()
        with (bench.root / FILE).open("ab") as file:
            file.write(b"nonsense\n")
        bench.again()
        (finding,) = bench.bounds.findings
        assert "quarantine" in finding.text
        assert len(bench.bounds.budget.turns) == 3
        bench.again()
        assert bench.bounds.findings == []

    run(scenario)


def test_what_a_person_or_a_program_starts_is_not_counted(
    run: Callable[..., None],
) -> None:
    """Nothing is written for it, however much there is of it."""

    async def scenario(bench: Guarded) -> None:
        for n in range(300):
            for each in (PERSON, SERVICE):
                result = await bench.send(letter(text=f"note {n}"), each)
                assert result.rung is Rung.STORED
        assert not (bench.root / FILE).exists()

    run(scenario)


def test_a_program_that_answers_a_turn_is_one(run: Callable[..., None]) -> None:
    """By what it replies to; a person's answer begins anew."""

    async def scenario(bench: Guarded) -> None:
        last, _ = await bench.turns(TURNS)
        reply = letter(kind=Kind.REPLY, reply_to=last)
        assert (await bench.send(reply, SERVICE)).rung is Rung.PARKED
        mine = letter(kind=Kind.REPLY, reply_to=last)
        assert (await bench.send(mine, PERSON)).rung is Rung.STORED

    run(scenario)


def test_what_a_digest_lists_causes_what_its_reader_sends(
    run: Callable[..., None],
) -> None:
    """From its intent on, and that which is furthest in its chain; a digest of what
    began nothing is the control."""

    async def scenario(bench: Guarded) -> None:
        last, _ = await bench.turns(TURNS)  # to ada
        await bench.send(letter("ada"), PERSON)
        await bench.send(letter("ada"), PERSON)
        box = bench.store.mailbox(Name("ada"))
        far = box.find(MessageId(last))
        assert far is not None
        fresh = [item.seq for item in box.pending.values() if item.seq > far.seq]
        for listed, rung in ((fresh, Rung.STORED), ([far.seq, *fresh], Rung.PARKED)):
            digest = Msg(
                id=MessageId(ids.new()),
                from_="postmaster",
                to="ada",
                text="3 letters are waiting",
                kind=Kind.NOTICE,
                tags=tags(ADA, listed, box.pending),
                auto=True,
            )
            await bench.send(digest, Stamp(Via(door="homi", verified=True)))
            bench.given(ADA, "ada", digest.id)
            told = Msg(id=ids.new(), from_="ada", to="bob", text=f"about {listed}")
            assert (await bench.send(told, stamp(ADA))).rung is rung

    run(scenario)


def test_a_cause_ends_when_its_session_rests_after_it_read_it(
    run: Callable[..., None],
) -> None:
    """Not before: what waits in its queue is what it does next."""

    async def scenario(bench: Guarded) -> None:
        last, _ = await bench.turns(1)
        bench.given(BOB, "bob", last)
        bench.bounds.idle(BOB)
        told = bench.bounds.budget.causes.get((BOB.pid, BOB.start))
        assert told is not None
        assert told.id == last
        box = bench.store.mailbox(Name("bob"))
        item = box.find(MessageId(last))
        assert item is not None
        box.apply(LedgerLine(seq=item.seq, id=item.id, rung=Rung.SEEN, at=""))
        bench.bounds.idle(BOB)
        assert (BOB.pid, BOB.start) not in bench.bounds.budget.causes
        bench.bounds.ended(ADA)
        assert bench.bounds.budget.causes == {}

    run(scenario)


def test_a_turn_of_another_device_is_counted_as_it_says(
    run: Callable[..., None],
) -> None:
    """And what answers it here is the next."""

    async def scenario(bench: Guarded) -> None:
        begun = MessageId(ids.new())
        msg = letter("bob")
        got: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        body = encode(msg)
        sub = Submission(msg, body, LINK, msg.to, got.set_result, ("lab",))
        sub.told = Counted(begun, TURNS, TURNS)
        bench.postmaster.accept(sub)
        await got
        bench.given(BOB, "bob", msg.id)
        answer = Msg(id=ids.new(), from_="bob", to="ada@lab", text="no")
        assert (await bench.send(answer, stamp(BOB))).rung is Rung.PARKED
        known = bench.bounds.budget.told(answer.id)
        assert known == Counted(begun, TURNS + 1, TURNS)
        assert bench.bounds.budget.told(MessageId(ids.new())) is None

    run(scenario)


def test_what_may_not_wake_is_kept_parked_and_a_persons_mail_goes(
    run: Callable[..., None],
) -> None:
    async def scenario(bench: Guarded) -> None:
        assert (await bench.send(letter(), SERVICE)).rung is Rung.PARKED
        assert (await bench.send(letter(), PERSON)).rung is Rung.STORED
        ci = msgspec.structs.replace(letter(), from_="ci")
        assert (await bench.send(ci, SERVICE)).rung is Rung.STORED
        await settled()
        assert bench.warnings() == []

    run(scenario, Policy(wake={"bob": ["ci"]}))


def test_remote_mail_is_delivered_parked_or_refused_by_the_closest_rule(
    run: Callable[..., None],
) -> None:
    async def scenario(bench: Guarded) -> None:
        refused = await bench.send(letter(), LINK, hops=("lab",))
        assert isinstance(refused.error, NotAllowed)
        assert refused.error.reason == "policy"
        for sender, rung in (("ci", Rung.STORED), ("eve", Rung.PARKED)):
            msg = msgspec.structs.replace(letter(), from_=sender)
            result = await bench.send(msg, LINK, hops=("lab",))
            assert result.rung is rung
        assert (await bench.send(letter(), SERVICE)).rung is Rung.STORED

    rules = {"lab": "refuse", "ci@lab": "deliver", "eve@lab": "park"}
    run(scenario, Policy(remote=rules))  # type: ignore[arg-type]
