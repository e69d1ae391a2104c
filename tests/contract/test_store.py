"""What every store promises, asked of both: the one on disk and its twin."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from homi import ids
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import LedgerLine, Rung
from homi.store.base import Kept
from homi.store.memory import MemoryStore
from homi.store.store import DiskStore
from tests.contract.store_kit import ADA, AT, BOB, AnyStore, Bench, Scenario

Run = Callable[[Scenario], None]


@pytest.fixture(params=["memory", "disk"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Run a scenario on a store of its own, closed behind it."""

    def make() -> AnyStore:
        if request.param == "memory":
            return MemoryStore()
        return DiskStore.open(tmp_path / "root", Config(ring=1), SystemClock())

    async def main(scenario: Scenario) -> None:
        store = make()
        store.start(asyncio.get_running_loop())
        try:
            await scenario(Bench(store))
        finally:
            await store.aclose()

    return lambda scenario: asyncio.run(main(scenario))


def test_mail_is_stored_and_reads_back(run: Run) -> None:
    """The envelope carries our postmark around the sender's bytes."""

    async def scenario(bench: Bench) -> None:
        (mail,) = await bench.send(bench.mail(1))
        assert mail.kept is Kept.STORED
        envelope = bench.store.mailbox(ADA).read(mail.seq)
        assert (envelope.v, envelope.seq, envelope.at) == (1, mail.seq, AT)
        assert (envelope.to, envelope.via) == (ADA, mail.via)
        assert bytes(envelope.msg) == mail.msg

    run(scenario)


@pytest.mark.parametrize(
    "rest",
    [
        b"\xe2\x80\xa8 \xc2\x85 \xf0\x9f\x82\xa1",
        b"\\u2028 \\u0085 \\n \\u001c",
        b'a","later":{"deep":[1.50,1E3,null]},"z":"',
        b'a" , "spaces" : "kept',
    ],
)
def test_bytes_of_msg_are_never_changed(run: Run, rest: bytes) -> None:
    """Unknown fields, odd separators and odd numbers stay: a signature must hold."""
    ident = ids.derived("contract", "1").encode()
    raw = b'{"id":"%b","from":"eve","to":"ada","text":"%b"}' % (ident, rest)
    assert msgspec.json.decode(raw)

    async def scenario(bench: Bench) -> None:
        mails = [bench.mail(0), bench.mail(1, raw=raw), bench.mail(2)]
        await bench.send(*mails)
        box = bench.store.mailbox(ADA)
        assert [bytes(box.read(mail.seq).msg) for mail in mails] == [
            mail.msg for mail in mails
        ]

    run(scenario)


def test_order_of_submission_is_order_of_the_mailbox(run: Run) -> None:
    """Within a batch and over batches; sequences only grow."""

    async def scenario(bench: Bench) -> None:
        first = await bench.send(*[bench.mail(n) for n in range(50)])
        second = await bench.send(*[bench.mail(n) for n in range(50, 60)])
        seqs = [mail.seq for mail in first + second]
        assert seqs == sorted(set(seqs))
        assert list(bench.store.mailbox(ADA).pending) == seqs
        assert bench.answers == first + second

    run(scenario)


def test_done_comes_exactly_once_and_not_inside_submit(run: Run) -> None:
    """A caller may hold a lock of its own while it submits."""

    async def scenario(bench: Bench) -> None:
        mail = bench.mail(1)
        bench.store.submit(mail)
        assert bench.answers == []
        await bench.send(bench.mail(2), bench.mail(3))
        assert bench.answers.count(mail) == 1

    run(scenario)


def test_same_bytes_again_are_known(run: Run) -> None:
    """A sender that lost its answer is told where its mail stands."""

    async def scenario(bench: Bench) -> None:
        (mail,) = await bench.send(bench.mail(1))
        again, twin = await bench.send(bench.mail(1), bench.mail(1))
        assert {again.kept, twin.kept} == {Kept.KNOWN}
        assert again.seq == twin.seq == mail.seq
        assert len(bench.store.mailbox(ADA).pending) == 1

    run(scenario)


