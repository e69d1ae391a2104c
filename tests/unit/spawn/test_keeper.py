"""From an order to a program that is ready, and to its end; over crashes too."""

import pytest
from msgspec.structs import replace

from homi.address import Name
from homi.envelope import Reason
from homi.errors import CannotCreate, NoSuchName, NotReached, Unavailable
from homi.spawn import endings
from homi.spawn.programs import Means
from homi.spawn.rule import ALIVE_MAX
from homi.spawn.state import Run
from tests.unit.spawn.conftest import Play
from tests.unit.spawn.kit import ADA, Died, Memory, Nursery


def test_an_order_is_answered_when_the_program_can_be_written_to(play: Play) -> None:
    """Not when it was begun."""

    async def scene(nursery: Nursery) -> None:
        nursery.order()
        assert nursery.said == []
        run = nursery.ready()
        assert nursery.said == [nursery.ada]
        assert nursery.run.ready
        owner = nursery.owners.owner(ADA)
        assert owner is not None
        assert owner.session_id == run.seat
        with pytest.raises(CannotCreate):
            nursery.order()

    play(scene)


def test_a_program_that_ends_before_it_is_ready_fails_the_order(play: Play) -> None:
    async def scene(nursery: Nursery) -> None:
        nursery.order()
        await nursery.dies(nursery.run)
        assert isinstance(nursery.said[0], NotReached)
        assert (nursery.ada.run, nursery.ada.failures) == (None, 1)

    play(scene)


def test_the_one_before_ends_when_its_successor_is_ready_and_it_is_idle(
    play: Play,
) -> None:
    async def scene(nursery: Nursery) -> None:
        nursery.order()
        old = nursery.ready()
        nursery.keeper.again(ADA, nursery.said.append, anew=False, now=False)
        assert nursery.programs.alive() == [old.seat, nursery.run.seat]
        with pytest.raises(CannotCreate):
            nursery.keeper.again(ADA, nursery.said.append, anew=False, now=False)
        new = nursery.ready()
        await nursery.until(lambda: nursery.programs.alive() == [new.seat])
        nursery.falls(old)
        await nursery.until(lambda: nursery.run.called == ADA)
        assert nursery.spawns.retired == []
        owner = nursery.owners.owner(ADA)
        assert owner is not None
        assert owner.session_id == new.seat

    play(scene)


def test_a_successor_that_fails_leaves_the_one_before_as_it_is(play: Play) -> None:
    async def scene(nursery: Nursery) -> None:
        nursery.order()
        old = nursery.ready()
        nursery.programs.error = Unavailable("no program")
        nursery.keeper.again(ADA, nursery.said.append, anew=False, now=False)
        assert isinstance(nursery.said[-1], Unavailable)
        assert (nursery.run.seat, nursery.ada.old) == (old.seat, None)
        assert nursery.programs.alive() == [old.seat]

    play(scene)


def test_a_successor_that_ends_too_early_gives_the_name_back(play: Play) -> None:
    """It had it already, as what keeps no record is bound to its seat; and the one
    before is watched again, also by a daemon that came after."""

    async def scene(nursery: Nursery) -> None:
        nursery.order()
        old = nursery.ready()
        nursery.keeper.again(ADA, nursery.said.append, anew=False, now=False)
        assert nursery.bound == nursery.run.seat != old.seat

    async def later(nursery: Nursery) -> None:
        old = nursery.ada.old
        assert old is not None
        nursery.programs.processes[nursery.run.seat].kill()
        await nursery.until(lambda: nursery.run.seat == old.seat)
        assert nursery.bound == old.seat
        await nursery.dies(old)
        assert nursery.ada.run is None

    play(scene)
    play(later)


def test_mail_starts_no_more_than_an_agent_may_have(play: Play) -> None:
    async def scene(nursery: Nursery) -> None:
        nursery.order(on_mail=True)
        nursery.mail.add(ADA)
        by = ["bob", "person"]
        nursery.spawns.put(replace(nursery.ada, by=by))
        for number in range(ALIVE_MAX):
            name = Name(f"x{number}")
            nursery.spawns.put(replace(nursery.ada, name=name, by=by, run=Run(at=1.0)))
        nursery.on_mail.stir(ADA)
        assert nursery.programs.starts == 0
        assert nursery.on_mail.why(ADA) == (Reason.NO_OWNER, nursery.clock.now + 60)
        nursery.spawns.forget("x0")
        nursery.on_mail.stir(ADA)
        assert nursery.programs.starts == 1

    play(scene)


