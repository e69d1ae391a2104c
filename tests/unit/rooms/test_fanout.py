"""From the room to its members: each one copy, whatever becomes of the others."""

from collections.abc import Callable

import pytest

from homi.address import Device, Name
from homi.bounds import Bounds
from homi.config import QUOTA_PENDING
from homi.envelope import Kind, Reason, Rung, Via, Was
from homi.guard import Guard
from homi.policy import Policy
from homi.postmaster import Stamp
from homi.rooms import lane
from homi.store.disk import RealDisk
from homi.store.places import queue_of
from tests.unit.rooms.kit import PATIENCE, TEAM, Company, Scenario, settled

Run = Callable[[Scenario], None]
BOX = Name("bob")


def fill(company: Company) -> None:
    """Let bob's mailbox be full, as far as its count tells."""
    company.store.mailbox(BOX).coming = QUOTA_PENDING


def empty(company: Company) -> None:
    company.store.mailbox(BOX).coming = 0
    company.fanout.flush(TEAM)


def test_each_member_but_its_writer_has_the_same_message_once(run: Run) -> None:
    """The same id and bytes, who wrote it as it was measured, and the room."""

    async def scenario(company: Company) -> None:
        result = await company.post("hello")
        assert (result.rung, result.to) == (Rung.STORED, "team")
        original = company.store.inboxes[TEAM].partition(b'"msg":')[2]
        for name in ("bob", "cyd"):
            box = company.store.mailbox(Name(name))
            (item,) = box.pending.values()
            envelope = box.read(item)
            assert original.startswith(bytes(envelope.msg))
            via = envelope.via
            assert (via.door, via.room, via.session) == ("room", "team", "s")
            assert via.verified
        assert company.texts("ada") == []
        assert company.finished()
        assert company.lines() == [("bob", "stored", None), ("cyd", "stored", None)]

    run(scenario)


def test_a_name_that_nothing_proves_spares_nobody(run: Run) -> None:
    """Else a false sender would keep a message from who it pretends to be."""

    async def scenario(company: Company) -> None:
        await company.post("is it me?", stamp=Stamp(Via(door="control", uid=0, pid=1)))
        for name in ("ada", "bob", "cyd"):
            assert company.texts(name) == ["is it me?"]

    run(scenario)


def test_a_full_member_delays_nobody_and_has_it_in_order_later(run: Run) -> None:
    """It is shown who waits and why; what was not taken is in no quarantine."""

    async def scenario(company: Company) -> None:
        fill(company)
        await company.post("one")
        await company.post("two")
        assert company.texts("cyd") == ["one", "two"]
        first = next(iter(company.store.mailbox(TEAM).pending.values()))
        assert company.fanout.waits(TEAM, first) == {"bob": "quota"}
        rung, reason, until = company.fanout.explain(TEAM, first)
        assert (rung, reason) == (Rung.DEFERRED, Reason.QUOTA)
        assert until is not None
        assert not company.refused.exists()
        empty(company)
        await settled()
        assert company.texts("bob") == ["one", "two"]
        assert company.finished()
        assert [x for x in company.lines() if x[0] == "bob"] == [
            ("bob", "deferred", "quota"),
            ("bob", "stored", None),
            ("bob", "stored", None),
        ]

    run(scenario)


def test_who_left_gets_nothing_more_and_keeps_nothing_open(run: Run) -> None:
    """Neither what waits for it nor what comes; the control is who stays."""

    async def scenario(company: Company) -> None:
        fill(company)
        await company.post("one")
        company.rooms.leave(TEAM, ["bob"])
        await settled()
        assert company.finished()
        company.store.mailbox(BOX).coming = 0
        await company.post("two")
        assert company.texts("bob") == []
        assert company.texts("cyd") == ["one", "two"]

    run(scenario)


def test_who_joins_gets_what_comes_from_then_on(run: Run) -> None:
    """Not what still waits for another member."""

    async def scenario(company: Company) -> None:
        fill(company)
        await company.post("before")
        company.names.claim("eve", None, 1.0)
        assert company.join("eve")
        await company.post("after")
        empty(company)
        await settled()
        assert company.texts("eve") == ["after"]
        assert company.texts("bob") == ["before", "after"]

    run(scenario)


def test_after_a_crash_each_member_has_one_copy(run: Run) -> None:
    """All copies were made and the end was not recorded, or only some were made."""

    async def scenario(company: Company) -> None:
        company.dies = True
        fill(company)
        await company.post("hello")
        company.fanout.stop()
        assert company.texts("cyd") == ["hello"]
        company.store.mailbox(BOX).coming = 0
        company.fanout = company.again()
        await settled()
        assert not company.finished()
        company.fanout.stop()
        company.dies = False
        company.fanout = company.again()
        await settled()
        assert company.finished()
        assert company.texts("bob") == company.texts("cyd") == ["hello"]

    run(scenario)


