"""Members that get a notice in place of copies."""

from collections.abc import Callable

from homi.address import Device, Name
from homi.config import QUOTA_PENDING
from homi.envelope import Kind, LedgerLine, Rung
from homi.store.places import queue_of
from tests.unit.rooms.kit import TEAM, Company, Scenario, settled

Run = Callable[[Scenario], None]
EVE = Name("eve")


def listening(company: Company) -> None:
    """Let eve be a member that gets notices."""
    company.names.claim("eve", None, 1.0)
    company.join("eve", notify=True)


def test_one_notice_says_how_much_of_whom_and_how_it_is_read(run: Run) -> None:
    """No body; what is automatic is answered by nobody."""

    async def scenario(company: Company) -> None:
        listening(company)
        await company.post("the secret text")
        (item,) = company.store.mailbox(EVE).pending.values()
        assert item.kind is Kind.NOTICE
        assert item.from_ == "team"
        assert company.texts("eve") == [
            "1 new message of ada in the room team: homi inbox --all team"
        ]
        assert company.finished()
        assert ("eve", "stored", "digest") in company.lines()

    run(scenario)


def test_the_next_comes_when_that_was_read_and_counts_what_came_meanwhile(
    run: Run,
) -> None:
    """However much that is, it is one."""

    async def scenario(company: Company) -> None:
        listening(company)
        for text in ("one", "two", "three"):
            await company.post(text)
        assert len(company.texts("eve")) == 1
        assert company.finished()
        company.read("eve")
        await settled()
        (told,) = company.texts("eve")
        assert told.startswith("2 new messages of ada in")
        company.read("eve")
        await settled()
        assert company.texts("eve") == []
        await company.post("four")
        assert len(company.texts("eve")) == 1

    run(scenario)


def test_after_a_restart_what_was_not_told_of_is_told_uncounted(run: Run) -> None:
    """The count was in memory; that there is something is not."""

    async def scenario(company: Company) -> None:
        listening(company)
        await company.post("one")
        await company.post("two")
        company.fanout.stop()
        company.fanout = company.again()
        await settled()
        assert len(company.texts("eve")) == 1
        company.read("eve")
        await settled()
        assert company.texts("eve") == [
            "There are new messages in the room team: homi inbox --all team"
        ]
        company.read("eve")
        await settled()
        assert company.texts("eve") == []

    run(scenario)


def test_a_notice_of_before_a_crash_is_not_written_twice(run: Run) -> None:
    """It stands in the mailbox; that it was written does not stand in rooms.json."""

    async def scenario(company: Company) -> None:
        listening(company)
        company.dies = True
        before = (company.root / "rooms.json").read_bytes()
        await company.post("one")
        company.fanout.stop()
        (company.root / "rooms.json").write_bytes(before)
        company.dies = False
        company.fanout = company.again()
        await company.post("two")
        assert len(company.texts("eve")) == 1
        assert company.finished()

    run(scenario)


def test_a_notice_that_finds_no_room_is_tried_again(run: Run) -> None:
    """The messages it is of stay open for that member, for no other."""

    async def scenario(company: Company) -> None:
        listening(company)
        company.store.mailbox(EVE).coming = QUOTA_PENDING
        await company.post("one")
        await company.post("two")
        assert company.texts("bob") == ["one", "two"]
        item = next(iter(company.store.mailbox(TEAM).pending.values()))
        assert company.fanout.waits(TEAM, item) == {"eve": "quota"}
        company.store.mailbox(EVE).coming = 0
        company.fanout.retry(company.lane("eve"))
        await settled()
        (told,) = company.texts("eve")
        assert told.startswith("2 new messages")
        assert company.finished()

    run(scenario)


def test_a_member_elsewhere_gets_one_message_until_its_device_says_it_was_read(
    run: Run,
) -> None:
    """That it is over there says nothing; mail it is, which another device takes."""

    async def scenario(company: Company) -> None:
        company.join("eve@lab", notify=True)
        lab = queue_of(Device("lab"))
        await company.post("one")
        (item,) = company.store.mailbox(lab).pending.values()
        (told,) = company.texts(lab)
        assert told == (
            "1 new message of ada in the room team@mini: homi inbox --all team on mini"
        )
        assert (item.from_, item.kind) == ("team", Kind.MAIL)
        for rung in (Rung.RELAYED, Rung.SEEN):
            await company.post(f"while it is {rung}")
            assert company.texts(lab) == ([told] if rung is Rung.RELAYED else [])
            line = LedgerLine(seq=item.seq, id=item.id, rung=rung, at="x")
            company.store.record(lab, line)
        company.fanout.sweep()
        await settled()
        (told,) = company.texts(lab)
        assert told.startswith("2 new messages of ada in the room team@mini")

    run(scenario)
