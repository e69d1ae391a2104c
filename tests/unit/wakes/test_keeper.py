"""Each slot has one envelope, whatever the clocks do and however often homi dies."""

import asyncio
import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from homi.address import Name
from homi.config import DAY_WAKES
from homi.errors import CannotCreate, Usage
from homi.wakes.rows import row
from homi.wakes.schedule import ALL_MAX
from homi.wakes.state import NAME_MAX, SESSION_MAX
from tests.unit.wakes.kit import Died, Land, Scenario, minutes, play

Run = Callable[[Scenario], None]
HOUR = 60.0  # minutes


async def reading(land: Land, count: float) -> None:
    """Let minutes pass in which ada reads what comes."""
    for _ in range(int(count)):
        await minutes(1)
        land.read()
        await asyncio.sleep(0)


def test_an_expression_fires_at_its_times_and_names_the_slot(run: Run) -> None:
    """The text first, then what is known of this firing."""

    async def scenario(land: Land) -> None:
        land.add("cron", "*/10 12 * * *", text="look at it")
        await reading(land, 35)
        assert land.hours() == ["12:10", "12:20", "12:30"]
        first = land.texts()[0].splitlines()
        assert first[:2] == ["look at it", ""]
        assert first[3] == "trigger: cron */10 12 * * * UTC"

    run(scenario)


def test_an_interval_keeps_its_phase(run: Run) -> None:
    """From when it was made, not from when the last one was read."""

    async def scenario(land: Land) -> None:
        land.add("every", "420")
        await reading(land, 30)
        assert land.hours() == ["12:07", "12:14", "12:21", "12:28"]

    run(scenario)


def test_one_moment_fires_once_and_is_done(run: Run) -> None:
    """Also where the clock goes back before it."""

    async def scenario(land: Land) -> None:
        wake = land.add("at", "2026-11-30T12:05:00.000Z")
        await minutes(6)
        land.clocks.stepped = -7200.0
        land.keeper.reckon()
        await minutes(200)
        land.die()
        land.begin()
        await minutes(200)
        assert land.hours() == ["12:05"]
        assert land.keeper.at(wake).ended

    run(scenario)


def test_the_last_one_unread_keeps_the_next_from_coming(run: Run) -> None:
    """Skipped and counted; queue sends it all the same; what was read is over."""

    async def scenario(land: Land) -> None:
        skip = land.add("every", "60")
        queue = land.add("every", "60", overlap="queue", to="bob")
        await minutes(5.5)
        assert len(land.texts()) == 1
        assert land.keeper.at(skip).skipped == 4
        assert len(land.texts("bob")) == 5
        assert land.keeper.at(queue).skipped == 0
        land.read()
        await minutes(1)
        assert len(land.texts()) == 2

    run(scenario)


def test_a_session_that_is_still_at_it_keeps_the_next_from_coming(run: Run) -> None:
    """It has read the last one, and works."""

    async def scenario(land: Land) -> None:
        wake = land.add("every", "60")
        await minutes(1.5)
        land.working.add(land.keeper.at(wake).last)
        land.read()
        await minutes(3)
        assert land.keeper.at(wake).skipped == 3
        land.working.clear()
        await minutes(1)
        assert len(land.texts()) == 2

    run(scenario)


@pytest.mark.parametrize(
    ("missed", "slots"),
    [("once", ["12:01", "18:05", "18:06"]), ("skip", ["12:01", "18:05", "18:06"])],
)
def test_a_suspend_of_six_hours_makes_one_of_what_was_missed(
    run: Run, missed: str, slots: list[str]
) -> None:
    """With the number of the others; every timer ran late by the whole of it."""

    async def scenario(land: Land) -> None:
        wake = land.add("cron", "* * * * *", missed=missed)
        await reading(land, 1)
        land.clocks.slept = 6 * 3600.0 + 240
        land.keeper.reckon()
        await asyncio.sleep(1)
        land.read()
        await reading(land, 1)
        assert land.hours() == slots
        assert land.keeper.at(wake).missed == 363
        assert land.facts("missed") == ["", "363", ""]

    run(scenario)