def test_an_end_that_could_not_be_recorded_is_made_up_for_by_the_sweep(
    run: Run,
) -> None:
    """The ledger takes nothing for a while."""

    async def scenario(company: Company) -> None:
        ends: list[Callable[[bool], None]] = []
        company.fanout._end = lambda _name, _line, done: ends.append(done)
        await company.post("hello")
        (failed,) = ends
        failed(False)
        company.fanout._end = company.end
        company.fanout.sweep()
        await settled()
        assert company.finished()
        assert company.texts("bob") == ["hello"]

    run(scenario)


def test_what_is_held_in_the_room_goes_to_nobody_until_it_is_released(
    run: Run,
) -> None:
    """A bound of its own parks it as well as a person."""

    async def scenario(company: Company) -> None:
        fill(company)
        await company.post("wait")
        item = next(iter(company.store.mailbox(TEAM).pending.values()))
        company.record(item, Rung.PARKED)
        await settled()
        empty(company)
        await settled()
        assert company.texts("bob") == []
        assert company.fanout.explain(TEAM, item)[0] is Rung.PARKED
        company.record(item, Rung.HELD)
        await settled()
        assert company.texts("bob") == ["wait"]
        assert company.texts("cyd") == ["wait"]  # once
        assert company.finished()

    run(scenario)


def test_a_member_that_is_gone_is_tried_as_long_as_mail_for_a_device(run: Run) -> None:
    """Then its writer is told who did not get it; one that comes back gets it."""

    async def scenario(company: Company) -> None:
        for name in ("bob", "cyd"):
            company.names.release(name)
        await company.post("anybody?")
        assert ("bob", "deferred", "no-owner") in company.lines()
        company.names.claim("cyd", None, 1.0)
        company.fanout.revive(Name("cyd"))
        await settled()
        assert company.texts("cyd") == ["anybody?"]
        company.clock.now = company.clock.wall() + PATIENCE + 1
        company.fanout.flush(TEAM)
        await settled()
        assert company.finished()
        assert ("bob", "refused", "no-owner") in company.lines()
        (told,) = company.texts("ada")
        assert "to the room team did not get to bob" in told

    run(scenario)


@pytest.mark.parametrize(("limit", "most"), [("LANE_MAX", 2), ("LANE_BYTES", 600)])
def test_more_than_may_wait_for_one_member_is_given_up_for_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """The oldest; else one full mailbox would fill the room for all others, by few
    long letters or many short ones."""
    monkeypatch.setattr(lane, limit, most)

    async def scenario(company: Company) -> None:
        fill(company)
        for text in ("one", "two", "three"):
            await company.post(text)
        assert ("bob", "refused", "quota") in company.lines()
        empty(company)
        await settled()
        assert company.texts("bob") == ["two", "three"]
        assert company.texts("cyd") == ["one", "two", "three"]

    run(scenario)


def test_a_member_on_another_device_has_its_copy_in_the_queue_for_that(
    run: Run,
) -> None:
    """With the devices it came over, and this one; its writer there gets none."""

    async def scenario(company: Company) -> None:
        company.join("eve@lab")
        company.join("mia@pi")
        company.join("zoe@pi")
        via = Via(door="link", device="lab", key="k", verified=True)
        result = await company.post("hi", "eve", Stamp(via), to="team@mini")
        assert result.error is None, result.error
        assert company.store.mailbox(queue_of(Device("lab"))).pending == {}
        pi = company.store.mailbox(queue_of(Device("pi")))
        sent = list(pi.pending.values())
        assert [item.to for item in sent] == ["mia@pi", "zoe@pi"]
        for item in sent:
            assert item.address == "eve@lab"
            assert pi.read(item).via.room == "team"
            assert pi.read(item).hops[-1] == "mini"
        company.fanout.stop()
        company.dies = False
        company.fanout = company.again()
        await settled()
        assert len(pi.pending) == 2
        assert company.texts("ada") == ["hi"]

    run(scenario)


def test_a_secret_goes_to_nobody_elsewhere_and_its_writer_is_told_once(
    run: Run,
) -> None:
    """The members here have it; also where it is tried again after a restart.  The
    control is what holds none."""

    async def scenario(company: Company) -> None:
        company.join("eve@lab")
        fill(company)  # so that the message stays open
        secret = "DB_PASS" + "WORD=hunter2hunter2"
        await company.post(secret)
        company.fanout.stop()
        company.fanout = company.again()
        await settled()
        empty(company)
        await settled()
        lab = company.store.mailbox(queue_of(Device("lab")))
        assert not lab.pending
        assert company.texts("bob") == company.texts("cyd") == [secret]
        assert company.finished()
        assert ("eve@lab", "refused", "scan") in company.lines()
        (told,) = company.texts("ada")
        assert "to the room team did not get to eve@lab" in told
        assert "hunter2" not in told
        assert not company.refused.exists()  # its copy set nothing aside
        await company.post("plain")
        assert len(lab.pending) == 1

    run(scenario)