def test_twins_of_one_batch_are_one_mail(run: Run) -> None:
    """An id in flight joins the first copy's outcome."""

    async def scenario(bench: Bench) -> None:
        mails = await bench.send(*[bench.mail(1) for _ in range(3)])
        assert [mail.kept for mail in mails] == [Kept.STORED, Kept.KNOWN, Kept.KNOWN]
        assert len({mail.seq for mail in mails}) == 1

    run(scenario)


def test_known_stays_known_after_it_was_finished(run: Run) -> None:
    """A late retry must not bring back what was read."""

    async def scenario(bench: Bench) -> None:
        (mail,) = await bench.send(bench.mail(1))
        assert await bench.record(mail, Rung.SEEN)
        (again,) = await bench.send(bench.mail(1))
        assert (again.kept, again.seq) == (Kept.KNOWN, mail.seq)
        assert bench.store.mailbox(ADA).pending == {}

    run(scenario)


def test_what_is_under_way_is_counted_until_it_is_answered(run: Run) -> None:
    """A sender that waits for no answer must not get past a mailbox's bound."""

    async def scenario(bench: Bench) -> None:
        box = bench.store.mailbox(ADA)
        mails = [bench.mail(1), bench.mail(2), bench.mail(1), bench.mail(2, text="x")]
        barred = bench.mail(3)
        barred.barred = True
        for mail in [*mails, barred]:
            bench.store.submit(mail)
        assert box.coming == 4
        assert box.coming_bytes == sum(len(mail.tail) for mail in mails)
        await bench.send(bench.mail(4))
        assert (box.coming, box.coming_bytes, len(box.pending)) == (0, 0, 3)

    run(scenario)


def test_other_bytes_under_an_id_are_a_conflict(run: Run) -> None:
    """The first wins; nothing of the second is stored."""

    async def scenario(bench: Bench) -> None:
        (mail,) = await bench.send(bench.mail(1))
        (other,) = await bench.send(bench.mail(1, text="other"))
        assert other.kept is Kept.CONFLICT
        assert bytes(bench.store.mailbox(ADA).read(mail.seq).msg) == mail.msg
        assert len(bench.store.mailbox(ADA).pending) == 1

    run(scenario)


def test_an_id_belongs_to_its_origin_and_its_place(run: Run) -> None:
    """Nobody can take another's id away from him."""

    async def scenario(bench: Bench) -> None:
        mails = await bench.send(
            bench.mail(1),
            bench.mail(1, uid=8, text="other"),
            bench.mail(1, place=BOB),
        )
        assert {mail.kept for mail in mails} == {Kept.STORED}
        assert len(bench.store.mailbox(ADA).pending) == 2
        assert len(bench.store.mailbox(BOB).pending) == 1

    run(scenario)


def test_mailboxes_are_listed_and_apart(run: Run) -> None:
    """What happens in one is no matter of another."""

    async def scenario(bench: Bench) -> None:
        assert bench.store.mailboxes() == []
        await bench.send(bench.mail(1), bench.mail(2, place=BOB))
        assert {
            box.name for box in [*bench.store.mailboxes(), *bench.store.queues()]
        } == {ADA, BOB}
        assert bench.store.mailbox(ADA) is bench.store.mailbox(ADA)

    run(scenario)


@pytest.mark.parametrize("rung", [Rung.CANCELLED, Rung.EXPIRED, Rung.SEEN])
@pytest.mark.parametrize("durable", [False, True])
def test_decision_is_known_when_it_is_answered(
    run: Run, rung: Rung, durable: bool
) -> None:
    """A decision, or evidence that shall be durable, ends the envelope."""

    async def scenario(bench: Bench) -> None:
        (mail, other) = await bench.send(bench.mail(1), bench.mail(2))
        assert await bench.record(mail, rung, durable=durable)
        box = bench.store.mailbox(ADA)
        assert list(box.pending) == [other.seq]
        assert box.rung_of(mail.id) is rung

    run(scenario)