def test_skip_sends_nothing_for_what_is_long_over(run: Run) -> None:
    """The slot of this very minute is on time."""

    async def scenario(land: Land) -> None:
        wake = land.add("cron", "0 * * * *", missed="skip")
        land.clocks.slept = 6 * 3600.0 + 600
        land.keeper.reckon()
        await minutes(5)
        assert land.hours() == []
        assert land.keeper.at(wake).missed == 6
        await minutes(60)
        assert land.hours() == ["19:00"]

    run(scenario)


def test_all_sends_each_that_was_missed(run: Run) -> None:
    """Up to a bound; of the rest it tells the number."""

    async def scenario(land: Land) -> None:
        land.add("cron", "0 * * * *", missed="all")
        wake = land.add("cron", "* * * * *", missed="all", to="bob")
        land.clocks.slept = 6 * 3600.0
        land.keeper.reckon()
        await minutes(0.1)
        assert land.hours() == ["13:00", "14:00", "15:00", "16:00", "17:00", "18:00"]
        assert len(land.texts("bob")) == ALL_MAX
        assert land.keeper.at(wake).missed == 360 - ALL_MAX

    run(scenario)


def test_a_suspend_makes_one_of_the_intervals_that_passed(run: Run) -> None:
    """It counts the time asleep, and keeps its phase."""

    async def scenario(land: Land) -> None:
        wake = land.add("every", "300")
        land.clocks.slept = 6 * 3600.0 + 60
        land.keeper.reckon()
        await reading(land, 5)
        assert land.hours() == ["18:00", "18:05"]
        assert land.keeper.at(wake).missed == 71

    run(scenario)


def test_a_clock_set_back_two_hours_fires_nothing_again(run: Run) -> None:
    """An expression waits until its time is new; an interval goes on."""

    async def scenario(land: Land) -> None:
        land.add("cron", "*/30 * * * *")
        land.add("every", "1800", to="bob", overlap="queue")
        await reading(land, 35)
        land.clocks.stepped = -7200.0
        land.keeper.reckon()
        await reading(land, 115)
        assert land.hours() == ["12:30"]
        assert len(land.texts("bob")) == 5
        await reading(land, 35)
        assert land.hours() == ["12:30", "13:00"]
        assert len(land.texts("bob")) == 6
        slots = land.facts("slot")
        assert len(slots) == len(set(slots))

    run(scenario)


def test_a_clock_set_a_year_ahead_fires_once_and_back_again_nothing_twice(
    run: Run,
) -> None:
    """Half a million slots passed: one envelope; the next real ones come as before."""

    async def scenario(land: Land) -> None:
        wake = land.add("cron", "* * * * *")
        every = land.add("every", "60", to="bob", overlap="queue")
        await reading(land, 2)
        land.clocks.stepped = 365 * 86_400.0
        land.keeper.reckon()
        await reading(land, 2)
        assert len(land.texts()) in (4, 5)
        assert land.keeper.at(wake).missed == 365 * 1440 - 1
        land.clocks.stepped = 0.0
        land.keeper.reckon()
        await reading(land, 3)
        slots = land.facts("slot")
        assert len(slots) == len(set(slots))
        assert [slot[:16] for slot in slots[-2:]] == [
            "2026-11-30T12:06",
            "2026-11-30T12:07",
        ]
        assert land.keeper.at(every).missed == 0
        assert len(land.texts("bob")) == 7

    run(scenario)