def test_a_room_takes_no_question_and_nothing_from_a_room(run: Run) -> None:
    """A question needs one who answers; a room in a room could go in circles."""

    async def scenario(company: Company) -> None:
        asked = await company.post("who?", kind=Kind.ASK)
        assert asked.error is not None
        assert asked.error.reason == "policy"
        via = Via(door="link", device="lab", key="k", verified=True, room="r@lab")
        came = await company.post("hi", stamp=Stamp(via), to="team@mini")
        assert came.error is not None
        assert came.error.reason == "loop"
        assert company.finished()
        assert (await company.post("fine")).error is None

    run(scenario)


def test_a_reply_to_the_room_answers_once(run: Run) -> None:
    """The copies of what answered in the room answer nothing again."""

    async def scenario(company: Company) -> None:
        first = await company.post("who has it?")
        told: list[str] = []
        company.postmaster.on_answered(lambda name, line: told.append(name))
        bob = Stamp(Via(door="peer", uid=0, pid=8, session="b", verified=True))
        answer = {"kind": Kind.REPLY, "reply_to": first.id}
        await company.post("I have", "bob", bob, **answer)
        assert told == ["bob"]
        assert company.texts("ada") == ["I have"]
        assert company.texts("cyd") == ["who has it?", "I have"]

    run(scenario)


def test_a_lane_waits_longer_after_each_failure_and_never_for_ever(run: Run) -> None:
    """A second at first, a minute at last."""

    async def scenario(company: Company) -> None:
        await company.post("hello")
        made = company.lane("bob")
        waits = [made.pause(Reason.QUOTA, 0.0) for _ in range(40)]
        assert waits[:3] == [lane.RETRY_FIRST, 2.0, 4.0]
        assert waits[-1] == lane.RETRY_MAX
        made.well()
        assert made.pause(Reason.QUOTA, 0.0) == lane.RETRY_FIRST

    run(scenario)


def test_history_that_is_imported_goes_to_no_member(run: Run) -> None:
    """It came to the room, but not now."""

    async def scenario(company: Company) -> None:
        was = Was(at="2026-01-01T00:00:00.000Z")
        await company.post("long ago", stamp=Stamp(Via(door="import", was=was)))
        assert company.finished()
        await company.post("now")
        assert company.texts("bob") == ["now"]

    run(scenario)


def test_a_policy_counts_for_each_copy_and_for_no_person(run: Run) -> None:
    """A room is no way around who may wake whom."""

    async def scenario(company: Company) -> None:
        bounds = Bounds(str(company.root), company.store, company.clock, RealDisk())
        policy = Policy(wake={"bob": ["cyd"]})
        company.postmaster.admission.guard = Guard(bounds, policy, Device("mini"))
        await company.post("from ada")
        bob = company.store.mailbox(BOX)
        assert [item.reason for item in bob.pending.values()] == [Reason.POLICY]
        assert ("bob", "parked", "policy") in company.lines()
        cyd = company.store.mailbox(Name("cyd"))
        assert [item.reason for item in cyd.pending.values()] == [None]
        person = Stamp(Via(door="control", uid=0, pid=1, verified=True))
        await company.post("from a person", "owner", person)
        assert [item.reason for item in bob.pending.values()] == [Reason.POLICY, None]
        bounds.close()

    run(scenario)


def test_what_lay_there_before_it_was_a_room_stays_pending(run: Run) -> None:
    """It is no member's, and nobody has decided that it is done with."""

    async def scenario(company: Company) -> None:
        company.names.claim("desk", None, 1.0)
        await company.post("for the desk", to="desk")
        company.names.release("desk")
        desk = Name("desk")
        box = company.store.mailbox(desk)
        company.rooms.open(desk, box.last_seq, 1.0)
        company.rooms.join(desk, ["bob"], box.last_seq, 1.0, notify=False)
        company.fanout.sweep()
        await company.post("for the room", to="desk")
        assert company.texts("desk") == ["for the desk"]
        assert company.texts("bob") == ["for the room"]
        (item,) = box.pending.values()
        shown = company.fanout.explain(desk, item)
        assert shown == (Rung.HELD, Reason.NO_OWNER, None)

    run(scenario)


def test_while_nobody_knows_who_is_in_a_room_its_mail_waits(run: Run) -> None:
    """rooms.json could not be read; who joins anew gets what comes then."""

    async def scenario(company: Company) -> None:
        company.fanout.stop()
        (company.root / "rooms.json").write_text("no room")
        company.fanout = company.again()
        await company.post("is anybody there?")
        assert not company.finished()
        company.join("bob")
        await company.post("now there is")
        assert company.texts("bob") == ["now there is"]
        assert company.texts("team") == ["is anybody there?"]

    run(scenario)