def test_what_is_forgotten_is_ended_only_when_that_is_asked(play: Play) -> None:
    async def scene(nursery: Nursery) -> None:
        nursery.order()
        run = nursery.ready()
        nursery.keeper.forget(ADA, end=False)
        assert nursery.programs.alive() == [run.seat]
        with pytest.raises(NoSuchName):
            nursery.keeper.forget(ADA, end=True)
        nursery.falls(run)
        nursery.order()
        nursery.ready()
        nursery.keeper.forget(ADA, end=True)
        await nursery.until(lambda: nursery.programs.alive() == [run.seat])
        await nursery.until(lambda: nursery.spawns.retired == [])

    play(scene)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_one_that_goes_on_is_ended_by_harder_means(
    play: Play, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """One after the other; where there is time, none behind the one that did it."""
    monkeypatch.setattr(endings, "GRACE", 60.0 if count == 1 else 0.01)

    async def scene(nursery: Nursery) -> None:
        nursery.programs.ignored.update(list(Means)[: count - 1])
        nursery.order()
        nursery.ready()
        nursery.keeper.forget(ADA, end=True)
        await nursery.until(lambda: nursery.spawns.retired == [])
        assert nursery.programs.alive() == []
        assert nursery.programs.ends[:count] == list(Means)[:count]
        assert count > 1 or len(nursery.programs.ends) == 1

    play(scene)


def test_mail_starts_a_name_that_nobody_has_and_no_other(play: Play) -> None:
    async def scene(nursery: Nursery) -> None:
        nursery.order(on_mail=True)
        nursery.on_mail.stir(ADA)
        assert nursery.programs.starts == 0
        nursery.mail.add(ADA)
        nursery.on_mail.stir(ADA)
        nursery.on_mail.stir(ADA)
        assert nursery.programs.starts == 1
        run = nursery.ready()
        nursery.on_mail.sweep()
        assert nursery.programs.starts == 1
        nursery.mail.clear()
        await nursery.dies(run)
        assert nursery.programs.starts == 1
        assert nursery.ada.failures == 0

    play(scene)


def test_three_ends_with_mail_unread_and_it_is_started_no_more(play: Play) -> None:
    """Once a minute, then two, then never, until a person orders it; a start that was
    counted counts over the death of the daemon."""

    async def scene(nursery: Nursery) -> None:
        nursery.order(on_mail=True)
        nursery.mail.add(ADA)
        for pause in (60, 120):
            nursery.on_mail.stir(ADA)
            await nursery.dies(nursery.ready())
            reason, until = nursery.on_mail.why(ADA) or (None, None)
            assert reason is Reason.NO_OWNER
            assert until == nursery.clock.now + pause
            nursery.clock.now += pause - 1
            nursery.on_mail.stir(ADA)
            assert nursery.ada.run is None
            nursery.clock.now += 1
        nursery.on_mail.stir(ADA)
        await nursery.dies(nursery.ready())
        assert nursery.on_mail.why(ADA) == (Reason.SPAWN_FAILING, None)

    async def later(nursery: Nursery) -> None:
        nursery.mail.add(ADA)
        nursery.clock.now += 7200
        nursery.on_mail.sweep()
        assert nursery.programs.starts == 3
        assert nursery.on_mail.why(ADA) == (Reason.SPAWN_FAILING, None)
        nursery.keeper.again(ADA, nursery.said.append, anew=True, now=False)
        nursery.ready()
        assert nursery.on_mail.why(ADA) is None

    play(scene)
    play(later)


def test_a_program_that_cannot_be_run_counts_as_a_failure(play: Play) -> None:
    async def scene(nursery: Nursery) -> None:
        nursery.order(on_mail=True)
        nursery.mail.add(ADA)
        nursery.programs.error = Unavailable("no program claude in PATH (/nowhere)")
        nursery.on_mail.stir(ADA)
        assert (nursery.ada.failures, nursery.ada.run) == (1, None)
        assert "/nowhere" in nursery.ada.said

    play(scene)


def test_what_somebody_waits_for_ends_with_the_daemon(
    play: Play, programs: Memory
) -> None:
    """Nobody could end it later."""

    async def scene(nursery: Nursery) -> None:
        nursery.order()
        nursery.spawns.note(replace(nursery.ada, brief=True))
        nursery.ready()

    async def later(nursery: Nursery) -> None:
        await nursery.until(lambda: programs.alive() == [])
        assert nursery.spawns.get(ADA) is None
        assert nursery.names.get(ADA) is None

    play(scene)
    play(later)


@pytest.mark.parametrize("step", range(1, 9))
def test_a_daemon_that_dies_at_any_step_goes_on_with_one_program(
    play: Play, programs: Memory, step: int
) -> None:
    """Behind each write of the file, from an order to a successor with its name."""

    async def scene(nursery: Nursery) -> None:
        nursery.dies_at(step)
        with pytest.raises(Died):
            await _replaced(nursery)

    async def later(nursery: Nursery) -> None:
        spawned = nursery.ada
        if spawned.run is not None:
            assert nursery.bound == nursery.run.seat
            nursery.ready()
        alive = [] if nursery.ada.run is None else [nursery.run.seat]
        await nursery.until(lambda: programs.alive() == alive)
        await nursery.until(lambda: nursery.spawns.retired == [])
        assert len(programs.processes) == programs.starts <= 2

    play(scene)
    play(later)


def test_from_an_order_to_a_successor_there_are_eight_writes(play: Play) -> None:
    """Each of which the test above dies behind."""

    async def scene(nursery: Nursery) -> None:
        nursery.dies_at(9)
        await _replaced(nursery)
        assert nursery.writes == 8

    play(scene)


async def _replaced(nursery: Nursery) -> None:
    """Ordered, ready, replaced, and the one before gone."""
    nursery.order()
    old = nursery.ready()
    nursery.keeper.again(ADA, nursery.said.append, anew=False, now=False)
    new = nursery.ready()
    await nursery.until(lambda: nursery.programs.alive() == [new.seat])
    await nursery.until(lambda: nursery.spawns.retired == [])
    nursery.falls(old)
    await nursery.until(lambda: nursery.run.called == ADA)


def test_starts_count_over_the_death_of_the_daemon(play: Play) -> None:
    """Three of four, a restart, and two more orders by mail: one start."""

    async def scene(nursery: Nursery) -> None:
        nursery.order(on_mail=True)
        nursery.mail.add(ADA)
        for _ in range(3):
            nursery.on_mail.stir(ADA)
            run = nursery.ready()
            nursery.mail.clear()
            await nursery.dies(run)
            nursery.mail.add(ADA)

    async def later(nursery: Nursery) -> None:
        assert nursery.programs.starts == 3
        nursery.mail.add(ADA)
        nursery.on_mail.stir(ADA)
        await nursery.dies(nursery.ready())
        nursery.clock.now += 600
        nursery.on_mail.stir(ADA)
        assert nursery.programs.starts == 4
        assert nursery.on_mail.why(ADA) == (Reason.NO_OWNER, nursery.clock.now + 3000)

    play(scene)
    play(later)


def test_a_name_that_is_released_is_started_no_more(play: Play) -> None:
    async def scene(nursery: Nursery) -> None:
        nursery.order(on_mail=True)
        nursery.names.release(ADA)
        assert nursery.spawns.get(ADA) is None

    play(scene)


def test_one_that_is_replaced_now_ends_though_it_is_busy(play: Play) -> None:
    async def scene(nursery: Nursery) -> None:
        nursery.order()
        old = nursery.ready()
        nursery.stands(old, status="busy")
        nursery.keeper.again(ADA, nursery.said.append, anew=False, now=False)
        new = nursery.ready()
        nursery.on_mail.sweep()
        assert nursery.programs.alive() == [old.seat, new.seat]
        nursery.keeper.again(ADA, nursery.said.append, anew=False, now=True)
        newer = nursery.ready()
        nursery.stands(old, status="idle")
        await nursery.until(lambda: nursery.programs.alive() == [newer.seat])

    play(scene)


def test_a_full_disk_starts_nothing_and_keeps_nobody_from_anything(play: Play) -> None:
    """A start that cannot be counted is none; what became of one is remembered."""

    async def scene(nursery: Nursery) -> None:
        nursery.order(on_mail=True)
        nursery.mail.add(ADA)
        nursery.full = True
        nursery.on_mail.stir(ADA)
        assert nursery.programs.starts == 0
        nursery.full = False
        nursery.on_mail.stir(ADA)
        nursery.full = True
        run = nursery.ready()
        assert nursery.run.ready
        nursery.mail.clear()
        await nursery.dies(run)
        nursery.full = False
        nursery.on_mail.sweep()
        assert (nursery.programs.starts, nursery.ada.run) == (1, None)

    play(scene)


def test_what_runs_can_be_told_to_be_started_by_mail_later(play: Play) -> None:
    """It goes on, and is started again when it is gone."""

    async def scene(nursery: Nursery) -> None:
        nursery.order()
        run = nursery.ready()
        nursery.order(on_mail=True)
        assert (nursery.run.seat, nursery.ada.on_mail) == (run.seat, True)
        nursery.mail.add(ADA)
        nursery.on_mail.stir(ADA)
        assert nursery.programs.starts == 1
        nursery.mail.clear()
        await nursery.dies(run)
        nursery.mail.add(ADA)
        nursery.on_mail.stir(ADA)
        assert nursery.programs.starts == 2

    play(scene)