def test_fifty_deaths_leave_each_slot_one_envelope(tmp_path: Path) -> None:
    """At every step around a firing: state from the files, all slots, none twice."""
    counted: list[int] = []

    def life(number: int) -> None:
        chance = random.Random(number)

        async def scenario(land: Land) -> None:
            land.add("cron", "* * * * *", missed="all", overlap="queue")
            land.add("every", "60", missed="all", overlap="queue", to="bob")
            land.die()
            with contextlib.suppress(Died):  # as early as that, too
                land.begin(left=number)
            await minutes(8)
            assert land.disk.dead
            land.die()
            await minutes(chance.random() * 3)
            land.begin()
            await minutes(chance.random() * 3 + 1)
            for to in ("ada", "bob"):
                slots = land.facts("slot", to)
                due = int(land.clocks.boot() // 60) if to == "bob" else None
                whole = {int(slot[14:16]) for slot in slots}
                assert len(slots) == len(set(slots)), (number, slots)
                assert sorted(whole) == list(range(1, len(slots) + 1)), (number, slots)
                assert due is None or len(slots) == due
            counted.append(len(land.texts()))

        root = tmp_path / str(number)
        root.mkdir()
        play(root, scenario)

    for number in range(50):
        life(number)
    assert len(counted) == 50
    assert min(counted) >= 5


def test_a_death_between_the_envelope_and_its_record_is_known_by_its_id(
    run: Run,
) -> None:
    """The line of what is about to be sent is lost too, as by a power cut."""

    async def scenario(land: Land) -> None:
        wake = land.add("cron", "* * * * *")
        await minutes(1)
        (land.root / "wakes.jsonl").unlink()
        land.die()
        land.begin()
        await minutes(0.1)
        assert land.hours() == ["12:01"]
        assert land.keeper.at(wake).fired == 1

    run(scenario)


def test_a_moment_whose_name_is_gone_ends_and_says_why(run: Run) -> None:
    """Not done, and not tried for ever."""

    async def scenario(land: Land) -> None:
        wake = land.add("at", "2026-11-30T12:05:00.000Z")
        land.names.release("ada")
        await minutes(20)
        at = land.keeper.at(wake)
        shown = row(wake, at, land.keeper.next(wake), unread=False)
        assert (shown.state, shown.next) == ("failing", "")
        assert at.ended
        assert "no name ada" in shown.failure

    run(scenario)


def test_until_and_max_end_it_and_it_stays_listed_for_a_while(run: Run) -> None:
    """Neither fires behind its end, also after a restart."""

    async def scenario(land: Land) -> None:
        until = land.add("cron", "* * * * *", until="2026-11-30T12:02:30.000Z")
        most = land.add("every", "60", most=2, to="bob", overlap="queue")
        await reading(land, 4)
        land.die()
        land.begin()
        await reading(land, 4)
        assert land.hours() == ["12:01", "12:02"]
        assert len(land.texts("bob")) == 2
        assert all(land.keeper.at(wake).ended for wake in (until, most))
        land.clocks.slept = 8 * 86_400.0
        land.keeper.sweep()
        assert land.keeper.book.all() == []

    run(scenario)


def test_jitter_is_the_same_after_a_restart_and_bounded(run: Run) -> None:
    """Late by up to so much; the slot is the time it was due."""

    async def scenario(land: Land) -> None:
        wake = land.add("cron", "*/10 * * * *", jitter=300)
        before = land.keeper.next(wake)
        land.die()
        land.begin()
        assert land.keeper.next(wake) == before
        await reading(land, 65)
        assert land.hours() == ["12:10", "12:20", "12:30", "12:40", "12:50", "13:00"]

    run(scenario)


def test_what_rests_neither_fires_nor_misses(run: Run) -> None:
    """Over a restart; it goes on with what comes next."""

    async def scenario(land: Land) -> None:
        wake = land.add("every", "600")
        land.keeper.pause(wake, "person")
        await minutes(25)
        land.die()
        land.begin()
        await minutes(10)
        land.keeper.resume(land.keeper.book.find("ada"), person=True)
        await minutes(4)
        assert land.hours() == []
        await minutes(2)
        assert land.hours() == ["12:40"]
        assert land.keeper.at(wake).missed == 0

    run(scenario)


def test_what_failed_is_not_tried_again_while_it_rests(run: Run) -> None:
    """Not by its own tries, nor over a restart; an order to run is."""

    async def scenario(land: Land) -> None:
        wake = land.add("cron", "*/10 * * * *")
        land.store.free = 0
        await minutes(10)
        assert land.keeper.at(wake).firing
        land.keeper.pause(wake, "person")
        land.store.free = 1 << 40
        await minutes(10)
        assert land.texts() == []
        land.die()
        land.begin()
        await minutes(10)
        assert land.texts() == []
        land.keeper.resume(land.keeper.book.find("ada"), person=True)
        await minutes(1)
        assert land.hours() == ["12:10"]
        land.read()
        wake = land.keeper.book.pause(wake.id, "person")
        land.store.free = 0
        land.keeper.run(wake, "key", lambda: None)
        await minutes(1)
        land.store.free = 1 << 40
        await minutes(10)
        assert len(land.texts()) == 2

    run(scenario)


def test_a_run_is_one_envelope_however_often_it_is_asked_for(run: Run) -> None:
    """A second try of the same order after a lost answer; its times go on."""

    async def scenario(land: Land) -> None:
        wake = land.add("every", "600", most=1)
        land.keeper.run(wake, "key", lambda: None)
        await minutes(1)
        land.keeper.run(wake, "key", lambda: None)
        await minutes(1)
        assert len(land.texts()) == 1
        land.read()
        await minutes(10)
        assert len(land.texts()) == 2

    run(scenario)


def test_who_orders_a_firing_is_told_once_it_is_known_what_became_of_it(
    run: Run,
) -> None:
    """Sent: then nothing is wrong any more.  Failed, or removed: at once."""

    async def scenario(land: Land) -> None:
        wake = land.add("every", "600")
        told: list[str] = []

        def tell() -> None:
            told.append(land.keeper.at(wake).failure)

        land.names.release("ada")
        land.keeper.run(wake, "one", tell)
        await minutes(0.1)
        assert ["no name ada" in failure for failure in told] == [True]
        land.names.claim("ada", None, 1.0)
        land.keeper.run(wake, "two", tell)
        await minutes(0.1)
        assert (told[1:], len(land.texts())) == ([""], 1)
        land.store.free = 0
        land.keeper.run(wake, "three", tell)
        land.keeper.run(wake, "four", tell)
        await minutes(0.05)
        assert len(told) == 4
        land.keeper.run(wake, "five", tell)
        land.keeper.remove(wake.id)
        assert len(told) == 5

    run(scenario)


def test_who_orders_one_that_rests_behind_another_is_told(run: Run) -> None:
    """The bound is met by the one before, which was stored."""

    async def scenario(land: Land) -> None:
        wake = land.add("every", "60", by="session", overlap="queue")
        await minutes(DAY_WAKES - 0.5)
        assert len(land.texts()) == DAY_WAKES - 1
        told, at = list[str](), land.keeper.at(wake)
        for slot in ("one", "two"):
            land.keeper.run(wake, slot, lambda: told.append(at.state))
        await minutes(0.1)
        assert len(land.texts()) == DAY_WAKES
        assert told == ["", "budget"]

    run(scenario)


def test_a_name_that_is_gone_fills_no_quarantine_and_is_tried_again(run: Run) -> None:
    """The failure is shown; once the name is back it fires as before."""

    async def scenario(land: Land) -> None:
        wake = land.add("every", "60")
        land.names.release("ada")
        await minutes(10)
        at = land.keeper.at(wake)
        assert at.state == "failing"
        assert "no name ada" in at.failure
        assert not land.refused.exists()
        land.names.claim("ada", None, 1.0)
        await minutes(2)
        assert at.state == ""
        assert len(land.texts()) == 1

    run(scenario)


def test_a_full_disk_delays_a_slot_and_loses_none(run: Run) -> None:
    """The slot that could not be stored is the one that comes."""

    async def scenario(land: Land) -> None:
        land.add("cron", "*/10 * * * *")
        land.store.free = 0
        await minutes(15)
        assert land.texts() == []
        land.store.free = 1 << 40
        await minutes(5)
        assert land.hours() == ["12:10"]

    run(scenario)


def test_what_sessions_made_rests_at_a_bound_until_a_person_lets_it_go_on(
    run: Run,
) -> None:
    """Counted by name, over restarts and new wakes; a person's have no such bound."""

    async def scenario(land: Land) -> None:
        land.add("every", "60", by="session", overlap="queue")
        land.add("every", "60", to="bob", overlap="queue")
        await minutes(DAY_WAKES + 4.5)
        assert len(land.texts()) == DAY_WAKES
        assert len(land.texts("bob")) == DAY_WAKES + 4
        assert len(land.warned) == 1
        land.die()
        land.begin()
        again = land.add("every", "60", by="session", overlap="queue")
        await minutes(10)
        assert len(land.texts()) == DAY_WAKES
        assert land.keeper.at(again).state == "budget"
        land.keeper.resume(again, person=False)
        assert len(land.texts()) == DAY_WAKES
        land.keeper.resume(again, person=True)
        await minutes(6)
        assert len(land.texts()) > DAY_WAKES

    run(scenario)


def test_spawn_is_asked_for_behind_each_envelope(run: Run) -> None:
    """Whether somebody lives is known where it is done."""

    async def scenario(land: Land) -> None:
        land.add("every", "60", spawn=True)
        await minutes(1.5)
        assert land.spawned == ["ada"]

    run(scenario)


def test_so_many_wakes_and_no_more(run: Run) -> None:
    """For a name, and fewer that sessions made; what can never fire is refused."""

    async def scenario(land: Land) -> None:
        for _ in range(SESSION_MAX):
            land.add("every", "60", by="session")
        with pytest.raises(CannotCreate):
            land.add("every", "60", by="session")
        for _ in range(NAME_MAX - SESSION_MAX):
            land.add("every", "3600")
        with pytest.raises(CannotCreate):
            land.add("every", "60")
        for never in ("0 0 30 2 *", "61 * * * *"):
            with pytest.raises(Usage):
                land.add("cron", never, to="bob")

    run(scenario)


def test_hundreds_at_once_let_the_loop_have_its_turns(run: Run) -> None:
    """Each has its envelope; what else is to be done comes in between."""

    async def scenario(land: Land) -> None:
        land.die()
        for n in range(10):
            land.names.claim(f"a{n}", None, 0.0)
        land.fill(land.wake("cron", "0 13 * * *", to=f"a{n % 10}") for n in range(300))
        land.begin()
        await minutes(59)
        turns = 0

        async def other() -> None:
            nonlocal turns
            while len(land.store.mailbox(Name("a9")).pending) < 30:
                turns += 1
                await asyncio.sleep(0.001)

        task = asyncio.create_task(other())
        await minutes(1)
        await task
        assert all(len(land.texts(f"a{n}")) == 30 for n in range(10))
        assert turns > 10

    run(scenario)


def test_an_unreadable_record_costs_itself_only(run: Run) -> None:
    """As where another hand wrote the file: the others fire."""

    async def scenario(land: Land) -> None:
        broken = land.add("every", "60", to="bob")
        land.add("every", "60")
        land.die()
        path = land.root / "wakes.json"
        text = path.read_text().replace('"value": "60"', '"value": "often"', 1)
        path.write_text(text)
        with (land.root / "wakes.jsonl").open("a") as file:
            file.write("no json\n")
        land.begin()
        assert land.keeper.at(broken).state == "failing"
        [read] = [one for one in land.keeper.book.all() if one.id == broken.id]
        land.keeper.run(read, "key", lambda: None)
        await minutes(0.1)
        assert len(land.texts("bob")) == 1
        assert land.keeper.at(broken).state == "failing"  # it fires by itself no more
        assert [f.path for f in land.keeper.findings] == [f"{land.root}/wakes.jsonl"]
        await minutes(1.5)
        assert len(land.texts()) == 1

    run(scenario)