def test_evidence_moves_the_rung_and_numbers_grow(run: Run) -> None:
    """Lines are applied in the order in which they were recorded."""

    async def scenario(bench: Bench) -> None:
        (mail,) = await bench.send(bench.mail(1))
        box = bench.store.mailbox(ADA)
        numbers = [box.last_n]
        for rung in (Rung.INTENT, Rung.OFFERED, Rung.PARKED, Rung.HELD):
            assert await bench.record(mail, rung)
            assert box.pending[mail.seq].rung is rung
            numbers.append(box.last_n)
        assert numbers == sorted(set(numbers))

    run(scenario)


def test_record_without_done_is_applied_as_well(run: Run) -> None:
    """Whoever needs no answer need not ask for one."""

    async def scenario(bench: Bench) -> None:
        (mail,) = await bench.send(bench.mail(1))
        line = LedgerLine(seq=mail.seq, id=mail.id, rung=Rung.OFFERED, at=AT)
        bench.store.record(ADA, line)
        assert await bench.record(mail, Rung.TAKEN)
        assert bench.store.mailbox(ADA).pending[mail.seq].taken

    run(scenario)


def test_open_store_says_so(run: Run) -> None:
    """Empty means open; there is room."""

    async def scenario(bench: Bench) -> None:
        assert bench.store.closed() == ""
        assert bench.store.free_bytes() > 0

    run(scenario)


def test_closed_store_refuses_and_still_answers(run: Run) -> None:
    """Nobody waits for ever, and nobody is told yes."""

    async def scenario(bench: Bench) -> None:
        (mail,) = await bench.send(bench.mail(1))
        await bench.store.aclose()
        assert bench.store.closed() != ""
        (late,) = await bench.send(bench.mail(2))
        assert late.kept is Kept.FAILED
        assert not await bench.record(mail, Rung.CANCELLED)
        assert not await bench.record(mail, Rung.OFFERED)
        assert list(bench.store.mailbox(ADA).pending) == [mail.seq]

    run(scenario)


def test_barred_mail_is_answered_if_known_and_never_stored(run: Run) -> None:
    """A full mailbox must still tell a repeat that it holds it."""

    async def scenario(bench: Bench) -> None:
        (first,) = await bench.send(bench.mail(1))
        again, fresh = bench.mail(1), bench.mail(2)
        again.barred = fresh.barred = True
        await bench.send(again, fresh)
        assert (again.kept, again.seq) == (Kept.KNOWN, first.seq)
        assert fresh.kept is Kept.FAILED
        assert list(bench.store.mailbox(ADA).pending) == [first.seq]
        (later,) = await bench.send(bench.mail(2))
        assert later.kept is Kept.STORED

    run(scenario)


def test_an_out_queue_is_no_mailbox_and_keeps_the_whole_address(run: Run) -> None:
    """Who drains mailboxes must not meet it; who sends it on needs the address."""

    async def scenario(bench: Bench) -> None:
        mail = bench.mail(1, place=BOB)
        mail.to = "ada@bob"
        await bench.send(mail, bench.mail(2))
        (queue,), (box,) = bench.store.queues(), bench.store.mailboxes()
        assert (queue.name, queue.device, box.name, box.device) == (
            BOB,
            "bob",
            ADA,
            None,
        )
        assert [item.to for item in queue.pending.values()] == ["ada@bob"]
        assert [item.to for item in box.pending.values()] == [ADA]

    run(scenario)


def test_a_place_that_is_looked_up_is_not_made(run: Run) -> None:
    """Others name places as they like.  The control: one that has mail."""

    async def scenario(bench: Bench) -> None:
        assert bench.store.known(BOB) is None
        await bench.send(bench.mail(1))
        assert bench.store.known(ADA) is bench.store.mailbox(ADA)
        assert [box.name for box in bench.store.mailboxes()] == [ADA]

    run(scenario)
